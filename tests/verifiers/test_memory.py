"""`memory`: facts that are recalled, and operations on a memory."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarden.errors import InvalidParams
from rewarden.types import Outcome, Sample, Use
from rewarden_server.engine.plan import Planner
from rewarden_verifiers.archives.bank import EVENTS, Operation, change
from rewarden_verifiers.archives.facts import LONGEST, alike, fact
from rewarden_verifiers.registry import Registry
from tests.verifiers.direct import outcome_of

PLANNER = Planner(Registry())
BANK = {"1": "Mia lives in Rome", "2": "Mia has a dog"}
FACTS = st.lists(st.sampled_from([f"{a} likes {b}" for a in ("Mia", "Tom", "Ada") for b in ("jazz", "go")]), max_size=5)
EVENT = st.sampled_from(["ADD", "UPDATE", "DELETE", "NOOP"])
OPERATIONS = st.lists(
    st.builds(
        lambda event, own, text: {"event": event, "id": own, "text": text},
        EVENT,
        st.sampled_from(["1", "2", "3"]),
        st.sampled_from(["Mia plays chess", "Mia lives in Rome"]),
    ),
    max_size=6,
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8), lambda of: st.lists(of, max_size=4)
)


async def judged(response: Any, reference: dict[str, Any], **params: Any) -> Outcome:
    text = response if isinstance(response, str) else json.dumps(response)
    return await outcome_of(PLANNER, Use(name="memory", params=params), Sample(response=text, reference=reference))


@given(facts=FACTS.filter(lambda facts: len(set(facts)) == len(facts)), seed=st.randoms())
async def test_the_expected_facts_in_any_order_are_right(facts: list[str], seed: Any) -> None:
    given = list(facts)
    seed.shuffle(given)
    assert (await judged(given, {"facts": facts})).score == 1


@given(given=FACTS, expected=FACTS)
async def test_more_than_the_expected_facts_never_score_more(given: list[str], expected: list[str]) -> None:
    less, more = [await judged([*expected, *rest], {"facts": expected}) for rest in ([], given)]
    assert less.score == 1
    assert (more.score == 1) == (not given)


@given(operations=OPERATIONS)
async def test_the_expected_operations_are_right(operations: list[dict[str, Any]]) -> None:
    outcome = await judged(operations, {"memory": BANK, "operations": operations})
    assert outcome.status == "undecided" or outcome.score == 1


@given(operations=OPERATIONS)
async def test_doing_nothing_scores_only_where_nothing_is_expected(operations: list[dict[str, Any]]) -> None:
    outcome = await judged([{"event": "NOOP"}], {"memory": BANK, "operations": operations})
    made = change(BANK, [Operation(EVENTS[one["event"].lower()], one["id"], one["text"]) for one in operations])
    assert outcome.status == "undecided" or outcome.score == float(made.size == 0)


@given(response=JSON | st.text(max_size=30))
async def test_whatever_the_response_holds_is_scored(response: Any) -> None:
    for reference in ({"facts": ["Mia likes jazz"]}, {"memory": BANK, "operations": [{"event": "DELETE", "id": "2"}]}):
        outcome = await judged(response, reference)
        assert (outcome.status, outcome.score) == ("scored", 0)


def test_what_is_changed_back_is_not_changed() -> None:
    operations = [
        Operation("update", "1", "Mia lives in Paris"),
        Operation("update", "1", "Mia lives in Rome"),
        Operation("add", "3", "Mia plays chess"),
        Operation("delete", "3", None),
    ]
    assert change(BANK, operations).size == 0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Mia likes jazz.", "mia likes jazz"),
        ("Mia’s dog is called Bruno", "Mia's dog is called Bruno"),
        ("She doesn't smoke", "She does not smoke"),
        ("Mia moved to the Rome area in 2021", "Mia moved to Rome area in 2021"),
        ("Миа живёт в Риме", "миа живет в Риме"),
    ],
)
def test_forms_of_one_statement_are_alike(one: str, other: str) -> None:
    assert alike(fact(one), fact(other), 0.5) > 0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Mia has 2 dogs", "Mia has 3 dogs"),
        ("Mia smokes every day", "Mia doesn't smokes every day"),
        ("In May the team met Tom in Rome", "In May the team met Ada in Rome"),
        ("Tom owes Ada money", "Ada owes Tom money"),
        ("", ""),
    ],
)
def test_statements_that_differ_in_what_matters_are_not(one: str, other: str) -> None:
    assert alike(fact(one), fact(other), 0.8) == 0


@pytest.mark.parametrize(
    "reference",
    [
        {},
        {"facts": [""]},
        {"facts": [[]]},
        {"facts": ["a " * LONGEST]},
        {"facts": ["a"] * 65},
        {"operations": [{"event": "ADD"}]},
        {"operations": [{"event": "MERGE"}]},
        {"operations": [{"event": "DELETE", "id": "9"}]},
        {"memory": BANK, "operations": [{"event": "ADD", "id": "1", "text": "x"}]},
        {"operations": [{"event": "ADD", "text": "?!"}]},
    ],
)
async def test_a_reference_that_cannot_be_used_is_not_the_policys_fault(reference: dict[str, Any]) -> None:
    outcome = await judged(["x"], reference)
    assert (outcome.status, outcome.fault) == ("undecided", "reference")


async def test_more_than_64_items_are_too_expensive() -> None:
    """Attack: lists so long that pairing them takes too long, and the response goes unscored."""
    assert (await judged(["Mia likes jazz"] * 65, {"facts": ["Mia likes jazz"]})).reason == "too_expensive"
    many = [{"event": "DELETE", "id": str(place)} for place in range(65)]
    assert (await judged(many, {"operations": [{"event": "NOOP"}]})).reason == "too_expensive"


@pytest.mark.parametrize("params", [{"threshold": 0.4}, {"passing": 0}, {"extraction": "all"}])
async def test_parameters_out_of_range_are_refused(params: dict[str, Any]) -> None:
    with pytest.raises(InvalidParams):
        PLANNER.bind(Use(name="memory", params=params))
