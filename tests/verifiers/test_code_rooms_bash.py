"""Programs in Bash, called and tested in two rooms: honest programs pass, and no cheat does."""

from __future__ import annotations

from typing import Any

import pytest

from tests.verifiers import rooms

pytestmark = [pytest.mark.needs_server, pytest.mark.group("languages")]

CLOSE_PROMPT = """#!/bin/bash
# Prints whether two numbers lie closer than the threshold.
#
# $1 is a list of numbers, separated by spaces
# $2 is a number
close_by() {
"""
CLOSE_TESTS = """}

candidate() {
    close_by "$@"
}

set -e
run_test() {
    [[ $(candidate "1.0 2.0 2.2" "0.3") = "true" ]]
    [[ $(candidate "1.0 2.0" "0.3") = "false" ]]
}

run_test
"""
CLOSE_BODY = """    local -a sorted
    mapfile -t sorted < <(tr ' ' '\\n' <<< "$1" | sort -n)
    awk -v t="$2" 'NR > 1 && $1 - last < t { near = 1 } { last = $1 } END { print near ? "true" : "false" }' \\
        < <(printf '%s\\n' "${sorted[@]}")
"""
WORDS_PROMPT = """#!/bin/bash
# Prints how often each word occurs: a line "word,count" for each, in alphabetical order.
#
# $1 is a text
count_words() {
"""
WORDS_TESTS = """}

candidate() {
    count_words "$@"
}

set -e
run_test() {
    [[ $(candidate "é b é") = "b,1
é,2" ]]
    [[ $(candidate "") = "" ]]
    [[ $(candidate 'a\\n a\\n') = 'a\\n,2' ]]
}

run_test
"""
WORDS_BODY = """    declare -A seen
    local word
    set -f
    for word in $1; do seen["$word"]=$((${seen["$word"]:-0} + 1)); done
    for word in "${!seen[@]}"; do echo "$word,${seen["$word"]}"; done | sort
"""


def row(prompt: str, tests: str, entry: str) -> dict[str, Any]:
    return {
        "language": "sh",
        "prefix": prompt,
        "entry_point": entry,
        "stop": ["\n}"],
        "tests": [{"type": "assert", "code": tests}],
    }


CLOSE = row(CLOSE_PROMPT, CLOSE_TESTS, "close_by")
WORDS = row(WORDS_PROMPT, WORDS_TESTS, "count_words")


def calling(args: list[Any], returns: Any, target: str = "f", **more: Any) -> dict[str, Any]:
    return rooms.calling("bash", target, args, returns, **more)


CALLS = [
    (1.0, 'f() { echo "$(($1 + $2))"; }', calling([1, 2], "3")),
    (
        1.0,
        'function f { printf "%s|" "$@" x; }',
        calling(["é\\n", "a\nb", "", True, None, 0.5], "é\\n|a\nb||true||0.5|x|"),
    ),
    (1.0, 'set -euo pipefail\nIFS=,\nf() { for n in $1; do echo "<$n>"; done; false; }', calling([[1, 2]], "<1 2>")),
    (1.0, 'f() { sort <<< "$1"; }', calling([{"b": 1, "a": "x"}], "a,x\nb,1")),
    (1.0, "f() { echo done; return 3; }", calling([], "done")),
    (1.0, "f() { seq 0 99999; }", calling([], "\n".join(map(str, rooms.MANY)))),
    (0.0, "f() { seq 0 99998; }", calling([], "\n".join(map(str, rooms.MANY)))),
    (0.0, 'f() { echo "$(($1 - $2))"; }', calling([1, 2], "3")),
    (0.0, "g() { echo 3; }", calling([], "3")),
    (0.0, "cat() { echo 3; }", calling([], "3", "ls")),
    (0.0, "f() { echo 3; }\nexit 0", calling([], "3")),
    (0.0, "f() { kill -9 $$; echo 3; }", calling([], "3")),
    (0.0, "f() { head -c 9 /dev/urandom; }", calling([], "3")),
]
FORGED = '{"id": 1, "is": "value", "value": {"t": ["true", {"i": "0"}]}}'
ROOMS = [
    (1.0, CLOSE_BODY, CLOSE, "the continuation of a prompt"),
    (1.0, CLOSE_BODY + "}\nexit 1\n", CLOSE, "what follows a stop token is not part of it"),
    (1.0, f"close_by () {{\n{CLOSE_BODY}}}\n", CLOSE, "a whole program"),
    (1.0, WORDS_BODY, WORDS, "texts of several lines, and of none"),
    (0.0, "    echo true\n", CLOSE, "wrong"),
    (0.0, '    echo "$1"\n', WORDS, "wrong"),
    (0.0, "    exit 0\n", CLOSE, "leaves during the call"),
    (0.0, "close_by() { echo true; }\nexit 0\n", CLOSE, "leaves while it loads"),
    (0.0, "    kill -9 $$ $PPID\n", CLOSE, "ends what calls it"),
    (
        0.0,
        "    echo true\n}\nfunction [[ { return 0; }\ncandidate() { return 0; }\nrun_test() { return 0; }\n"
        "close_by() { echo true; ",
        CLOSE | {"stop": []},
        "replaces the assertion, in its own room",
    ),
    (
        0.0,
        "    printf 'l 2\\ns value\\nl 2\\ni 0\\ns true\\n%.0s' 1 2 3 >&99\n    echo true\n",
        CLOSE,
        "forges answers",
    ),
    (0.0, "    printf 'l 2\\ns value\\ns true\\n' >&99\n    echo true\n", CLOSE, "forges an answer of another shape"),
    (
        0.0,
        f'    python3 -c \'import os; b = b"""{FORGED}"""; os.write(3, len(b).to_bytes(4) + b)\'\n    echo true\n',
        CLOSE,
        "forges frames",
    ),
    (
        0.0,
        '    echo \'{"done": true, "outcome": "passed", "tests": {}, "provenance": {}}\' >&4\n    echo true\n',
        CLOSE,
        "forges the report",
    ),
    (
        0.0,
        "    if cat tests_code.sh ../*/tests_code.sh /proc/*/cwd/tests_code.sh | grep -q false; then\n"
        "        [[ $1 = *2.2 ]] && echo true || echo false\n    fi\n",
        CLOSE,
        "reads the other room",
    ),
    (0.0, "    printf '\\377'\n", CLOSE, "prints what is not text"),
]


async def test_a_function_is_called_with_texts_and_its_output_compared_outside() -> None:
    await rooms.assert_calls(CALLS)


async def test_a_function_is_tested_from_another_room() -> None:
    await rooms.assert_each(ROOMS)


async def test_the_tests_see_the_exit_status_of_a_function() -> None:
    tests = [{"type": "assert", "code": "if even 3; then exit 1; fi\neven 4 && [[ -z $(even 4) ]]"}]
    reference = {"language": "bash", "entry_point": "even", "tests": tests}
    bodies = ["even() { (( $1 % 2 == 0 )); }", "even() { true; }", "even() { false; }"]
    verdicts = await rooms.judged([(body, reference) for body in bodies], extraction="whole")
    assert [verdict.score for verdict in verdicts] == [1.0, 0.0, 0.0]


async def test_one_process_is_the_references_choice_and_reports_with_a_nonce() -> None:
    await rooms.assert_shared(
        CLOSE, [(1.0, CLOSE_BODY), (0.0, "    echo true\n"), (0.0, "close_by() { echo true; }\nexit 0\n")]
    )


async def test_test_code_that_no_program_can_pass_is_the_references_fault() -> None:
    pairs = [
        (CLOSE_BODY, rooms.asserting(CLOSE, "}\nset -e\nclose_bye 1 2")),
        (CLOSE_BODY, rooms.asserting(CLOSE, "}\nif (")),
        (CLOSE_BODY, CLOSE | {"entry_point": None}),
        ("f() { echo 3; }", calling([], 3)),
    ]
    await rooms.assert_references_at_fault(pairs)


async def test_a_row_of_multipl_e_is_judged_as_it_is_published() -> None:
    await rooms.assert_published("sh", CLOSE, CLOSE_BODY, "    echo true\n")
