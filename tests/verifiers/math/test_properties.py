"""For every text: extraction and comparison never raise, never hang, and are reflexive."""

from __future__ import annotations

import contextlib

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rewarden_verifiers.answer.math.equivalence import MathEquivalence
from rewarden_verifiers.answer.math.limits import TooExpensive, Unreadable
from rewarden_verifiers.answer.math.reading import read
from tests.verifiers.math.judging import judge, judge_text

COMMANDS = r"""
    \frac \sqrt \pi \infty \cup \cap \in \left \right \text{ \text{or} \text{cm} \pm \mp \le \ge \ne \approx ^ _ { }
    \{ \} ( ) [ ] | , ; : = < > + - * / ! % ' . \circ ^\circ \sum_{k=1}^{n} \prod \begin{pmatrix} \end{pmatrix} \\ &
    \log \ln \sin \cos^{-1} \binom{5}{2} x y n k e i f f(x) 0 1 2 10 3.14 0.5 1,000 99999 ! !! or and for if \mathbb{R}
    \overline{3} \lfloor \rfloor \mid \begin{cases} \end{cases} $ \$ degrees cm km/h 12_5 \forall \setminus \emptyset
    \deg \det ** -> != \not \quad"""
PIECES = st.sampled_from(COMMANDS.split())
MATHEMATICS = st.lists(PIECES, max_size=14).map(" ".join) | st.lists(PIECES, max_size=14).map("".join)
ANY_TEXT = st.text(max_size=60) | MATHEMATICS
LEAVES = st.integers(-50, 50).map(str) | st.sampled_from(
    ["x", "y", r"\pi", "e", "i", r"\sqrt{2}", "0.25", r"\frac{3}{7}"]
)
EXPRESSIONS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda pair: f"({pair[0]})+({pair[1]})"),
        st.tuples(inner, inner).map(lambda pair: f"({pair[0]})({pair[1]})"),
        st.tuples(inner, st.integers(0, 4)).map(lambda pair: f"\\left({pair[0]}\\right)^{{{pair[1]}}}"),
        inner.map(lambda body: f"-({body})"),
        inner.map(lambda body: f"\\sin({body})"),
    ),
    max_leaves=6,
)


@given(ANY_TEXT)
def test_reading_ends_in_a_tree_or_a_refusal(text: str) -> None:
    with contextlib.suppress(TooExpensive, Unreadable):
        read(text)


@settings(max_examples=200)
@given(ANY_TEXT, ANY_TEXT)
def test_judging_never_raises(reference: str, answer: str) -> None:
    outcome = judge(reference, answer)
    assert outcome.status in ("scored", "undecided")
    if outcome.status == "undecided":
        assert outcome.fault in ("reference", "verifier")


@given(st.text(max_size=200), st.sampled_from(["strict", "lax", "whole"]))
def test_any_response_may_come(response: str, preset: str) -> None:
    assert judge_text("42", response, extraction=preset).status == "scored"


@given(EXPRESSIONS)
def test_an_expression_equals_itself_spelled_otherwise(text: str) -> None:
    spelled = text.replace("(", "{(").replace(")", ")}").replace("\\left{(", "\\left(").replace("\\right)}", "\\right)")
    assert judge(text, spelled).score == 1.0
    padded = judge(text, f"0 + {text}")
    assume(padded.reason != "too_expensive")  # sin(sin(11i)) is beyond the bounds, and the flag says so
    assert padded.score == 1.0


@given(EXPRESSIONS)
def test_an_expression_differs_from_itself_plus_one(text: str) -> None:
    assert judge(text, f"{text} + 1").score != 1.0


@settings(max_examples=200)
@given(MATHEMATICS, MATHEMATICS)
def test_sameness_is_reflexive_symmetric_and_agrees_with_keys(a: str, b: str) -> None:
    math = MathEquivalence()
    assert math.same(a, a) is True
    assert math.same(a, b) == math.same(b, a)
    key = math.key(a)
    if key is not None and key == math.key(b):
        assert math.same(a, b) is True
