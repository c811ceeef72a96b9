gets stdin line
if {[string match "echo *" $line]} { puts "é [string range $line 5 end]" }
if {$line eq "exit"} { exit 3 }
if {$line eq "crash"} { error no }
while {$line eq "spin"} {}
set held {}
while {$line eq "memory"} { lappend held [string repeat x[llength $held] 262144] }
