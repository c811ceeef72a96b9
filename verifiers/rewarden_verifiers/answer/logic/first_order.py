"""`first_order`: how far a formula of first-order logic agrees with the reference, by their truth tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, permutations, product
from typing import Any

from rapidfuzz.distance import Levenshtein

from rewarden.errors import InvalidReference
from rewarden.types import Outcome
from rewarden_verifiers.answer.logic import formulas
from rewarden_verifiers.answer.logic.formulas import MOST_LITERALS, Formula, NoFormulaError
from rewarden_verifiers.contract import verifier
from rewarden_verifiers.extraction import Rule, rules_of
from rewarden_verifiers.outcome import scored, wrong
from rewarden_verifiers.puzzles import answers

_MOST_BINDINGS = 1_000
_MOST_ORDERS = 120
_LETTER = re.compile(r"[a-z]")


@dataclass(frozen=True, kw_only=True)
class FirstOrderParams:
    """Options of `first_order`.

    quantifiers: Whether a formula with other quantifiers scores 0. If false, they are not read.
    bindings: How many pairings of the literals of the two formulas to try; the best one counts. 1: only the pairing of
        the most similar names.
    above_constants: Subtracts what the better of "true" and "false" would score, so that saying nothing earns nothing.
    threshold: Lowest score that passes.
    extraction: Rules that find the answer; see docs/extraction.md. `strict`: a box or an answer tag.
    """

    quantifiers: bool = True
    bindings: int = 1
    above_constants: bool = True
    threshold: float = 1.0
    extraction: str | tuple[str | dict[str, str], ...] = "strict"

    def __post_init__(self) -> None:
        self.rules  # noqa: B018 - worked out now, so that a mistake is told once and not for each sample
        if not 1 <= self.bindings <= _MOST_BINDINGS:
            raise ValueError(f"bindings must lie between 1 and {_MOST_BINDINGS}")
        if not 0 < self.threshold <= 1:
            raise ValueError("threshold must be above 0 and at most 1")

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The rules of extraction."""
        return rules_of(self.extraction)


@dataclass(frozen=True, slots=True, eq=False)
class Wanted:
    """A prepared reference. If quantifiers count, variables are marked by theirs."""

    formula: Formula
    literals: Sequence[str]
    quantifiers: str


def prepare(reference: str, params: FirstOrderParams) -> Wanted:
    """Prepares the reference. Raises InvalidReference."""
    try:
        formula = formulas.read(reference)
    except NoFormulaError as error:
        raise InvalidReference(f"the reference is not a formula: {error}", path="reference") from None
    if params.quantifiers:
        formula = formulas.numbered(formula)
    found = formulas.literals(formula)
    if len(found) > MOST_LITERALS:
        raise InvalidReference(f"the reference has over {MOST_LITERALS} literals", path="reference")
    return Wanted(formula, found, formulas.quantifiers(formula))


@verifier(version="1", graded=True, prepare=prepare)
def first_order(response: str, prepared: Wanted, params: FirstOrderParams) -> Outcome:
    """Compares a formula of first-order logic with the reference: the share of rows in which their truth tables agree.

    Formulas are written with symbols (`∀x (Cat(x) → Mammal(x))`), LaTeX commands or ASCII (`forall x. Cat(x) -> …`).
    Each literal, such as `Owns(x, y)`, is an input of the truth table. Literals are paired by the edit distance of
    their texts, so other names for the same things score the same; a literal without a counterpart is a separate input.
    Quantifiers are compared separately: they must be of the same kinds in the same order, after negations are moved
    inwards.

    By default, a formula with different quantifiers scores 0 (`quantifiers_differ`). So does one in which a predicate
    of the reference has the variables of other quantifiers (`arguments_differ`): `∀x ∃y Loves(y, x)` is not `∀x ∃y
    Loves(x, y)`. The names of variables, and the order of neighbouring quantifiers of one kind, do not matter. Only the
    pairing of the most similar names counts, so that `Mammal(x) → Cat(x)` is not `Cat(x) → Mammal(x)`, and the score
    that a constant would earn is subtracted. LogicLLaMA's published score (arXiv 2305.15541) has none of these rules;
    to reproduce it, set `quantifiers` and `above_constants` to false and `bindings` to 1000.

    Further reasons for 0: `no_answer`, `hedged`, `malformed` (not a formula), `too_complex` (over 12 literals),
    `wrong`.
    """
    found = answers.find(response, params.rules)
    if isinstance(found, Outcome):
        return found
    evidence: dict[str, Any] = {"rule": found.rule}
    shown: dict[str, Any] = {"extracted": found.text[: answers.EXCERPT], "evidence": evidence}
    try:
        formula = formulas.read(found.text)
    except NoFormulaError as error:
        return wrong("malformed", flags=("malformed",), feedback=str(error), **shown)
    if len(formulas.literals(formula)) > MOST_LITERALS:
        return wrong("too_complex", feedback=f"it has over {MOST_LITERALS} literals", **shown)
    ways: Iterable[Formula] = (formula,)
    if params.quantifiers:
        if formulas.quantifiers(formula) != prepared.quantifiers:
            return wrong("quantifiers_differ", **shown)
        ways = _orders(formula, prepared.quantifiers)
    agreements = [_agreement(one, formulas.literals(one), prepared, params) for one in ways]
    share, constant = max((one for one in agreements if one is not None), default=(None, None))
    if share is None or constant is None:
        return wrong("arguments_differ", **shown)
    score = share
    if params.above_constants:
        score = max(0.0, (share - constant) / (1 - constant)) if constant < 1 else float(share == 1)
    passed = score >= params.threshold
    reason = None if passed else "partly_right" if score else "wrong"
    evidence |= {"share": share, "constant": constant}
    return scored(score, passed=passed, reason=reason, **shown)


def _orders(formula: Formula, quantifiers: str) -> Iterator[Formula]:
    """Yields the formula with its variables marked by the reference's quantifiers, for each order of adjacent
    quantifiers of one kind.
    """
    runs: list[list[int]] = []
    for place, kind in enumerate(quantifiers):
        if place and kind == quantifiers[place - 1]:
            runs[-1].append(place)
        else:
            runs.append([place])
    formula = formulas.numbered(formula)
    orders = product(*(islice(permutations(run), _MOST_ORDERS) for run in runs))
    for order in islice(orders, _MOST_ORDERS):
        yield formulas.marked(formula, [place for run in order for place in run])


def _agreement(
    formula: Formula, own: Sequence[str], wanted: Wanted, params: FirstOrderParams
) -> tuple[float, float] | None:
    """Returns the share of rows in which two formulas agree under the best pairing, and the share that the better
    constant would reach; None if every pairing gives a predicate the wrong variables.
    """
    count = max(len(own), len(wanted.literals))
    columns, rows = formulas.columns(count), 1 << count
    expected = formulas.table(wanted.formula, dict(zip(wanted.literals, columns, strict=False)), rows)
    true = expected.bit_count()
    best = None
    for binding in _bindings(wanted.literals, own, count, params.bindings):
        pairs = [(one, wanted.literals[at]) for one, at in zip(own, binding, strict=True) if at < len(wanted.literals)]
        if params.quantifiers and any(_crossed(*pair) for pair in pairs):
            continue
        inputs = {literal: columns[place] for literal, place in zip(own, binding, strict=True)}
        best = max(best or 0, rows - (formulas.table(formula, inputs, rows) ^ expected).bit_count())
        if best == rows:
            break
    return None if best is None else (best / rows, max(true, rows - true) / rows)


def _crossed(own: str, wanted: str) -> bool:
    """Returns whether two literals of one predicate have variables of different quantifiers."""
    # Attack: `Loves(y, x)`, or `Loves(x, x)`, for `Loves(x, y)`.
    if own.partition("(")[0].casefold() != wanted.partition("(")[0].casefold():
        return False
    ones, others = formulas.arguments(own), formulas.arguments(wanted)
    if len(ones) != len(others):
        return False
    # A single letter bound by no quantifier is a mistake in the reference, and can mean any variable.
    pairs = [(one, other) for one, other in zip(ones, others, strict=True) if not _LETTER.fullmatch(other)]
    return any(formulas.marks(one) != formulas.marks(other) for one, other in pairs)


def _bindings(wanted: Sequence[str], own: Sequence[str], count: int, most: int) -> Iterator[list[int]]:
    """Yields pairings: for each literal of the response, the index of a literal of the reference, or one beyond them;
    the most similar names first.
    """
    near = sorted(
        (Levenshtein.distance(one, other), place, at)
        for place, one in enumerate(wanted)
        for at, other in enumerate(own)
    )
    first: dict[int, int] = {}
    for _, place, at in near:
        if at not in first and place not in first.values():
            first[at] = place
    free = [place for place in range(count) if place not in first.values()]
    yield [first[at] if at in first else free.pop(0) for at in range(len(own))]
    far = max(map(len, (*wanted, *own)), default=0) + 1
    ranks: list[list[int]] = []
    for one in own:
        distances = [*(Levenshtein.distance(one, other) for other in wanted), *[far] * (count - len(wanted))]
        ranks.append(sorted(range(count), key=distances.__getitem__))
    left = most - 1
    stack: list[tuple[int, ...]] = [()]
    while stack and left > 0:
        taken = stack.pop()
        if len(taken) == len(own):
            left -= 1
            yield list(taken)
            continue
        stack.extend((*taken, place) for place in reversed(ranks[len(taken)]) if place not in taken)
