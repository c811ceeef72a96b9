"""Sameness without a reference, as groups of a thousand use it."""

from __future__ import annotations

import pytest

from rewarden_verifiers.answer.math.equivalence import MathEquivalence
from rewarden_verifiers.equivalence import Equivalence

MATH = MathEquivalence()


def test_it_is_an_equivalence() -> None:
    assert isinstance(MATH, Equivalence)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("0.5", r"\frac12"),
        (r"\sqrt8", r"2\sqrt2"),
        ("(x+1)^2", "x^2+2x+1"),
        (r"\{1,2\}", r"\{2,1\}"),
        ("(1,2)", "( 1, 2.0 )"),
        ("x=5", "5"),
        (r"\frac{2\pi}{4}", r"\pi/2"),
    ],
)
def test_equal_answers_of_common_kinds_share_a_key(a: str, b: str) -> None:
    assert MATH.key(a) == MATH.key(b) is not None
    assert MATH.same(a, b)


@pytest.mark.parametrize(
    ("a", "b"), [("(1,2)", r"\{1,2\}"), ("12_5", "12_7"), ("12", "12 or 13"), ("(1,2)", "(2,1)"), ("1", "x")]
)
def test_different_answers_have_different_keys(a: str, b: str) -> None:
    assert MATH.key(a) != MATH.key(b)
    assert MATH.same(a, b) is False


def test_it_is_symmetric_where_the_verifier_is_not() -> None:
    assert MATH.same("y+1=2x", "2x-1")
    assert MATH.same("2x-1", "y+1=2x")


def test_what_keys_cannot_tell_same_decides() -> None:
    assert MATH.key(r"\sin 2x") != MATH.key(r"2\sin x\cos x")
    assert MATH.same(r"\sin 2x", r"2\sin x\cos x")


def test_extraction_finds_one_answer_or_none() -> None:
    assert MATH.extract(r"so \boxed{5}") == "5"
    assert MATH.extract(r"so \boxed{5} or \boxed{6}") is None
    assert MATH.extract("so five") is None


def test_a_tower_has_a_harmless_key() -> None:
    tower = "10^{10^{10^{10}}}"
    assert MATH.same(tower, "1") is None
    assert MATH.same(tower, tower) is True
    assert MATH.key(tower) in (None, "text " + tower)
