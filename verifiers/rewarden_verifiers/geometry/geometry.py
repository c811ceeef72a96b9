"""`geometry`: checks values, claims and constructions in numerical diagrams of a plane geometry problem."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from rewarden.types import Outcome
from rewarden_verifiers.answer.math.limits import TooExpensive
from rewarden_verifiers.contract import verifier
from rewarden_verifiers.extraction import Rule, rules_of
from rewarden_verifiers.geometry import predicates, values
from rewarden_verifiers.geometry.diagrams import Redefined, check, extended
from rewarden_verifiers.geometry.language import TooMuch, Unread, claims, clauses
from rewarden_verifiers.geometry.plane import Failed
from rewarden_verifiers.geometry.predicates import Trivial
from rewarden_verifiers.geometry.reference import GeometryReference, Problem, problem_of
from rewarden_verifiers.outcome import right, scored, too_expensive, wrong
from rewarden_verifiers.puzzles import answers


@dataclass(frozen=True, kw_only=True)
class GeometryParams:
    """Options of `geometry`.

    scoring: Of claims: `f1`: the harmonic mean of the share of the expected facts that are claimed and the share of
        true claims among these and the false ones; `recall`: the first share, and 0 if a claim is false.
    threshold: Lowest score of claims that passes.
    significant_digits: The fewest significant digits of a rounded decimal number; 0: the value must be exact.
    extraction: Rules that find the answer; see docs/extraction.md. `strict`: a box or an answer tag.
    """

    scoring: Literal["f1", "recall"] = "f1"
    threshold: float = 1.0
    significant_digits: int = 4
    extraction: str | tuple[str | dict[str, str], ...] = "strict"

    def __post_init__(self) -> None:
        self.rules  # noqa: B018 - worked out now, so that a mistake is told once and not for each sample
        if not 0 < self.threshold <= 1:
            raise ValueError("threshold must be above 0 and at most 1")
        if not 0 <= self.significant_digits <= 30:
            raise ValueError("significant_digits must lie between 0 and 30")

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The rules of extraction."""
        return rules_of(self.extraction)


def prepare(reference: GeometryReference, params: GeometryParams) -> Problem:
    """Parses the reference and draws its diagrams. Raises InvalidReference."""
    return problem_of(reference)


@verifier(version="1", graded=True, prepare=prepare)
def geometry(response: str, prepared: Problem, params: GeometryParams) -> Outcome:
    """Checks a value, claims or a construction in diagrams of a plane geometry problem.

    The reference has the constructions of the given points, in order, and what is asked. Four diagrams are computed
    with random choices and a precision of 60 digits. Every claim must hold in all of them, with an error of at most
    1e-30. A problem without a diagram, a value that differs between diagrams, or an expected fact that does not hold is
    an invalid reference. Diagrams can show that a claim is true, but do not prove it.

    | construction | new points |
    |---|---|
    | `a = free`, `a = point 3 4` | anywhere; at coordinates |
    | `a b = segment`, `a b = segment 5` | two points, with their distance |
    | `a b c = triangle`, `triangle 5 6 7` | the sides opposite to `a`, `b`, `c` |
    | `a b c = right_triangle`, `right_triangle 3 4` | the right angle at `a`, the sides `ab`, `ac` |
    | `a b c = isosceles`, `isosceles 5 6` | the equal sides `ab`, `ac`, and `bc` |
    | `equilateral`, `square`, `rectangle` | with one side, one side or two sides, or without |
    | `parallelogram`, `trapezoid`, `quadrilateral` | four points; `ab` is parallel to `cd` in a trapezoid |
    | `midpoint a b`, `mirror p o`, `translate p a b` | `p` reflected in a point; `p` moved as from `a` to `b` |
    | `foot p a b`, `reflect p a b` | on the line `ab`; across it |
    | `intersection a b c d` | of the lines `ab` and `cd`; also "intersection of line a b and line c d" |
    | `circumcenter`, `incenter`, `centroid`, `orthocenter` with `a b c`; `excenter a b c` | opposite to `a` |
    | `rotate p o 60`, `along a b 3`, `divide a b 1/3` | degrees; distance from `a`; share of `ab` |

    A point on one locus is chosen at random. A point on two loci (`x = on_line a b, on_circle o a`) is their common
    point that is not already a point of the diagram. The loci are `on_line a b`, `on_segment a b`, `on_ray a b`,
    `on_parallel p a b`, `on_perpendicular p a b`, `on_perpendicular_bisector a b`, `on_angle_bisector a b c` (the
    vertex is `b`), `on_circle o a`, `on_circle o 5`, `on_circum a b c`, `on_diameter a b`. If there are two such
    points, one is chosen at random.

    - `ask: value`: the reference's `value` is an expression of `length(a, b)`, `angle(a, b, c)` in degrees, `area`,
      `perimeter`, `radius` and `inradius` of points. The answer is a number or an expression, `\\frac{5\\sqrt{3}}{2}`.
      A decimal number is right if it is correctly rounded to enough significant digits. In `\\sqrt{3} = 1.73` and
      `\\sqrt{3} \\approx 1.73` each number must be the value, and one of them exact or with enough digits.
    - `ask: claims`: the answer contains claims, one per line or separated by semicolons. The reference's `facts` are
      expected. Other true claims earn nothing, a claim repeated in another order or with other points of the same line
      counts once, and claims that are trivial (`coll a a b`, `cong a b b a`) are false.
    - `ask: construction`: the answer contains constructions, one per line or separated by semicolons. The reference's
      `goals` must hold for the points that they name, and the response must construct. A new point must not coincide
      with another one or be very far away.

    | claim | meaning |
    |---|---|
    | `coll a b c`, `between b a c`, `midp m a b` | on one line; `b` between `a` and `c`; the midpoint |
    | `para a b c d`, `perp a b c d`, `cong a b c d` | different parallel lines; right angle; equal lengths |
    | `cyclic a b c d`, `circle o a b c` | on one circle; its centre `o` |
    | `eqangle a b c d e f` | the angles at `b` and `e` are equal |
    | `eqangle a b c d e f g h` | the turn from line `ab` to `cd` is that from `ef` to `gh` |
    | `eqratio a b c d e f g h` | ab : cd = ef : gh |
    | `simtri a b c d e f`, `contri a b c d e f` | similar, congruent triangles |

    These responses score 0: no answer (`no_answer`), several (`hedged`), one that cannot be read or names an unknown
    point (`malformed`), one that is too long (`too_expensive`), constructions that define a point again (`redefined`),
    fail in a diagram (`infeasible`) or leave out a point (`incomplete`), or another value or goals that do not hold
    (`wrong`). Claims without full marks have the reason `false_claim`, or `incomplete`, or `wrong` if none is expected.
    """
    found = answers.find(response, params.rules)
    if isinstance(found, Outcome):
        return found
    shown: dict[str, Any] = {"extracted": found.text[: answers.EXCERPT], "evidence": {"rule": found.rule}}
    try:
        if prepared.ask == "value":
            return _value(found.text, prepared, params, shown)
        if prepared.ask == "claims":
            return _claims(found.text, prepared, params, shown)
        return _construction(found.text, prepared, shown)
    except (TooExpensive, TooMuch):
        return too_expensive(**shown)
    except (Unread, values.NoNumber) as error:
        return wrong("malformed", feedback=str(error), **shown)
    except values.Several as error:
        return wrong("hedged", flags=("hedged",), feedback=str(error), **shown)
    except Redefined as error:
        return wrong("redefined", feedback=str(error), **shown)
    except Failed as error:
        return wrong("infeasible", feedback=str(error), **shown)


def _value(text: str, prepared: Problem, params: GeometryParams, shown: dict[str, Any]) -> Outcome:
    return right(**shown) if values.same(text, prepared.value, params.significant_digits) else wrong(**shown)


def _claims(text: str, prepared: Problem, params: GeometryParams, shown: dict[str, Any]) -> Outcome:
    hit: set[Any] = set()
    false: set[str] = set()
    for part in claims(text):
        try:
            fact = predicates.fact(part, prepared.points)
        except Trivial as error:
            false.add(str(error))
            continue
        if not predicates.holds(fact, prepared.diagrams):
            false.add(f"{fact} does not hold")
        elif (key := predicates.key(fact, prepared.diagrams[0])) in prepared.expected:
            hit.add(key)
    shown["evidence"] |= {"found": len(hit), "expected": len(prepared.expected), "false": len(false)}
    recall = len(hit) / len(prepared.expected)
    if params.scoring == "recall":
        score = 0.0 if false else recall
    else:
        precision = len(hit) / (len(hit) + len(false)) if hit else 0.0
        score = 2 * precision * recall / (precision + recall) if hit else 0.0
    passed = score >= params.threshold
    if score == 1.0:
        return right(**shown)
    reason = None if passed else "false_claim" if false else "incomplete" if hit else "wrong"
    return scored(score, passed=passed, reason=reason, feedback=min(false, default=None), **shown)


def _construction(text: str, prepared: Problem, shown: dict[str, Any]) -> Outcome:
    steps = clauses(text)
    made = check(steps, prepared.points)
    missing = sorted(prepared.wanted.difference(made))
    if missing:
        return wrong("incomplete", feedback=f"the point {missing[0]!r} is not constructed", **shown)
    drawn = [extended(diagram, steps, seed) for seed, diagram in enumerate(prepared.diagrams)]
    for goal in prepared.goals:
        fact = predicates.fact(goal, (*prepared.points, *made))
        if not predicates.holds(fact, drawn):
            return wrong(feedback=f"{fact} does not hold", **shown)
    return right(**shown)
