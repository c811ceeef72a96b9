"""verifiers' environment of turns: its own engine runs rollouts of a scripted model against a real server."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from rewarden.adapters.episodes import Episode
from rewarden.errors import InternalError, InvalidRequest
from tests.server.conftest import Running, Start

pytestmark = [pytest.mark.needs_server, pytest.mark.slow]

_HERE = Path(__file__).parent


@pytest.fixture
def plays(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The adapter's module. The example and the scripted harness can be imported."""
    pytest.importorskip("verifiers.v1", reason="verifiers 0.4 is not installed")
    monkeypatch.syspath_prepend(str(_HERE / "players"))
    monkeypatch.syspath_prepend(str(_HERE.parents[1] / "examples" / "verifiers"))
    from rewarden.adapters import verifiers_environment

    verifiers_environment._episodes.cache_clear()
    return verifiers_environment


@asynccontextmanager
async def model(*replies: str) -> AsyncIterator[tuple[str, list[Any]]]:
    """A model that says its replies in order; its address, and the conversations that it saw."""
    seen: list[Any] = []

    async def chat(request: Request) -> Response:
        messages = (await request.json())["messages"]
        seen.append(messages)
        said = sum(message["role"] == "assistant" for message in messages)
        message = {"role": "assistant", "content": replies[said]}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
        told = {"id": "c", "object": "chat.completion", "created": 0, "model": "m", "choices": choices, "usage": usage}
        return JSONResponse(told)

    app = Starlette(routes=[Route("/v1/chat/completions", chat, methods=["POST"])])
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="off"))
        serving = asyncio.create_task(server._serve([listener]))  # without its signal handlers
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1", seen
        finally:
            server.should_exit = True
            await serving


async def lived(
    plays: Any, monkeypatch: pytest.MonkeyPatch, server: Running, *replies: str, seed: int = 7, **config: Any
) -> tuple[Any, list[Any]]:
    """The episode of a task as verifiers keeps it, and what the model saw last."""
    monkeypatch.setenv("REWARDEN_TARGET", server.serving.http)
    vf = plays.vf
    given = {"id": "rewarden_episodes", "environment": "tic_tac_toe", "episodes": seed + 1, **config}
    player = {"harness": {"id": "scripted_player"}, "runtime": {"type": "subprocess"}}
    env = plays.EpisodeEnv(plays.EpisodeEnvConfig(taskset=plays.EpisodeConfig(**given), player=player))
    task = list(env.taskset.load())[seed]
    async with model(*replies) as (address, seen), env.serving():
        context = vf.ModelContext(model="m", client=vf.EvalClientConfig(base_url=address, api_key_var="NONE"))
        return await env.run_episode(task, context), seen[-1] if seen else []


async def test_an_episode_is_a_conversation_and_its_verdict_is_the_reward(
    plays: Any, monkeypatch: pytest.MonkeyPatch, start: Start
) -> None:
    server = await start()
    episode, seen = await lived(plays, monkeypatch, server, "1", "I take <action>2</action>.", "3")
    (trace,) = episode.traces
    assert (episode.ok, trace.ok, trace.reward) == (True, True, 1.0)
    assert trace.info["rewarden"]["verifier"]["name"] == "environment"
    assert [message["role"] for message in seen] == ["user", "assistant", "user", "assistant", "user"]
    assert seen[0]["content"].startswith("1 2 3")
    assert seen[2]["content"].startswith("The opponent plays")


async def test_the_policys_mistakes_score_the_minimum(
    plays: Any, monkeypatch: pytest.MonkeyPatch, start: Start
) -> None:
    server = await start()
    for reply in ("two or three", '{"move": "1"}', "1" * 5000, "1\n2"):
        (trace,) = (await lived(plays, monkeypatch, server, reply))[0].traces
        assert (trace.ok, trace.reward, trace.info["rewarden"]["fault"]) == (True, 0.0, "policy"), reply


async def test_an_illegal_action_can_be_tried_again(plays: Any, monkeypatch: pytest.MonkeyPatch, start: Start) -> None:
    server = await start()
    episode, _ = await lived(plays, monkeypatch, server, "1", "1", "2", "3", illegal="again")
    assert episode.traces[0].reward == 1.0


async def test_a_failure_of_ours_fails_the_trace_and_is_no_zero(
    plays: Any, monkeypatch: pytest.MonkeyPatch, start: Start
) -> None:
    server = await start()

    async def failing(*_: Any) -> Any:
        raise InternalError("a worker died")

    monkeypatch.setattr(Episode, "_acted", failing)
    episode, seen = await lived(plays, monkeypatch, server, "1", "2", "3")
    (trace,) = episode.traces
    assert not trace.ok
    assert trace.rewards["rewarden"] is None
    assert "a worker died" in trace.last_error.message
    assert len(seen) == 1, "the rollout does not go on"


async def test_boxes_are_refused_with_a_reason(plays: Any) -> None:
    config = plays.EpisodeConfig(id="rewarden_episodes", environment="task")
    with pytest.raises(InvalidRequest, match="TRL"):
        list(plays.EpisodeTaskset(config).load())


def test_actions_are_in_tags_or_the_whole_reply() -> None:
    verifiers = pytest.importorskip("verifiers.v1", reason="verifiers 0.4 is not installed")
    assert verifiers is not None
    from rewarden.adapters.verifiers_environment import actions_in

    assert actions_in(" 1:2\n") == ["1:2"]
    assert actions_in("a <action> 1 </action> b <action>2</action>") == ["1", "2"]
    assert actions_in("<action>1<action>2</action>") == ["2"]
    assert actions_in("") == [""]
