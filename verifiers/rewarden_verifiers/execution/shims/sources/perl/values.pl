# Values in the messages of broker.py.
package Rewarden;

use strict;
use warnings;
no warnings 'experimental::builtin', 'recursion';
use Scalar::Util qw(blessed);

my $MAX_DEPTH = 100;
my $wide = 0; # whether the program's texts are characters, and not bytes

open(my $input, '<&=', 98) or die;
open(my $output, '>&=', 99) or die;

# Loads a program. Dies as it does.
sub load {
  my ($file) = @_;
  open(my $source, '<', $file) or die;
  $wide = grep { /^\s*use\s+utf8\b/ } <$source>;
  close($source);
  local $@;
  package main;
  do "./$file";
  die $@ if $@;
}

sub put {
  my @lines = ('l ' . @_, map { lines($_, 1) } @_);
  local ($\, $,, $|) = ("\n", "\n", 1);
  my $old = select($output);
  $| = 1;
  print {$output} @lines;
  select($old);
}

# Dies with the type of a value that cannot cross, as a reference to its name.
sub lines {
  my ($value, $depth) = @_;
  die \'a nesting that is too deep' if $depth > $MAX_DEPTH;
  return 'n' if !defined $value;
  my $class = blessed($value);
  if (defined $class) {
    return $value ? 'T' : 'F' if $class eq 'JSON::PP::Boolean';
    return 'i ' . $value->bstr if $class eq 'Math::BigInt' && !$value->is_nan && !$value->is_inf;
    return 'f ' . $value->bstr if $class eq 'Math::BigFloat' && !$value->is_nan && !$value->is_inf;
    die \$class;
  }
  if (ref $value eq 'ARRAY') { return ('l ' . @$value, map { lines($_, $depth + 1) } @$value) }
  if (ref $value eq 'HASH') {
    return ('d ' . keys %$value, map { (text($_), lines($value->{$_}, $depth + 1)) } sort keys %$value);
  }
  die \(my $type = ref $value) if ref $value;
  return $value ? 'T' : 'F' if builtin::is_bool($value);
  return text($value) if !builtin::created_as_number($value);
  return 'f nan' if $value != $value;
  return $value > 0 ? 'f inf' : 'f -inf' if $value == 9**9**9 || $value == -9**9**9;
  return "$value" =~ /^-?\d+$/ ? "i $value" : sprintf('f %.17g', $value);
}

sub text {
  my ($text) = @_;
  utf8::encode($text) if $wide || utf8::is_utf8($text);
  $text =~ s/\\/\\\\/g;
  $text =~ s/\n/\\n/g;
  $text =~ s/\r/\\r/g;
  return "s $text";
}

# Reads a message, or ends where the broker has.
sub get {
  return @{ value() };
}

sub value {
  local $/ = "\n";
  my $line = readline($input) // exit 0;
  chomp $line;
  my ($kind, $rest) = (substr($line, 0, 1), substr($line, 2) // '');
  return undef if $kind eq 'n';
  return $kind eq 'T' if $kind eq 'T' || $kind eq 'F';
  return 0 + $rest if $kind eq 'i' || $kind eq 'f';
  return [map { value() } 1 .. $rest] if $kind eq 'l';
  return { map { (value(), value()) } 1 .. $rest } if $kind eq 'd';
  $rest =~ s/\\(.)/$1 eq 'n' ? "\n" : $1 eq 'r' ? "\r" : $1/ge;
  utf8::decode($rest) if $wide;
  return $rest;
}

1;
