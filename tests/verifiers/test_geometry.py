"""`geometry`: diagrams agree with known theorems, claims hold in all of them, and references are checked."""

from __future__ import annotations

import contextlib
import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewarden.errors import InvalidReference
from rewarden.types import Outcome
from rewarden_verifiers.geometry.constructions import ALIASES, FIGURES, LOCI, POINTS
from rewarden_verifiers.geometry.geometry import GeometryParams, geometry, prepare
from rewarden_verifiers.geometry.language import TooMuch, Unread, claims, clauses
from rewarden_verifiers.geometry.predicates import PREDICATES
from rewarden_verifiers.geometry.reference import GeometryReference
from tests.verifiers.counting import HOSTILE

TRIANGLE = ("a b c = triangle",)
WORDS = (*FIGURES, *POINTS, *LOCI, *PREDICATES, *ALIASES, "a", "b", "c", "d", "p", "=", ",", ";", "1", "0", "-3", "1/3")


def judged(answer: str, *, params: GeometryParams | None = None, **reference: Any) -> Outcome:
    options = params or GeometryParams()
    prepared = prepare(GeometryReference(**reference), options)
    found: Outcome = geometry(f"<answer>{answer}</answer>", prepared, options)
    return found


def claimed(answer: str, constructions: tuple[str, ...], *facts: str) -> Outcome:
    return judged(answer, constructions=constructions, ask="claims", facts=facts)


@pytest.mark.parametrize(
    ("constructions", "fact"),
    [
        (("o = circumcenter a b c", "h = orthocenter a b c", "g = centroid a b c"), "coll o h g"),
        (("d = on_circum a b c",), "directed_eqangle c a c b d a d b"),
        (("o = circumcenter a b c", "d = on_circum a b c"), "circle o a b d"),
        (("h = orthocenter a b c", "d = reflect h b c"), "cyclic a b c d"),
        (("i = incenter a b c", "j = excenter a b c"), "coll a i j"),
        (("i = incenter a b c",), "eqangle b a i i a c"),
        (("i = incenter a b c", "j = excenter a b c"), "perp b i b j"),
        (("d = on_angle_bisector b a c, on_line b c",), "eqratio d b d c a b a c"),
        (("d = mirror a b",), "midp b a d"),
        (("d = translate a b c",), "para a d b c"),
        (("d = rotate a b 60",), "eqangle a b d b d a"),
        (("d = along a b 1", "e = along a c 1"), "cong a d a e"),
        (("d = divide a b 1/3", "e = divide a c 1/3"), "simtri a d e a b c"),
        (("d = on_diameter b c",), "perp d b d c"),
        (("d = on_segment b c",), "between d b c"),
        (("d = on_ray b c, on_circle b 1", "e = on_circle b 1"), "cong b d b e"),
        (("d = on_perpendicular_bisector a b",), "cong d a d b"),
        (("d = on_parallel a b c, on_parallel b a c",), "contri a b c b a d"),
        (("d = on_perpendicular a b c, on_circum a b c",), "perp a d b c"),
        (("d e = segment 2", "f g h = equilateral 2"), "cong d e g h"),
        (("d e f g = square",), "perp d f e g"),
        (("d e f g = rectangle 2 3",), "cong d f e g"),
        (("d e f g = parallelogram", "o = intersection of line d f and line e g"), "midp o d f"),
        (("d e f g = trapezoid",), "para d e f g"),
        (("d e f = right_triangle", "m = midpoint e f"), "cong m d m e"),
        (("d e f = isosceles 5 6",), "eqangle d e f d f e"),
    ],
)
def test_diagrams_agree_with_theorems(constructions: tuple[str, ...], fact: str) -> None:
    fact = fact.replace("directed_eqangle", "eqangle")
    assert claimed(fact, (*TRIANGLE, *constructions), fact).score == 1.0


@pytest.mark.parametrize(
    "claim",
    [
        "cong a b a c",
        "perp a b a c",
        "coll a b c",
        "para a d b c",
        "cyclic a b c d",
        "midp a b c",
        "eqangle a b c a c b",
        "eqangle a b c d b c a d",
        "eqratio a b a c a c b c",
        "simtri a b c b c a",
        "contri a b c a b d",
        "circle d a b c",
        "between a b c",
    ],
)
def test_nothing_holds_of_random_points(claim: str) -> None:
    assert claimed(claim, (*TRIANGLE, "d = free", "m = midpoint a b"), "midp m a b").evidence["false"] == 1


@pytest.mark.parametrize("fact", ["cyclic b c e f", "cong m e m f", "coll a h d", "perp a h b c"])
def test_the_order_of_points_does_not_matter(fact: str) -> None:
    altitudes = ("d = foot a b c", "e = foot b c a", "f = foot c a b", "h = orthocenter a b c", "m = midpoint b c")
    word, *names = fact.split()
    blocks = [names[:2], names[2:]] if word in ("cong", "perp") else [[name] for name in names]
    orders = ["; ".join(" ".join((word, *itertools.chain(*order))) for order in itertools.permutations(blocks))]
    found = claimed(orders[0], (*TRIANGLE, *altitudes), fact, "cyclic a e h f")
    assert (found.evidence["found"], found.evidence["false"]) == (1, 0)
    assert found.score == pytest.approx(2 / 3)


def test_of_two_common_points_the_one_that_is_there_is_left_out() -> None:
    common = "on_circle a b, on_circle b a"
    constructions = ("a b = segment", f"c = {common}", f"d = {common}")
    assert claimed("perp c d a b; cong c a d b", constructions, "perp c d a b", "cong c a d b").score == 1.0
    with pytest.raises(InvalidReference, match="no new common point"):
        claimed("perp c d a b", (*constructions, f"e = {common}"), "perp c d a b")


def test_either_of_two_common_points_is_drawn() -> None:
    """A claim that holds for one of them alone is false."""
    constructions = ("a b = segment", "m = midpoint a b", "q = rotate b a 30", "c = on_circle a b, on_circle b a")
    assert claimed("coll a q c", constructions, "cong c a c b").evidence["false"] == 1
    assert claimed("eqangle a c m m c b", constructions, "eqangle a c m m c b").score == 1.0


def test_the_second_point_of_a_line_on_a_circle_is_the_new_one() -> None:
    constructions = ("o a = segment 5", "b = free", "c = on_line a b, on_circle o a")
    assert claimed("cong o c o a", constructions, "cong o c o a").score == 1.0


@pytest.mark.parametrize(
    ("answer", "digits", "score"),
    [("8.660", 4, 1), ("8.66", 4, 0), ("8.66", 3, 1), ("8.661", 4, 0), ("8.6602540", 0, 0), (r"5\sqrt{3}", 0, 1)],
)
def test_rounded_numbers_need_enough_right_digits(answer: str, digits: int, score: int) -> None:
    reference: dict[str, Any] = {"constructions": ("a b c = equilateral 10",), "ask": "value"}
    params = GeometryParams(significant_digits=digits)
    measure = "area(a, b, c) / length(a, b) * 2"
    assert judged(answer, params=params, value=measure, **reference).score == score


@pytest.mark.parametrize(
    ("measure", "answer"),
    [
        ("radius(a, b, c)", "5/2"),
        ("inradius(a, b, c)", "1"),
        ("perimeter(a, b, c)", "12"),
        ("sin(angle(a, b, c))", "4/5"),
        ("sqrt(length(a, b)^2 + length(a, c)^2) - 1", "4"),
        ("-area(a, b, c)", "-6"),
    ],
)
def test_values_of_the_right_triangle_with_legs_3_and_4(measure: str, answer: str) -> None:
    found = judged(answer, constructions=("a b c = right_triangle 3 4",), ask="value", value=measure)
    assert found.score == 1.0


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        (r"\sqrt{2} \approx 1.414", 1),
        (r"\sqrt{2} ≈ 1.4", 1),
        ("≈ 1.4142", 1),
        ("x = 2^{1/2} = 1.414", 1),
        (r"\sqrt{2}\text{ cm}^2", 1),
        (r"\sqrt{2}\,\text{cm}", 1),
        ("1.4142 sq units", 1),
        (r"\sqrt{2}.", 1),
        ("1.41 = 1.4", 0),
        (r"\sqrt{2} \approx 1.5", 0),
        (r"\sqrt{2} = \sqrt{3}", 0),
        ("1 = 1.4142", 0),
        ("1.4142 = 1.4143", 0),
        ("=".join(["1.4142"] * 50), 0),
    ],
)
def test_of_several_numbers_each_must_be_the_value_and_one_exact_enough(answer: str, score: int) -> None:
    outcome = judged(answer, constructions=("a b c = right_triangle 1 1",), ask="value", value="length(b, c)")
    assert outcome.score == score


VALUE: dict[str, Any] = {"constructions": TRIANGLE, "ask": "value"}
CLAIMS: dict[str, Any] = {"constructions": (*TRIANGLE, "d = midpoint a b"), "ask": "claims"}
POINT: dict[str, Any] = {"constructions": TRIANGLE, "ask": "construction"}


@pytest.mark.parametrize(
    ("reference", "field"),
    [
        (VALUE | {"value": "length(a, b)"}, "value"),
        (VALUE | {"value": "length(a, q)"}, "value"),
        (VALUE | {"value": "length(a, b) / 0"}, "value"),
        (VALUE | {"value": "__import__('os')"}, "value"),
        (VALUE | {"value": "9**9**9"}, "value"),
        (VALUE | {"value": "(" * 400 + "1" + ")" * 400}, "value"),
        (VALUE, "value"),
        (VALUE | {"value": "1", "facts": ("coll a b c",)}, "facts"),
        (CLAIMS | {"facts": ("cong a b a c",)}, "facts"),
        (CLAIMS | {"facts": ("cong a b b a",)}, "facts"),
        (CLAIMS | {"facts": ("coll a d b", "coll b a d")}, "facts"),
        (CLAIMS | {"facts": ()}, "facts"),
        (POINT | {"goals": ("cong a b a b",)}, "goals"),
        (POINT | {"goals": ("cong a b a c",)}, "goals"),
        (POINT | {"goals": ("cong p a p b",), "solution": ("p = incenter a b c",)}, "solution"),
        (POINT | {"goals": ("cong p a p b",), "solution": ("q = midpoint a b",)}, "solution"),
        (VALUE | {"value": "1", "solution": ("q = midpoint a b",)}, "solution"),
        ({"constructions": ("a b c = triangle 1 2 3",), "ask": "value", "value": "1"}, "constructions"),
        ({"constructions": ("a b = triangle",), "ask": "value", "value": "1"}, "constructions"),
        ({"constructions": (*TRIANGLE, "a = free"), "ask": "value", "value": "1"}, "constructions"),
        ({"constructions": (*TRIANGLE, "d = midpoint a q"), "ask": "value", "value": "1"}, "constructions"),
        ({"constructions": (*TRIANGLE, "d = midpoint a a"), "ask": "value", "value": "1"}, "constructions"),
        ({"constructions": (*TRIANGLE, "d = intersection a b a b"), "ask": "value", "value": "1"}, "constructions"),
        ({"constructions": (), "ask": "value", "value": "1"}, "constructions"),
    ],
)
def test_a_bad_reference_names_its_field(reference: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidReference) as caught:
        prepare(GeometryReference(**reference), GeometryParams())
    assert caught.value.details["path"] == f"reference.{field}"


@pytest.mark.parametrize(
    "answer",
    [
        "P = midpoint A B",
        "p := midpoint(a, b)",
        r"$P = \text{midpoint}(A, B)$",
        "1. p = midpoint of a and b",
        "`p=midpoint a b`",
    ],
)
def test_constructions_may_be_written_in_several_ways(answer: str) -> None:
    assert judged(answer, goals=("midp p a b",), **POINT).score == 1.0


@pytest.mark.parametrize(
    "answer", [r"\text{para D E B C}", '["para d e b c"]', "- parallel(D, E, B, C).", "coll a d b, para d e b c"]
)
def test_claims_may_be_written_in_several_ways(answer: str) -> None:
    midline = (*TRIANGLE, "d = midpoint a b", "e = midpoint a c")
    assert claimed(answer, midline, "para d e b c").score == 1.0


def test_the_verdict_is_the_same_each_time() -> None:
    outcomes = {judged("p = on_line a b", goals=("coll a b p",), **POINT).score for _ in range(3)}
    assert outcomes == {1.0}


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from((*WORDS, *HOSTILE)), max_size=25), st.sampled_from(("claims", "construction", "value")))
def test_hostile_text_ends_in_a_verdict(parts: list[str], ask: str) -> None:
    asked: dict[str, dict[str, Any]] = {
        "claims": {"facts": ("midp d a b",)},
        "construction": {"goals": ("midp p b c",)},
        "value": {"value": "1"},
    }
    constructions = (*TRIANGLE, "d = midpoint a b")
    found = judged(" ".join(parts), constructions=constructions, ask=ask, **asked[ask])
    assert found.status == "scored"


@settings(max_examples=100)
@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    for reader in (claims, clauses):
        with contextlib.suppress(Unread, TooMuch):
            reader(text)
