line = fgetl (stdin);
if strncmp (line, "echo ", 5)
  printf ("é %s\n", line(6:end));
elseif strcmp (line, "exit")
  exit (3);
elseif strcmp (line, "crash")
  error ("no");
elseif strcmp (line, "spin")
  while true, end
elseif strcmp (line, "memory")
  held = {};
  while true, held{end + 1} = ones (1, 131072) * 1.5; end
end
