"""ms-swift's reward functions, called as swift 4.6.0 calls them, and by swift itself where it is installed."""

from __future__ import annotations

import asyncio
import os
import pickle
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import rewarden.adapters.swift
from rewarden.adapters import NoScore, Settings
from rewarden.adapters.swift import AsyncReward, reward
from rewarden.types import Sample, Verdict
from tests.client.servers import Script, http_server, judge


def batch(*completions: str) -> dict[str, Any]:
    """The keywords of a call (`rl_core/grpo_algorithm.py`, `GRPOSample.to_reward_row`)."""
    question = {"role": "user", "content": "Which letter?"}
    return {
        "trainer_state": SimpleNamespace(global_step=3, max_steps=9),
        "messages": [[question, {"role": "assistant", "content": text}] for text in completions],
        "prompt_id": ["p"] * len(completions),
        "request_id": [f"r{place}" for place in range(len(completions))],
        "finish_reason": ["stop", *["length"] * (len(completions) - 1)],
        "is_truncated": [False, *[True] * (len(completions) - 1)],
        "rollout_infos": [{} for _ in completions],
        "response_token_ids": [[[7, 8, 9]], *[[] for _ in completions[1:]]],
        "solution": ["x"] * len(completions),
    }


async def test_a_call_of_swifts(target: str, script: Script) -> None:
    function = pickle.loads(pickle.dumps(reward(target=target, group="prompt_id")))  # noqa: S301 - written here
    assert await asyncio.to_thread(function, ["x", "y"], **batch("x", "y")) == [1.0, 0.0]
    (sent,) = script.batches
    first, second = sent.samples
    assert isinstance(first, Sample)
    assert isinstance(second, Sample)
    assert sent.progress is not None
    assert (sent.progress.step, sent.progress.total_steps) == (3, 9)
    assert (first.response, first.prompt) == ("x", [{"role": "user", "content": "Which letter?"}])
    assert (first.reference, first.group, first.finish_reason, first.token_count) == ("x", "p", "stop", 3)
    assert (second.group, second.finish_reason, second.token_count) == ("p", "length", None)


def test_the_awaited_one_works_in_a_loop_for_each_batch() -> None:
    """As swift runs it; the server is in a loop of its own as well."""

    async def main() -> list[float]:
        async with http_server(Script()) as address:
            function = AsyncReward(Settings.read(target=address))
            first = await asyncio.to_thread(asyncio.run, function(["x"], **batch("x")))
            return first + await asyncio.to_thread(asyncio.run, function(["y"], **batch("y")))

    assert asyncio.run(main()) == [1.0, 0.0]


async def test_swift_would_add_none_up_as_0_so_it_is_never_given_one(target: str, script: Script) -> None:
    bad = Verdict(status="undecided", reason="invalid_reference", fault="reference")
    script.judge = lambda sample, index: bad if sample.response == "odd" else judge(sample, index)
    with pytest.raises(NoScore, match="invalid_reference"):
        await asyncio.to_thread(reward(target=target), ["odd"], **batch("odd"))
    assert await asyncio.to_thread(reward(target=target, unscored=0.5), ["odd"], **batch("odd")) == [0.5]


def test_the_plugin_stands_in_a_folder_that_hides_no_package() -> None:
    """swift puts a plugin's folder before all others on the path."""
    told = subprocess.run(
        [sys.executable, "-m", "rewarden.adapters", "swift"], check=True, capture_output=True, text=True
    )
    plugin = Path(told.stdout.strip())
    assert {path.name for path in plugin.parent.glob("*.py")} == {"__init__.py", plugin.name}
    assert plugin.stem == "rewarden_swift"


_IN_SWIFT = """
import sys
import torch
import swift
from swift.rewards import orms
from swift.rl_core.data import GRPOSample
from swift.rl_core.grpo_algorithm import compute_rewards_per_func
from swift.utils import import_external_file

import_external_file(sys.argv[1])
import_external_file(sys.argv[1])
functions = [orms["rewarden"](args=None), orms["async_rewarden"](args=None)]
rows = [
    {"messages": [{"role": "user", "content": "?"}, {"role": "assistant", "content": text}], "solution": "x"}
    for text in ("x", "y")
]
samples = [GRPOSample.from_row(row) for row in rows]
print(compute_rewards_per_func(samples, functions, [None, None], torch.device("cpu")).tolist())
"""


async def test_swift_itself_loads_and_calls_both(target: str) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    pytest.importorskip("swift.rewards", reason="ms-swift is not installed")
    plugin = Path(rewarden.adapters.swift.__file__).with_name("rewarden_swift.py")
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        _IN_SWIFT,
        str(plugin),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "REWARDEN_TARGET": target},
    )
    out, err = await process.communicate()
    assert out.decode().splitlines()[-1:] == ["[[1.0, 1.0], [0.0, 0.0]]"], err.decode()[-3000:]
