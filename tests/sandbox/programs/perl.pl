use strict;
use warnings;
my $line = <STDIN>;
chomp $line;
print "é $1\n" if $line =~ /^echo (.*)/;
exit 3 if $line eq "exit";
die "no" if $line eq "crash";
while ($line eq "spin") { }
my @held;
while ($line eq "memory") { push @held, chr(65 + @held % 26) x (1 << 20); }
