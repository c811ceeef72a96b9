"""The resources server of `examples/nemo_gym`, before a real server.

Gym itself is not here: its base class is a stand-in that has the routes of nemo-gym 0.4.0.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from pydantic import BaseModel

from tests.compat.conftest import Running, Start
from tests.compat.test_gym import NOTHING_FAILED, message, plugin, request

__all__ = ["plugin"]

APP = Path(__file__).parents[2] / "examples" / "nemo_gym" / "app.py"
ROW = {**request(), "verifier_metadata": {"seed": 7}}


class Config(BaseModel):
    """Gym's configuration of a server."""


class Server(BaseModel):
    """Gym's base class."""

    model_config = {"extra": "allow"}
    config: Any

    def setup_webserver(self) -> FastAPI:
        """The application with Gym's routes."""
        app = FastAPI()
        made: Any = self
        app.post("/seed_session", response_model=None)(made.seed_session)
        app.post("/verify", response_model=None)(made.verify)
        app.post("/aggregate_metrics")(self.aggregate_metrics)
        return app

    async def aggregate_metrics(self) -> dict[str, str]:
        """Gym's own."""
        return {"of": "Gym"}


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module of the example."""
    base = ModuleType("nemo_gym.base_resources_server")
    base.BaseResourcesServerConfig, base.SimpleResourcesServer = Config, Server  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "nemo_gym", ModuleType("nemo_gym"))
    monkeypatch.setitem(sys.modules, "nemo_gym.base_resources_server", base)
    spec = importlib.util.spec_from_file_location("nemo_gym_example", APP)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "nemo_gym_example", made)  # annotations are looked up in it
    spec.loader.exec_module(made)
    return made


@asynccontextmanager
async def agents(example: ModuleType, server: Running | None, route: str, count: int) -> AsyncIterator[list[Any]]:
    """Yields clients of the example, each with cookies of its own. server: None if it cannot be reached."""
    at = "http://127.0.0.1:9" if server is None else server.serving.http
    config = example.RewardenConfig(rewarden_url=f"{at}/compat/{route}", patience_s=0.0)
    app = example.RewardenResourcesServer(config=config).setup_webserver()
    made = [httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://gym") for _ in range(count)]
    try:
        yield made
    finally:
        for client in made:
            await client.aclose()


async def told(agent: httpx.AsyncClient, path: str, body: Any) -> Any:
    """The body of an answer, which succeeds."""
    answer = await agent.post(f"/{path}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_sessions_tools_and_verdicts_go_through_and_do_not_mix(start: Start, example: ModuleType) -> None:
    async with agents(example, await start(), "gym-env/tic_tac_toe", 2) as (winner, loser):
        for agent in (winner, loser):
            assert "observation" in await told(agent, "seed_session", ROW)
        for move in "123":
            assert (await told(winner, "move", {"move": move}))["text"]
        assert (await told(loser, "fly", {}))["error"] == "unknown_tool"
        # Attack: a name that leads to another route of the server's.
        assert (await told(loser, "%2E%2E", {}))["error"] == "unknown_tool"
        assert (await told(loser, "%2E%2E%2Fnim%2Fseed_session", ROW))["error"] == "unknown_tool"
        assert [(await told(agent, "verify", ROW))["reward"] for agent in (winner, loser)] == [1.0, 0.0]
        assert (await told(winner, "verify", ROW))["reward"] == 1.0
        assert await told(winner, "aggregate_metrics", {}) == {"of": "Gym"}


async def test_a_gymnasium_session_is_reset_stepped_and_closed(start: Start, example: ModuleType) -> None:
    async with agents(example, await start(), "gym-env/tic_tac_toe", 1) as (agent,):
        assert (await told(agent, "reset", ROW))["info"]["supports_explicit_close"]
        call = {"type": "function_call", "call_id": "c", "name": "move", "arguments": '{"move": "1"}', "id": "f"}
        seen = await told(agent, "step", {"response": {**request()["response"], "output": [call]}})
        assert (seen["terminated"], [each["call_id"] for each in seen["info"]["tool_outputs"]]) == (False, ["c"])
        assert await told(agent, "close", {}) == {}
        assert (await agent.post("/step", json={"response": request()["response"]})).status_code == 404


async def test_a_judge_without_sessions_is_asked_as_before(start: Start, example: ModuleType) -> None:
    row = {**request(message("\\boxed{4}")), "expected_answer": "4"}
    async with agents(example, await start(), "gym/math", 1) as (agent,):
        assert (await told(agent, "verify", row)).items() >= {"reward": 1.0, **NOTHING_FAILED}.items()


async def test_what_cannot_be_reached_is_masked(example: ModuleType) -> None:
    async with agents(example, None, "gym-env/tic_tac_toe", 1) as (agent,):
        reply = await told(agent, "verify", ROW)
        assert (reply["reward"], reply["mask_sample"], reply["failure_kind"]) == (0.0, True, "rewarden:infra")
        with pytest.raises(httpx.ConnectError):
            await agent.post("/seed_session", json=ROW)
