"""`symbolic_regression`: how well an expression fits points that it has not seen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

from rewarden.errors import InvalidReference
from rewarden.types import Component, Outcome
from rewarden_verifiers.answer.math.limits import TooExpensive
from rewarden_verifiers.answer.math.numeric import Undefined
from rewarden_verifiers.answer.math.syntax import Node
from rewarden_verifiers.contract import verifier
from rewarden_verifiers.extraction import Rule, rules_of
from rewarden_verifiers.outcome import scored, too_expensive, wrong
from rewarden_verifiers.puzzles import answers
from rewarden_verifiers.science.expressions import (
    FUNCTIONS,
    MOST_WORK,
    NoExpression,
    expression,
    size,
    skeleton,
    symbol,
    values,
)

MOST_POINTS = 500
_EXACT = 1e-6
"""The largest error of an equivalent expression, as a share of the values' spread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegressionReference:
    """Points that the response has not seen.

    variables: the names of the variables. points: for each point, a value of each variable. values: the value to find
    at each point. expression: the expression that gives the values, instead of them or for `skeleton`.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    variables: tuple[str, ...]
    points: tuple[tuple[float, ...], ...]
    values: tuple[float, ...] | None = None
    expression: str | None = None


@dataclass(frozen=True, kw_only=True)
class RegressionParams:
    """Options of `symbolic_regression`.

    measure: `r2`: the coefficient of determination, at least 0 (1 - NMSE); `within`: the share of points within
        `tolerance`; `equivalent`: 1 if every point is met, but for rounding; `skeleton`: 1 if the expression differs
        from the reference's in constants alone.
    tolerance: The error that `within` allows, as a share of the value to find.
    affine: Whether the best factor and the best summand are fitted to the expression first.
    functions: The functions that may be used.
    most_nodes: The most numbers, names, operators and functions of an expression; a larger one scores 0.
    free_nodes: The complexity that costs nothing.
    discount: The factor of the score for each node beyond `free_nodes`; 1: complexity costs nothing.
    threshold: Lowest score that passes.
    extraction: Rules that find the answer; see docs/extraction.md. `strict`: a box or an answer tag.
    """

    measure: Literal["r2", "within", "equivalent", "skeleton"] = "r2"
    tolerance: float = 0.1
    affine: bool = False
    functions: tuple[str, ...] = FUNCTIONS
    most_nodes: int = 100
    free_nodes: int = 0
    discount: float = 1.0
    threshold: float = 0.999
    extraction: str | tuple[str | dict[str, str], ...] = "strict"

    def __post_init__(self) -> None:
        self.rules  # noqa: B018 - worked out now, so that a mistake is told once and not for each sample
        unknown = [name for name in self.functions if name not in FUNCTIONS]
        if unknown:
            raise ValueError(f"functions: there is no {unknown[0]!r}; there is {', '.join(FUNCTIONS)}")
        if not 0 < self.tolerance <= 1 or not 0 < self.discount <= 1 or not 0 < self.threshold <= 1:
            raise ValueError("tolerance, discount and threshold must be above 0 and at most 1")
        if not 1 <= self.most_nodes <= 500 or not 0 <= self.free_nodes <= self.most_nodes:
            raise ValueError("most_nodes must lie between 1 and 500, and free_nodes between 0 and most_nodes")

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The rules of extraction."""
        return rules_of(self.extraction)


@dataclass(frozen=True, eq=False)
class Data:
    """A reference, read. spread: the sum of the squares of the values' distances from their mean."""

    variables: Sequence[str]
    points: Sequence[Sequence[float]]
    wanted: Sequence[float]
    spread: float
    expression: Node | None


def prepare(reference: RegressionReference, params: RegressionParams) -> Data:
    """The reference, read. Raises InvalidReference, naming the field."""
    try:
        variables = [symbol(name) for name in reference.variables]
    except NoExpression as error:
        raise InvalidReference(str(error), path="reference.variables") from None
    if not variables or len(set(variables)) < len(variables):
        raise InvalidReference("variables must be named, each once", path="reference.variables")
    points = reference.points
    if not 2 <= len(points) <= MOST_POINTS:
        raise InvalidReference(f"there must be 2 to {MOST_POINTS} points", path="reference.points")
    if len(points) * params.most_nodes > MOST_WORK:
        raise InvalidReference(
            f"{len(points)} points are too many for {params.most_nodes} nodes", path="reference.points"
        )
    for place, point in enumerate(points):
        if len(point) != len(variables) or not all(map(math.isfinite, point)):
            raise InvalidReference(
                f"a point has a finite value for each of the {len(variables)} variables",
                path=f"reference.points[{place}]",
            )
    node = None
    if reference.expression is not None:
        try:
            node = expression(reference.expression, variables)
            wanted = values(node, variables, points)
        except (NoExpression, Undefined, TooExpensive) as error:
            raise InvalidReference(
                f"the expression cannot be evaluated: {error}", path="reference.expression"
            ) from None
    if reference.values is not None:
        if len(reference.values) != len(points) or not all(map(math.isfinite, reference.values)):
            raise InvalidReference("there must be a finite value for each point", path="reference.values")
        wanted = list(reference.values)
    elif node is None:
        raise InvalidReference("the reference needs values or an expression", path="reference.values")
    if params.measure == "skeleton" and node is None:
        raise InvalidReference("skeleton needs the expression", path="reference.expression")
    spread = _spread(wanted)
    if not math.isfinite(spread) or spread <= 1e-24 * math.fsum(one * one for one in wanted):
        raise InvalidReference("all values are equal, or too large: any constant would fit", path="reference.values")
    return Data(variables, points, wanted, spread, node)


@verifier(version="2", graded=True, prepare=prepare)
def symbolic_regression(response: str, prepared: Data, params: RegressionParams) -> Outcome:
    """Scores an expression by its fit at points that the response has not seen, by equivalence, and by complexity.

    The reference has the names of the variables, the points, and the values to find or the expression that gives them.
    Choose points that are not in the prompt; otherwise, an expression that merely passes through the points of the
    prompt is rewarded. The answer is an expression or an equation (`y = …`), written as for `math`: `2.5*x**2 +
    sin(y)`, `\\frac{1}{2} m v^2`. It is read by the same parser, which evaluates nothing that it does not know.

    `r2` is 1 - NMSE, where NMSE is the squared error divided by that of the mean, so that the best constant earns 0.
    The evidence contains R², NMSE, RMSE, the mean absolute error (`mae`), the number of points, and the complexity: the
    number of numbers, names, operators and functions, each power, root and sign counted as one. With `discount`, the
    score is multiplied by it for each node beyond `free_nodes`. `skeleton` replaces constants and compares the forms,
    with the order of terms and factors ignored; exponents count. With `affine`, the expression is right up to a
    constant factor and offset.

    These responses score 0: no answer (`no_answer`), several (`hedged`), anything but an expression in these variables
    and functions (`malformed`), one without a real value at a point (`undefined`), one with too many nodes
    (`too_complex`) or too expensive to evaluate (`too_expensive`).
    """
    found = answers.find(response, params.rules)
    if isinstance(found, Outcome):
        return found
    evidence: dict[str, Any] = {"rule": found.rule}
    shown: dict[str, Any] = {"extracted": found.text[: answers.EXCERPT], "evidence": evidence}
    try:
        node = expression(found.text, prepared.variables, params.functions)
        evidence["complexity"] = size(node)
        if size(node) > params.most_nodes:
            return wrong("too_complex", **shown)
        given = values(node, prepared.variables, prepared.points)
    except NoExpression as error:
        return wrong("malformed", feedback=str(error), **shown)
    except Undefined:
        return wrong("undefined", feedback="it has no real value at one of the points", **shown)
    except TooExpensive:
        return too_expensive(**shown)
    if params.affine:
        given = _fitted(given, prepared.wanted)
    errors = [(one - other) ** 2 for one, other in zip(given, prepared.wanted, strict=True)]
    nmse = math.fsum(errors) / prepared.spread
    evidence |= {
        "nmse": nmse,
        "rmse": math.sqrt(math.fsum(errors) / len(errors)),
        "mae": math.fsum(map(math.sqrt, errors)) / len(errors),
        "r2": 1 - nmse,
        "points": len(errors),
    }
    fit = _fit(node, given, errors, nmse, prepared, params)
    discount = params.discount ** max(0, size(node) - params.free_nodes)
    score = fit * discount
    passed = score >= params.threshold
    return scored(
        score,
        passed=passed,
        reason=None if passed else "wrong" if not fit else "poor_fit" if fit < params.threshold else "complex",
        components={
            "fit": Component(status="scored", score=fit),
            "simplicity": Component(status="scored", score=discount),
        },
        **shown,
    )


def _fit(
    node: Node, given: Sequence[float], errors: Sequence[float], nmse: float, prepared: Data, params: RegressionParams
) -> float:
    if params.measure == "skeleton":
        assert prepared.expression is not None
        return float(skeleton(node) == skeleton(prepared.expression))
    if params.measure == "within":
        pairs = zip(given, prepared.wanted, strict=True)
        return sum(abs(one - wanted) <= params.tolerance * abs(wanted) for one, wanted in pairs) / len(given)
    if params.measure == "equivalent":
        return float(max(errors) <= _EXACT**2 * prepared.spread / len(errors))
    return max(0.0, 1 - nmse)


def _spread(numbers: Sequence[float]) -> float:
    mean = math.fsum(numbers) / len(numbers)
    return math.fsum((one - mean) ** 2 for one in numbers)


def _fitted(given: Sequence[float], wanted: Sequence[float]) -> list[float]:
    """The values with the factor and the summand that fit best; the mean where they are all equal."""
    mean, target = math.fsum(given) / len(given), math.fsum(wanted) / len(wanted)
    spread = _spread(given)
    if spread <= 1e-24 * math.fsum(one * one for one in given):
        return [target] * len(given)
    pairs = zip(given, wanted, strict=True)
    factor = math.fsum((one - mean) * (other - target) for one, other in pairs) / spread
    return [target + factor * (one - mean) for one in given]
