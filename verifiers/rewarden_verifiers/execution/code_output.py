"""The verifier `code_output`: checks a prediction of a program's output for an input, or of an input for an output."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

from rewarden.errors import InvalidReference
from rewarden.types import Outcome, Use
from rewarden_verifiers.contract import Context, verifier
from rewarden_verifiers.execution.literals import Unread, arguments_of, value_of
from rewarden_verifiers.extraction import Rule, encodable, rules_of
from rewarden_verifiers.outcome import right, wrong
from rewarden_verifiers.puzzles import answers

_AS_GIVEN = {"part": "full", "special_tokens": []}
_COMPARED = ("AC", "WA", "PE")
"""Verdicts of programs that ran to the end and produced output."""
_EMPTY = ('""', "''")


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeOutputReference:
    """A program, and its input or its output.

    ask: `output` asks for the output of the given input, `input` for an input that leads to the given output. entry:
    the function to call; without it, the program reads stdin and prints. args, kwargs: the function's input; if an
    input is asked for, a known right one, used as a control. returns: its output. stdin, stdout: the same for a program
    that reads and prints. limits: as for `code`.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    code: str
    ask: Literal["output", "input"] = "output"
    language: str = "python"
    entry: str | None = None
    args: tuple[Any, ...] | None = None
    kwargs: dict[str, Any] | None = None
    returns: Any = None
    stdin: str | None = None
    stdout: str | None = None
    limits: dict[str, float] | None = None


@dataclass(frozen=True, kw_only=True)
class CodeOutputParams:
    """Options of `code_output`.

    checker: How printed texts are compared: `exact`, `trimmed` (ignoring white space at the ends of lines and of the
        text), `tokens` (word by word) or `floats` (word by word, with a tolerance for numbers).
    strict: Whether the types of values must match: 1 is then not True or 1.0, and a tuple is not a list.
    extraction: Rules that find the answer; see docs/extraction.md. `strict`: a box or an answer tag.
    """

    checker: Literal["exact", "trimmed", "tokens", "floats"] = "trimmed"
    strict: bool = False
    extraction: str | tuple[str | dict[str, str], ...] = "strict"

    def __post_init__(self) -> None:
        self.rules  # noqa: B018 - worked out now, so that a mistake is told once and not for each sample

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The rules of extraction."""
        return rules_of(self.extraction)


def _of_code() -> Use:
    """Returns `code`, which takes the whole response as the program."""
    params = {
        "extraction": ["whole"],
        "completion": "never",
        "provenance": "flag",
        "syntax_errors": "compile_error",
        "view": _AS_GIVEN,
    }
    return Use(name="code", params=params)


@verifier(version="1", determinism="sampled", children=lambda params: [_of_code()])
async def code_output(response: str, reference: CodeOutputReference, params: CodeOutputParams, ctx: Context) -> Outcome:
    """Checks a prediction of a program's output, or an input that leads to an output, by running the program.

    The reference is the program with an input, `{code, entry, args}` or `{code, stdin}`, or with `ask: input` and an
    output as well, `{code, entry, args, returns}` or `{code, stdin, stdout}`. These are the two directions of CRUXEval
    (Gu et al. 2024, arXiv 2401.03065). The program runs in the sandbox, in any language of `code`. Any input that leads
    to the output is right.

    The values of a function are written as Python or JSON writes them: numbers, texts, lists, tuples, dictionaries,
    sets, `None`; never an expression. The output can follow the call (`assert f(1) == 2`), and an input can be the call
    or its arguments (`f(1, [2])` or `1, [2]`). Values are compared as in `code`. Printed text is taken from the answer
    as it is; empty output is written `""`.

    These responses score 0: no answer (`no_answer`), two answers (`hedged`), one that is not a value (`malformed`), a
    different output (`wrong_answer`), or an input with which the program fails or exceeds a limit (`runtime_error`,
    `time_limit`, `memory_limit`, `output_limit`). If the program fails on the reference's own input, or produces
    another output for it, the reference is at fault.
    """
    _validate(reference)
    found = answers.find(response, params.rules)
    if isinstance(found, Outcome):
        return found
    text = found.text
    shown: dict[str, Any] = {"extracted": text[: answers.EXCERPT], "evidence": {"rule": found.rule}}
    try:
        test = _test(reference, text)
    except Unread as error:
        return wrong("malformed", feedback=str(error), **shown)
    judged = await _run(test, reference, params, ctx)
    if judged.status != "scored":
        return judged
    verdict = judged.evidence.get("verdict")
    shown["evidence"] |= {"verdict": verdict}
    if verdict == "AC":
        return right(**shown)
    if reference.ask == "output":
        if verdict not in _COMPARED:
            raise InvalidReference(f"the program fails on its own input: {judged.reason}", path="reference.code")
        return wrong("wrong_answer", **shown)
    control = await _run(_known(reference), reference, params, ctx)
    if control.status != "scored":
        return control
    if control.evidence.get("verdict") != "AC":
        raise InvalidReference(
            f"the program does not give the output for the reference's own input: {control.reason}",
            path="reference.code",
        )
    return wrong("wrong_answer" if verdict in _COMPARED else judged.reason or "runtime_error", **shown)


def _validate(reference: CodeOutputReference) -> None:
    """Raises InvalidReference for fields that do not belong together."""
    if not reference.code.strip():
        raise InvalidReference("the program is blank", path="reference.code")
    called, printed = ("args", "kwargs", "returns"), ("stdin", "stdout")
    for name in printed if reference.entry is not None else called:
        if getattr(reference, name) is not None:
            other = "no entry" if name in printed else "an entry"
            raise InvalidReference(f"{name} belongs to a program with {other}", path=f"reference.{name}")
    if reference.ask == "output":
        for name in ("returns", "stdout"):
            if getattr(reference, name) is not None:
                raise InvalidReference(f"{name} is what the response gives", path=f"reference.{name}")
    elif reference.entry is None and reference.stdout is None:
        raise InvalidReference("an input is asked for: give the stdout that it leads to", path="reference.stdout")
    if reference.entry is not None and reference.args is None and reference.kwargs is None:
        raise InvalidReference("a call needs args or kwargs", path="reference.args")
    if reference.ask == "input" and reference.entry is None and reference.stdin is None:
        raise InvalidReference("a control needs the stdin that leads to the output", path="reference.stdin")


def _test(reference: CodeOutputReference, text: str) -> dict[str, Any]:
    """Returns the test that an answer implies for the program. Raises Unread."""
    entry = reference.entry
    if encodable(text) != text:
        raise Unread("the answer has half of a character")
    if entry is None:
        given = "" if text in _EMPTY else text
        if reference.ask == "output":
            return {"type": "stdio", "stdin": reference.stdin or "", "stdout": given}
        return {"type": "stdio", "stdin": given, "stdout": reference.stdout}
    if reference.ask == "output":
        returns = value_of(text, entry)
        return _call(entry, reference.args or (), reference.kwargs or {}, returns)
    args, kwargs = arguments_of(text, entry)
    return _call(entry, args, kwargs, reference.returns)


def _known(reference: CodeOutputReference) -> dict[str, Any]:
    """Returns the test with the reference's own input, which is known to be right."""
    if reference.entry is None:
        return {"type": "stdio", "stdin": reference.stdin, "stdout": reference.stdout}
    return _call(reference.entry, reference.args or (), reference.kwargs or {}, reference.returns)


def _call(entry: str, args: Any, kwargs: Mapping[str, Any], returns: Any) -> dict[str, Any]:
    return {"type": "call", "target": entry, "args": list(args), "kwargs": dict(kwargs), "returns": returns}


async def _run(
    test: Mapping[str, Any], reference: CodeOutputReference, params: CodeOutputParams, ctx: Context
) -> Outcome:
    """Runs one test and returns the program's outcome. An answer cannot make it raise: its values were parsed
    before.
    """
    if test["type"] == "call":
        checker: dict[str, Any] = {"type": "value", "strict": params.strict}
    else:
        checker = {"type": params.checker}
    suite = {
        "language": reference.language,
        "tests": [{**test, "checker": checker}],
        "limits": reference.limits or {},
    }
    return await ctx.verify(_of_code(), response=reference.code, reference=suite)
