"""`consensus` and clusters: agreement of large groups, without n² comparisons."""

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
from rewarden_verifiers.group.clusters import EXACT, NEAREST, cluster
from rewarden_verifiers.outcome import no_answer, scored
from rewarden_verifiers.registry import Registry
from tests.verifiers.direct import DirectContext, group_outcomes


class Modulo:
    """Numbers are equal modulo ten; keys only spot equal spellings; a question mark cannot be told."""

    def extract(self, text: str) -> str | None:
        return text or None

    def key(self, answer: str) -> str | None:
        return None if answer.startswith("!") else answer

    def same(self, a: str, b: str) -> bool | None:
        if "?" in a + b:
            return None
        return int(a.strip("!")) % 10 == int(b.strip("!")) % 10


@verifier(version="1", equivalence=lambda params: Modulo())
def modulo(response: str) -> Outcome:
    """Never asked: consensus needs the equivalence only."""
    raise AssertionError


@verifier(version="1")
def last_word(response: str, reference: str) -> Outcome:
    """Has no equivalence: what it extracts is compared."""
    if not response:
        return no_answer()
    word: Any = response.split()[-1]
    return scored(float(word == reference), extracted={"word": word})


REGISTRY = Registry()
for function in (modulo, last_word):
    spec = spec_of(function)
    assert spec is not None
    REGISTRY.add(spec)
PLANNER = Planner(REGISTRY)


async def judged(
    responses: Sequence[str], reference: Any = None, **params: Any
) -> tuple[Sequence[Outcome], DirectContext]:
    context = DirectContext(PLANNER)
    use = Use(name="consensus", params={"use": "modulo", **params})
    samples = [Sample(response=response, reference=reference, group="g") for response in responses]
    return await group_outcomes(PLANNER, use, samples, context), context


def scores(outcomes: Sequence[Outcome]) -> list[float | None]:
    return [outcome.score for outcome in outcomes]


async def test_what_keys_do_not_merge_sameness_does() -> None:
    outcomes, _ = await judged(["1", "11", "21", "2"])
    assert scores(outcomes) == [1.0, 1.0, 1.0, 0.0]
    assert outcomes[0].evidence["sizes"] == [3, 1]


async def test_equal_texts_are_read_once_and_one_of_each_cluster_is_compared() -> None:
    _, context = await judged(["1"] * 500 + ["2"] * 300 + ["11"] * 200)
    assert sorted(context.read) == ["1", "11", "2"]
    assert len(context.compared) == 2


async def test_a_thousand_members_that_all_differ_cost_far_less_than_every_pair() -> None:
    outcomes, context = await judged([f"{place}?" for place in range(1000)])
    assert len(context.compared) <= NEAREST * 1000
    assert outcomes[0].evidence["clusters"] == 1000
    assert "comparisons_limited" in outcomes[0].flags


async def test_what_cannot_be_told_never_merges_and_is_reported() -> None:
    outcomes, _ = await judged(["1", "1", "11?"])
    assert outcomes[0].evidence["sizes"] == [2, 1]
    assert outcomes[0].evidence["unclear"] == 1
    assert "comparisons_unclear" in outcomes[0].flags


async def test_answers_without_a_key_are_compared() -> None:
    outcomes, _ = await judged(["!1", "!11", "2"])
    assert scores(outcomes) == [1.0, 1.0, 0.0]


async def test_without_an_equivalence_what_was_extracted_is_compared() -> None:
    outcomes, context = await judged(["it is a", "a", "b", ""], reference="b", use="last_word")
    assert scores(outcomes) == [1.0, 1.0, 0.0, 0.0]
    assert context.verified == 4
    assert outcomes[0].extracted == {"word": "a"}
    assert outcomes[3].reason == "no_answer"


async def test_a_member_that_could_not_be_judged_is_no_zero_and_in_no_share() -> None:
    outcomes, _ = await judged(["a", "a"], reference=None, use="last_word")
    assert [(outcome.status, outcome.score, outcome.fault) for outcome in outcomes] == [
        ("undecided", None, "reference")
    ] * 2


async def test_soft_scores_of_the_answered_and_the_silent_share_add_up() -> None:
    responses = ["1", "2", "2", "3", "3", "3", "", ""]
    outcomes, _ = await judged(responses, mode="soft")
    assert scores(outcomes) == [1 / 8, 2 / 8, 2 / 8, 3 / 8, 3 / 8, 3 / 8, 0.0, 0.0]
    assert outcomes[0].evidence["agreement"] == 3 / 8


@pytest.mark.parametrize(
    ("ties", "expected"), [("none", [0, 0, 0, 0, 0]), ("first", [1, 0, 1, 0, 0]), ("all", [1, 1, 1, 1, 0])]
)
async def test_ties(ties: str, expected: list[float]) -> None:
    outcomes, _ = await judged(["2", "1", "2", "1", "3"], ties=ties)
    assert scores(outcomes) == expected


@pytest.mark.parametrize("below", ["zero", "undecided", "exclude"])
async def test_silence_is_at_the_bottom_whatever_happens_below_the_threshold(below: str) -> None:
    outcomes, _ = await judged(["1", "2", "3", ""], min_share=0.5, below=below)
    assert (outcomes[3].status, outcomes[3].score, outcomes[3].reason) == ("scored", 0.0, "no_answer")
    too_few, _ = await judged(["1", "", ""], below=below)
    assert scores(too_few) == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("size", [1, 2])
async def test_groups_too_small_to_agree_are_the_callers_fault(size: int) -> None:
    outcomes, _ = await judged(["1"] * size, min_answered=3)
    assert {(outcome.status, outcome.fault) for outcome in outcomes} == {("error", "caller")}


@given(st.lists(st.sampled_from(["", "1", "11", "2", "12", "3", "!3"]), min_size=2, max_size=40))
async def test_clusters_are_those_of_the_sameness_in_any_order(responses: list[str]) -> None:
    outcomes, _ = await judged(responses, mode="soft", min_answered=1)
    classes = Counter(int(text.strip("!")) % 10 for text in responses if text)
    expected = [classes[int(text.strip("!")) % 10] / len(responses) if text else 0.0 for text in responses]
    assert scores(outcomes) == pytest.approx(expected)
    turned, _ = await judged(responses[::-1], mode="soft", min_answered=1)
    assert scores(turned)[::-1] == pytest.approx(expected)


async def test_beyond_the_exact_size_the_biggest_clusters_are_still_merged() -> None:
    async def same(pairs: Sequence[tuple[str, str]]) -> list[bool | None]:
        return [a[0] == b[0] for a, b in pairs]

    answers = [(f"a{place}", f"a{place}") for place in range(EXACT)] + [("b", "b")] * 5 + [("a", "a")] * 9
    found = await cluster(answers, same)
    assert [len(made.members) for made in found.clusters] == [EXACT + 9, 5]
