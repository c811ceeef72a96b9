# The functions of Test::Deep by which tests compare values, for images that lack it.
package Test::Deep;

use strict;
use warnings;

sub import {
  no strict 'refs';
  my $caller = caller;
  *{"${caller}::$_"} = \&$_ for qw(eq_deeply cmp_deeply);
}

# Scalars are equal as texts, arrays and hashes if all in them is.
sub eq_deeply {
  my ($got, $expected) = @_;
  return defined $got eq defined $expected if !defined $got || !defined $expected;
  return 0 if ref $got ne ref $expected;
  if (ref $got eq 'ARRAY') {
    return 0 if @$got != @$expected;
    eq_deeply($got->[$_], $expected->[$_]) || return 0 for 0 .. $#$got;
    return 1;
  }
  if (ref $got eq 'HASH') {
    return 0 if keys %$got != keys %$expected;
    exists $got->{$_} && eq_deeply($got->{$_}, $expected->{$_}) || return 0 for keys %$expected;
    return 1;
  }
  return $got eq $expected ? 1 : 0;
}

sub cmp_deeply {
  my ($got, $expected, $name) = @_;
  require Test::More;
  return Test::More::ok(eq_deeply($got, $expected), $name);
}

1;
