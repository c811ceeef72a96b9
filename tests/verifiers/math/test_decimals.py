"""The conditions under which a decimal stands for another value. The rules are stated in `scalars`."""

from __future__ import annotations

import pytest

from tests.verifiers.math.judging import equal


@pytest.mark.parametrize(
    ("reference", "answer"),
    [
        (r"\frac13", "0.33333333"),
        (r"\frac{600}{7}", "85.71"),
        (r"\sqrt2", "1.41421356"),
        ("30.52", r"\frac{1587}{52}"),
        ("21.93", r"21\frac{13}{14}"),
        ("785.1", "785.12"),
        (r"6.67\%", r"\frac{1}{15}"),
    ],
)
def test_a_correct_rounding_is_accepted(reference: str, answer: str) -> None:
    assert equal(reference, answer)


def test_strictly_no_rounding_is() -> None:
    assert not equal(r"\frac{600}{7}", "85.71", strict=True)
    assert equal(r"\frac34", "0.75", strict=True)


@pytest.mark.parametrize(
    ("reference", "answer"),
    [
        (r"\frac13", "0.33"),
        (r"\frac{600}{7}", "85.72"),
        (r"\frac{600}{7}", "85.7"),
        ("0.5", "0.49"),
        ("12.25", "12.3"),
        ("0.3", r"\frac13"),
        ("100", "99.9999"),
        ("5040", r"\frac{15840}{\pi}"),
        ("785.12", "784"),
    ],
)
def test_too_few_or_wrong_digits_are_not(reference: str, answer: str) -> None:
    assert not equal(reference, answer)


def test_a_tolerance_replaces_the_rules() -> None:
    assert equal("100", "99", rel_tol=0.02)
    assert not equal("100", "97", rel_tol=0.02)
    assert not equal(r"\frac{600}{7}", "85.71", rel_tol=1e-9)


def test_digits_can_be_asked_for() -> None:
    assert equal(r"\pi", "3.14", significant_digits=3)
    assert not equal(r"\pi", "3.1416", significant_digits=0)
