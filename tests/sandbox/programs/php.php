<?php
$line = trim(fgets(STDIN));
if (str_starts_with($line, "echo ")) echo "é ", substr($line, 5), "\n";
if ($line === "exit") exit(3);
if ($line === "crash") throw new Exception("no");
while ($line === "spin");
$held = [];
while ($line === "memory") $held[] = str_repeat("x", 1 << 20);
