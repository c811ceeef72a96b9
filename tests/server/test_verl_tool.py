"""verl's tool over a notebook, called as the tool loop of verl 0.9.1 calls it, on a real server."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import pytest_asyncio

from rewarden import AsyncClient
from rewarden.boxes.verl_tool import NotebookTool
from rewarden.errors import InvalidRequest, Unavailable
from tests.server.box_host import HostProcess
from tests.server.box_host import host as host
from tests.server.conftest import Running, Start
from tests.server.launchers import launcher as launcher

pytestmark = [pytest.mark.needs_server, pytest.mark.slow]


class Rollout:
    """verl's `AgentData`."""

    def __init__(self, request_id: str) -> None:
        self.request_id = request_id


class ToolResponse:
    """verl's class of this name."""

    def __init__(self, text: str | None = None) -> None:
        self.text = text


class ToolSchema:
    """verl's `OpenAIFunctionToolSchema`."""

    @staticmethod
    def model_validate(told: dict[str, Any]) -> SimpleNamespace:
        """The schema with its attributes."""
        return SimpleNamespace(type=told["type"], function=SimpleNamespace(**told["function"]))


@pytest.fixture(autouse=True)
def verl(monkeypatch: pytest.MonkeyPatch) -> None:
    """The module of verl that the tool needs."""
    schemas = ModuleType("verl.tools.schemas")
    schemas.ToolResponse, schemas.OpenAIFunctionToolSchema = ToolResponse, ToolSchema  # type: ignore[attr-defined]
    for module in (ModuleType("verl"), ModuleType("verl.tools"), schemas):
        monkeypatch.setitem(sys.modules, module.__name__, module)


@pytest_asyncio.fixture
async def server(start: Start, host: HostProcess, tmp_path: Path) -> AsyncIterator[Running]:
    """A server of that host."""
    yield await start({"sandbox.address": host.address, "boxes.dir": str(tmp_path / "boxes")})


async def call(tool: NotebookTool, code: str, rollout: Rollout | None) -> str:
    """One call, as verl makes it."""
    number, _ = await tool.create(create_kwargs={})
    try:
        said = {} if rollout is None else {"agent_data": rollout}
        response, reward, metrics = await tool.execute(number, {"code": code}, **said)
        assert (reward, metrics) == (0.0, {})
        return str(response.text)
    finally:
        await tool.release(number)


async def test_the_calls_of_a_rollout_share_a_notebook_which_ends_with_it(server: Running) -> None:
    tool = NotebookTool({"type": "native", "target": server.serving.http, "timeout_s": 30}, None)
    assert tool.name == "python"
    # With full determinism, verl gives the rollouts of every step the same ids.
    one, other = Rollout("det-0"), Rollout("det-0")
    assert await call(tool, "x = 1", one) == ""
    both = await asyncio.gather(call(tool, "x += 1", one), call(tool, "x += 1", one))  # the calls of a turn
    assert list(both) == ["", ""]
    assert await call(tool, "x", one) == "3"
    assert "NameError" in await call(tool, "x", other)
    assert "must be a JSON object" in (await tool.execute((await tool.create())[0], {}, agent_data=one))[0].text
    async with AsyncClient(server.serving.http) as client:
        boxes = await client.boxes()
        assert [each.rollout for each in boxes] == ["det-0", "det-0"]
        del one
        gc.collect()
        async with asyncio.timeout(30):
            while len(await client.boxes()) > 1:
                await asyncio.sleep(0.05)
        assert (await call(tool, "1 + 1", other)) == "2"


async def test_a_policy_that_loses_its_notebook_reads_so_and_goes_on(server: Running) -> None:
    """It cannot have its rollout left out as one that the server failed."""
    tool = NotebookTool({"type": "native", "target": server.serving.http, "idle_s": 2}, None)
    rollout = Rollout("a")
    assert "The call cannot be run: " in await call(tool, f"x = '{'x' * 600_000}'", rollout)
    assert await call(tool, "x = 1\nx", rollout) == "1"
    async with AsyncClient(server.serving.http) as client, asyncio.timeout(60):
        while await client.boxes():
            await asyncio.sleep(0.05)
    assert "files are lost" in await call(tool, "x", rollout)
    assert "NameError" in await call(tool, "x", rollout)
    assert await call(tool, "import os; os.kill(os.getppid(), 9)", rollout) == "The cell ended the interpreter."
    assert "variables are lost" in await call(tool, "1", rollout)
    assert await call(tool, "1", rollout) == "1"


async def test_without_a_rollout_each_call_has_a_notebook_of_its_own(server: Running) -> None:
    tool = NotebookTool({"type": "native", "target": server.serving.http}, None)
    await call(tool, "x = 1", None)
    assert "NameError" in await call(tool, "x", None)
    async with AsyncClient(server.serving.http) as client, asyncio.timeout(30):
        while await client.boxes():
            gc.collect()
            await asyncio.sleep(0.05)


async def test_a_server_that_is_away_is_an_error_and_a_wrong_setting_as_well() -> None:
    tool = NotebookTool({"type": "native", "target": "http://127.0.0.1:1"}, None)
    with pytest.raises(Unavailable):
        await call(tool, "1", Rollout("a"))
    with pytest.raises(InvalidRequest, match="unknown sandbox_fusion_url"):
        NotebookTool({"type": "native", "sandbox_fusion_url": "http://127.0.0.1:1"}, None)
    with pytest.raises(InvalidRequest, match="target"):
        NotebookTool({"type": "native"}, None)
