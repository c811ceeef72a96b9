"""OpenEnv's published client against this server's environments."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.adapters.conftest import Start


@pytest.fixture
def client() -> Any:
    """The client that needs no types of an environment."""
    generic = pytest.importorskip("openenv.core.generic_client", reason="openenv is not installed")
    return generic.GenericEnvClient


async def test_the_published_client_lives_an_episode(start: Start, client: Any) -> None:
    server = await start()
    async with client(base_url=f"{server.serving.http}/openenv/tic_tac_toe") as env:
        begun = await env.reset(seed=7)
        assert (begun.reward, begun.done) == (None, False)
        assert begun.observation["text"].startswith("1 2 3")
        results = [await env.step({"text": text}) for text in ("1", "2", "3")]
        assert [(each.reward, each.done) for each in results] == [(0.0, False), (0.0, False), (1.0, True)]
        state = await env.state()
        assert (state["step_count"], state["success"], state["reference"]["seed"]) == (3, True, 7)


async def test_the_published_client_lives_many_episodes_at_once(start: Start, client: Any) -> None:
    server = await start()

    async def live(seed: int) -> tuple[str, int]:
        async with client(base_url=f"{server.serving.http}/openenv/nim") as env:
            result = await env.reset(seed=seed, heaps=[1, 2, 3], opponent="best")
            text = result.observation["text"]
            while not result.done:
                heap = next(line for line in result.observation["text"].split("\n") if line[-1] in "123456789")
                result = await env.step({"text": f"{heap.split(' ')[1].rstrip(':')}:1"})
            return text, (await env.state())["step_count"]

    lived = await asyncio.gather(*map(live, range(40)))
    assert len({text for text, _ in lived}) == 1
    assert all(count >= 1 for _, count in lived)
    assert len(server.serving.service.episodes) == 0


async def test_the_published_client_is_told_of_errors(start: Start, client: Any) -> None:
    server = await start({"environments.per_key": 1})
    address = f"{server.serving.http}/openenv/nim"
    async with client(base_url=address) as env:
        with pytest.raises(RuntimeError, match=r"options\.heaps\[0\].*VALIDATION_ERROR"):
            await env.reset(seed=1, heaps=["many"])
        await env.reset(seed=1)
        with pytest.raises(RuntimeError, match="VALIDATION_ERROR"):
            await env.step({"move": "1:1"})
        assert not (await env.step({"text": "1:1"})).done
        async with client(base_url=address) as other:
            with pytest.raises(Exception, match=r"CAPACITY_REACHED|per_key"):
                await other.reset(seed=1)


async def test_the_published_client_works_without_async(start: Start, client: Any) -> None:
    server = await start()

    def live() -> list[Any]:
        with client(base_url=f"{server.serving.http}/openenv/sokoban").sync() as env:
            env.reset(seed=0, grid=["######", "#    #", "#@$ .#", "######"])
            result = env.step({"text": "RR"})
            return [result.reward, result.done]

    assert await asyncio.to_thread(live) == [1.0, True]
