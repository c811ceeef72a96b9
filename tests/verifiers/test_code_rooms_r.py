"""Programs in R, called and tested in two rooms: honest programs pass, and no cheat does."""

from __future__ import annotations

from typing import Any

import pytest

from tests.verifiers import rooms

pytestmark = [pytest.mark.needs_server, pytest.mark.group("languages")]

CLOSE_PROMPT = """# Returns whether two numbers lie closer than the threshold.
close_by <- function(numbers, threshold) {
"""
CLOSE_TESTS = """
test_humaneval <- function() {
candidate <- close_by
    if(!identical(candidate(c(1.0, 2.0, 2.2), 0.3), TRUE)){quit('no', 1)}
    if(!identical(candidate(c(1.0, 2.0), 0.3), FALSE)){quit('no', 1)}
}
test_humaneval()"""
CLOSE_BODY = """    gaps <- diff(sort(numbers))
    any(gaps < threshold)
}
"""
COUNT_PROMPT = """# Returns how often each word occurs, and the words in their order.
count_words <- function(text) {
"""
COUNT_TESTS = """
test_humaneval <- function() {
candidate <- count_words
    if(!identical(candidate("é \\\\ é"), list(words = c("\\\\", "é"), counts = c(1L, 2L), none = NULL))){quit('no', 1)}
    if(!identical(candidate(""), list(words = character(0), counts = integer(0), none = NULL))){quit('no', 1)}
    if(!identical(count_words(text = "a\\nb\\nb")$counts, c(1L, 2L))){quit('no', 1)}
    fault <- tryCatch(candidate(NULL), error = conditionMessage)
    if(!identical(fault, "no text")){quit('no', 1)}
}
test_humaneval()"""
COUNT_BODY = """    if (is.null(text)) stop("no text")
    words <- strsplit(text, "[ \\n]+")[[1]]
    sorted <- sort(unique(words))
    list(words = sorted, counts = vapply(sorted, function(word) sum(words == word), 0L, USE.NAMES = FALSE), none = NULL)
}
"""
KINDS_TESTS = """
test_humaneval <- function() {
candidate <- same
    values <- list(NULL, NA, NA_real_, NaN, -Inf, 1L, 0.1, "", NA_character_, c(a = 1, b = NA), matrix(1:6, 2), list(),
                   list(1, "a", list(TRUE, NULL)), c(TRUE, NA), 2^60, list(a = NULL, b = c("x", NA)))
    for (value in values) if(!identical(candidate(value), value)){quit('no', 1)}
}
test_humaneval()"""


def row(prompt: str, tests: str, entry: str) -> dict[str, Any]:
    return {
        "language": "r",
        "prefix": prompt,
        "entry_point": entry,
        "stop": ["\n#", "\n```"],
        "tests": [{"type": "assert", "code": tests}],
    }


CLOSE = row(CLOSE_PROMPT, CLOSE_TESTS, "close_by")
COUNT = row(COUNT_PROMPT, COUNT_TESTS, "count_words")
KINDS = row("# Returns its argument.\nsame <- function(value) {\n", KINDS_TESTS, "same")


def calling(args: list[Any], returns: Any, target: str = "f", **more: Any) -> dict[str, Any]:
    return rooms.calling("r", target, args, returns, **more)


def echoing(value: Any) -> dict[str, Any]:
    return calling([value], value)


ECHO = "f <- function(x) x"
NESTED = {"a": [0.1, -7], "b": 2**52, "c": None, "d": [], "e": {}, "f": [3], "g": [[1], {"a": [0.5, False]}], "h": True}
PLAIN = ("é\n\\n\r", [], [None, "a"], NESTED)
SOLUTION = "Solution <- setRefClass('Solution', methods = list(f = function(x) 4 * x))"
CALLS = [
    (1.0, "f = function(a, b) {\n  a + b\n}", calling([1, 2], 3)),
    *((1.0, ECHO, echoing(value)) for value in PLAIN),
    (1.0, "f <- function(x) nchar(x)", calling(["éé"], 2)),
    (1.0, "rm(list = ls())\nf <- function(x) x[x > 2]", calling([[3, 1, 2]], [3])),
    (1.0, "c <- function(...) 0\nf <- function(x) sapply(x, nchar)", calling([["a", "bb"]], [1, 2])),
    (1.0, "f <- function(x) as.list(table(x))", calling([["b", "a", "b"]], {"a": 1, "b": 2})),
    (1.0, "f <- function() matrix(1:4, 2)", calling([], [[1, 3], [2, 4]])),
    (1.0, "f <- function() factor('a')", calling([], "a")),
    (1.0, "Solution.f <- function(x) 4 * x", calling([3], 12, "Solution.f")),
    (1.0, "Solution <- function(by) list(f = function(x) by * x)", calling([3], 12, "Solution.f", init=[4])),
    (1.0, SOLUTION, calling([3], 12, "Solution.f")),
    (1.0, "f <- function(xs) xs + 1", calling([rooms.MANY], [number + 1 for number in rooms.MANY])),
    (1.0, "f <- function(xs) as.list(xs)", calling([rooms.MANY], [[number] for number in rooms.MANY])),
    (0.0, "f <- function(xs) as.list(xs)", calling([rooms.MANY], [[number] for number in [*rooms.MANY[:-1], 0]])),
    (0.0, "f <- function(a, b) a - b", calling([1, 2], 3)),
    (0.0, "g <- function() 3", calling([], 3)),
    (0.0, "f <- function() '3'", calling([], 3)),
    (0.0, "f <- function() NULL", calling([], 3)),
    (0.0, "f <- function() NA", calling([], True)),
    (0.0, "f <- function() structure(3, class = 'any')\n'==.any' <- function(a, b) TRUE", calling([], 4)),
    (0.0, "f <- function() f", calling([], 3)),
    (0.0, "f <- function() quit('no', 0)", calling([], 3)),
    (0.0, "quit('no', 0)\nf <- function() 3", calling([], 3)),
    (0.0, "f <- function() stop('no')", calling([], 3)),
    (0.0, "f <- function() {", calling([], 3)),
]
FRAME = '{"id": 1, "is": "value", "value": {"l": ["logical", {"l": [true]}, {"l": []}]}}'
ANSWER = "l 2\\ns value\\nl 3\\ns logical\\nl 1\\nT\\nl 0\\n"
ROOMS = [
    (1.0, CLOSE_BODY, CLOSE, "the continuation of a prompt"),
    (1.0, CLOSE_BODY + "\n# The end.\nquit('no', 1)", CLOSE, "what follows a stop token is not part of it"),
    (1.0, f"{CLOSE_PROMPT}{CLOSE_BODY}", CLOSE, "a whole program"),
    (1.0, COUNT_BODY, COUNT, "texts, lists, NULL and an error"),
    (1.0, "    value\n}", KINDS, "every type of value"),
    (0.0, "    TRUE\n}\n", CLOSE, "wrong"),
    (
        0.0,
        COUNT_BODY.replace("0L, USE", "0, USE").replace("sum(", "0 + sum("),
        COUNT,
        "doubles, where integers are expected",
    ),
    (0.0, "    quit('no', 0)\n}\n", CLOSE, "leaves during the call"),
    (0.0, "    TRUE\n}\nquit('no', 0)", CLOSE, "leaves while it loads"),
    (0.0, "    tools::pskill(Sys.getpid(), 9)\n}\n", CLOSE, "ends itself"),
    (
        0.0,
        "    structure(TRUE, class = 'any')\n}\nidentical <- function(...) TRUE\n'!.any' <- function(x) FALSE",
        CLOSE,
        "an object that is equal to everything, and another assertion",
    ),
    (
        0.0,
        f"    cat(strrep('{ANSWER}', 9), file = file('/dev/fd/99', 'w', raw = TRUE))\n    TRUE\n}}",
        CLOSE,
        "forges answers",
    ),
    (
        0.0,
        f"    frame <- c(writeBin(nchar('{FRAME}'), raw(), endian = 'big'), charToRaw('{FRAME}'))\n"
        "    writeBin(frame, pipe('cat >&3', 'wb'))\n    TRUE\n}",
        CLOSE,
        "forges frames",
    ),
    (
        0.0,
        '    report <- \'{"done": true, "outcome": "passed", "tests": {}, "provenance": {}}\'\n'
        "    cat(report, file = pipe('cat >&4', 'w'))\n"
        "    TRUE\n}",
        CLOSE,
        "forges the report",
    ),
    (
        0.0,
        "    code <- system('cat tests_code.R /proc/*/cwd/tests_code.R', intern = TRUE)\n"
        "    !any(grepl('identical', code)) || length(numbers) > 2\n}",
        CLOSE,
        "reads the other room",
    ),
    (0.0, "    rawToChar(as.raw(255))\n}", CLOSE, "returns what is not text"),
]


async def test_a_function_is_called_and_its_value_compared_outside() -> None:
    await rooms.assert_calls(CALLS)


async def test_a_function_is_tested_from_another_room() -> None:
    await rooms.assert_each(ROOMS)


async def test_one_process_is_the_references_choice_and_reports_with_a_nonce() -> None:
    await rooms.assert_shared(CLOSE, [(1.0, CLOSE_BODY), (0.0, "    TRUE\n}\n"), (0.0, "    quit('no', 0)\n}\n")])


async def test_test_code_that_no_program_can_pass_is_the_references_fault() -> None:
    pairs = [
        (CLOSE_BODY, rooms.asserting(CLOSE, "close_bye(1, 1)")),
        (CLOSE_BODY, rooms.asserting(CLOSE, "if (")),
        (CLOSE_BODY, rooms.asserting(CLOSE, "close_by(print, 1)")),
        (CLOSE_BODY, CLOSE | {"entry_point": None}),
    ]
    await rooms.assert_references_at_fault(pairs)


async def test_a_row_of_multipl_e_is_judged_as_it_is_published() -> None:
    await rooms.assert_published("r", CLOSE, CLOSE_BODY, "    TRUE\n}\n")
