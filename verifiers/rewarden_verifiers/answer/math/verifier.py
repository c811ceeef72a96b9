"""`math`: compares the final answer of a response with the reference.

Rules extract the answer, and a bounded parser reads it into a tree. The reference is parsed once. The comparison takes
the cheapest path that decides: equal text, exact fractions, structure (tuples, sets, intervals, matrices, equations),
identity testing in a finite field, values to 50 and then 400 digits. No string is ever passed to an evaluator, and
every size is bounded before it is computed.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from rewarden.errors import MissingDependency
from rewarden.types import Outcome
from rewarden_verifiers.answer.loose import formula_ladder
from rewarden_verifiers.answer.math import fallback
from rewarden_verifiers.answer.math.compare import Comparison
from rewarden_verifiers.answer.math.equivalence import MathEquivalence
from rewarden_verifiers.answer.math.forms import Form, has_form
from rewarden_verifiers.answer.math.limits import Budget, TooExpensive, Unreadable
from rewarden_verifiers.answer.math.normalise import decimal_comma
from rewarden_verifiers.answer.math.prepared import PreparedReference, Reference, prepare_reference, readings, texts_of
from rewarden_verifiers.answer.math.scalars import Rules
from rewarden_verifiers.answer.math.syntax import Listing, Node, Text
from rewarden_verifiers.contract import Watch, verifier
from rewarden_verifiers.equivalence import Equivalence
from rewarden_verifiers.extraction import Extracted, Ladder
from rewarden_verifiers.outcome import loosely, no_answer, right, too_expensive, undecided, wrong

_STYLE = re.compile(r"\\(?:left|right|[dt]frac|displaystyle|[,!;:])(?![A-Za-z])")
_IDLE_BLANK = re.compile(r"(?<![\w.]) | (?![\w.])")
_LABEL = re.compile(r"[\s$]*[A-Za-z]'{0,3}(?:_\{?\w{1,9}\}?)?(?:\([A-Za-z]\))?\s*")


@dataclass(frozen=True, kw_only=True)
class MathParams:
    """Options of `math`.

    extraction: Rules that find the answer: `auto` (any marked answer, else a concluding last line, formula or number;
        if the prompt asks for a box or a tag, only that counts), `strict` (the last box or tag), `explicit` (any marked
        answer), `lax` (as `auto` but regardless of the prompt, and finally the last number), `whole` (the entire
        response), or an ordered list of rules.
    rel_tol: Relative tolerance for numbers, in place of the rules for decimals. If unset, a decimal must be a correct
        rounding with at least `significant_digits` digits.
    significant_digits: Digits that a rounded decimal needs to match an exact reference. For an exact answer and a
        rounded reference, one digit fewer is enough. 0: no rounding is accepted.
    strict: Turns leniency off: percent and degree signs are required, decimals are not rounded, variables keep their
        names, a tuple does not match a list, and units must be as written.
    symmetric: Also accepts an answer if only the reversed comparison (the answer as the reference) finds it equal.
    units: `lenient`: units are converted, a missing unit is accepted, a different unit is wrong; `require`: the
        reference's unit must be present; `ignore`: units are not compared.
    form: Form that the answer must also have: `simplified`, `lowest_terms`, `factored`, `expanded`, or `as_written`:
        as the reference, apart from blanks and LaTeX's display styles.
    """

    extraction: str | list[str | dict[str, str]] = "auto"
    rel_tol: float | None = None
    significant_digits: int = 4
    strict: bool = False
    symmetric: bool = False
    units: Literal["lenient", "require", "ignore"] = "lenient"
    form: Form | None = None

    def __post_init__(self) -> None:
        if self.rel_tol is not None and not 0 <= self.rel_tol < 1:
            raise ValueError("rel_tol must lie between 0 and 1")
        if not 0 <= self.significant_digits <= 50:
            raise ValueError("significant_digits must lie between 0 and 50")
        formula_ladder(self.extraction)

    @cached_property
    def ladder(self) -> Ladder:
        """The rules of extraction."""
        return formula_ladder(self.extraction)


def prepare(reference: Reference, params: MathParams, watch: Watch) -> PreparedReference:
    """Prepares the reference, once for all its candidates."""
    if any(map(fallback.concerns, texts_of(reference))):
        with watch.loading():
            preload()
    return prepare_reference(reference)


def preload() -> None:
    """Imports SymPy, if it is installed. Not every reference that may need it really does, such as `\\frac{d}{2}`."""
    with contextlib.suppress(MissingDependency):
        fallback.load()


def equivalence(params: MathParams) -> Equivalence:
    """The equivalence of answers under these parameters."""
    return MathEquivalence(params.ladder, rules_of(params))


def rules_of(params: MathParams) -> Rules:
    """Returns the rules of equality."""
    return Rules(
        rel_tol=params.rel_tol,
        significant_digits=0 if params.strict else params.significant_digits,
        units="require" if params.strict and params.units == "lenient" else params.units,
        strict=params.strict,
    )


def warm() -> None:
    """Evaluates once, so that the first pair in a fresh worker is no slower than the second."""
    comparison = Comparison(Rules())
    comparison.same(next(readings(r"\sin 1", 100)), next(readings(r"\cos(\frac{\pi}{2} - 1)", 100)))


@verifier(
    version="2",
    prepare=prepare,
    equivalence=equivalence,
    warm=warm,
    preload=preload,
    optional={"sympy": "references with an integral, a limit or a derivative"},
)
def math(
    response: str,
    prepared: PreparedReference,
    params: MathParams,
    prompt: str | None = None,
    finish_reason: str | None = None,
) -> Outcome:
    """Compares the final answer with the reference: numbers, expressions, equations, sets, intervals, matrices, units.

    These responses score 0, with the reason:

    - `no_answer`: the response contains no answer.
    - `hedged`: the answer gives several values ("12 or 13") although the reference is one.
    - `too_expensive`: the expression is too large to check.
    - `unparseable_answer`: the answer is not mathematics although the reference is.
    - `wrong_form`: the value is right, but not in the required `form`.
    - `wrong`: the answer differs from the reference.

    If the reference is empty, unreadable or too expensive, the outcome is undecided unless the answer equals it
    literally. The outcome is also undecided for a valid expression whose equality can be neither proven nor refuted. A
    reference is unreadable if it is incomplete ("3 +", "(1,2"), hedges ("12 or maybe 13") or is prose. Names ("odd",
    "First player", "Class 3") are compared as words. SymPy reads references with an integral, a limit or a derivative,
    and evaluates them if it can.

    The default is lenient, as trainers expect: a missing unit or degree sign, and `50%` for 50, are right unless
    `strict` is set. Labels (`x = 5` for 5), trailing conditions ("for all n") and bare lists in any order are always
    right. If only one side states a condition, modulus or quantifier, it is ignored; if both do, they must agree ("3
    (mod 7)" is not "3 (mod 6)"). `40_9` for 36 earns full marks with the flag `other_base`.
    """
    if prepared.problem is not None and not prepared.alternatives:
        return undecided(prepared.problem, fault="reference")
    found = params.ladder.find(response, prompt=prompt, finish_reason=finish_reason)
    if found is None:
        return no_answer(feedback=params.ladder.missed(response, prompt=prompt, finish_reason=finish_reason))
    outcome = judge(found, prepared, params)
    return loosely(outcome) if found.loose else outcome


def judge(found: Extracted, prepared: PreparedReference, params: MathParams) -> Outcome:
    """The outcome for the extracted answer."""
    evidence: dict[str, Any] = {"rule": found.rule}
    if prepared.reduced is not None:
        evidence["reference_reduced"] = prepared.reduced
    details: dict[str, Any] = {"extracted": found.text if len(found.texts) == 1 else list(found.texts)}
    details["evidence"] = evidence
    spelled = {_spelled(text) for text in found.texts}
    for index, alternative in enumerate(prepared.alternatives):
        if params.form in (None, "as_written") and spelled == {_spelled(alternative.text)}:
            return right(**details | {"evidence": {**evidence, "method": "text", "reference": index}})
    try:
        candidates = _candidates(found.texts, prepared)
    except (TooExpensive, Unreadable) as error:
        if prepared.fault is not None:
            return undecided(prepared.fault, fault="reference", **details)
        if isinstance(error, TooExpensive):
            return too_expensive(**details)
        return wrong("unparseable_answer", flags=("unparseable_answer",), **details)
    rules = rules_of(params)
    hedged = expensive = unknown = misshapen = False
    for index, alternative in enumerate(prepared.alternatives):
        for reference in alternative.nodes:
            for candidate in candidates:
                comparison = Comparison(rules)
                try:
                    verdict = comparison.same(reference, candidate)
                    if not verdict and params.symmetric:
                        verdict = Comparison(rules).same(candidate, reference) or verdict
                    if verdict and params.form and not has_form(params.form, candidate, reference, Budget()):
                        misshapen, verdict = True, False
                except TooExpensive:
                    expensive = True
                    continue
                if verdict:
                    if comparison.scalars.converted:
                        details["flags"] = ("other_base",)
                    evidence |= {"method": comparison.method, "reference": index}
                    return right(**details)
                hedged = hedged or comparison.hedged
                unknown = unknown or verdict is None
    agreed: bool | None = False
    for index, alternative in enumerate(prepared.alternatives):
        if alternative.beyond and params.form is None:
            agreed = _agreed(alternative.text, found.texts)
            if agreed:
                evidence |= {"method": "sympy", "reference": index}
                return right(**details)
            hedged = hedged or len(spelled) > 1
    if prepared.fault is not None:
        return undecided(prepared.fault, fault="reference", **details)
    if misshapen:
        return wrong("wrong_form", **details)
    if hedged:
        return wrong("hedged", flags=("hedged",), **details)
    if expensive:
        return _blame(prepared, candidates, details)
    if unknown:
        return undecided("undecided_equality", **details)
    if agreed is None or (
        isinstance(candidates[0], Text)
        and not any(isinstance(alternative.nodes[0], Text) for alternative in prepared.alternatives)
    ):
        return wrong("unparseable_answer", flags=("unparseable_answer",), **details)
    return wrong(**details)


def _agreed(reference: str, texts: Sequence[str]) -> bool | None:
    """Returns whether all answers agree with a reference in notation beyond the parser; None if one is unreadable.

    The right side of "f'(x) = 2x", or of an equation whose left side is the reference's own text, is the answer.
    """
    agreed: bool | None = True
    for text in dict.fromkeys(texts):
        same = fallback.same(reference, text)
        name, sign, value = text.rpartition("=")
        if same is None and sign and (_LABEL.fullmatch(name) or _spelled(name) == _spelled(reference)):
            same = fallback.same(reference, value)
        if same is False:
            return False
        agreed = agreed and same
    return agreed


def _spelled(text: str) -> str:
    """The text without optional LaTeX: sizes of brackets, display style, unneeded spaces."""
    if "\\" in text:
        text = _STYLE.sub(lambda command: "\\frac" if command[0].endswith("frac") else " ", text)
    return _IDLE_BLANK.sub("", " ".join(text.replace("$", " ").split()))


def _candidates(texts: Sequence[str], prepared: PreparedReference) -> list[Node]:
    """The readings of an answer; several texts form one list of alternatives."""
    if len(texts) > 64:
        raise TooExpensive("too many answers")
    if len(texts) > 1:
        return [Listing(tuple(next(readings(text, prepared.limit)) for text in texts), ",")]
    pointed = decimal_comma(texts[0], surely=True) if prepared.decimal_comma else None
    others = readings(pointed, prepared.limit) if pointed is not None else ()
    return [*readings(texts[0], prepared.limit), *others]


def _blame(prepared: PreparedReference, candidates: Sequence[Node], details: dict[str, Any]) -> Outcome:
    """Returns whose expression was too expensive: the reference's, if it cannot even be compared with a plain
    number.
    """
    for alternative in prepared.alternatives:
        for reference in alternative.nodes:
            try:
                Comparison(Rules()).same(reference, next(readings("1", 8)))
            except TooExpensive:
                return undecided("reference_too_expensive", fault="reference", **details)
    return too_expensive(**details)
