"""AReaL's reward function: in its process pool, and awaited."""

from __future__ import annotations

import asyncio
import pickle
import subprocess
import sys
from importlib.util import find_spec

import pytest

from rewarden.adapters import NoScore
from rewarden.adapters.areal import Reward, reward, reward_fn
from rewarden.errors import DeadlineExceeded, Unavailable
from rewarden.types import Sample, Verdict
from tests.adapters.conftest import Start
from tests.client.servers import Script, http_server

IDS = ([1], [2, 3])


def unscored(sample: Sample, index: int) -> Verdict:
    """No score."""
    return Verdict(status="undecided", reason="invalid_reference", fault="reference", index=index)


async def test_columns_become_the_sample() -> None:
    script = Script()
    async with http_server(script) as target:
        judge = reward("equal", target=target)
        assert await judge.asynchronous("p", "2", *IDS, answer="2", data_source="gsm8k", messages=[]) == 1.0
        assert await asyncio.to_thread(judge, "p", "3", *IDS, answer="2") == 0.0
    sent = script.streams[0][0]
    assert (sent.prompt, sent.reference, sent.data_source, sent.token_count) == ("p", "2", "gsm8k", 2)


async def test_no_score_is_raised_in_either_form_unless_a_number_was_given() -> None:
    async with http_server(Script(judge=unscored)) as target:
        judge = reward("equal", target=target)
        with pytest.raises(NoScore):
            await judge.asynchronous("p", "2", *IDS, answer="2")
        with pytest.raises(NoScore) as raised:
            await asyncio.to_thread(judge, "p", "2", *IDS, answer="2")
        assert (await judge.verdict("p", "2", *IDS, answer="2")).reason == "invalid_reference"
        assert await reward("equal", target=target, unscored=-1).asynchronous("p", "2", *IDS) == -1.0
    # A process pool whose worker's exception cannot be unpickled is a broken pool.
    assert pickle.loads(pickle.dumps(raised.value)).verdict.fault == "reference"  # noqa: S301


async def test_a_blocking_call_ends_by_itself_and_never_as_a_time_out_of_pythons() -> None:
    hold = asyncio.Event()
    async with http_server(Script(hold=hold)) as target:
        with pytest.raises(DeadlineExceeded, match="no verdict within") as raised:
            await asyncio.to_thread(reward("equal", target=target, within_s=0.05), "p", "2", *IDS, answer="2")
        hold.set()
    assert not isinstance(raised.value, TimeoutError)  # AReaL's wrapper makes a 0 of those
    with pytest.raises((DeadlineExceeded, Unavailable)):
        await asyncio.to_thread(reward(target="http://127.0.0.1:9", within_s=0.05), "p", "2")


def test_a_process_has_one_of_each_however_often_it_comes() -> None:
    judge = reward("math", target="http://one:1", metadata=["level"])
    ones = [pickle.loads(pickle.dumps(judge)) for _ in range(2)]  # noqa: S301
    assert ones[0] is ones[1]
    assert ones[0].settings == judge.settings
    other = pickle.loads(pickle.dumps(reward("math", target="http://two:1", metadata=["level"])))  # noqa: S301
    assert isinstance(other, Reward)
    assert other is not ones[0]
    assert pickle.loads(pickle.dumps(reward_fn)) is reward_fn  # noqa: S301


_DRIVE = """
import asyncio, importlib.util, logging, sys, types
# `import areal` wants most of a training stack; the wrapper itself wants the standard library and a logger.
root = importlib.util.find_spec("areal").submodule_search_locations[0]
for name in ("areal", "areal.api", "areal.utils"):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [root + name.removeprefix("areal").replace(".", "/")]
sys.modules["areal.utils"].logging = logging
from areal.api.reward_api import AsyncRewardWrapper
from rewarden.adapters.areal import reward

async def main(target):
    judge = reward("choice", target=target, patience_s=0, within_s=8)
    wrapped = AsyncRewardWrapper(judge, max_workers=1, max_retries=1)
    ask = lambda text, answer="B", fn=wrapped: fn("p", text, [1], [2], answer=answer)
    print(await asyncio.gather(ask("Answer: B"), ask("Answer: C")))
    for fn in (wrapped, AsyncRewardWrapper(reward("choice", target="http://127.0.0.1:9", patience_s=0),
                                           max_workers=1, max_retries=1)):
        try:
            print(await ask("Answer: B", "?!", fn))
        except Exception as error:
            print(type(error).__name__)

asyncio.run(main(sys.argv[1]))
"""


async def test_areals_own_wrapper_calls_it(start: Start) -> None:
    """`AsyncRewardWrapper` of the package, with its process pool, in a process of its own."""
    if find_spec("areal") is None:
        pytest.skip("areal (--no-deps) is not installed")
    server = await start()
    ran = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", _DRIVE, server.serving.http], capture_output=True, text=True, timeout=90
    )
    assert ran.stdout.splitlines() == ["[1.0, 0.0]", "NoScore", "Unavailable"], ran.stderr[-2000:]
