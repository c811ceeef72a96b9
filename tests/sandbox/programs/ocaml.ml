let () =
  let line = read_line () in
  if String.length line > 5 && String.sub line 0 5 = "echo " then
    print_endline ("é " ^ String.sub line 5 (String.length line - 5));
  if line = "exit" then exit 3;
  if line = "crash" then failwith "no";
  if line = "spin" then while true do ignore (Sys.opaque_identity 0) done;
  if line = "memory" then begin
    let held = ref [] in
    while true do held := Bytes.make 1048576 'x' :: !held done
  end
