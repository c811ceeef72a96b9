/^echo / { print "é " substr($0, 6) }
/^exit$/ { exit 3 }
/^crash$/ { getline line < "/proc/self/none"; exit(system("kill -SEGV $PPID")) }
/^spin$/ { while (1) n++ }
/^memory$/ { while (1) held[n++] = sprintf("%1048576d", n) }
