"""NeMo Gym's resources servers with sessions: as its `simple_agent` and its `gymnasium_agent` call them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from rewarden.errors import Unavailable
from rewarden_server.access.key_record import new_key
from rewarden_server.environments.live import LiveEpisodes
from tests.compat.conftest import Running, Start
from tests.compat.test_gym import NOTHING_FAILED, message, plugin, request
from tests.judges.scripted import ScriptedJudge
from tests.server.box_host import host as host
from tests.server.launchers import launcher as launcher
from tests.server.test_openenv_boxes import SOLVE, emptied
from tests.server.test_openenv_boxes import remembered as remembered
from tests.server.test_openenv_boxes import server as boxes_server
from tests.server.test_openenv_boxes import settings as settings
from tests.verifiers.tau2_desk import write_desk

__all__ = ["plugin"]

GAME = "tic_tac_toe"
COOKIE = "rewarden_session"
ROW = {**request(), "verifier_metadata": {"seed": 7}}

boxes = boxes_server
"""A server with boxes and tasks."""


class Agent:
    """Gym's agent: of each answer it keeps the text and the cookies, which take the place of those before."""

    def __init__(self, server: Running, name: str = GAME, **headers: str) -> None:
        self._http, self._at, self._headers = server.http, f"/compat/gym-env/{name}", headers
        self.cookies: dict[str, str] = {}

    async def post(self, path: str, body: Any) -> httpx.Response:
        """The answer to a request."""
        headers = dict(self._headers)
        if self.cookies:
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        self._http.cookies.clear()
        answer = await self._http.post(f"{self._at}/{path}", json=body, headers=headers)
        self._http.cookies.clear()
        self.cookies = dict(answer.cookies)
        return answer

    async def told(self, path: str, body: Any) -> Any:
        """The body of the answer to a request, which succeeds."""
        answer = await self.post(path, body)
        assert answer.status_code == 200, answer.text
        return answer.json()


async def seeded(server: Running, name: str = GAME, **metadata: Any) -> Agent:
    """An agent that has begun a session."""
    agent = Agent(server, name)
    await agent.told("seed_session", {**ROW, "verifier_metadata": metadata or {"seed": 7}})
    assert COOKIE in agent.cookies
    return agent


async def test_the_tools_of_a_session_and_its_verdict_have_one_state(start: Start) -> None:
    server = await start()
    agents = [await seeded(server) for _ in range(3)]
    for number, agent in enumerate(agents):
        for move in ("1", "2", "3")[: number + 1]:
            assert (await agent.told("move", {"move": move}))["text"]
    # The claims of the response are nobody's.
    row = {**request(message("I won."), reward=1.0), "verifier_metadata": {"seed": 7}}
    rewards = [await agent.told("verify", row) for agent in agents]
    parts = {"success": 1.0, "return": 1.0}
    assert rewards[-1] == row | parts | {"reward": 1.0, "reward_components": parts} | NOTHING_FAILED
    assert [each["reward"] for each in rewards] == [0.0, 0.0, 1.0]
    assert (await agents[-1].told("verify", row))["reward"] == 1.0  # asked again, of a reply that was lost
    assert len(server.serving.service.episodes) == 0


async def test_a_judge_plays_the_user_of_a_session(start: Start, tmp_path: Path) -> None:
    with ScriptedJudge() as judge:
        judge.script(
            {"when": "Nothing has been said yet.", "reply": "Milk, please."},
            {"when": "It costs 1,250.", "reply": "Thanks. ###STOP###"},
            {"when": "next message", "reply": {"$reply": {"status": 500}}},
        )
        corpora = {"tau2": str(write_desk(tmp_path / "bench"))}
        named = json.dumps({"main": judge.settings(retries=0)})
        server = await start({"environments.corpora": corpora, "judges.named": named})
        agent = await seeded(server, "tau2", domain="desk", task="milk", user={"judge": "main"})
        await agent.told("add", {"thing": "milk"})
        said = await agent.told("say", {"text": "It costs 1,250."})
        assert said["text"] == "Thanks.\nThe user has ended the conversation."
        assert (await agent.told("verify", ROW))["reward"] == 1.0
        # A judge that fails: the sample is masked, and no zero.
        agent = await seeded(server, "tau2", domain="desk", task="milk", user={"judge": "main"})
        assert (await agent.post("say", {"text": "Hello?"})).status_code == 503
        assert (await agent.told("verify", ROW))["mask_sample"] is True


async def test_an_episode_that_has_a_verdict_goes_no_further(start: Start) -> None:
    """Attack: a policy that calls `verify` as a tool, reads its reward, and plays on."""
    server = await start()
    agent = await seeded(server)
    await agent.told("move", {"move": "1"})
    assert (await agent.told("verify", {"response": {}, "reward": 1}))["reward"] == 0.0
    for move in ("2", "3"):
        assert (await agent.told("move", {"move": move}))["error"] == "ended"
    assert (await agent.told("verify", ROW))["reward"] == 0.0


@pytest.mark.parametrize("name", ["seed_session", "reset", "close", "step", "fly", "fly/away", "reverify_mode"])
async def test_a_policy_that_calls_what_is_no_tool_makes_a_mistake(start: Start, name: str) -> None:
    """Attack: a policy that begins its episode anew by easier options, or ends it before a bad reward."""
    server = await start()
    agent = await seeded(server)
    await agent.told("move", {"move": "1"})
    easy = {**ROW, "verifier_metadata": {"seed": 7, "squares": "XX......."}}
    answer = await agent.post(name, easy)
    assert answer.status_code in (200, 400)
    assert answer.status_code == 400 or answer.json()["error"] == "unknown_tool"
    await agent.told("move", {"move": "2"})
    await agent.told("move", {"move": "3"})
    reply = await agent.told("verify", ROW)
    assert (reply["reward"], reply["mask_sample"]) == (1.0, False)


@pytest.mark.parametrize(
    "arguments", [[], "1", None, 3, {}, {"move": None}, {"move": "corner"}, json.loads("[" * 200 + "]" * 200)]
)
async def test_wrong_arguments_are_the_policys_mistake(start: Start, arguments: Any) -> None:
    """Attack: arguments that no request can have, for which the reward would be masked instead of bad."""
    server = await start()
    agent = await seeded(server)
    assert (await agent.told("move", arguments))["text"]
    assert (await agent.told("move", {"move": "1"}))["error"] == "ended"
    reply = await agent.told("verify", ROW)
    assert (reply["reward"], reply["mask_sample"]) == (0.0, False)


async def test_a_failure_of_ours_masks_the_reward(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    server = await start()
    agent = await seeded(server)

    async def step(*_: Any) -> Any:
        raise Unavailable("no worker is there", reason="worker_lost", fault="infra")

    with monkeypatch.context() as broken:
        broken.setattr(LiveEpisodes, "step", step)
        assert (await agent.post("move", {"move": "1"})).status_code == 503
    await agent.told("move", {"move": "4"})
    reply = await agent.told("verify", ROW)
    assert (reply["reward"], reply["mask_sample"], reply["failure_kind"]) == (0.0, True, "rewarden:infra")


async def test_without_a_session_the_reward_is_masked(start: Start) -> None:
    server = await start()
    agent, other = await seeded(server), Agent(server, "nim")
    other.cookies = dict(agent.cookies)  # another environment's
    for lost in (Agent(server), other):
        reply = await lost.told("verify", ROW)
        assert (reply["reward"], reply["mask_sample"], reply["failure_kind"]) == (0.0, True, "rewarden:infra")
        assert reply["failure_reason"].startswith("no_session")
        assert (await lost.post("move", {"move": "1"})).status_code == 404


async def test_a_row_that_begins_nothing_is_refused(start: Start) -> None:
    server = await start()
    for metadata, path in (({"squares": "X"}, "options"), ({"seed": "7"}, "seed"), ([], "verifier_metadata")):
        answer = await Agent(server).post("seed_session", {**ROW, "verifier_metadata": metadata})
        assert (answer.status_code, path in answer.json()["error"]["message"]) == (400, True), answer.text
    assert (await Agent(server, "go").post("seed_session", ROW)).status_code == 404
    assert len(server.serving.service.episodes) == 0


async def test_a_cookie_is_of_no_use_to_another_key(start: Start) -> None:
    (one, first), (two, second) = new_key(), new_key()
    rules = {name: {"scopes": ["verify"]} for name in ("one", "two")}
    server = await start({"keys.named": f"one={first},two={second}", "keys.rules": json.dumps(rules)})
    mine, theirs = (Agent(server, GAME, Authorization=f"Bearer {key}") for key in (one, two))
    await mine.told("seed_session", ROW)
    theirs.cookies = dict(mine.cookies)
    assert (await theirs.post("move", {"move": "1"})).status_code == 404
    boxes = Agent(server, "box", Authorization=f"Bearer {one}")
    assert (await boxes.post("seed_session", request())).status_code == 403


async def test_the_agent_of_gymnasium_steps_by_responses(start: Start) -> None:
    server = await start()

    def move(*squares: str) -> dict[str, Any]:
        calls = [
            {"type": "function_call", "name": "move", "arguments": f'{{"move": "{square}"}}', "call_id": f"c{square}"}
            for square in squares
        ]
        return {**request(*calls), "verifier_metadata": {"seed": 7}}

    agent = Agent(server)
    begun = await agent.told("reset", ROW)
    assert begun["observation"].startswith("1 2 3")
    assert begun["info"] == {"supports_explicit_close": True, "seed": 7}
    first = await agent.told("step", {**request(message("1")), "verifier_metadata": {"seed": 7}})
    assert (first["reward"], first["terminated"], first["truncated"]) == (0.0, False, False)
    assert first["observation"]
    last = await agent.told("step", move("2", "3"))
    assert (last["reward"], last["terminated"], last["observation"]) == (1.0, True, None)
    assert [each["call_id"] for each in last["info"]["tool_outputs"]] == ["c2", "c3"]
    assert (await agent.post("move", {"move": "4"})).status_code == 404
    begun_again = Agent(server)
    await begun_again.told("reset", {**ROW, "verifier_metadata": {"seed": 7, "max_steps": 1}})
    cut = await begun_again.told("step", move("1"))
    assert (cut["terminated"], cut["truncated"]) == (False, True)
    assert (await begun_again.told("close", {})) == {}
    assert len(server.serving.service.episodes) == 1


@pytest.mark.needs_server
@pytest.mark.slow
async def test_a_policy_works_in_a_task(boxes: Running) -> None:
    for commands, reward in ([], 0.0), ([SOLVE], 1.0):
        agent = await seeded(boxes, "task", task="greeting")
        for command in commands:
            assert (await agent.told("exec", {"command": command}))["status"] == "ok"
        assert (await agent.told("exec", {"cmd": "ls"}))["error"] == "malformed"
        for reply in await asyncio.gather(agent.told("verify", ROW), agent.told("verify", ROW)):
            assert (reply["reward"], reply["mask_sample"]) == (reward, False)
    agent = await seeded(boxes, "box", image="python")
    reply = await agent.told("verify", ROW)
    assert (reply["reward"], reply["mask_sample"], reply["failure_kind"]) == (0.0, True, "rewarden:caller")
    await emptied(boxes)
