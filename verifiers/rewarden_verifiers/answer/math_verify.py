"""`math_verify`: the verdict of the Math-Verify library, for users whose earlier results came from it.

The library reads both sides with SymPy and compares them symbolically. Its judgement is not changed here, mistakes
included; `math` is the verifier to train with. It runs in a worker that is killed at the limit of CPU time. The
library's own alarm, which works only in a main thread, is therefore switched off.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from rewarden.errors import MissingDependency
from rewarden.types import Outcome
from rewarden_verifiers.contract import verifier
from rewarden_verifiers.outcome import no_answer, right, undecided, wrong
from rewarden_verifiers.preset import Preset

Target = Literal["latex", "expr", "string"]

_DELIMITED = re.compile(r"\$|\\boxed|\\fbox|\\\[|\\\(")


@dataclass(frozen=True, slots=True, kw_only=True)
class MathVerifyParams:
    r"""Options of `math_verify`, with the library's names and defaults wherever it has them.

    preset: `math_verify`: the library's `verify(parse(reference), parse(response))`, as in its README. The reference is
        passed unchanged. If it cannot be parsed, every answer but the same text is wrong.
    reference_as: Form in which the library receives the reference: `text`, unchanged; `boxed`, in `\boxed{}`, as in
        verl and others; `auto`, boxed unless it already has math delimiters. The library reads LaTeX only within
        delimiters.
    reference_targets: Kinds of answer to look for in the reference, in order of preference: `latex`, `expr` (plain
        numbers and expressions), `string` (one of the letters A to D).
    response_targets: Kinds of answer to look for in the response.
    boxed_match_priority: Rank of a box among LaTeX answers; the lowest rank is tried first.
    try_extract_without_anchor: Also accepts answers that no words such as "the final answer is" introduce.
    extraction_mode: `any_match`: the first match that can be parsed; `first_match`: only the first match.
    fallback_mode: `first_match`: an answer that cannot be parsed is compared as text; `no_fallback`: it does not count.
    strict: Variables keep their names, and a set does not match a tuple.
    float_rounding: Decimal places to which numbers are rounded.
    numeric_precision: Digits to which expressions are evaluated.
    allow_set_relation_comp: A relation can equal a set (`1 < x < 2` and `(1, 2)`), also if the reference is the set.
    """

    presets: ClassVar[Mapping[str, Preset]] = {"math_verify": Preset(sets={"reference_as": "text"})}

    preset: Literal["math_verify"] | None = None
    reference_as: Literal["auto", "text", "boxed"] = "auto"
    reference_targets: tuple[Target, ...] = ("latex", "expr")
    response_targets: tuple[Target, ...] = ("latex", "expr")
    boxed_match_priority: int = 50
    try_extract_without_anchor: bool = True
    extraction_mode: Literal["any_match", "first_match"] = "any_match"
    fallback_mode: Literal["first_match", "no_fallback"] = "first_match"
    strict: bool = True
    float_rounding: int = 6
    numeric_precision: int = 15
    allow_set_relation_comp: bool = False


def load() -> None:
    """Imports the library and SymPy. Raises MissingDependency."""
    try:
        importlib.import_module("math_verify")
        importlib.import_module("sympy")
    except ModuleNotFoundError as error:
        raise MissingDependency(
            f"verifier 'math_verify' needs the package {error.name!r}: pip install 'rewarden-server[sympy]'",
            verifier="math_verify",
        ) from error


def _parsed(text: str, targets: tuple[Target, ...], params: MathVerifyParams) -> list[Any]:
    """Returns the result of the library's parser: an expression and its text, only a text, or nothing."""
    from math_verify import ExprExtractionConfig, LatexExtractionConfig, StringExtractionConfig, parse

    anchor = params.try_extract_without_anchor
    configs = {
        "latex": LatexExtractionConfig(
            try_extract_without_anchor=anchor, boxed_match_priority=params.boxed_match_priority
        ),
        "expr": ExprExtractionConfig(try_extract_without_anchor=anchor),
        "string": StringExtractionConfig(try_extract_without_anchor=anchor),
    }
    found: list[Any] = parse(
        text,
        extraction_config=[configs[target] for target in targets],
        fallback_mode=params.fallback_mode,
        extraction_mode=params.extraction_mode,
        parsing_timeout=None,
    )
    return found


@dataclass(frozen=True, slots=True)
class Prepared:
    """The reference as the library reads it. sound: it read more than a text, and the result equals itself."""

    found: list[Any]
    sound: bool


def prepare(reference: str | int | float, params: MathVerifyParams) -> Prepared:
    """Prepares the reference, once for all its candidates. Raises MissingDependency."""
    load()
    from sympy import Integer

    text = str(reference)
    boxed = params.reference_as == "boxed" or (params.reference_as == "auto" and not _DELIMITED.search(text))
    found = _parsed(f"\\boxed{{{text}}}" if boxed else text, params.reference_targets, params)
    # If a reference cannot even be compared with a plain number in time, stop here, where no response is blamed.
    _same(found, [Integer(1)], params)
    # A reference that cannot be parsed only yields its text. A requested letter (`string`) yields both.
    return Prepared(found, sound=len(found) > 1 and _same(found, found, params))


def _same(reference: list[Any], found: list[Any], params: MathVerifyParams) -> bool:
    from math_verify import verify
    from sympy.core.random import seed

    seed(0)  # SymPy tests some identities at random points: make the verdict on a pair reproducible
    same: bool = verify(
        reference,
        found,
        float_rounding=params.float_rounding,
        numeric_precision=params.numeric_precision,
        strict=params.strict,
        allow_set_relation_comp=params.allow_set_relation_comp,
        timeout_seconds=None,
    )
    return same


def warm() -> None:
    """Imports SymPy and the library's grammar, and compares once: in a fresh worker this takes two seconds."""
    # It warns, once per process, that its time is not limited. The worker's CPU limit does that.
    logging.getLogger("math_verify").setLevel(logging.ERROR)
    params = MathVerifyParams()
    with contextlib.suppress(MissingDependency):
        math_verify(r"\boxed{\frac{1}{2}}", prepare(r"\frac{2}{4}", params), params)


@verifier(
    version="2",
    view="full",
    prepare=prepare,
    warm=warm,
    requires=("sympy",),
    libraries=("latex2sympy2_extended", "sympy"),
)
def math_verify(response: str, prepared: Prepared, params: MathVerifyParams) -> Outcome:
    """Returns the verdict of the Math-Verify library, unchanged.

    Use it to reproduce earlier results, and to compare it with `math` before you switch: `rewarden compare math
    math_verify --on FILE`. As in the trainers, it reads the whole response, reasoning included (`view` changes that).
    Two points differ from the library:

    - Time: the library gives up after 5 s, a worker after its limit of CPU time (`engine.item_cpu_s`, 2 s by default).
      Both score 0.
    - References: if the library cannot parse the reference, or the reference does not equal itself, the outcome is
      undecided. The library instead rejects every answer that is not the same text. So does `preset: math_verify`; it
      leaves the outcome undecided only if the library finds nothing at all in the reference, which its `math_metric`
      refuses.
    """
    if not prepared.found:
        return undecided("unreadable_reference", fault="reference")
    found = _parsed(response, params.response_targets, params)
    if not found:
        return no_answer()
    # Only its texts: writing an expression out can take forever.
    extracted = next((each for each in reversed(found) if isinstance(each, str)), None)
    if _same(prepared.found, found, params):
        return right(extracted=extracted)
    if not prepared.sound and params.preset is None:
        return undecided("unreadable_reference", fault="reference", extracted=extracted)
    return wrong(extracted=extracted)
