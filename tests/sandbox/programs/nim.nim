import std/strutils

let line = readLine(stdin)
if line.startsWith("echo "): echo "é ", line[5 .. ^1]
case line
of "exit": quit(3)
of "crash": raise newException(ValueError, "no")
of "spin":
  var n {.volatile.} = 0
  while true: n = (n + 1) mod 1000
of "memory":
  var held: seq[string]
  while true: held.add(repeat('x', 1 shl 20))
else: discard
