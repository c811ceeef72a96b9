"""`diversity`: distances within a group, by n-grams and by answers; by embedding see `tests/models`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarden.types import Outcome, Sample, Use
from rewarden_server.engine.plan import Planner
from rewarden_verifiers.contract import spec_of, verifier
from rewarden_verifiers.group import ngrams
from rewarden_verifiers.group.ngrams import novelty
from rewarden_verifiers.outcome import no_answer, scored
from rewarden_verifiers.registry import Registry
from tests.verifiers.direct import group_outcomes


@verifier(version="1")
def final_word(response: str) -> Outcome:
    """Has no equivalence: what it extracts is compared."""
    word: Any = response.split()[-1]
    return no_answer() if word == "none" else scored(1.0, extracted={"word": word})


REGISTRY = Registry()
SPEC = spec_of(final_word)
assert SPEC is not None
REGISTRY.add(SPEC)
PLANNER = Planner(REGISTRY)
WORDS = st.lists(st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=8), min_size=1, max_size=5)


async def judged(responses: Sequence[str], reference: Any = None, **params: Any) -> Sequence[Outcome]:
    samples = [Sample(response=response, reference=reference, group="g") for response in responses]
    return await group_outcomes(PLANNER, Use(name="diversity", params=params), samples)


def scores(outcomes: Sequence[Outcome]) -> list[float | None]:
    return [outcome.score for outcome in outcomes]


def plain_novelty(texts: Sequence[Sequence[str]], orders: int) -> list[float]:
    """By definition: each text against the others, n-gram by n-gram."""
    found = []
    for place in range(len(texts)):
        shares = []
        for order in range(1, orders + 1):
            counts = [Counter(tuple(one[at : at + order]) for at in range(len(one) - order + 1)) for one in texts]
            own, others = counts[place], counts[:place] + counts[place + 1 :]
            if own:
                shared = sum(min(count, max((one[gram] for one in others), default=0)) for gram, count in own.items())
                shares.append(shared / own.total())
        found.append(1 - sum(shares) / len(shares) if shares else 0.0)
    return found


@given(WORDS, st.integers(1, 4))
def test_novelty_is_what_its_definition_says(texts: list[list[str]], orders: int) -> None:
    assert list(novelty(texts, orders).distances) == pytest.approx(plain_novelty(texts, orders))


def test_a_group_has_its_share_of_words_and_says_where_it_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ngrams, "MOST_WORDS", 4)
    found = novelty([["a", "b", "x", "y"], ["a", "b"]], 1)
    assert (list(found.distances), found.cut) == ([0.0, 0.0], True)
    assert not novelty([["a", "b"], ["a", "b"]], 1).cut


@given(st.lists(st.text(max_size=20), min_size=2, max_size=5))
async def test_every_member_gets_a_score_within_the_range(responses: list[str]) -> None:
    for outcome in await judged(responses):
        assert outcome.status == "scored"
        assert outcome.score is not None
        assert 0 <= outcome.score <= 1


async def test_the_order_of_the_group_makes_no_difference() -> None:
    responses = ["red fox runs", "red fox sleeps", "a crow calls", "red fox runs"]
    forth, back = scores(await judged(responses)), scores(await judged(responses[::-1]))
    assert forth == back[::-1]


async def test_copies_take_no_score_from_others_by_being_counted_twice() -> None:
    one = await judged(["red fox runs home", "a crow calls"], n=1)
    two = await judged(["red fox runs home", "a crow calls", "a crow calls"], n=1)
    assert one[0].score == two[0].score == 1.0
    assert scores(two)[1:] == [0.0, 0.0]


async def test_symbols_alone_are_told_apart_as_they_stand() -> None:
    outcomes = await judged(["😀", "😀", "→"])
    assert [outcome.reason for outcome in outcomes] == ["copy", "copy", None]


async def test_answers_without_an_equivalence_are_compared_by_what_was_extracted() -> None:
    outcomes = await judged(["it is a", "a", "b", "it is none"], by="answers", use="final_word")
    assert scores(outcomes) == [0.5, 0.5, 1.0, 0.0]
    assert outcomes[3].reason == "no_answer"


async def test_the_gate_is_asked_about_each_member_itself() -> None:
    outcomes = await judged(
        ["red fox runs", "blue fox runs", "grey owl"],
        reference="fox runs",
        n=1,
        among={"name": "similarity", "params": {"metrics": "rouge1", "threshold": 0.7}},
    )
    assert [outcome.reason for outcome in outcomes] == [None, None, "not_among"]
    assert scores(outcomes)[:2] == pytest.approx([1 / 3, 1 / 3])
    assert outcomes[2].evidence["group"]["compared"] == 2


async def test_a_member_that_could_not_be_judged_keeps_its_outcome() -> None:
    outcomes = await judged(["a \\boxed{A}", "b \\boxed{A}"], reference=None, among="choice")
    assert {(outcome.status, outcome.fault) for outcome in outcomes} == {("undecided", "reference")}


@pytest.mark.parametrize("params", [{"n": 0}, {"passing": 0.5}, {"by": "letters"}, {"embedding": {"modle": "x"}}])
async def test_parameters_that_make_no_sense_are_the_callers(params: dict[str, Any]) -> None:
    outcomes = await judged(["a", "b"], **params)
    assert {(outcome.status, outcome.fault) for outcome in outcomes} == {("error", "caller")}
