"""Work that would take forever, or all memory, ends at a bound; neighbours are unharmed."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest

from rewarden_verifiers.answer.math.verifier import MathParams, prepare
from rewarden_verifiers.contract import Unwatched
from tests.verifiers.counting import steps
from tests.verifiers.math.judging import equal, judge

EXPENSIVE = {
    "tower": r"\dfrac{5^{(5^{(5^{(5^5)})} - 4)} - 5}{16}",
    "tower of tens": "10^{10^{10^{10}}}",
    "huge power": "7^{999999999999}",
    "powers of powers": "(((9^{9999})^{9999})^{9999})^{9999}",
    "negative tower": "2^{-2^{2^{2^{2^{2}}}}}",
    "tower of irrationals": r"\pi^{\pi^{\pi^{\pi^{\pi}}}}",
    "exponential tower": r"\exp(\exp(\exp(\exp(10))))",
    "factorial": "(10^9)!",
    "iterated factorial": "((20!)!)!",
    "double factorial": "(10^8)!!",
    "binomial": r"\binom{10^{12}}{10^{11}}",
    "giant sum": r"\sum_{k=1}^{10^9} \frac{1}{k^2}",
    "giant product": r"\prod_{k=1}^{10^9} k",
    "nested sums": r"\sum_{a=1}^{999}\sum_{b=1}^{999}\sum_{c=1}^{999} abc",
    "nested sums of one": r"\sum_{a=1}^{2000}" * 2 + "1",
    "many characters": "+".join(["1"] * 2500),
    "braces": "{" * 3000 + "1" + "}" * 3000,
    "brackets": "(" * 900 + "1" + ")" * 900,
    "roots": r"\sqrt{" * 300 + "2" + "}" * 300,
    "signs": "-" * 1500 + "1",
    "digits": "9" * 1900,
    "plus-minus signs": "+".join([r"(\pm 1)"] * 20),
    "hyperbolic": r"\sinh(10^{30})",
    "huge angle": r"\sin(10^{10^{10}})",
    "scientific notation": "1e999999999",
    "unbracketed tower": "^".join(["2"] * 400),
    "factorial signs": "3" + "!" * 700,
    "percent signs": "3" + "%" * 700,
    "divisions": "/".join(["2"] * 700),
    "primes": "x" + "'" * 700 + "^2" * 300,
    "nested functions": r"\sin" * 400 + " x",
}


@pytest.mark.parametrize("name", EXPENSIVE)
def test_the_bottom_and_a_flag(name: str) -> None:
    outcome = judge(r"\frac{\pi^2}{6}", EXPENSIVE[name])
    assert (outcome.status, outcome.score, outcome.reason) == ("scored", 0.0, "too_expensive")
    assert "too_expensive" in outcome.flags
    assert equal("2", "1+1")


@pytest.mark.parametrize("name", ["nested sums", "nested sums of one"])
def test_every_term_of_a_sum_is_paid_for(name: str) -> None:
    """A term that is a number was free: 172 characters took minutes, until the worker was stopped."""
    assert steps(lambda: judge("7", EXPENSIVE[name])) < 20_000_000


@pytest.mark.parametrize("name", EXPENSIVE)
def test_as_reference_it_is_the_references_fault(name: str) -> None:
    outcome = judge(EXPENSIVE[name], "7")
    if outcome.status == "scored":
        assert outcome.reason == "wrong"  # some can be told apart without being computed
    else:
        assert (outcome.status, outcome.fault) == ("undecided", "reference")


@pytest.mark.parametrize(
    ("reference", "answer"),
    [
        ("1024", "2^{10}"),
        (r"\frac{1}{2006!}", r"\frac{1}{2006 \cdot 2005!}"),
        (r"2^{1000000}", r"4^{500000}"),
        ("55", r"\sum_{k=1}^{10} k"),
        (r"\frac{9}{4}", r"\left(\left(\left(\frac{3}{2}\right)\right)\right)^{2}"),
        ("120", "5!"),
    ],
)
def test_the_honest_twin_is_computed(reference: str, answer: str) -> None:
    assert equal(reference, answer)


def test_a_large_power_and_its_neighbour_differ() -> None:
    assert not equal("2^{1000000}", "2^{1000000}+1")


def test_a_long_reference_permits_long_answers() -> None:
    terms = [f"{k}x^{{{k}}}" for k in range(1, 260)]
    assert len("+".join(terms)) > 2000
    assert equal("+".join(terms), "+".join(reversed(terms)))


def test_a_number_that_imitates_the_fields_prime() -> None:
    assert not equal(r"\sqrt2", r"\sqrt2+85070591730234615960994710020075346121")


@pytest.mark.parametrize(
    ("reference", "loads"),
    [
        (r"\int_0^1 x\,dx", 1),
        (["2", r"\lim_{x \to 0} \frac{\sin x}{x}"], 1),
        (r"\frac{1}{2}", 0),
        ({"any_of": ["1", 2.5]}, 0),
    ],
)
def test_libraries_for_few_references_are_loaded_at_nobodys_cost(reference: Any, loads: int) -> None:
    class Noting(Unwatched):
        def __init__(self) -> None:
            self.loaded = 0

        def loading(self) -> AbstractContextManager[None]:
            self.loaded += 1
            return nullcontext()

    watch = Noting()
    prepare(reference, MathParams(), watch)
    assert watch.loaded == loads
