"""Blocking adapters called from many threads, as trainers call them: one request for all, and none pays for another."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from rewarden.adapters import Scorer, Settings, areal, easyr1, plain, skyrl, verl
from rewarden.errors import DeadlineExceeded, InvalidRequest
from rewarden.types import Batch, Group, Sample, Verdict
from tests.client.servers import Script, http_server

THREADS = 32


class Gathering(Script):
    """Answers a stream only once all threads' samples have come through it."""

    async def stream(self, header: Batch, samples: AsyncIterator[Sample]) -> AsyncIterator[Verdict | Group]:
        """Answers all together."""
        told: list[Verdict | Group] = []
        async for item in super().stream(header, samples):
            told.append(item)
            if len(told) == THREADS:
                for each in told:
                    yield each


@pytest.fixture
def script() -> Script:
    """Returns the script of the server, which waits for all threads."""
    return Gathering()


async def in_threads(call: Callable[[int], Any]) -> list[Any]:
    """Returns the results or exceptions of `call(0)` to `call(31)`, each in a thread of its own."""
    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(THREADS) as pool:
        calls = [loop.run_in_executor(pool, call, number) for number in range(THREADS)]
        return await asyncio.gather(*calls, return_exceptions=True)


def by_verl(target: str) -> Callable[[int], Any]:
    def call(number: int) -> Any:
        answer = str(number % 2)
        return verl.compute_score("d", str(number % 4), answer, {}, target=target, patience_s=0, timeout_s=60)["score"]

    return call


def by_plain(target: str) -> Callable[[int], Any]:
    score = plain.reward(target=target, patience_s=0, timeout_s=60)
    return lambda number: score(None, [str(number % 4)], answer=[str(number % 2)])[0]


def by_easyr1(target: str) -> Callable[[int], Any]:
    def call(number: int) -> Any:
        row = {"response": str(number % 4), "response_length": 1, "ground_truth": str(number % 2)}
        return easyr1.compute_score([row], target=target, patience_s=0, timeout_s=60)[0]["overall"]

    return call


def by_skyrl(target: str) -> Callable[[int], Any]:
    def call(number: int) -> Any:
        extras = {"reward_spec": {"ground_truth": str(number % 2)}}
        episode = skyrl.Episode({}, extras, target=target, patience_s=0, timeout_s=60)
        return episode.step(str(number % 4))["reward"]

    return call


def by_areal(target: str) -> Callable[[int], Any]:
    score = areal.reward(target=target, within_s=60)
    return lambda number: score("", str(number % 4), answer=str(number % 2))


@pytest.mark.parametrize("adapter", [by_verl, by_plain, by_easyr1, by_skyrl, by_areal])
async def test_threads_share_one_request(
    target: str, script: Script, adapter: Callable[[str], Callable[[int], Any]]
) -> None:
    scores = await in_threads(await asyncio.to_thread(adapter, target))
    assert scores == [1.0, 1.0, 0.0, 0.0] * (THREADS // 4)
    assert [len(seen) for seen in script.streams] == [THREADS]
    assert [len(batch.samples) for batch in script.batches if batch.samples] == []


async def test_the_verdict_of_a_lone_sample_is_the_first_of_its_call(target: str) -> None:
    scorer = Scorer(Settings(target=target, timeout_s=60))
    found = await in_threads(lambda number: scorer.score([Sample(response=str(number), id=str(number))]))
    assert [(verdict.index, verdict.id) for (verdict,) in found] == [(0, str(number)) for number in range(THREADS)]


async def test_siblings_and_several_samples_still_travel_as_a_batch(target: str, script: Script) -> None:
    scorer = Scorer(Settings(target=target))
    await asyncio.to_thread(scorer.score, [Sample(response="1", group="g")])
    await asyncio.to_thread(scorer.score, [Sample(response="1")] * 2)
    assert ([len(batch.samples) for batch in script.batches], script.streams) == ([1, 2], [])


async def test_behind_a_proxy_which_streams_do_not_use_each_sample_is_a_request(
    target: str, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", target)  # this server answers for any host
    monkeypatch.delenv("NO_PROXY", raising=False)
    scorer = Scorer(Settings(target="http://rewards.invalid"))
    (verdict,) = await asyncio.to_thread(scorer.score, [Sample(response="1", reference="1")])
    assert (verdict.score, len(script.batches), script.streams) == (1.0, 1, [])


async def test_what_ends_the_stream_costs_its_own_caller_only(target: str, script: Script) -> None:
    judged = 0

    def judge(sample: Sample, index: int) -> Verdict:
        nonlocal judged
        judged += 1
        if judged == THREADS or (judged > THREADS and sample.id == "7"):
            raise InvalidRequest("nobody can read sample 7")
        return Verdict(status="scored", score=1.0, index=index, id=sample.id)

    script.judge = judge
    scorer = Scorer(Settings(target=target, timeout_s=60))
    found = await in_threads(lambda number: scorer.score([Sample(response="", id=str(number))])[0].id)
    assert isinstance(found.pop(7), InvalidRequest)
    assert found == [str(number) for number in range(THREADS) if number != 7]


async def test_a_sample_that_cannot_be_sent_costs_its_own_caller_only(target: str, script: Script) -> None:
    scorer = Scorer(Settings(target=target, timeout_s=60))
    references: list[Any] = [*map(str, range(THREADS)), float("nan")]
    bad = asyncio.to_thread(scorer.score, [Sample(response="", reference=references.pop(), id="bad")])
    good = in_threads(lambda number: scorer.score([Sample(response=str(number), reference=references[number])]))
    (verdict,), found = await asyncio.gather(bad, good)
    assert (verdict.reason, verdict.fault, verdict.id) == ("invalid_sample", "caller", "bad")
    assert [verdict.score for (verdict,) in found] == [1.0] * THREADS


async def test_a_lost_connection_costs_no_thread_its_verdict(target: str, script: Script) -> None:
    script.breaks.append(THREADS - 1)
    scorer = Scorer(Settings(target=target, timeout_s=60))
    found = await in_threads(lambda number: scorer.score([Sample(response="", id=str(number))])[0].id)
    assert found == [str(number) for number in range(THREADS)]
    assert len(script.streams) == 2


async def test_a_server_that_falls_silent_is_waited_for_no_longer_than_the_settings_say(
    target: str, script: Script
) -> None:
    silent = Scorer(Settings(target=target, timeout_s=0.05, patience_s=0))
    with pytest.raises(DeadlineExceeded, match=r"0\.05 s"):
        await asyncio.to_thread(silent.score, [Sample(response="")])  # the other threads' samples never come


async def test_a_process_that_is_forked_while_threads_score_has_a_stream_of_its_own(tmp_path: Path) -> None:
    script = Script()
    code = tmp_path / "forked.py"
    code.write_text(_FORKED)
    async with http_server(script) as target:
        run = partial(subprocess.run, [sys.executable, str(code), target], capture_output=True, text=True, timeout=60)
        ended = await asyncio.to_thread(run)
    assert (ended.returncode, ended.stdout.split(), ended.stderr) == (0, ["8", "8"], "")
    senders = [{sample.data_source for sample in seen} for seen in script.streams]
    assert {frozenset(sender) for sender in senders} == {frozenset({"parent"}), frozenset({"child"})}


_FORKED = """
import os, sys, threading
from rewarden.adapters import verl

target = sys.argv[1]


def score(who):
    scores = []
    call = lambda: scores.append(verl.compute_score(who, "1", "1", {}, target=target)["score"])
    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    return threads, scores


verl.compute_score("parent", "1", "1", {}, target=target)  # so that no thread is importing when it forks
threads, scores = score("parent")
child = os.fork()
if child == 0:
    threads, scores = score("child")
for thread in threads:
    thread.join()
print(int(sum(scores)), flush=True)
if child:
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
