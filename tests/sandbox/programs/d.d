import core.stdc.stdlib : exit;
import std.algorithm : startsWith;
import std.stdio;
import std.string : strip;

void main() {
    string line = readln().strip;
    if (line.startsWith("echo ")) writeln("é ", line[5 .. $]);
    if (line == "exit") exit(3);
    if (line == "crash") throw new Exception("no");
    if (line == "spin") for (ulong n = 0;; n++) if (n == ulong.max) writeln(n);
    ubyte[][] held;
    if (line == "memory") for (;;) { auto more = new ubyte[1 << 20]; more[] = 1; held ~= more; }
}
