"""Environments over OpenEnv's protocol: the routes, the WebSocket with a plain client, and the bounds."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from rewarden.errors import InvalidRequest, NotFound
from rewarden_server.access.key_record import new_key
from rewarden_server.environments.live import Full, LiveEpisode, LiveEpisodes
from rewarden_server.environments.settings import EnvironmentSettings
from tests.server.clock import Clock
from tests.server.conftest import Running, Start
from tests.verifiers.tau2_desk import write_desk

GAME = "tic_tac_toe"


@asynccontextmanager
async def session(
    server: Running, name: str = GAME, *, of: str | None = None, **options: Any
) -> AsyncIterator[ClientConnection]:
    """A connection to an environment. of: a session that it shares."""
    address = server.serving.http.replace("http", "ws", 1)
    shared = "" if of is None else f"?session_id={of}"
    async with connect(f"{address}/openenv/{name}/ws{shared}", **options) as socket:
        yield socket


async def asked(socket: ClientConnection, kind: Any, data: Any = None) -> dict[str, Any]:
    """The answer to a message."""
    await socket.send(json.dumps({"type": kind} | ({} if data is None else {"data": data})))
    answer: dict[str, Any] = json.loads(await socket.recv())
    return answer


async def failed(socket: ClientConnection, text: str | bytes) -> str:
    """The code of the error that a message brings."""
    await socket.send(text)
    answer = json.loads(await socket.recv())
    assert answer["type"] == "error", answer
    assert answer["data"]["message"]
    return str(answer["data"]["code"])


async def test_an_episode_is_lived_over_a_websocket(start: Start) -> None:
    server = await start()
    async with session(server) as socket:
        begun = await asked(socket, "reset", {"seed": 7, "episode_id": "mine"})
        assert begun["type"] == "observation"
        assert begun["data"]["observation"]["text"].startswith("1 2 3")
        assert (begun["data"]["reward"], begun["data"]["done"]) == (None, False)
        assert begun["data"]["metadata"] == {"episode_id": "mine", "seed": 7}
        rewards = []
        for text in ("1", "2", "3"):
            answer = (await asked(socket, "step", {"text": text}))["data"]
            rewards.append((answer["reward"], answer["done"]))
        assert rewards == [(0.0, False), (0.0, False), (1.0, True)]
        state = (await asked(socket, "state"))["data"]
        assert (state["step_count"], state["done"], state["success"], state["return"]) == (3, True, True, 1.0)
        assert (await asked(socket, "step", {"text": "4"}))["data"]["code"] == "EXECUTION_ERROR"
        again = await asked(socket, "reset", {"seed": 7})
        assert again["data"]["observation"] == begun["data"]["observation"]
        await socket.send(json.dumps({"type": "close"}))
        with pytest.raises(ConnectionClosed):
            await socket.recv()
    # The state has all that the episode's verdict needs.
    row = {"response": json.dumps(state["actions"]), "reference": state["reference"]}
    use = {"name": "environment", "params": {"actions": "json"}}
    (verdict,) = (await server.verify(row, use=use)).json()["verdicts"]
    assert (verdict["score"], [step["score"] for step in verdict["steps"]]) == (1.0, [0.0, 0.0, 1.0])


async def test_a_domain_of_tau2_bench_is_lived_by_its_own_tools(start: Start, tmp_path: Path) -> None:
    """Calls by the domain's names are actions, and the state's verdict is that of any server with the checkout."""
    server = await start({"environments.corpora": {"tau2": str(write_desk(tmp_path / "bench"))}})
    async with session(server, "tau2") as socket:
        begun = (await asked(socket, "reset", {"seed": 1, "domain": "desk", "task": "milk"}))["data"]
        assert begun["observation"]["text"].endswith("The user writes: I want milk.")
        assert [tool["function"]["name"] for tool in begun["observation"]["tools"]] == ["add", "see", "calculate"]
        added = await asked(socket, "step", {"tool": "add", "arguments": {"thing": "milk"}})
        assert added["data"]["observation"]["text"] == '["milk"]'
        said = await asked(socket, "step", {"tool": "say", "arguments": {"text": "It costs 1,250."}})
        assert said["data"]["observation"]["text"] == "I am Ada."
        done = (await asked(socket, "step", {"tool": "done", "arguments": {}}))["data"]
        assert (done["reward"], done["done"]) == (1.0, True)
        state = (await asked(socket, "state"))["data"]
    row = {"response": json.dumps(state["actions"]), "reference": state["reference"]}
    use = {"name": "environment", "params": {"actions": "json"}}
    (verdict,) = (await server.verify(row, use=use)).json()["verdicts"]
    assert verdict["score"] == 1.0
    assert {name: part["score"] for name, part in verdict["components"].items()} == dict.fromkeys(
        ("success", "return", "db", "communicate"), 1.0
    )


async def test_a_game_of_textworld_is_lived(start: Start) -> None:
    pytest.importorskip("textworld", reason="textworld is not installed")
    server = await start()
    async with session(server, "textworld") as socket:
        begun = (await asked(socket, "reset", {"seed": 3, "commands": True}))["data"]
        assert "take coin" in begun["observation"]["commands"]
        taken = (await asked(socket, "step", {"tool": "act", "arguments": {"command": "take coin"}}))["data"]
        assert (taken["reward"], taken["done"]) == (1.0, True)


async def test_episodes_live_over_http_beside_each_other(start: Start) -> None:
    server = await start()
    ids = [f"e{number}" for number in range(20)]

    async def live(id: str) -> list[Any]:
        seen = [await server.http.post(f"/openenv/{GAME}/reset", json={"seed": 7, "episode_id": id})]
        for text in ("1", "2", "3"):
            body = {"action": {"text": text}, "episode_id": id, "timeout_s": 5, "request_id": "r"}
            seen.append(await server.http.post(f"/openenv/{GAME}/step", json=body))
        assert all(each.status_code == 200 for each in seen), seen[-1].text
        return [(each.json()["observation"], each.json()["reward"], each.json()["done"]) for each in seen]

    first, *others = await asyncio.gather(*map(live, ids))
    assert all(other == first for other in others)
    assert first[-1][1:] == (1.0, True)
    state = (await server.http.get(f"/openenv/{GAME}/state", params={"episode_id": "e3"})).json()
    assert (state["episode_id"], state["step_count"]) == ("e3", 3)
    assert (await server.http.get("/openenv/nim/state", params={"episode_id": "e3"})).status_code == 404
    ended = {"action": {"text": "4"}, "episode_id": "e3"}
    assert (await server.http.post(f"/openenv/{GAME}/step", json=ended)).json()["error"]["code"] == "episode_ended"


async def test_an_episode_without_a_seed_gets_one(start: Start) -> None:
    server = await start()
    made = (await server.http.post("/openenv/nim/reset", json={})).json()
    told = made["metadata"]
    again = (await server.http.post("/openenv/nim/reset", json={"seed": told["seed"]})).json()
    assert again["observation"] == made["observation"]
    assert again["metadata"]["episode_id"] != told["episode_id"]


async def test_an_environment_describes_itself(start: Start) -> None:
    server = await start()
    names = (await server.http.get("/openenv")).json()["environments"]
    assert GAME in names
    assert (await server.http.get(f"/openenv/{GAME}/health")).json() == {"status": "healthy"}
    schema = (await server.http.get(f"/openenv/{GAME}/schema")).json()
    assert schema["action"]["required"] == ["text"]
    assert set(schema) == {"action", "observation", "state"}
    metadata = (await server.http.get(f"/openenv/{GAME}/metadata")).json()
    assert (metadata["name"], metadata["description"][-1]) == (GAME, ".")
    for path in ("health", "schema", "metadata", "state", "tools"):
        assert (await server.http.get(f"/openenv/go/{path}")).status_code == 404


async def test_a_call_of_a_tool_is_an_action_as_in_a_verdict(start: Start) -> None:
    server = await start()
    (tool,) = (await server.http.get(f"/openenv/{GAME}/tools")).json()["tools"]
    assert tool["function"]["name"] == "move"
    assert tool["function"]["parameters"]["required"] == ["move"]
    async with session(server) as socket:
        await asked(socket, "reset", {"seed": 7})
        calls = ({"move": "1"}, {"move": 2}, '{"move": "3"}')
        told = [(await asked(socket, "step", {"tool": "move", "arguments": each}))["data"] for each in calls]
        assert [(each["reward"], each["done"]) for each in told] == [(0.0, False), (0.0, False), (1.0, True)]
        assert (await asked(socket, "state"))["data"]["actions"] == ["1", "2", "3"]
        for arguments in (None, {}, {"move": ["1"]}, {"move": "1", "more": "1"}, "{", 1, {"move": "corner"}):
            await asked(socket, "reset", {"seed": 7})
            told = (await asked(socket, "step", {"tool": "move", "arguments": arguments}))["data"]
            assert (told["reward"], told["done"]) == (0.0, True), "the policy's mistake ends its episode"
        await asked(socket, "reset", {"seed": 7})
        await asked(socket, "step", {"tool": "move"})
        state = (await asked(socket, "state"))["data"]
        assert state["actions"] == [None]
        row = {"response": json.dumps(state["actions"]), "reference": state["reference"]}
        use = {"name": "environment", "params": {"actions": "json"}}
        (verdict,) = (await server.verify(row, use=use)).json()["verdicts"]
        assert (verdict["score"], verdict["reason"]) == (0.0, "malformed")
        await asked(socket, "reset", {"seed": 7})
        told = (await asked(socket, "step", {"tool": "jump", "arguments": {}}))["data"]
        assert (told["observation"]["error"], told["reward"], told["done"]) == ("malformed", None, False)
        assert (await asked(socket, "state"))["data"]["step_count"] == 0, "a tool that is not there is no action"
        for action in ({"tool": 1}, {"tool": "move", "text": "1"}, {"tool": "move", "more": 1}):
            assert (await asked(socket, "step", action))["data"]["code"] == "VALIDATION_ERROR"


async def test_the_policys_mistakes_are_observed_and_never_errors(start: Start) -> None:
    server = await start()
    async with session(server) as socket:
        for text in ("corner", "", "1" * 3000, "\x00", "\U0001f600", "1 2 3"):
            await asked(socket, "reset", {"seed": 7})
            answer = await asked(socket, "step", {"text": text})
            assert answer["type"] == "observation", answer
            assert (answer["data"]["reward"], answer["data"]["done"]) == (0.0, True)
        await asked(socket, "reset", {"seed": 7, "illegal": "again"})
        assert (await asked(socket, "step", {"text": "corner"}))["data"]["done"] is False


async def test_the_callers_mistakes_have_the_protocols_codes(start: Start) -> None:
    server = await start()
    async with session(server) as socket:
        assert await failed(socket, '{"type": "step", "data": {"text": "1"}}') == "EXECUTION_ERROR"  # before reset
        await asked(socket, "reset", {"seed": 7})
        for text, code in (
            ("{", "INVALID_JSON"),
            ("", "INVALID_JSON"),
            (b"\x00\x01", "INVALID_JSON"),
            ("[" * 100_000, "INVALID_JSON"),
            ("[]", "VALIDATION_ERROR"),
            ("null", "VALIDATION_ERROR"),
            ('{"type": "fly"}', "UNKNOWN_TYPE"),
            ('{"type": ["step"]}', "UNKNOWN_TYPE"),
            ("{}", "UNKNOWN_TYPE"),
            ('{"type": "step"}', "VALIDATION_ERROR"),
            ('{"type": "step", "data": []}', "VALIDATION_ERROR"),
            ('{"type": "step", "data": {"text": 1}}', "VALIDATION_ERROR"),
            ('{"type": "step", "data": {"text": "1", "side": "first"}}', "VALIDATION_ERROR"),
            ('{"type": "reset", "data": {"seed": "7"}}', "VALIDATION_ERROR"),
            ('{"type": "reset", "data": {"seed": true}}', "VALIDATION_ERROR"),
            ('{"type": "reset", "data": {"seed": -1}}', "VALIDATION_ERROR"),
            ('{"type": "reset", "data": {"seed": 1e999}}', "VALIDATION_ERROR"),
            ('{"type": "reset", "data": {"max_steps": "many"}}', "VALIDATION_ERROR"),
            ('{"type": "reset", "data": {"options": [1]}}', "VALIDATION_ERROR"),
            ('{"type": "reset", "data": {"squares": "XXX"}}', "VALIDATION_ERROR"),
            ('{"type": "reset", "data": {"level": 3}}', "VALIDATION_ERROR"),
            ('{"type": "reset", "data": {"draw": 0, "options": {"draw": 1}}}', "VALIDATION_ERROR"),
        ):
            assert await failed(socket, text) == code, text[:80]
        # The episode is what it was, and the connection lives.
        assert (await asked(socket, "step", {"text": "1"}))["data"]["done"] is False


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("go/reset", {}, 404),
        ("nim/reset", {"seed": "0"}, 400),
        ("nim/reset", {"heaps": "many"}, 400),
        ("nim/reset", {"episode_id": 3}, 400),
        ("nim/reset", {"episode_id": "x" * 256}, 400),
        ("nim/step", {"action": {"text": "1:1"}}, 400),
        ("nim/step", {"action": {"text": "1:1"}, "episode_id": "none"}, 404),
        ("nim/step", {"action": "1:1", "episode_id": "none"}, 400),
        ("nim/reset", {"note": "x" * 2_000_000}, 413),
    ],
)
async def test_a_mistake_over_http_has_a_status(start: Start, path: str, body: Any, status: int) -> None:
    server = await start()
    answer = await server.http.post(f"/openenv/{path}", json=body)
    assert answer.status_code == status
    assert answer.json()["error"]["message"]
    assert len(server.serving.service.episodes) == 0


async def test_a_key_has_so_many_episodes(start: Start) -> None:
    server = await start({"environments.per_key": 2})
    async with session(server) as one, session(server, "nim") as two:
        await asked(one, "reset", {"seed": 1})
        await asked(two, "reset", {"seed": 1})
        async with session(server) as three:
            refused = json.loads(await three.recv())
            assert (refused["type"], refused["data"]["code"]) == ("error", "CAPACITY_REACHED")
            with pytest.raises(ConnectionClosed):
                await three.recv()
        answer = await server.http.post(f"/openenv/{GAME}/reset", json={})
        assert (answer.status_code, answer.json()["error"]["code"]) == (429, "too_many_episodes")
        assert "Retry-After" in answer.headers
        await asked(two, "step", {"text": "1:1"})
    async with session(server) as four:  # their places are free again
        await asked(four, "reset", {"seed": 1})


async def test_a_connection_without_messages_is_closed(start: Start) -> None:
    server = await start({"environments.idle_s": 0.05})
    async with session(server) as socket:
        told = json.loads(await socket.recv())
        assert told["data"]["code"] == "SESSION_ERROR"
        assert "environments.idle_s" in told["data"]["message"]
        with pytest.raises(ConnectionClosed):
            await socket.recv()
    assert len(server.serving.service.episodes) == 0


async def test_a_message_that_is_too_large_closes_the_connection(start: Start) -> None:
    server = await start({"environments.message_bytes": 10_000})
    async with session(server) as socket:
        await socket.send("x" * 20_000)
        with pytest.raises(ConnectionClosed) as closed:
            await socket.recv()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1009
    async with session(server) as socket:
        await asked(socket, "reset", {"seed": 1})


async def test_a_connection_ends_with_its_server(start: Start) -> None:
    server = await start()
    async with session(server) as socket:
        await asked(socket, "reset", {"seed": 1})
        draining = asyncio.ensure_future(server.serving.drain(0))
        told = [json.loads(text)["data"]["code"] async for text in socket]
        assert told == ["SESSION_ERROR"]
        await draining


async def test_a_websocket_needs_a_key_with_the_scope(start: Start) -> None:
    (trainer, one), (reader, two) = new_key(), new_key()
    rules = json.dumps({"reader": {"scopes": ["run"]}})
    server = await start({"keys.named": f"trainer={one},reader={two}", "keys.rules": rules})
    for key, status in ((None, 401), ("wrong", 401), (reader, 403)):
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        with pytest.raises(InvalidStatus) as refused:
            async with session(server, additional_headers=headers):
                pass
        assert refused.value.response.status_code == status
        assert json.loads(refused.value.response.body)["error"]["message"]
        answer = await server.http.post(f"/openenv/{GAME}/reset", json={}, headers=headers)
        assert answer.status_code == status
    async with session(server, additional_headers={"Authorization": f"Bearer {trainer}"}) as socket:
        assert (await asked(socket, "reset", {"seed": 1}))["type"] == "observation"


async def test_pages_of_other_origins_open_no_websocket(start: Start) -> None:
    """Attack: a page in a browser on this machine, which may open a WebSocket to any address."""
    server = await start()
    with pytest.raises(InvalidStatus) as refused:
        async with session(server, origin="https://evil.example"):
            pass
    assert refused.value.response.status_code == 403


async def test_other_addresses_have_no_websocket(start: Start) -> None:
    server = await start()
    address = server.serving.http.replace("http", "ws", 1)
    for path, status in (("/openenv/go/ws", 404), ("/v1/verify", 403), ("/", 404), ("/healthz", 404)):
        with pytest.raises(InvalidStatus) as refused:
            async with connect(f"{address}{path}"):
                pass
        assert refused.value.response.status_code == status, path
    assert (await server.http.get("/healthz")).status_code == 200


def test_idle_episodes_are_forgotten_and_held_ones_are_not() -> None:
    clock = Clock()
    episodes = LiveEpisodes(EnvironmentSettings(per_key=2, idle_s=10), clock=clock)
    kept = episodes.open("a", GAME, held=True)
    idle = episodes.open("a", GAME, "idle")
    with pytest.raises(Full):
        episodes.open("a", GAME)
    episodes.open("b", GAME, "idle")  # another key's
    clock.now += 11
    assert len(episodes) == 3
    with pytest.raises(NotFound):
        episodes.find("a", GAME, idle.id)
    assert episodes.open("a", GAME) is not kept
    assert len(episodes) == 2


def test_a_session_is_kept_from_its_last_use_on() -> None:
    """Flake: a connection that only began the episode was closed while its tools were called over HTTP."""
    episodes = LiveEpisodes(EnvironmentSettings(idle_s=10.0), clock=(clock := Clock()))
    made = episodes.open("key", GAME, "e")
    clock.now += 9
    assert episodes.attach("key", GAME, "e") is made
    with pytest.raises(InvalidRequest):
        episodes.attach("key", GAME, "e")
    with pytest.raises(NotFound):
        episodes.attach("other", GAME, "e")
    clock.now += 8
    assert episodes.left_s(made) == 2.0
    episodes.used(made)
    assert episodes.left_s(made) == 10.0
    clock.now += 11
    assert episodes.left_s(made) < 0
    assert episodes.holds(made)


def test_a_place_in_which_nothing_began_is_forgotten_with_the_last_request_for_it() -> None:
    """Flake: of two resets of one id the first one failed, and the second one's episode was forgotten with it."""
    episodes = LiveEpisodes(EnvironmentSettings(idle_s=10.0), clock=(clock := Clock()))
    with episodes.opening("key", GAME, "e", LiveEpisode) as place:
        with pytest.raises(InvalidRequest), episodes.opening("key", GAME, "e", LiveEpisode):
            raise InvalidRequest("a reset that fails")
        clock.now += 11
        with episodes.opening("key", GAME, "other", LiveEpisode):
            pass
        assert episodes.find("key", GAME, "e") is place
        assert isinstance(place, LiveEpisode)
        place.start = {}
        episodes.used(place)
    assert episodes.find("key", GAME, "e") is place
    with pytest.raises(InvalidRequest), episodes.opening("key", GAME, "e", LiveEpisode):
        raise InvalidRequest("a reset that fails")
    assert len(episodes) == 1


HANDSHAKE = (
    "{method} /openenv/nim/ws HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Version: 13\r\n{more}\r\n{body}"
)
KEY = "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"


@pytest.mark.parametrize(
    ("method", "more", "body"),
    [
        ("GET", "", ""),
        ("POST", KEY, ""),
        ("POST", f"{KEY}Content-Length: 5\r\n", "hello"),
        ("GET", f"{KEY}Content-Length: 5\r\n", "hello"),
        ("GET", f"{KEY}Transfer-Encoding: chunked\r\n", "5\r\nhello\r\n0\r\n\r\n"),
        ("GET", f"{KEY}Origin: https://evil.example\r\n", ""),
        ("GET", f"{KEY}Origin: https://a\r\nOrigin: https://b\r\n", ""),
        ("GET", KEY.replace("=", "!"), ""),
        ("GET", KEY + "X: y\r\n" * 300, ""),
    ],
)
async def test_a_handshake_that_is_none_opens_nothing(start: Start, method: str, more: str, body: str) -> None:
    server = await start()
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(HANDSHAKE.format(method=method, more=more, body=body).encode())
    line = await reader.readline()
    assert line.split()[1][:1] == b"4", line
    writer.close()
    assert len(server.serving.service.episodes) == 0
    assert (await server.http.get("/healthz")).status_code == 200
