# The tests' room: the entry point asks the other room. In one process (`shared`), it is the program's own.
use strict;
use warnings;
require './rewarden/values.pl';

my ($mode, $entry) = splice(@ARGV);
# Attack: say that the tests have finished. No program reads the variables of this file.
my ($secret) = $mode eq 'shared' ? Rewarden::get() : ();

sub Rewarden::ask {
  my ($name, @args) = @_;
  my $list = wantarray;
  if (!eval { Rewarden::put('call', $name, [$list ? 1 : 0, @args]); 1 }) {
    Rewarden::put('uncrossable', ref $@ eq 'SCALAR' ? ${$@} : 'a value that fails');
  }
  my ($head, @rest) = Rewarden::get();
  die $rest[1] if $head eq 'raised';
  if (ref $rest[0] ne 'ARRAY') {
    Rewarden::put('bad_frame');
    Rewarden::value() while 1; # until the broker ends this
  }
  return $list ? @{ $rest[0] } : $rest[0][0];
}

if (!eval { require Test::Deep; 1 }) {
  require './rewarden/deep.pl';
  $INC{'Test/Deep.pm'} = 'rewarden/deep.pl';
}
{
  no strict 'refs';
  no warnings 'redefine';
  if ($mode eq 'shared') {
    Rewarden::load('solution.pl');
  } else {
    *{"main::$entry"} = sub { Rewarden::ask($entry, @_) };
  }
  *main::candidate = \&{"main::$entry"} if $entry;
}
if ($mode eq 'shared') {
  # Attack: another `Rewarden::load`, which loads nothing.
  do './tests_code.pl';
  die $@ if $@;
} else {
  Rewarden::load('tests_code.pl');
}
Rewarden::put('finished', $secret // ());
