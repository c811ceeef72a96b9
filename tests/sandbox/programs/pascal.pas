program main;
{$mode objfpc}{$H+}
uses sysutils;
var
  line: string;
  held: pointer;
  n: int64;
begin
  readln(line);
  if copy(line, 1, 5) = 'echo ' then writeln('é ', copy(line, 6, length(line)));
  if line = 'exit' then halt(3);
  if line = 'crash' then raise Exception.Create('no');
  n := 0;
  while line = 'spin' do inc(n);
  while line = 'memory' do
  begin
    getmem(held, 1048576);
    fillchar(held^, 1048576, 1);
  end;
end.
