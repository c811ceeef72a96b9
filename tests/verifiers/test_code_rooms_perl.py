"""Programs in Perl, called and tested in two rooms: honest programs pass, and no cheat does."""

from __future__ import annotations

from typing import Any

import pytest

from tests.verifiers import rooms

pytestmark = [pytest.mark.needs_server, pytest.mark.group("languages")]

CLOSE_PROMPT = """# Returns whether two numbers lie closer than the threshold.
sub close_by {
    my($numbers, $threshold) = @_;
"""
CLOSE_TESTS = """
use Test::Deep;


sub testhumaneval {
    my $candidate = \\&close_by;
        if(eq_deeply($candidate->([1.0, 2.0, 2.2], 0.3),1)) {
            print "ok!" }else{
            exit 1;
        }
        if(eq_deeply($candidate->([1.0, 2.0], 0.3),"")) {
            print "ok!" }else{
            exit 1;
        }
}

testhumaneval();"""
CLOSE_BODY = """    my @sorted = sort { $a <=> $b } @$numbers;
    for my $at (1 .. $#sorted) {
        return 1 if $sorted[$at] - $sorted[$at - 1] < $threshold;
    }
    return "";
}
"""
COUNT_PROMPT = """# Returns how often each word occurs, and the words in their order.
sub count_words {
    my($text) = @_;
"""
COUNT_TESTS = """
use Test::Deep;

sub testhumaneval {
    my $candidate = \\&count_words;
    if(!eq_deeply($candidate->("é b\\\\ é"), {"words" => ["b\\\\", "é"], "é" => 2, "b\\\\" => 1})) { exit 1; }
    if(!eq_deeply($candidate->(""), {"words" => []})) { exit 1; }
    my ($first, @rest) = count_words("a\\nb\\nb");
    if(@rest or $first->{b} ne "2") { exit 1; }
    eval { $candidate->(undef) };
    if($@ !~ /no text/) { exit 1; }
}

testhumaneval();"""
COUNT_BODY = """    die "no text" if !defined $text;
    my %seen;
    $seen{$_}++ for split ' ', $text;
    return { %seen, words => [sort keys %seen] };
}
"""


def row(prompt: str, tests: str, entry: str) -> dict[str, Any]:
    return {
        "language": "perl",
        "prefix": prompt,
        "entry_point": entry,
        "stop": ["\nsub", "\n#", "\n\n"],
        "tests": [{"type": "assert", "code": tests}],
    }


CLOSE = row(CLOSE_PROMPT, CLOSE_TESTS, "close_by")
COUNT = row(COUNT_PROMPT, COUNT_TESTS, "count_words")


def calling(args: list[Any], returns: Any, target: str = "f", **more: Any) -> dict[str, Any]:
    return rooms.calling("perl", target, args, returns, **more)


def echoing(value: Any) -> dict[str, Any]:
    return calling([value], value)


ECHO = "sub f { return $_[0] }"
SOLUTION = "package Solution; sub new { bless { by => $_[1] }, $_[0] } sub f { $_[0]{by} * $_[1] }"
CALLS = [
    (1.0, "use strict;\nsub f { my ($a, $b) = @_; return $a + $b }\n1;", calling([1, 2], 3)),
    *((1.0, ECHO, echoing(value)) for value in (0.1, -7, "é\n\\n\r", None, [], {}, [[1], {"a": [None, 0.5]}], True)),
    (1.0, "use utf8;\nsub f { return length($_[0]) . 'é' }", calling(["éé"], "2é")),
    (1.0, "sub f { my ($n) = $_[0] =~ /(\\d+)/; return $n }", calling(["a12"], 12)),
    (1.0, "sub f { return $_[0] * 2 }", calling([6], "12")),
    (1.0, "sub f { return $_[0] > 6 }", calling([6], False)),
    (1.0, "sub f { return sort { $a <=> $b } @{$_[0]} }", calling([[3, 1, 2]], [1, 2, 3])),
    (1.0, "sub f { return grep { $_ > 2 } @{$_[0]} }", calling([[3, 1, 2]], [3])),
    (1.0, "use Math::BigInt;\nsub f { return Math::BigInt->new(2)->bpow($_[0]) }", calling([70], 2**70)),
    (1.0, SOLUTION, calling([3], 12, "Solution.f", init=[4])),
    (1.0, 'sub f { return map { "$_" } @{$_[0]} }', echoing(rooms.MANY)),
    (1.0, "sub f { return $_[0] }", calling([rooms.MANY], [str(number) for number in rooms.MANY])),
    (0.0, 'sub f { return map { "$_" } @{$_[0]} }', calling([rooms.MANY], [*rooms.MANY[:-1], 0])),
    (0.0, "sub f { my ($a, $b) = @_; return $a - $b }", calling([1, 2], 3)),
    (0.0, "sub f { return $_[0] * 2 }", calling([6], "12", "g")),
    (0.0, "sub f { return $_[0] * 2 }", calling([6], "13")),
    (0.0, "sub f { return 'nan' }", calling([], 3)),
    (
        0.0,
        "package Any; use overload '==' => sub { 1 }, '\"\"' => sub { 3 };\nsub main::f { bless [] }",
        calling([], 3),
    ),
    (0.0, "sub f { my @a; $a[0] = \\@a; return \\@a }", calling([], [])),
    (0.0, "sub f { exit 0 }", calling([], 3)),
    (0.0, "exit 0;\nsub f { 3 }", calling([], 3)),
    (0.0, "sub f { die 'no' }", calling([], 3)),
    (0.0, "sub f { 3", calling([], 3)),
]
FRAME = '{"id": 1, "is": "value", "value": {"l": [{"i": "1"}]}}'
ROOMS = [
    (1.0, CLOSE_BODY, CLOSE, "the continuation of a prompt"),
    (1.0, CLOSE_BODY + "\n# The end.\nexit 1;", CLOSE, "what follows a stop token is not part of it"),
    (1.0, f"use strict;\n{CLOSE_PROMPT}{CLOSE_BODY}", CLOSE, "a whole program"),
    (1.0, COUNT_BODY, COUNT, "texts, hashes, lists and an exception"),
    (0.0, "    return 1;\n}\n", CLOSE, "wrong"),
    (0.0, COUNT_BODY.replace("sort", "reverse sort"), COUNT, "wrong"),
    (0.0, "    exit 0;\n}\n", CLOSE, "leaves during the call"),
    (0.0, "    return 1;\n}\nexit 0;", CLOSE, "leaves while it loads"),
    (0.0, "    kill 9, $$, getppid;\n}\n", CLOSE, "ends what calls it"),
    (
        0.0,
        "    return bless [];\n}\nuse overload 'eq' => sub { 1 }, '==' => sub { 1 }, 'bool' => sub { 1 };",
        CLOSE,
        "an object that is equal to everything",
    ),
    (0.0, "    return 1;\n}\n*Test::Deep::eq_deeply = *main::eq_deeply = sub { 1 };", CLOSE, "replaces the assertion"),
    (
        0.0,
        '    open(my $out, ">&=", 99); syswrite($out, "l 2\\ns value\\nl 1\\nT\\n" x 9);\n    return 1;\n}',
        CLOSE,
        "forges answers",
    ),
    (
        0.0,
        f"    my $frame = pack('N/a*', '{FRAME}');\n"
        "    my $script = 'import os, sys; os.write(3, bytes.fromhex(sys.argv[1]))';\n"
        "    system('python3', '-c', $script, unpack('H*', $frame));\n"
        "    return 1;\n}",
        CLOSE,
        "forges frames",
    ),
    (
        0.0,
        '    open(my $out, ">&=", 4) or return 1;\n'
        '    syswrite($out, \'{"done": true, "outcome": "passed", "tests": {}, "provenance": {}}\');\n    return 1;\n}',
        CLOSE,
        "forges the report",
    ),
    (
        0.0,
        "    my @paths = ('tests_code.pl', glob('/proc/*/cwd/tests_code.pl'));\n"
        "    my $code = join '', map { open(my $in, '<', $_) ? <$in> : () } @paths;\n"
        "    return $code =~ /eq_deeply/ ? @$numbers > 2 : 1;\n}",
        CLOSE,
        "reads the other room",
    ),
    (0.0, '    return "\\xff";\n}', CLOSE, "returns what is not text"),
]


async def test_a_function_is_called_and_its_value_compared_outside() -> None:
    await rooms.assert_calls(CALLS)


async def test_a_function_is_tested_from_another_room() -> None:
    await rooms.assert_each(ROOMS)


async def test_one_process_is_the_references_choice_and_reports_with_a_nonce() -> None:
    await rooms.assert_shared(CLOSE, [(1.0, CLOSE_BODY), (0.0, "    return 1;\n}\n"), (0.0, "    exit 0;\n}\n")])


async def test_test_code_that_no_program_can_pass_is_the_references_fault() -> None:
    pairs = [
        (CLOSE_BODY, rooms.asserting(CLOSE, "close_bye([1], 1) or exit 1;")),
        (CLOSE_BODY, rooms.asserting(CLOSE, "if (")),
        (CLOSE_BODY, rooms.asserting(CLOSE, "close_by(sub { 1 }, 1);")),
        (CLOSE_BODY, CLOSE | {"entry_point": None}),
    ]
    await rooms.assert_references_at_fault(pairs)


async def test_a_row_of_multipl_e_is_judged_as_it_is_published() -> None:
    await rooms.assert_published("pl", CLOSE, CLOSE_BODY, "    return 1;\n}\n")
