"""Compares a program's output with the expected output: pure functions on bytes, one pass over each text.

Each comparison states exactly what it ignores. None parses a number before checking that it is an ASCII number, and
none builds an integer from digits: `10**7` digits are compared as text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import re2

from rewarden_verifiers.execution.values import Tolerance

TextType = Literal["exact", "trimmed", "tokens", "lines", "floats", "unordered_lines", "regex"]
Agreement = Literal["AC", "WA", "PE"]

_BLANK = b" \t\r\n\v\f"
_WITHIN = b" \t\r\v\f"
_WORD = re.compile(rb"[^ \t\r\n\v\f]+")
_ENDS = re.compile(rb"[\r\n]")
_NUMBER = re.compile(rb"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_LONGEST_NUMBER = 5_000
"""The maximum length of a number in characters: further digits do not change a double."""
_EXCERPT = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class TextChecker(Tolerance):
    """The settings of a comparison; see `compare`. Raises ValueError for invalid ones."""

    USUAL = 1e-6, 1e-6

    type: TextType = "trimmed"
    ignore_case: bool = False
    spaces: bool = False
    pattern: str | None = None
    match: Literal["full", "search"] = "full"

    def __post_init__(self) -> None:
        Tolerance.__post_init__(self)
        if self.type != "floats" and (self.abs is not None or self.rel is not None):
            raise ValueError(f"abs and rel belong to the checker 'floats', not to {self.type!r}")
        if self.spaces and self.type not in ("tokens", "floats"):
            raise ValueError(f"spaces belongs to the checkers 'tokens' and 'floats', not to {self.type!r}")
        if self.type != "regex" and (self.pattern is not None or self.match != "full"):
            raise ValueError(f"pattern and match belong to the checker 'regex', not to {self.type!r}")
        if self.type == "regex" and self.pattern is not None:
            compiled(self.pattern, self.ignore_case)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of a comparison. `PE`: the right tokens with the wrong white space. `where` shows both texts on one
    line.
    """

    verdict: Agreement
    where: str | None = None


AGREES = Comparison("AC")


def compare(checker: TextChecker, output: bytes, expected: bytes) -> Comparison:
    """Compares an output with the expected one.

    exact: byte for byte. trimmed: without white space at the end of each line and of the text. tokens: the same words,
    with any white space between them. lines: the same words on the same lines, not counting empty ones. floats: the
    same words, where a number can differ by `abs` or by `rel` of the expected one; NaN and infinities are not numbers,
    and match only themselves. unordered_lines: the same lines, as in trimmed, in any order. regex: the text without
    white space at its end matches the pattern (RE2), or contains a match. With `spaces`, tokens and floats compare the
    white space as well, byte for byte.

    Raises ValueError for a pattern that RE2 rejects.
    """
    return _COMPARE[checker.type](checker, output, expected)


def kattis(flags: Sequence[str]) -> TextChecker:
    """Returns the checker that behaves as the default validator of Kattis and DOMjudge with these flags. Raises
    ValueError.

    Without flags it compares words and ignores case. NaN, infinities and hexadecimal numbers count as words.
    """
    given: dict[str, float] = {}
    switches: set[str] = set()
    left = list(flags)
    while left:
        flag = left.pop(0)
        if flag in ("case_sensitive", "space_change_sensitive"):
            switches.add(flag)
            continue
        names = _TOLERANCES.get(flag)
        if names is None:
            raise ValueError(f"the default validator has no flag {flag!r}")
        if not left or not _NUMBER.fullmatch(left[0].encode("utf-8", "replace")):
            raise ValueError(f"the flag {flag!r} needs a number")
        if given.keys() & set(names):
            raise ValueError(f"the flag {flag!r} sets a tolerance twice")
        given |= dict.fromkeys(names, float(left.pop(0)))
    return TextChecker(
        type="floats" if given else "tokens",
        abs=given.get("abs"),
        rel=given.get("rel"),
        ignore_case="case_sensitive" not in switches,
        spaces="space_change_sensitive" in switches,
    )


_TOLERANCES: Mapping[str, Sequence[str]] = {
    "float_tolerance": ("abs", "rel"),
    "float_absolute_tolerance": ("abs",),
    "float_relative_tolerance": ("rel",),
}


def _exact(checker: TextChecker, output: bytes, expected: bytes) -> Comparison:
    if output == expected or (checker.ignore_case and output.lower() == expected.lower()):
        return AGREES
    return _differs(checker, output, expected, output.split(b"\n"), expected.split(b"\n"))


def _trimmed(checker: TextChecker, output: bytes, expected: bytes) -> Comparison:
    if output == expected:
        return AGREES
    got, wanted = _lines(checker, output), _lines(checker, expected)
    return AGREES if got == wanted else _differs(checker, output, expected, got, wanted)


def _tokens(checker: TextChecker, output: bytes, expected: bytes) -> Comparison:
    got, wanted = _words(checker, output), _words(checker, expected)
    if got == wanted:
        return _spaced(checker, output, expected)
    for place, (one, other) in enumerate(zip(got, wanted, strict=False), start=1):
        if one != other:
            return Comparison("WA", f"token {place}: expected {shown(other)}, got {shown(one)}")
    return _count("tokens", got, wanted)


def _floats(checker: TextChecker, output: bytes, expected: bytes) -> Comparison:
    got, wanted = _words(checker, output), _words(checker, expected)
    if got == wanted:
        return _spaced(checker, output, expected)
    if len(got) != len(wanted):
        return _count("tokens", got, wanted)
    near, share = checker.tolerance
    for place, (one, other) in enumerate(zip(got, wanted, strict=True), start=1):
        if one != other and not _close(one, other, near, share):
            return Comparison("WA", f"token {place}: expected {shown(other)}, got {shown(one)}")
    return _spaced(checker, output, expected)


def _spaced(checker: TextChecker, output: bytes, expected: bytes) -> Comparison:
    """Returns the result if the words match: with `spaces`, the white space decides."""
    if not checker.spaces or _WORD.split(output) == _WORD.split(expected):
        return AGREES
    return Comparison("PE", "the white space differs")


def _by_line(checker: TextChecker, output: bytes, expected: bytes) -> Comparison:
    got, wanted = list(_worded(checker, output)), list(_worded(checker, expected))
    if got == wanted:
        return AGREES
    return _differs(checker, output, expected, [b" ".join(line) for line in got], [b" ".join(line) for line in wanted])


def _unordered(checker: TextChecker, output: bytes, expected: bytes) -> Comparison:
    got, wanted = sorted(_lines(checker, output)), sorted(_lines(checker, expected))
    if got == wanted:
        return AGREES
    if len(got) != len(wanted):
        return _count("lines", got, wanted)
    one, other = next((one, other) for one, other in zip(got, wanted, strict=True) if one != other)
    return Comparison("WA", f"of the sorted lines, expected {shown(other)}, got {shown(one)}")


def _regex(checker: TextChecker, output: bytes, expected: bytes) -> Comparison:
    # Without a pattern in the checker, each test's expected output is the pattern.
    pattern = checker.pattern if checker.pattern is not None else expected.decode("utf-8", "replace").rstrip("\r\n")
    found = compiled(pattern, checker.ignore_case)
    text = output.decode("utf-8", "replace").rstrip()
    matched = found.fullmatch(text) if checker.match == "full" else found.search(text)
    return AGREES if matched is not None else Comparison("WA", f"{shown(output)} does not match the pattern")


_COMPARE: Mapping[TextType, Callable[[TextChecker, bytes, bytes], Comparison]] = {
    "exact": _exact,
    "trimmed": _trimmed,
    "tokens": _tokens,
    "lines": _by_line,
    "floats": _floats,
    "unordered_lines": _unordered,
    "regex": _regex,
}


def beyond_repair(checker: TextChecker, output: bytes, expected: bytes) -> bool:
    """Returns whether an output is already wrong, whatever may follow."""
    if checker.type == "exact":
        return not _folded(checker, expected).startswith(_folded(checker, output))
    if checker.type == "trimmed":
        # The last line may be incomplete, so it does not count yet.
        whole = [line.rstrip(_WITHIN) for line in _folded(checker, output).split(b"\n")[:-1]]
        wanted = _lines(checker, expected)
        return any(line != (wanted[place] if place < len(wanted) else b"") for place, line in enumerate(whole))
    if checker.type in ("tokens", "lines", "floats"):
        got, wanted = _words(checker, output), _words(checker, expected)
        if not output[-1:].isspace():
            del got[-1:]
        differing = [pair for pair in zip(got, wanted, strict=False) if pair[0] != pair[1]]
        if checker.type == "floats":
            differing = [pair for pair in differing if not _close(*pair, *checker.tolerance)]
        return len(got) > len(wanted) or bool(differing)
    return False


@lru_cache(maxsize=256)
def compiled(pattern: str, ignore_case: bool) -> Any:
    """Compiles a pattern with RE2, which does not backtrack. Raises ValueError if RE2 rejects it."""
    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = not ignore_case
    options.dot_nl = True
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        raise ValueError(f"RE2 refuses the pattern {pattern[:100]!r}: {error}") from None
    except UnicodeEncodeError:
        raise ValueError("the pattern contains half of a surrogate pair") from None


def shown(text: bytes) -> str:
    """Returns the beginning of a text, quoted, on one line."""
    more = "…" if len(text) > _EXCERPT else ""
    return repr(text[:_EXCERPT].decode("utf-8", "replace")) + more


def _lines(checker: TextChecker, text: bytes) -> list[bytes]:
    """Returns the lines without white space at their ends, and without empty ones at the end of the text."""
    return [line.rstrip(_WITHIN) for line in _folded(checker, text).rstrip(_BLANK).split(b"\n")]


def _words(checker: TextChecker, text: bytes) -> list[bytes]:
    # Only ASCII white space: a no-break space is part of a word.
    return _folded(checker, text).split()


def _worded(checker: TextChecker, text: bytes) -> Iterator[list[bytes]]:
    """Yields the words of each line that has any."""
    return (words for line in _ENDS.split(_folded(checker, text)) if (words := line.split()))


def _folded(checker: TextChecker, text: bytes) -> bytes:
    return text.lower() if checker.ignore_case else text


def _close(got: bytes, wanted: bytes, near: float, share: float) -> bool:
    """Returns whether two different tokens are numbers within the tolerance."""
    if max(len(got), len(wanted)) > _LONGEST_NUMBER:
        return False
    # `float` accepts "nan", "inf", "1_0" and the digits of every script; the pattern accepts none of them.
    if not (_NUMBER.fullmatch(got) and _NUMBER.fullmatch(wanted)):
        return False
    one, other = float(got), float(wanted)
    # 1e400 parses as infinity, which would be close to any number.
    if not (math.isfinite(one) and math.isfinite(other)):
        return False
    return abs(one - other) <= max(near, share * abs(other))


def _differs(checker: TextChecker, output: bytes, expected: bytes, got: list[bytes], wanted: list[bytes]) -> Comparison:
    """Returns PE if only white space differs, else WA, with the first line that differs."""
    differing = (n for n, (one, other) in enumerate(zip(got, wanted, strict=False)) if one != other)
    place = next(differing, min(len(got), len(wanted)))
    one = shown(got[place]) if place < len(got) else "the end"
    other = shown(wanted[place]) if place < len(wanted) else "the end"
    where = f"line {place + 1}: expected {other}, got {one}"
    return Comparison("PE" if _words(checker, output) == _words(checker, expected) else "WA", where)


def _count(what: str, got: list[bytes], wanted: list[bytes]) -> Comparison:
    return Comparison("WA", f"expected {len(wanted)} {what}, got {len(got)}")
