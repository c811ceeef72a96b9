using System;
using System.Collections.Generic;

class Program {
    static int Main() {
        string line = Console.ReadLine();
        if (line.StartsWith("echo ")) Console.WriteLine("é " + line.Substring(5));
        if (line == "exit") return 3;
        if (line == "crash") throw new Exception("no");
        while (line == "spin") {}
        var held = new List<byte[]>();
        while (line == "memory") {
            var more = new byte[1 << 20];
            for (int i = 0; i < more.Length; i++) more[i] = 1;
            held.Add(more);
        }
        return 0;
    }
}
