my $line = get;
if $line ~~ /^ 'echo ' (.*)/ { say "é $0" }
exit 3 if $line eq 'exit';
die 'no' if $line eq 'crash';
while $line eq 'spin' { }
my @held;
while $line eq 'memory' { @held.push(Buf.allocate(1 +< 20, 1)) }
