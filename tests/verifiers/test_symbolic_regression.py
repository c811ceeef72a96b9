"""`symbolic_regression`: R² is that of the definition, expressions mean what they mean in Python, and bounds."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewarden.errors import InvalidReference
from rewarden.types import Outcome
from rewarden_verifiers.answer.math.limits import TooExpensive
from rewarden_verifiers.answer.math.numeric import Undefined
from rewarden_verifiers.science.expressions import NoExpression, expression, size, skeleton, values
from rewarden_verifiers.science.symbolic_regression import (
    RegressionParams,
    RegressionReference,
    prepare,
    symbolic_regression,
)
from tests.verifiers.counting import HOSTILE

POINTS = tuple((one / 2, other / 3 + 0.25) for one in range(-3, 4) for other in range(-2, 3))
LEAVES = st.sampled_from(("x", "y", "1", "2.5", "0.125", "7"))


def combined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pairs = st.tuples(inner, st.sampled_from("+-*/"), inner).map(lambda parts: f"({parts[0]} {parts[1]} {parts[2]})")
    calls = st.tuples(st.sampled_from(("sin", "cos", "exp", "abs", "tanh")), inner).map("{0[0]}({0[1]})".format)
    powers = inner.map(lambda base: f"({base})**2")
    return pairs | calls | powers


EXPRESSIONS = st.recursive(LEAVES, combined, max_leaves=8)


def judged(answer: str, reference: RegressionReference, **params: Any) -> Outcome:
    options = RegressionParams(**params)
    return symbolic_regression(f"<answer>{answer}</answer>", prepare(reference, options), options)


@settings(max_examples=100)
@given(EXPRESSIONS)
def test_an_expression_means_what_it_means_in_python(text: str) -> None:
    names = {"sin": math.sin, "cos": math.cos, "exp": math.exp, "abs": abs, "tanh": math.tanh}
    try:
        wanted = [eval(text, dict(names), {"x": x, "y": y}) for x, y in POINTS]  # noqa: S307 - this test wrote the text
    except (ArithmeticError, ValueError):
        return
    if max(map(abs, wanted)) > 1e12:
        return
    found = values(expression(text, ("x", "y")), ("x", "y"), POINTS)
    assert found == pytest.approx(wanted, rel=1e-6, abs=1e-9)


@given(st.lists(st.integers(-50, 50), min_size=4, max_size=8), st.integers(-4, 4), st.integers(-20, 20))
def test_r2_is_that_of_the_definition(wanted: list[int], slope: int, offset: int) -> None:
    if len(set(wanted)) == 1:
        return
    points = tuple((float(place),) for place in range(len(wanted)))
    reference = RegressionReference(variables=("x",), points=points, values=tuple(map(float, wanted)))
    mean = sum(wanted) / len(wanted)
    error = sum((slope * place + offset - one) ** 2 for place, one in enumerate(wanted))
    r2 = 1 - error / sum((one - mean) ** 2 for one in wanted)
    assert judged(f"{slope}*x + {offset}", reference).score == pytest.approx(max(0.0, r2))


@given(st.lists(st.integers(-50, 50), min_size=4, max_size=8), st.integers(-50, 50))
def test_no_constant_is_paid(wanted: list[int], constant: int) -> None:
    if len(set(wanted)) == 1:
        return
    points = tuple((float(place),) for place in range(len(wanted)))
    reference = RegressionReference(variables=("x",), points=points, values=tuple(map(float, wanted)))
    for affine in (False, True):
        assert judged(str(constant), reference, affine=affine).score == pytest.approx(0.0, abs=1e-12)
        assert judged(f"{constant} + 0*x", reference, affine=affine).score == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("3*x + 2*y - 1", "y - x + 7", True),
        ("x/2", "5*x", True),
        ("2*sin(3*x)", "sin(x)", False),
        ("-x*y", "4*y*x", True),
        ("x*y + 1", "x*y", False),
        ("x**2", "x**3", False),
        ("exp(2*x)", "3*exp(5*x)", False),
        ("1/x", "4/(x)", True),
        ("x/y", "y/x", False),
    ],
)
def test_skeletons_differ_in_more_than_the_value_of_constants(one: str, other: str, equal: bool) -> None:
    found = [skeleton(expression(text, ("x", "y"))) for text in (one, other)]
    assert (found[0] == found[1]) is equal


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("x", 1), ("x + y", 3), ("x + y + 1", 5), ("sin(x)", 2), ("2*x**2", 5), ("x - y", 3), ("-x - y", 4), ("x/y", 3),
        ("exp(x)", 2), ("sqrt(x)", 2), ("x**0.5", 3),
    ],
)  # fmt: skip
def test_complexity_counts_numbers_names_operators_and_functions(text: str, nodes: int) -> None:
    assert size(expression(text, ("x", "y"))) == nodes


@settings(max_examples=200)
@given(st.lists(st.sampled_from((*HOSTILE, "x", "+", "*", "**", "(", ")", "sin", "^", "9", "/", "e")), max_size=20))
def test_hostile_text_is_read_or_refused(parts: list[str]) -> None:
    try:
        node = expression("".join(parts), ("x",))
        found = values(node, ("x",), [(0.5,), (2.0,)])
    except (NoExpression, TooExpensive, Undefined):
        return
    assert all(map(math.isfinite, found))


@pytest.mark.parametrize(
    ("changed", "path"),
    [
        ({"variables": ("x", "x")}, "reference.variables"),
        ({"variables": ("pi",)}, "reference.variables"),
        ({"points": ((1.0,),)}, "reference.points"),
        ({"points": ((1.0,), (1.0, 2.0))}, "reference.points[1]"),
        ({"points": ((1.0,), (math.inf,))}, "reference.points[1]"),
        ({"values": (1.0,)}, "reference.values"),
        ({"values": None}, "reference.values"),
        ({"expression": "1/(x-x)"}, "reference.expression"),
        ({"expression": "q"}, "reference.expression"),
    ],
)
def test_a_bad_reference_names_its_field(changed: dict[str, Any], path: str) -> None:
    given_one: dict[str, Any] = {"variables": ("x",), "points": ((1.0,), (2.0,)), "values": (1.0, 4.0)}
    with pytest.raises(InvalidReference) as caught:
        prepare(RegressionReference(**given_one | changed), RegressionParams())
    assert caught.value.details["path"] == path
