"""Attacks on verifiers of answers, as one batch through a real engine: none is paid, none goes unscored, and none harms
its neighbours, which are the honest twins.

What the policy writes is scored, at the bottom if need be (promise 2); only what is wrong with a reference is not.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from rewarden.types import Batch, Sample, Use, Verdict
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.settings import EngineSettings
from rewarden_verifiers.registry import Registry
from tests.attacks import pairs
from tests.attacks.pairs import Pair, boxed
from tests.programs import no_sandbox

pytestmark = [pytest.mark.needs_server, pytest.mark.slow]

FOLDER = Path(__file__).parent
TABLES = [importlib.import_module(f"tests.attacks.{path.stem}") for path in sorted(FOLDER.glob("pairs_*.py"))]
INTEGRALS = {"simple_integration", "intermediate_integration"}


def runs(pair: Pair) -> bool:
    """Returns whether programs are run for it."""
    if pair.use == "code_output":
        return True
    return isinstance(pair.reference, dict) and pair.reference.get("dataset") in INTEGRALS


PAIRS: list[Pair] = [
    pair for table in (pairs, *TABLES) for pair in table.PAIRS if no_sandbox() is None or not runs(pair)
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Flock:
    """A group: responses, and the scores that they must get."""

    title: str
    use: Use
    responses: Sequence[str]
    scores: Sequence[float]
    reference: Any = None
    flags: Sequence[str] = field(default=())

    def __str__(self) -> str:
        return f"{self.use.name}: {self.title}"


CONSENSUS = Use(name="consensus")
BY_LETTER = Use(name="consensus", params={"use": "choice"})
STATS = Use(name="group_stats", params={"use": "math"})
RATE = Use(name="group_stats", params={"use": "math", "score": "pass_rate"})
TOWERS = [boxed(f"{2 + n % 8}^{{9^{{{9 + n}}}}}") for n in range(1000)]

FLOCKS = [
    Flock(title="nobody answers", use=CONSENSUS, responses=[""] * 8, scores=[0.0] * 8),
    Flock(title="everybody offers two boxes", use=CONSENSUS, responses=[r"\boxed{1} or \boxed{2}"] * 8, scores=[0.0] * 8),
    Flock(title="everybody names two letters", use=BY_LETTER, responses=["B or C"] * 8, scores=[0.0] * 8),
    Flock(
        title="those that hedge do not join those that answer",
        use=CONSENSUS,
        responses=[r"\boxed{1} or \boxed{2}"] * 5 + [boxed("1"), boxed(r"\frac22")],
        scores=[0.0] * 5 + [1.0, 1.0],
    ),
    Flock(
        title="one that answers agrees with nobody, however many are silent",
        use=CONSENSUS,
        responses=["", "", "", boxed("1")],
        scores=[0.0] * 4,
    ),
    Flock(
        title="what is not a number agrees with nothing, itself spelled differently included",
        use=CONSENSUS,
        responses=[boxed(r"\frac00"), boxed(r"\infty-\infty"), boxed(r"\frac{x}{0}"), boxed("5"), boxed("5.0")],
        scores=[0.0, 0.0, 0.0, 1.0, 1.0],
    ),
    Flock(
        title="answers with one beginning have not one key",
        use=CONSENSUS,
        responses=[boxed(f"10^{{500}}+{n}") for n in range(4)] + [boxed("7"), boxed("7")],
        scores=[0.0] * 4 + [1.0, 1.0],
    ),
    Flock(
        title="different roots are different, equal ones are equal",
        use=CONSENSUS,
        responses=[boxed(r"\sqrt{2}"), boxed(r"\sqrt{2}+10^{-300}"), boxed(r"\frac{2}{\sqrt2}")],
        scores=[1.0, 0.0, 1.0],
    ),
    Flock(
        title="a thousand different towers have no majority",
        use=CONSENSUS,
        responses=TOWERS,
        scores=[0.0] * 1000,
        flags=["no_consensus"],
    ),
    Flock(
        title="towers do not outvote those that agree",
        use=CONSENSUS,
        responses=TOWERS[:12] + [boxed("12")] * 2 + [boxed(r"\frac{24}{2}")],
        scores=[0.0] * 12 + [1.0] * 3,
    ),
    Flock(
        title="texts that exhaust their reader cost nobody else a vote",
        use=CONSENSUS,
        responses=["\\boxed{1}" + "}" * 9_000_000, "\\boxed{" + "(" * 1900 + "}", boxed("12"), boxed("12")],
        scores=[0.0, 0.0, 1.0, 1.0],
    ),
    Flock(
        title="towers count as wrong and not as missing",
        use=STATS,
        reference="12",
        responses=[*TOWERS[:3], boxed("12")],
        scores=[0.0, 0.0, 0.0, 1.0],
    ),
    Flock(
        title="towers and silence lower the pass rate",
        use=RATE,
        reference="12",
        responses=[TOWERS[0], "", boxed("12 or 13"), boxed("12")],
        scores=[0.25] * 4,
    ),
]  # fmt: skip

REFERENCES: list[tuple[str, str, Any]] = [
    ("empty", "math", ""),
    ("a tower", "math", "10^{10^{10^{10}}}"),
    ("cut off", "math", r"\iiint \frac{"),
    ("an empty list", "math", []),
    ("a letter that is no option", "choice", {"answer": "Z", "options": ["a", "b"]}),
    ("an option that is listed twice", "choice", {"answer": "x", "options": ["x", "x", "y"]}),
    ("empty, of a choice", "choice", ""),
]
ATTEMPTS = [boxed(answer) for answer in ("12", "NaN", "A", r"\text{idk}", r"\frac00")]


def samples() -> list[Sample]:
    """All of it: attacks and twins in turn, then groups, then bad references."""
    made: list[Sample] = []
    for pair in PAIRS:
        use = Use(name=pair.use, params=pair.params)
        for response in (pair.attack, pair.twin):
            made.append(Sample(response=response, reference=pair.reference, use=use, **pair.fields))
    for place, flock in enumerate(FLOCKS):
        made += [
            Sample(response=text, reference=flock.reference, use=flock.use, group=str(place))
            for text in flock.responses
        ]
    for _, use_name, reference in REFERENCES:
        made += [Sample(response=text, reference=reference, use=Use(name=use_name)) for text in ATTEMPTS]
    return made


async def _judged() -> list[Verdict]:
    engine = Engine(Registry(), EngineSettings())
    await engine.start()
    try:
        return list((await engine.verify(Batch(samples=samples()))).verdicts)
    finally:
        await engine.close(drain_s=0)


@pytest.fixture(scope="module")
def verdicts() -> list[Verdict]:
    """The verdicts on `samples()`, of one batch."""
    return asyncio.run(_judged())


def told(verdict: Verdict) -> tuple[Any, ...]:
    """Returns what matters when a test fails."""
    return verdict.status, verdict.score, verdict.reason, verdict.fault, verdict.extracted


@pytest.mark.parametrize(("place", "pair"), list(enumerate(PAIRS)), ids=[str(pair) for pair in PAIRS])
def test_the_attack_earns_nothing(verdicts: list[Verdict], place: int, pair: Pair) -> None:
    verdict = verdicts[2 * place]
    assert verdict.status == "scored", told(verdict)
    assert verdict.score is not None
    assert verdict.score <= 0.0, told(verdict)  # some recipes have no way to their range's lower end
    assert (verdict.passed, verdict.fault) == (False, "policy"), told(verdict)
    assert verdict.reason


@pytest.mark.parametrize(("place", "pair"), list(enumerate(PAIRS)), ids=[str(pair) for pair in PAIRS])
def test_its_honest_twin_scores(verdicts: list[Verdict], place: int, pair: Pair) -> None:
    verdict = verdicts[2 * place + 1]
    if pair.least is not None:
        assert verdict.status == "scored"
        assert verdict.score is not None
        assert verdict.score >= pair.least, told(verdict)
        return
    assert (verdict.status, verdict.score, verdict.passed) == ("scored", verdict.range[1], True), told(verdict)


@pytest.mark.parametrize(("place", "flock"), list(enumerate(FLOCKS)), ids=[str(flock) for flock in FLOCKS])
def test_in_groups(verdicts: list[Verdict], place: int, flock: Flock) -> None:
    start = 2 * len(PAIRS) + sum(len(other.responses) for other in FLOCKS[:place])
    own = verdicts[start : start + len(flock.responses)]
    assert {verdict.status for verdict in own} == {"scored"}
    assert [verdict.score for verdict in own] == list(flock.scores)
    assert all(flag in verdict.flags for flag in flock.flags for verdict in own)


@pytest.mark.parametrize(
    ("place", "use"),
    [(place, use) for place, (_, use, _) in enumerate(REFERENCES)],
    ids=[f"{use}: {title}" for title, use, _ in REFERENCES],
)
def test_a_bad_reference_is_no_matter_of_the_response(verdicts: list[Verdict], place: int, use: str) -> None:
    start = len(verdicts) - len(ATTEMPTS) * (len(REFERENCES) - place)
    own = verdicts[start : start + len(ATTEMPTS)]
    assert {(verdict.status, verdict.score, verdict.fault) for verdict in own} == {("undecided", None, "reference")}
