"""The plain reward function: lists in, numbers out."""

from __future__ import annotations

import asyncio
import pickle
from array import array
from typing import Any

import pytest

from rewarden.adapters import NoScore
from rewarden.adapters.plain import reward
from rewarden.errors import InvalidRequest
from rewarden.types import Sample, Verdict
from tests.client.servers import Script, judge


def odd(sample: Sample, index: int) -> Verdict:
    """A judge that finds the reference of "odd" bad."""
    bad = Verdict(status="undecided", reason="invalid_reference", fault="reference", index=index)
    return bad if sample.response == "odd" else judge(sample, index)


async def called(function: Any, *args: Any, **columns: Any) -> Any:
    """The call, on another thread: the server of the test is on this one."""
    return await asyncio.to_thread(function, *args, **columns)


async def test_scores_come_in_order_and_columns_are_lists_arrays_or_one_value(target: str, script: Script) -> None:
    score = pickle.loads(pickle.dumps(reward(target=target, metadata=("level", "kind"))))  # noqa: S301 - written here
    found = await called(
        score, ["p", "q"], ["x", "y"], answer=["x", "x"], level=array("i", [1, 2]), kind="sums", data_source="d"
    )
    assert found == [1.0, 0.0]
    first, second = script.batches[0].samples
    assert isinstance(first, Sample)
    assert isinstance(second, Sample)
    assert (first.prompt, first.metadata, first.data_source) == ("p", {"level": 1, "kind": "sums"}, "d")
    assert (second.prompt, second.metadata, second.data_source) == ("q", {"level": 2, "kind": "sums"}, "d")


@pytest.mark.parametrize("columns", [{"answer": ["x"]}, {"answer": ["x", "y", "z"]}])
async def test_a_list_of_another_length_is_refused(target: str, columns: Any) -> None:
    with pytest.raises(InvalidRequest, match=r"answer: \d values for 2 completions"):
        await called(reward(target=target), None, ["x", "y"], **columns)
    with pytest.raises(InvalidRequest, match="prompts: 1 values for 2 completions"):
        await called(reward(target=target), ["p"], ["x", "y"])


async def test_what_has_no_score_is_a_number_only_where_it_is_asked_for(target: str, script: Script) -> None:
    script.judge = odd
    with pytest.raises(NoScore, match="invalid_reference"):
        await called(reward(target=target), None, ["x", "odd"], answer=["x", "x"])
    assert await called(reward(target=target, unscored=-1), None, ["x", "odd"], answer=["x", "x"]) == [1.0, -1.0]
    verdicts = await reward(target=target).averdicts(None, ["x", "odd"], answer=["x", "x"])
    assert [verdict.status for verdict in verdicts] == ["scored", "undecided"]


async def test_a_column_names_the_groups(target: str, script: Script) -> None:
    await called(reward(target=target, group="uid"), None, ["x", "y", "z"], answer="x", uid=[1, 1, 2])
    assert [sample.group for sample in script.batches[0].samples] == ["1", "1", "2"]  # type: ignore[union-attr]
