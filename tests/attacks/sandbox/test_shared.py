"""The cost of `isolation: shared`: the hacks that are paid there, and no others. The reference alone may choose it.

In one process a candidate can reach what judges it. This is the list of what it then gets away with, so that nobody
has to guess; a hack that leaves the list is good news, one that joins it is a hole.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rewarden.types import Sample
from tests.attacks.sandbox.hacks import HACKS, HONEST, REFERENCES, reference_for
from tests.attacks.sandbox.judge import Judge, fenced, judge

_EQUALS = (
    "equals everything",
    "an int that equals everything",
    "a float that equals everything",
    "a string that equals everything",
    "a list that equals everything",
    "a dict that equals everything",
    "a tuple that equals everything",
    "lies about its class",
    "a value that cannot cross, and cheats once back",
    "a class in place of the function",
)
PAID = {
    "assertions": {"a search of frames and heap"},
    "check": {*_EQUALS},
    "pytest": set[str](),
    "unittest": {
        *_EQUALS,
        "a class whose class equals everything",
        "takes its class from int afterwards",
        "any value of unittest.mock",
        "a mock",
        "a search of frames and heap",
        "the caller's next constant",
    },
}
"""For each kind of test, the hacks that score. Those against `pytest` fail at its comparison of a float."""

LEAVING = {name for name in HACKS if "exit" in name or "quit" in name or "SystemExit" in name}


@pytest.fixture(scope="module")
def judged(launcher: str) -> Iterator[Judge]:
    """A judge of four slots."""
    with judge(launcher, slots=4) as made:
        yield made


@pytest.mark.parametrize("way", PAID)
def test_what_is_paid_in_one_process(judged: Judge, way: str) -> None:
    hacks = {name: code for name, code in HACKS.items() if name not in LEAVING}
    codes = {"": HONEST, **hacks}
    honest, *verdicts = judged.judge(
        [
            Sample(response=fenced(code), reference={**reference_for(name, way), "isolation": "shared"})
            for name, code in codes.items()
        ]
    )
    assert honest.score == 1.0
    unscored = {
        name: (v.reason, v.feedback, v.flags) for name, v in zip(hacks, verdicts, strict=True) if v.status != "scored"
    }
    assert unscored == {}
    assert all("shared_process" in verdict.flags for verdict in (honest, *verdicts))
    told = {name: (v.score, v.reason, v.flags, v.evidence) for name, v in zip(hacks, verdicts, strict=True)}
    paid = {name for name, verdict in zip(hacks, verdicts, strict=True) if verdict.score}
    assert paid == PAID[way], {name: told[name] for name in paid ^ PAID[way]}


@pytest.mark.parametrize("way", PAID)
def test_leaving_is_no_pass(judged: Judge, way: str) -> None:
    reference = {**REFERENCES[way], "isolation": "shared"}
    verdicts = judged.judge([Sample(response=fenced(HACKS[name]), reference=reference) for name in sorted(LEAVING)])
    assert {name: verdict.score for name, verdict in zip(sorted(LEAVING), verdicts, strict=True)} == dict.fromkeys(
        sorted(LEAVING), 0.0
    )
