"""MCP over OpenEnv: JSON-RPC by POST, over a WebSocket and within the protocol's own connection."""

from __future__ import annotations

import json
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from rewarden_server.access.key_record import new_key
from tests.server.box_host import host as host
from tests.server.conftest import Running, Start
from tests.server.launchers import launcher as launcher
from tests.server.test_openenv import GAME, asked, session
from tests.server.test_openenv_boxes import SOLVE, emptied
from tests.server.test_openenv_boxes import remembered as remembered
from tests.server.test_openenv_boxes import server as boxes_server
from tests.server.test_openenv_boxes import settings as settings

boxes = boxes_server
"""A server with boxes and tasks."""

PARSE, REQUEST, METHOD, PARAMS, SERVER = -32700, -32600, -32601, -32602, -32000


def request(method: Any, /, **params: Any) -> dict[str, Any]:
    """A request of JSON-RPC."""
    return {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}


async def posted(server: Running, method: str, environment: str = GAME, /, **params: Any) -> dict[str, Any]:
    """The answer to a request by POST."""
    answer = await server.http.post(f"/openenv/{environment}/mcp", json=request(method, **params))
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    assert (told.pop("jsonrpc"), told.pop("id")) == ("2.0", 7)
    return told


async def called(server: Running, id: str, tool: str, environment: str = GAME, /, **arguments: Any) -> dict[str, Any]:
    """The result of a call by POST."""
    told = await posted(server, "tools/call", environment, session_id=id, name=tool, arguments=arguments)
    result: dict[str, Any] = told["result"]
    return result


async def created(server: Running, name: str = GAME) -> str:
    """The id of a new session."""
    return str((await posted(server, "openenv/session/create", name))["result"]["session_id"])


async def test_the_tools_are_those_of_the_environment(start: Start) -> None:
    server = await start()
    for name, tool, argument in ((GAME, "move", "move"), ("search", "search", "query"), ("box", "exec", "command")):
        tools = {each["name"]: each for each in (await posted(server, "tools/list", name))["result"]["tools"]}
        assert tools[tool]["inputSchema"]["required"] == [argument]
        assert tools[tool]["description"]
        assert not {"reset", "step", "state", "close"} & tools.keys()  # OpenEnv keeps these from policies


async def test_a_session_is_shared_by_its_connection_and_its_calls(start: Start) -> None:
    server = await start()
    id = await created(server)
    early = await posted(server, "tools/call", session_id=id, name="move", arguments={"move": "1"})
    assert (early["error"]["code"], early["error"]["data"]["code"]) == (REQUEST, "episode_ended")
    async with session(server, of=id) as socket:
        await asked(socket, "reset", {"seed": 7})
        result = await called(server, id, "move", move="1")
        assert (result["isError"], result["content"][0]["type"]) == (False, "text")
        assert result["content"][0]["text"] == result["data"] == result["structuredContent"]["text"]
        assert "reward" not in json.dumps(result)
        told = await asked(socket, "mcp", request("tools/call", name="move", arguments={"move": 2}))
        assert (told["type"], told["data"]["id"], told["data"]["result"]["isError"]) == ("mcp", 7, False)
        last = await asked(socket, "step", {"type": "call_tool", "tool_name": "move", "arguments": {"move": "3"}})
        assert (last["data"]["reward"], last["data"]["done"]) == (1.0, True)
        assert last["data"]["observation"].keys() == {"tool_name", "result", "error"}
        state = (await asked(socket, "state"))["data"]
        assert (state["episode_id"], state["actions"], state["return"]) == (id, ["1", "2", "3"], 1.0)
        assert (await posted(server, "openenv/session/close", session_id=id))["result"]["closing"] is True
        assert len(server.serving.service.episodes) == 1
    with pytest.raises(InvalidStatus):
        async with session(server, "go", of=id):
            pass
    assert (await posted(server, "tools/call", session_id=id, name="move"))["error"]["code"] == PARAMS


async def test_a_session_outlives_its_connection_and_not_its_end(start: Start) -> None:
    server = await start()
    id = await created(server)
    for _ in range(2):
        async with session(server, of=id) as socket:
            await asked(socket, "reset", {"seed": 7})
            async with session(server, of=id) as second:
                assert json.loads(await second.recv())["data"]["code"] == "SESSION_ERROR"
            await socket.send('{"type": "close"}')
            await socket.wait_closed()
    assert (await called(server, id, "move", move="1"))["isError"] is False
    assert (await posted(server, "openenv/session/close", session_id=id))["result"]["closed"] is True
    assert (await posted(server, "openenv/session/close", session_id=id))["error"]["code"] == PARAMS
    assert len(server.serving.service.episodes) == 0


async def test_a_policys_mistake_is_a_result_and_a_verdict_says_so(start: Start) -> None:
    server = await start()
    async with session(server) as socket:
        for call, count in (
            ({"name": "fly", "arguments": {}}, 0),
            ({"name": "move", "arguments": {}}, 1),
            ({"name": "move", "arguments": {"move": ["1"]}}, 1),
            ({"name": "move", "arguments": "1"}, 1),
            ({"name": "move", "arguments": {"move": "corner"}}, 1),
        ):
            await asked(socket, "reset", {"seed": 7})
            told = (await asked(socket, "mcp", request("tools/call", **call)))["data"]
            assert told["result"]["content"][0]["text"]
            state = (await asked(socket, "state"))["data"]
            assert (state["step_count"], state["done"]) == (count, count == 1), call
        assert (await asked(socket, "step", {"type": "call_tool", "tool_name": "fly"}))["data"]["reward"] is None
    use = {"name": "environment", "params": {"actions": "json"}}
    row = {"response": json.dumps([None]), "reference": state["reference"]}
    (verdict,) = (await server.verify(row, use=use)).json()["verdicts"]
    assert (verdict["score"], verdict["evidence"]["ended"]) == (0.0, "malformed")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("{", PARSE),
        ("[]", REQUEST),
        ("3", REQUEST),
        ('{"method": "tools/list"}', REQUEST),
        ('{"jsonrpc": "1.0", "method": "tools/list"}', REQUEST),
        ('{"jsonrpc": "2.0", "method": 3}', REQUEST),
        ('{"jsonrpc": "2.0", "method": "tools/list", "id": true}', REQUEST),
        ('{"jsonrpc": "2.0", "method": "tools/list", "id": {}}', REQUEST),
        ('{"jsonrpc": "2.0", "method": "tools/list", "reward": 1}', REQUEST),
        ('{"jsonrpc": "2.0", "method": "tools/list", "params": []}', PARAMS),
        ('{"jsonrpc": "2.0", "method": "reset", "params": {}}', METHOD),
        ('{"jsonrpc": "2.0", "method": "tools/call", "params": {}}', PARAMS),
        ('{"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "move"}}', PARAMS),
        ('{"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "move", "session_id": "e"}}', PARAMS),
        ('{"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "move", "session_id": 3}}', PARAMS),
        ('{"jsonrpc": "2.0", "method": "openenv/session/close"}', PARAMS),
    ],
)
async def test_a_wrong_request_has_json_rpcs_code(start: Start, body: str, code: int) -> None:
    server = await start()
    headers = {"Content-Type": "application/json"}
    answer = await server.http.post(f"/openenv/{GAME}/mcp", content=body, headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"], "result" in answer.json()) == (200, code, False)
    assert answer.json()["error"]["message"]
    assert len(server.serving.service.episodes) == 0


async def test_a_connection_has_a_session_of_its_own(start: Start) -> None:
    server = await start()
    async with connect(f"{server.serving.http.replace('http', 'ws', 1)}/openenv/{GAME}/mcp") as socket:

        async def told(method: str, /, **params: Any) -> dict[str, Any]:
            await socket.send(json.dumps(request(method, **params)))
            answer: dict[str, Any] = json.loads(await socket.recv())
            return answer

        await socket.send('{"jsonrpc": "2.0", "method": "notifications/initialized"}')  # has no answer
        assert (await told("ping"))["result"] == {}
        id = (await told("openenv/session/create"))["result"]["session_id"]
        assert (await told("tools/call", name="move", arguments={"move": "1"}))["error"]["code"] == REQUEST
        assert (await told("openenv/session/close", session_id=id))["error"]["code"] == PARAMS
        await socket.send("{")
        assert json.loads(await socket.recv())["error"]["code"] == PARSE
        assert len(server.serving.service.episodes) == 1
        async with connect(f"{server.serving.http.replace('http', 'ws', 1)}/openenv/{GAME}/mcp?session_id=e") as other:
            assert json.loads(await other.recv())["error"]["code"] == PARAMS


async def test_sessions_are_bounded_and_another_keys_are_not_there(start: Start) -> None:
    (one, first), (two, second) = new_key(), new_key()
    rules = json.dumps({"one": {"scopes": ["verify"]}, "two": {"scopes": ["verify"]}})
    named = {"keys.named": f"one={first},two={second}", "keys.rules": rules}
    server = await start({**named, "environments.per_key": 1})

    async def told(key: str, method: str, environment: str = GAME, /, **params: Any) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {key}"}
        path = f"/openenv/{environment}/mcp"
        answer: dict[str, Any] = (await server.http.post(path, json=request(method, **params), headers=headers)).json()
        return answer

    id = (await told(one, "openenv/session/create"))["result"]["session_id"]
    full = (await told(one, "openenv/session/create"))["error"]
    assert (full["code"], full["data"]["code"], full["data"]["most"]) == (SERVER, "too_many_episodes", 1)
    for method in ("tools/call", "openenv/session/close"):
        assert (await told(two, method, session_id=id, name="move"))["error"]["data"]["code"] == "not_found"
    assert (await told(one, "tools/list", "box"))["error"]["code"] == "forbidden"  # an answer of HTTP's
    assert (await told(one, "openenv/session/close", session_id=id))["result"]["closed"] is True
    assert (await server.http.post(f"/openenv/{GAME}/mcp", json=request("ping"))).status_code == 401


async def test_a_page_elsewhere_cannot_post_without_being_asked_for_leave(start: Start) -> None:
    """Attack: a form of another page, which browsers send without a question as text."""
    server = await start()
    headers = {"Content-Type": "text/plain"}
    body = json.dumps(request("openenv/session/create"))
    assert (await server.http.post(f"/openenv/{GAME}/mcp", content=body, headers=headers)).status_code == 415
    assert (await server.http.post(f"/openenv/{GAME}/mcp", json={"x": "y" * 2_000_000})).status_code == 413
    assert len(server.serving.service.episodes) == 0


@pytest.mark.needs_server
@pytest.mark.slow
async def test_a_policy_works_in_a_task_by_its_tools(boxes: Running) -> None:
    id = await created(boxes, "task")
    reset = {"episode_id": id, "task": "greeting"}
    assert (await boxes.http.post("/openenv/task/reset", json=reset)).status_code == 200
    listed = await called(boxes, id, "exec", "task", command="ls missing")
    assert (listed["isError"], listed["structuredContent"]["exit_code"]) == (False, 2)
    wrong = await called(boxes, id, "exec", "task", cmd="ls")
    assert (wrong["isError"], wrong["structuredContent"]["error"]) == (True, "malformed")
    assert (await called(boxes, id, "fly", "task"))["isError"] is True
    await called(boxes, id, "exec", "task", command=SOLVE)
    done = await called(boxes, id, "submit", "task")
    assert (done["data"], done["isError"]) == ("Submitted.", False)
    state = (await boxes.http.get("/openenv/task/state", params={"episode_id": id})).json()
    assert (state["return"], state["done"], state["step_count"]) == (1.0, True, 5)
    await posted(boxes, "openenv/session/close", "task", session_id=id)
    assert len(boxes.serving.service.episodes) == 0


@pytest.mark.needs_server
@pytest.mark.slow
async def test_the_box_of_a_session_ends_with_it(boxes: Running) -> None:
    """Attack: a session is closed while its connection is open, and the box stays."""
    for attached in (False, True):
        id = await created(boxes, "box")
        await boxes.http.post("/openenv/box/reset", json={"episode_id": id})
        assert boxes.serving.service.boxes.figures()["open"] == 1
        if attached:
            async with session(boxes, "box", of=id) as socket:
                await posted(boxes, "openenv/session/close", "box", session_id=id)
                assert (await asked(socket, "state"))["data"]["ended"] is None
        else:
            await posted(boxes, "openenv/session/close", "box", session_id=id)
        await emptied(boxes)


@pytest.fixture
def published() -> Any:
    """OpenEnv's client of MCP."""
    return pytest.importorskip("openenv.core.mcp_client", reason="openenv is not installed").MCPToolClient


async def test_the_published_client_of_mcp_plays_a_game(start: Start, published: Any) -> None:
    server = await start()
    async with published(base_url=f"{server.serving.http}/openenv/{GAME}") as env:
        assert [tool.name for tool in await env.list_tools()] == ["move"]
        await env.reset(seed=7)
        assert await env.call_tool("move", move="1")
        await env.call_tool("move", move="2")
        actions = pytest.importorskip("openenv.core.env_server.mcp_types", reason="openenv is not installed")
        listed = await env.step(actions.ListToolsAction())
        assert [tool.name for tool in listed.observation.tools] == ["move"]
        last = await env.step(actions.CallToolAction(tool_name="move", arguments={"move": "3"}))
        assert (last.reward, last.done, last.observation.error) == (1.0, True, None)
        with pytest.raises(RuntimeError, match="has ended"):
            await env.call_tool("move", move="4")
    assert len(server.serving.service.episodes) == 0


@pytest.mark.needs_server
@pytest.mark.slow
async def test_the_published_client_of_mcp_works_in_a_task(boxes: Running, published: Any) -> None:
    actions = pytest.importorskip("openenv.core.env_server.mcp_types", reason="openenv is not installed")
    async with published(base_url=f"{boxes.serving.http}/openenv/task") as env:
        assert await env.has_tool("submit")
        begun = await env.reset(task="greeting")
        assert "Hello, world!" in begun.observation.text
        assert await env.call_tool("exec", command=f"{SOLVE}; echo done") == "done\n"
        assert await env.call_tool("python", code="6 * 7") == "42"
        judged = await env.step(actions.CallToolAction(tool_name="submit"))
        assert (judged.reward, judged.done) == (1.0, True)
    await emptied(boxes)


async def test_a_plain_client_of_mcp_finds_the_tools(start: Start) -> None:
    """An agent that is told nothing but the address of a session."""
    fastmcp = pytest.importorskip("fastmcp", reason="openenv is not installed")
    server = await start()
    id = await created(server)
    await server.http.post(f"/openenv/{GAME}/reset", json={"episode_id": id, "seed": 7})
    async with fastmcp.Client(f"{server.serving.http}/openenv/{GAME}/mcp?session_id={id}") as client:
        assert [tool.name for tool in await client.list_tools()] == ["move"]
        result = await client.call_tool("move", {"move": "1"})
        assert (result.content[0].text, result.is_error) == (result.structured_content["text"], False)
    state = (await server.http.get(f"/openenv/{GAME}/state", params={"episode_id": id})).json()
    assert state["actions"] == ["1"]
