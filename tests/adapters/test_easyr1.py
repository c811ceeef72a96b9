"""EasyR1's reward function, called as its reward manager calls it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from rewarden.adapters import NoScore, easyr1
from rewarden.adapters.easyr1 import KEYS, compute_score
from tests.server.process import ServerProcess

pytestmark = pytest.mark.needs_server

RIGHT, WRONG, SILENT = "So it is \\boxed{72}.", "So it is \\boxed{71}.", "It is seventy-"


def row(response: str, truth: str, length: int = 9) -> dict[str, Any]:
    """Returns what EasyR1 passes."""
    return {"response": response, "response_length": length, "ground_truth": truth}


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server."""
    with ServerProcess(tmp_path_factory.mktemp("server")) as server:
        yield server.http


async def scores(target: str, rows: list[dict[str, Any]], **settings: Any) -> list[dict[str, float]]:
    """From a thread, as in EasyR1's actor."""
    kwargs = {"target": target, "patience_s": 0, **settings}
    return await asyncio.to_thread(lambda: compute_score(rows, **kwargs))


async def test_a_batch_has_the_same_numbers_for_every_sample(target: str) -> None:
    rows = [row(RIGHT, "72"), row(WRONG, "72"), row(SILENT, "72", 16), row(RIGHT, "\\frac{")]
    found = await scores(target, rows, use="math", unscored=-1, max_response_length=16)
    assert (easyr1.REWARD_NAME, easyr1.REWARD_TYPE) == ("rewarden", "batch")
    assert [tuple(one) for one in found] == [KEYS] * 4
    assert all(type(value) is float for one in found for value in one.values())
    assert [one["overall"] for one in found] == [1.0, 0.0, 0.0, -1.0]
    assert [one["format"] for one in found] == [1.0, 1.0, 0.0, 0.0]
    assert [one["unscored"] for one in found] == [0.0, 0.0, 0.0, 1.0]
    assert [one["truncated"] for one in found[:3]] == [0.0, 0.0, 1.0]


async def test_a_sample_without_a_score_stops_the_batch(target: str) -> None:
    with pytest.raises(NoScore):
        await scores(target, [row(RIGHT, "72"), row(RIGHT, "\\frac{")], use="math")


async def test_the_truth_may_hold_more_than_the_reference(target: str, tmp_path: Any) -> None:
    (tmp_path / "routes.toml").write_text('[[route]]\ndata_source = "gsm*"\nuse = "math"\n')
    folded = json.dumps({"reference": "72", "data_source": "gsm8k"})
    found = await scores(target, [row(RIGHT, folded), row(WRONG, folded)], routing=str(tmp_path / "routes.toml"))
    assert [one["accuracy"] for one in found] == [1.0, 0.0]


async def test_siblings_are_judged_as_a_group(target: str) -> None:
    rows = [row(text, json.dumps({"reference": None, "group": 17})) for text in (RIGHT, WRONG, RIGHT)]
    found = await scores(target, rows, use="consensus")
    assert [one["overall"] for one in found] == [1.0, 0.0, 1.0]


async def test_a_truth_that_is_json_itself_stays_as_it_is(target: str) -> None:
    truth = '{"name": "Ada", "reference": 1}'
    (found,) = await scores(target, [row(f"```json\n{truth}\n```", truth)], use="json")
    assert found["overall"] == 1.0
