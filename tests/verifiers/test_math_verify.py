"""`math_verify` gives the library's own verdict: the installed library is asked next to it."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from fractions import Fraction

import pytest
from math_verify import parse, verify

from rewarden.errors import MissingDependency
from rewarden.types import Batch, Sample, Use
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.settings import EngineSettings
from rewarden_verifiers.answer.math_verify import MathVerifyParams, math_verify, prepare, warm

ENDINGS = (
    r"Therefore the final answer is $\boxed{%s}$.",
    r"The answer is $%s$.",
    r"<think>Perhaps \boxed{3}?</think> So it is \boxed{%s}",
    "We get %s",
    r"First \boxed{1}, and then \boxed{%s}. I hope it is correct.",
)


def spellings(rng: random.Random) -> Iterator[tuple[str, str]]:
    """References and answers to them: equal ones in other forms, near misses, and text that is not mathematics."""
    a, b, c = rng.randint(2, 99), rng.randint(2, 12), rng.randint(1, 9)
    value = Fraction(a, b)
    fraction = rf"\frac{{{value.numerator}}}{{{value.denominator}}}"
    yield fraction, rf"\frac{{{a * c}}}{{{b * c}}}"
    yield fraction, f"{a}/{b}"
    yield fraction, f"{a / b:.4f}"
    yield fraction, f"{a / b:.8f}"
    yield fraction, rf"\dfrac{{{a + 1}}}{{{b}}}"
    yield str(a), f"{a}.0"
    yield str(a), f"{a}%"
    yield str(a * 1000), f"{a},000"
    yield f"({a}, {b})", f"({a},{b})"
    yield f"({a}, {b})", f"({b}, {a})"
    yield rf"\{{{a}, {b}\}}", f"{b}, {a}"
    yield f"x^2 + {a}x", f"x(x + {a})"
    yield f"x = {a}", str(a)
    yield f"{b} < x < {a + 20}", f"({b}, {a + 20})"
    yield rf"\sqrt{{{a * b * b}}}", rf"{b}\sqrt{{{a}}}"
    yield rf"{a}^\circ", str(a)
    yield rf"{a} \text{{ cm}}", f"{a} cm"
    yield rf"\begin{{pmatrix}} {a} \\ {b} \end{{pmatrix}}", rf"\begin{{bmatrix}} {a} \\ {b} \end{{bmatrix}}"
    yield r"\text{even}", "even"


def test_without_the_library_the_pip_command_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "math_verify", None)
    warm()
    with pytest.raises(MissingDependency, match=r"'math_verify': pip install 'rewarden-server\[sympy\]'$"):
        prepare("1", MathVerifyParams())


@pytest.mark.parametrize("seed", range(6))
def test_the_verdict_is_that_of_the_library_beside_it(seed: int) -> None:
    rng = random.Random(seed)
    params = MathVerifyParams()
    verdicts = set()
    for reference, answer in spellings(rng):
        response = rng.choice(ENDINGS) % answer
        theirs = verify(parse(rf"\boxed{{{reference}}}"), parse(response))
        ours = math_verify(response, prepare(reference, params), params)
        assert ours.status == "scored", (reference, response)
        assert bool(ours.score) is theirs, (reference, response)
        verdicts.add(theirs)
    assert verdicts == {True, False}


@pytest.mark.parametrize(
    ("reference", "given"),
    [
        (r"\frac{1}{2}", r"\boxed{\frac{1}{2}}"),
        (r"The sum is $\frac{1}{2}$.", r"The sum is $\frac{1}{2}$."),
        (r"Hence \boxed{7}.", r"Hence \boxed{7}."),
        (r"\[x + 1\]", r"\[x + 1\]"),
        (12, r"\boxed{12}"),
    ],
)
def test_a_reference_is_boxed_unless_it_has_delimiters(reference: str | int, given: str) -> None:
    assert prepare(reference, MathVerifyParams()).found == parse(given)


def test_a_reference_may_be_given_as_text_or_boxed_whatever_it_holds() -> None:
    assert prepare("7 of $9$", MathVerifyParams(reference_as="text")).found == parse("7 of $9$")
    assert prepare("$9$", MathVerifyParams(reference_as="boxed")).found == parse(r"\boxed{$9$}")


def test_parameters_reach_the_library() -> None:
    def score(reference: str, response: str, **options: object) -> float | None:
        params = MathVerifyParams(**options)  # type: ignore[arg-type]
        return math_verify(response, prepare(reference, params), params).score

    assert score("$x + 1$", "$y + 1$") == 0.0
    assert score("$x + 1$", "$y + 1$", strict=False) == 1.0
    assert score("0.12341", "0.12342", float_rounding=6) == 0.0
    assert score("0.12341", "0.12342", float_rounding=4) == 1.0
    assert score("7", "It may be 7.", response_targets=("latex",)) == 0.0
    assert score("7", "It may be 7.", response_targets=("expr",)) == 1.0
    assert score("7", "It may be 7.", try_extract_without_anchor=False) == 0.0
    assert score("7", "The final answer is 7.", try_extract_without_anchor=False) == 1.0


@pytest.mark.needs_server
async def test_what_would_never_end_scores_nothing_and_holds_up_nobody() -> None:
    """The library's alarm does not interrupt one long multiplication; a worker's limit does."""
    tower, honest = Sample(response=r"\boxed{9^{9^{9^{9}}}}", reference="7"), Sample(response="7", reference="7")
    engine = Engine(settings=EngineSettings(workers=1, item_cpu_s=0.5))
    await engine.start()
    try:
        verdicts = (await engine.verify(Batch(samples=[tower, honest], use=Use(name="math_verify")))).verdicts
        turned = [
            (await engine.verify(Batch(samples=[turned_round(tower)], use=use))).verdicts[0]
            for use in (Use(name="math_verify"), Use(name="math_verify", params={"try_extract_without_anchor": False}))
        ]
    finally:
        await engine.close()
    assert [(verdict.score, verdict.reason) for verdict in verdicts] == [(0.0, "too_expensive"), (1.0, None)]
    assert [(verdict.status, verdict.fault) for verdict in turned] == [("undecided", "reference")] * 2


def turned_round(sample: Sample) -> Sample:
    """The response as reference, and the other way round."""
    return Sample(response=str(sample.reference), reference=sample.response)
