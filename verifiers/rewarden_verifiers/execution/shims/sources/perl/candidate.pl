# The candidate's room: loads the program and calls its functions.
use strict;
use warnings;
require './rewarden/values.pl';

my ($mode) = splice(@ARGV);

# Returns the function of a target, `f` or `Solution.f`, and the object that it is called on.
sub Rewarden::found {
  my ($target, $init) = @_;
  my ($name, $method) = split /\./, $target;
  no strict 'refs';
  if (!defined $method) { return defined &{"main::$name"} ? \&{"main::$name"} : () }
  my $object = $name->can('new') ? $name->new(@$init) : bless({}, $name);
  my $code = $object->can($method);
  return $code ? ($code, $object) : ();
}

sub Rewarden::answered {
  my ($target, $args, $init) = @_;
  # Tests call in the context that they need. What else is called may return a list.
  my $list = $mode eq 'serve' ? shift @$args : 1;
  my ($code, @object) = Rewarden::found($target, $init) or return ('absent');
  my @results = $list ? $code->(@object, @$args) : scalar $code->(@object, @$args);
  return ('value', $mode eq 'serve' ? \@results : @results == 1 ? $results[0] : @results ? \@results : undef);
}

sub Rewarden::serve {
  if (!eval { Rewarden::load('solution.pl'); 1 }) {
    Rewarden::put('unloaded', 'die', "$@");
    return;
  }
  Rewarden::put('loaded');
  while (1) {
    my (undef, @question) = Rewarden::get();
    my @answer = eval { Rewarden::answered(@question) };
    @answer = ('raised', ref $@ || 'die', "$@") if !@answer;
    next if eval { Rewarden::put(@answer); 1 };
    Rewarden::put('uncrossable', ref $@ eq 'SCALAR' ? ${$@} : 'a value that fails');
  }
}

Rewarden::serve();
