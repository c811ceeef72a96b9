"""The verifier `output`: compares a text, or the return value of a call, with the expected one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from rewarden.errors import InvalidReference
from rewarden.types import Outcome
from rewarden_verifiers.contract import verifier
from rewarden_verifiers.execution import calls
from rewarden_verifiers.execution.checkers import TextChecker, TextType, compare
from rewarden_verifiers.execution.tagged import Untagged
from rewarden_verifiers.execution.values import ValueChecker
from rewarden_verifiers.outcome import right, wrong

_REASONS = {"WA": "wrong_answer", "PE": "presentation_error", "RE": "runtime_error"}


@dataclass(frozen=True, kw_only=True)
class OutputParams:
    """Options of `output`.

    type: How to compare. `exact`: byte for byte. `trimmed`: ignoring white space at the end of each line and of the
        text. `tokens`: word by word. `lines`: word by word on each line, without empty lines. `floats`: word by word,
        with a tolerance for numbers. `unordered_lines`: the lines in any order. `regex`: the reference, or `pattern`,
        is a pattern in RE2 syntax, in which a dot also matches the end of a line. `value`: the response is the value
        that a call in the sandbox returned, as tagged JSON (docs/tagged-codec.md), and the reference is the expected
        JSON value.
    abs, rel: Tolerances for `floats` (both 1e-6 if neither is given) and for the floats in a `value` (1e-12 and 1e-9).
        If only one is given, the other is 0.
    ignore_case: Whether to ignore the case of ASCII letters.
    spaces: Whether `tokens` and `floats` compare the white space too, byte for byte.
    pattern: The pattern for `regex`, the same for every sample.
    match: `full`: the whole text matches; `search`: part of it matches.
    unordered: Whether the list in a `value` can be in any order; `deep` includes the lists within it.
    strict: Whether the types in a `value` must match too.
    language: The language of the program that returned a `value`. If the language has one type for several of JSON's,
        the value is compared as the type of the expected one (docs/rooms.md).
    """

    type: TextType | Literal["value"] = "trimmed"
    abs: float | None = None
    rel: float | None = None
    ignore_case: bool = False
    spaces: bool = False
    pattern: str | None = None
    match: Literal["full", "search"] = "full"
    unordered: bool | Literal["deep"] = False
    strict: bool = False
    language: str | None = None

    def __post_init__(self) -> None:
        self.checker  # noqa: B018 - evaluated now, so that an error is reported once, and not for each sample

    @cached_property
    def checker(self) -> TextChecker | ValueChecker:
        """The parameters as a checker."""
        if self.type == "value":
            if self.spaces:
                raise ValueError("spaces belongs to the checkers 'tokens' and 'floats', not to 'value'")
            return ValueChecker(abs=self.abs, rel=self.rel, unordered=self.unordered, strict=self.strict)
        if self.unordered or self.strict:
            raise ValueError(f"unordered and strict belong to the checker 'value', not to {self.type!r}")
        if self.language is not None:
            raise ValueError(f"language belongs to the checker 'value', not to {self.type!r}")
        return TextChecker(
            type=self.type,
            abs=self.abs,
            rel=self.rel,
            ignore_case=self.ignore_case,
            spaces=self.spaces,
            pattern=self.pattern,
            match=self.match,
        )


@verifier(version="2", view="full")
def output(response: str, params: OutputParams, reference: Any = None) -> Outcome:
    """The whole response is the expected output, compared as `code` compares the output of a program.

    NaN, infinities and numbers beyond the range of a double match only the same characters; only ASCII digits count as
    digits. `presentation_error` means that the words are right but the white space is wrong. Patterns run on RE2, which
    cannot backtrack.
    """
    checker = params.checker
    if isinstance(checker, ValueChecker):
        try:
            returned = calls.judge(checker, as_bytes(response), reference, params.language)
        except Untagged as error:
            raise InvalidReference(f"reference: it is not a value: {error}", path="reference") from None
        if returned.verdict == "AC":
            return right(evidence={"verdict": "AC"})
        return _wrong(returned.verdict, returned.message, (returned.flag,) if returned.flag else ())
    if not isinstance(reference, str) and (reference is not None or checker.pattern is None):
        raise InvalidReference("reference: output needs a text", path="reference")
    try:
        found = compare(checker, as_bytes(response), as_bytes(reference or ""))
    except ValueError as error:  # the pattern comes from the reference, and it is invalid
        raise InvalidReference(f"reference: {error}", path="reference") from None
    if found.verdict == "AC":
        return right(evidence={"verdict": "AC"})
    return _wrong(found.verdict, found.where, ())


def _wrong(verdict: str, where: str | None, flags: tuple[str, ...]) -> Outcome:
    return wrong(_REASONS[verdict], evidence={"verdict": verdict}, feedback=where, flags=flags)


def as_text(data: bytes) -> str:
    """Decodes bytes to a text that `as_bytes` converts back."""
    return data.decode("utf-8", "surrogateescape")


def as_bytes(text: str) -> bytes:
    """Encodes a text. A lone surrogate stands for a single byte or, if that is impossible, for itself."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
