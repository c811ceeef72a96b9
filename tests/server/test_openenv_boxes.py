"""Boxes and task folders over OpenEnv's protocol: the tools, the verdict at the end, and whose fault the rest is."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import InvalidStatus

from rewarden import AsyncClient
from rewarden.errors import InternalError, Unavailable
from rewarden_server.access.caller import Caller
from rewarden_server.access.key_record import new_key
from rewarden_server.service import Service
from tests.server.box_host import HostProcess
from tests.server.box_host import host as host
from tests.server.conftest import Running, Start
from tests.server.launchers import launcher as launcher
from tests.server.test_openenv import asked, session
from tests.tasks.folders import EXAMPLES, TOML, made
from tests.tasks.test_checking import LAID

pytestmark = [pytest.mark.needs_server, pytest.mark.slow]

SOLVE = "echo 'Hello, world!' >greeting.txt"


@pytest.fixture(scope="module")
def remembered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The memory of tasks that all tests share."""
    return tmp_path_factory.mktemp("tasks")


@pytest.fixture
def settings(host: HostProcess, remembered: Path, tmp_path: Path) -> dict[str, Any]:
    """The settings of a server with tasks."""
    folders = f"{EXAMPLES / 'greeting'},{tmp_path / 'own'}"
    made(tmp_path / "own" / "steps", _steps())
    made(tmp_path / "own" / "laid", LAID)
    return {"sandbox.address": host.address, "tasks.folders": folders, "tasks.dir": str(remembered)}


@pytest_asyncio.fixture
async def server(start: Start, settings: dict[str, Any]) -> AsyncIterator[Running]:
    """A server with tasks, in which no box of an episode is left at the end."""
    running = await start(settings)
    yield running
    await emptied(running)


async def emptied(server: Running) -> None:
    """Returns once no box is open: the server learns of the end of a connection a little later than its client."""
    async with asyncio.timeout(60):
        while server.serving.service.boxes.figures()["open"]:
            await asyncio.sleep(0.01)


def _steps() -> dict[str, str]:
    files = {"task.toml": TOML + '[[steps]]\nname = "a"\n[[steps]]\nname = "b"\n'}
    for name in ("a", "b"):
        files[f"steps/{name}/instruction.md"] = f"Log {name}."
        files[f"steps/{name}/tests/test.sh"] = (
            f"grep -qx {name} /app/log && r=1; echo ${{r:-0}} >/logs/verifier/reward.txt"
        )
        files[f"steps/{name}/solution/solve.sh"] = f"echo {name} >>/app/log"
    return files


async def did(socket: ClientConnection, tool: Any, arguments: Any = None) -> dict[str, Any]:
    """The data of the answer to an action."""
    action = {"tool": tool} | ({} if arguments is None else {"arguments": arguments})
    data: dict[str, Any] = (await asked(socket, "step", action))["data"]
    return data


async def seen(socket: ClientConnection, tool: str, **arguments: str) -> dict[str, Any]:
    """The observation of an action that neither ends the episode nor has a reward."""
    told = await did(socket, tool, arguments)
    assert (told["reward"], told["done"]) == (None, False), told
    observation: dict[str, Any] = told["observation"]
    return observation


async def test_a_policy_works_in_a_box_and_what_it_leaves_is_judged(server: Running) -> None:
    score = {"use": "math", "response_file": "answer.txt", "reference": "42"}
    async with session(server, "box") as socket:
        begun = await asked(socket, "reset", {"seed": 3, "episode_id": "r-1", "files": {"a": "6"}, "score": score})
        assert begun["data"]["observation"] == {"text": ""}
        assert begun["data"]["metadata"] == {"episode_id": "r-1", "seed": 3}
        ran = await seen(socket, "exec", command="cat a; echo bad >&2; exit 3")
        assert ran == {"text": "6\nbad\n", "status": "runtime_error", "exit_code": 3}
        assert (await seen(socket, "python", code="n = int(open('a').read())"))["status"] == "ok"
        assert (await seen(socket, "python", code="n * 7"))["text"] == "42"
        assert (await seen(socket, "write", path="answer.txt", text="the answer is 42"))["text"] == "Written."
        assert (await seen(socket, "read", path="answer.txt"))["text"] == "the answer is 42"
        state = (await asked(socket, "state"))["data"]
        (info,) = (await server.http.get("/v1/sessions")).json()["boxes"]
        assert (info["id"], info["rollout"]) == (state["box"], "r-1")
        told = await did(socket, "submit")
        assert (told["reward"], told["done"]) == (1.0, True)
        state = (await asked(socket, "state"))["data"]
        assert (state["step_count"], state["return"], state["ended"]) == (6, 1.0, "closed")
        assert [verdict["status"] for verdict in state["verdicts"]] == ["scored"]
        assert (await did(socket, "submit"))["code"] == "EXECUTION_ERROR"


async def test_a_box_without_a_verdict_ends_without_a_reward(server: Running) -> None:
    async with session(server, "box") as socket:
        await asked(socket, "reset", {})
        told = await did(socket, "submit")
        assert (told["reward"], told["done"]) == (None, True)


async def test_a_task_begins_with_its_instruction_and_ends_with_its_tests(server: Running) -> None:
    async with session(server, "task") as socket:
        for commands, reward in (([], 0.0), ([SOLVE], 1.0)):
            begun = await asked(socket, "reset", {"task": "greeting"})
            assert begun["data"]["observation"]["text"].startswith("Write the line `Hello, world!`")
            for command in ("pwd", *commands):
                ran = await seen(socket, "exec", command=command)
                assert ran["status"] == "ok"
            told = await did(socket, "submit")
            assert (told["reward"], told["done"]) == (reward, True)


async def test_each_step_of_a_task_is_submitted(server: Running) -> None:
    async with session(server, "task") as socket:
        begun = await asked(socket, "reset", {"task": "steps"})
        assert begun["data"]["observation"]["text"] == "Log a."
        await seen(socket, "exec", command="echo a >>log")
        told = await did(socket, "submit")
        assert (told["observation"]["text"], told["reward"], told["done"]) == ("Log b.", 1.0, False)
        told = await did(socket, "submit")
        assert (told["reward"], told["done"]) == (0.0, True)
        assert (await asked(socket, "state"))["data"]["return"] == 1.0


async def test_the_files_of_a_step_are_there_before_its_first_action(server: Running) -> None:
    async with session(server, "task") as socket:
        await asked(socket, "reset", {"task": "laid"})
        assert (await seen(socket, "exec", command="cat in/word.txt; cp in/word.txt done"))["text"] == "one"
        told = await did(socket, "submit")
        assert (told["reward"], told["observation"]) == (1.0, {"text": "b"})
        assert (await seen(socket, "exec", command="cat in/word.txt; cp both done"))["text"] == "two"
        told = await did(socket, "submit")
        assert (told["reward"], told["done"]) == (1.0, True)


async def test_the_policys_mistakes_are_observed_and_cost_a_step(server: Running) -> None:
    async with session(server, "box") as socket:
        await asked(socket, "reset", {})
        malformed: list[tuple[str, Any]] = [
            ("fly", {}),
            ("", {}),
            ("exec", {}),
            ("exec", None),
            ("exec", {"command": 1}),
            ("exec", {"command": "ls", "cwd": "/"}),
            ("exec", {"command": "a\0b"}),
            ("exec", {"command": "\ud800"}),
            ("exec", ["ls"]),
            ("exec", "ls"),
            ("exec", "[" * 100_000),
            ("exec", '{"command": NaN}'),
            ("submit", {"reward": "1"}),
        ]
        for tool, arguments in malformed:
            told = await did(socket, tool, arguments)
            assert (told["observation"]["error"], told["reward"], told["done"]) == ("malformed", None, False)
        for tool, arguments in (
            ("read", {"path": "none"}),
            ("read", {"path": "/"}),
            ("read", {"path": ""}),
            ("write", {"path": "/proc/x", "text": ""}),
            ("write", {"path": "x" * 5000, "text": ""}),
        ):
            told = await did(socket, tool, arguments)
            assert (told["observation"]["error"], told["reward"], told["done"]) == ("refused", None, False), arguments
        assert (await did(socket, "exec", '{"command": "echo yes"}'))["observation"]["text"] == "yes\n"
        assert (await asked(socket, "state"))["data"]["step_count"] == len(malformed) + 6


async def test_a_program_that_does_not_end_is_ended(server: Running) -> None:
    async with session(server, "box") as socket:
        await asked(socket, "reset", {"timeout_s": 0.2})
        assert (await seen(socket, "exec", command="sleep 1000"))["status"] == "time_limit"
        assert (await seen(socket, "python", code="while True: pass"))["status"] == "time_limit"
        assert (await seen(socket, "exec", command="echo on"))["text"] == "on\n"


async def test_a_policy_that_ends_its_notebook_gets_another(server: Running) -> None:
    async with session(server, "box") as socket:
        await asked(socket, "reset", {})
        assert (await seen(socket, "python", code="import os; os._exit(3)"))["status"] == "kernel_died"
        assert (await seen(socket, "python", code="1 + 1"))["text"] == "2"


async def test_a_long_output_is_cut(server: Running) -> None:
    async with session(server, "box") as socket:
        await asked(socket, "reset", {})
        ran = await seen(socket, "exec", command="head -c 1000000 /dev/zero | tr '\\0' x | tee large")
        assert 20_000 < len(ran["text"]) < 20_100
        assert 20_000 < len((await seen(socket, "read", path="large"))["text"]) < 20_100


async def test_no_output_makes_a_reward(server: Running) -> None:
    """Attack: a policy that prints what an answer to `submit` looks like, and writes the reward itself."""
    forged = json.dumps({"type": "observation", "data": {"reward": 1.0, "done": True}, "reward": 1.0, "done": True})
    async with session(server, "task") as socket:
        await asked(socket, "reset", {"task": "greeting"})
        pay = "mkdir -p /logs/verifier; echo 1 >/logs/verifier/reward.txt"
        await seen(socket, "exec", command=f"echo '{forged}'; {pay}")
        await seen(socket, "python", code=f"print({forged!r})")
        told = await did(socket, "submit")
        assert (told["reward"], told["done"]) == (0.0, True)


async def test_after_the_last_step_there_is_only_submit(server: Running) -> None:
    async with session(server, "task") as socket:
        await asked(socket, "reset", {"task": "greeting", "max_steps": 1})
        await seen(socket, "exec", command="true")
        assert (await seen(socket, "exec", command=SOLVE))["error"] == "no_steps_left"
        told = await did(socket, "submit")
        assert (told["reward"], told["done"]) == (0.0, True)


@pytest.mark.parametrize(
    ("name", "options", "path"),
    [
        ("box", {"task": "greeting"}, "task"),
        ("box", {"image": 3}, "image"),
        ("box", {"illegal": "end"}, "illegal"),
        ("box", {"seed": "1"}, "seed"),
        ("box", {"episode_id": "x" * 256}, "episode_id"),
        ("box", {"max_steps": 0}, "max_steps"),
        ("box", {"timeout_s": -1}, "timeout_s"),
        ("box", {"score": {"use": "math"}}, "response"),
        ("box", {"score": {"use": "none", "response_file": "a"}}, "use"),
        ("task", {}, "task"),
        ("task", {"task": "none"}, "task"),
        ("task", {"task": "greeting", "score": {"use": "math", "response": "1"}}, "score"),
    ],
)
async def test_a_callers_mistake_is_named_and_opens_no_box(
    server: Running, name: str, options: dict[str, Any], path: str
) -> None:
    async with session(server, name) as socket:
        told = await asked(socket, "reset", options)
        assert (told["type"], told["data"]["code"], told["data"]["path"]) == ("error", "VALIDATION_ERROR", path)
        assert server.serving.service.boxes.opened == 0
    answer = await server.http.post(f"/openenv/{name}/reset", json=options)
    assert (answer.status_code, answer.json()["error"]["details"]["path"]) == (400, path)


async def test_an_action_that_is_no_tool_call_is_the_callers_mistake(server: Running) -> None:
    async with session(server, "box") as socket:
        await asked(socket, "reset", {})
        for action in ({}, {"text": "ls"}, {"tool": 1}, {"tool": "exec", "reward": 1}):
            assert (await asked(socket, "step", action))["data"]["code"] == "VALIDATION_ERROR"
        assert (await asked(socket, "state"))["data"]["step_count"] == 0


async def test_an_episode_lives_over_http_and_a_reset_waits_for_its_step(server: Running) -> None:
    body = {"episode_id": "mine", "files": {"a": "1"}}
    assert (await server.http.post("/openenv/box/reset", json=body)).status_code == 200
    first = (await server.http.get("/openenv/box/state", params={"episode_id": "mine"})).json()["box"]
    # The program sees its own box to its end, although the episode's next one was asked for meanwhile.
    command = "touch begun; while [ ! -e go ]; do sleep 0.01; done; cat a"
    step = {"episode_id": "mine", "action": {"tool": "exec", "arguments": {"command": command}}}
    running = asyncio.create_task(server.http.post("/openenv/box/step", json=step))
    while (await server.http.get(f"/v1/sessions/{first}/files/begun")).status_code != 200:
        assert not running.done()
    reset = asyncio.create_task(server.http.post("/openenv/box/reset", json={**body, "files": {"a": "2"}}))
    await server.http.put(
        f"/v1/sessions/{first}/files/go", content=b"", headers={"Content-Type": "application/octet-stream"}
    )
    assert (await running).json()["observation"]["text"] == "1"
    assert (await reset).status_code == 200
    state = (await server.http.get("/openenv/box/state", params={"episode_id": "mine"})).json()
    assert (state["step_count"], state["box"] != first) == (0, True)
    assert (await server.http.get(f"/v1/sessions/{first}")).status_code == 410
    assert (await server.http.delete(f"/v1/sessions/{state['box']}")).status_code == 204
    answer = (await server.http.post("/openenv/box/step", json=step)).json()["error"]
    assert (answer["code"], answer["details"]["reason"]) == ("box_ended", "closed")


async def test_a_client_that_leaves_during_a_step_ends_its_box(server: Running) -> None:
    boxes = server.serving.service.boxes
    async with session(server, "box") as socket:
        await asked(socket, "reset", {})
        await socket.send(
            json.dumps({"type": "step", "data": {"tool": "exec", "arguments": {"command": "sleep 1000"}}})
        )
        (box,) = boxes._open.values()
        async with asyncio.timeout(60):
            while not box.execs:
                await asyncio.sleep(0.01)
        socket.transport.abort()
    await emptied(server)
    assert box.reason == "closed"


@pytest.mark.parametrize("further", [1, 100])
async def test_a_client_that_leaves_behind_further_messages_ends_its_box(server: Running, further: int) -> None:
    """Attack: a message after the step, behind which the server does not see that the connection has ended."""
    boxes = server.serving.service.boxes
    async with session(server, "box") as socket:
        await asked(socket, "reset", {})
        (box,) = boxes._open.values()
        step = {"type": "step", "data": {"tool": "exec", "arguments": {"command": "sleep 1000"}}}
        for message in (step, *[{"type": "state"}] * further):
            await socket.send(json.dumps(message))
        async with asyncio.timeout(60):
            while not box.execs and box.reason is None:
                await asyncio.sleep(0.01)
        socket.transport.abort()
    await emptied(server)
    assert box.reason == "closed"


async def test_messages_ahead_of_an_answer_are_answered_in_order(server: Running) -> None:
    async with session(server, "box") as socket:
        await asked(socket, "reset", {})
        wait = {"tool": "exec", "arguments": {"command": "while [ ! -e go ]; do sleep 0.01; done; echo went"}}
        await socket.send(json.dumps({"type": "step", "data": wait}))
        await socket.send(json.dumps({"type": "state"}))
        await socket.send(json.dumps({"type": "fly"}))
        (box,) = server.serving.service.boxes._open.values()
        await server.http.put(
            f"/v1/sessions/{box.id}/files/go", content=b"", headers={"Content-Type": "application/octet-stream"}
        )
        told = [json.loads(await socket.recv()) for _ in range(3)]
        assert [each["type"] for each in told] == ["observation", "state", "error"]
        assert told[1]["data"]["step_count"] == 1


async def test_a_reset_that_fails_costs_no_other_episode(server: Running) -> None:
    """Flake: of resets at once, the one that failed made the server forget an episode of another, and leave its box."""

    async def reset(id: str, **options: Any) -> int:
        return (await server.http.post("/openenv/box/reset", json={"episode_id": id, **options})).status_code

    async def boxes_of(*ids: str) -> set[str]:
        found = [await server.http.get("/openenv/box/state", params={"episode_id": id}) for id in ids]
        return {each.json()["box"] for each in found if each.status_code == 200}

    assert await reset("old") == 200
    got = await asyncio.gather(reset("old", image="none"), reset("new"), reset("bad", image="none"))
    assert list(got) == [400, 200, 400]
    got = await asyncio.gather(reset("same", max_steps=0), reset("same"), reset("same", max_steps=0))
    assert list(got) == [400, 200, 400]
    open_boxes = {each["id"] for each in (await server.http.get("/v1/sessions")).json()["boxes"]}
    assert await boxes_of("new", "same") == open_boxes
    assert len(open_boxes) == len(server.serving.service.episodes) == 2
    for box in open_boxes:
        await server.http.delete(f"/v1/sessions/{box}")


async def test_a_lost_host_is_an_error_and_no_reward(
    start: Start, settings: dict[str, Any], launcher: str, tmp_path: Path
) -> None:
    own = await asyncio.to_thread(HostProcess, tmp_path, launcher)
    server = await start({**settings, "sandbox.address": own.address})
    async with session(server, "box") as socket:
        await asked(socket, "reset", {"score": {"use": "math", "response": "1", "reference": "1"}})
        own.kill()
        for tool, arguments in (("exec", {"command": "true"}), ("submit", {})):
            told = await did(socket, tool, arguments)
            assert (told["code"], told["reason"], told["fault"]) == ("EXECUTION_ERROR", "host_lost", "infra")
        state = (await asked(socket, "state"))["data"]
        assert (state["ended"], state["verdicts"], state["done"]) == ("host_lost", [], False)


async def test_a_submission_without_a_verdict_is_no_reward_and_nothing_is_done_before_the_next(server: Running) -> None:
    """Attack: submit what cannot be judged, read the error, and work on."""
    async with session(server, "box") as socket:
        await asked(socket, "reset", {"score": {"use": "math", "response_file": "a"}})  # without a reference
        await seen(socket, "write", path="a", text="1")
        for _ in range(2):
            told = await did(socket, "submit")
            assert (told["code"], told["fault"], "reward" in told) == ("VALIDATION_ERROR", "reference", False)
            for tool, arguments in (("write", {"path": "a", "text": "2"}), ("fly", {})):
                assert (await did(socket, tool, arguments))["code"] == "EXECUTION_ERROR"
        state = (await asked(socket, "state"))["data"]
        assert (state["done"], state["step_count"], state["verdicts"]) == (False, 1, [])
        await asked(socket, "reset", {})
        assert (await seen(socket, "exec", command="ls"))["text"] == ""


async def test_a_submission_can_be_repeated_until_it_has_a_verdict(
    server: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with session(server, "task") as socket:
        await asked(socket, "reset", {"task": "steps"})
        await seen(socket, "exec", command="echo a >>log")
        with monkeypatch.context() as broken:

            async def verify(*_: Any) -> Any:
                raise Unavailable("the tests' box was lost", fault="infra")

            broken.setattr(Service, "verify", verify)
            told = await did(socket, "submit")
            assert (told["code"], told["fault"]) == ("EXECUTION_ERROR", "infra")
        told = await did(socket, "submit")
        assert (told["reward"], told["done"]) == (1.0, False)
        await seen(socket, "exec", command="echo b >>log")
        told = await did(socket, "submit")
        assert (told["reward"], told["done"]) == (1.0, True)


async def test_a_verdict_counts_if_its_box_ends_meanwhile(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    async with session(server, "box") as socket:
        await asked(socket, "reset", {"score": {"use": "math", "response": "1", "reference": "1"}})
        boxes = server.serving.service.boxes
        close = boxes.close

        async def failing(id: str, caller: Caller) -> None:
            await close(id, caller)
            raise InternalError("the host was lost")

        with monkeypatch.context() as broken:
            broken.setattr(boxes, "close", failing)
            told = await did(socket, "submit")
        assert (told["reward"], told["done"]) == (1.0, True)


async def test_a_time_that_the_host_does_not_give_is_the_callers_mistake(server: Running) -> None:
    async with session(server, "box") as socket:
        await asked(socket, "reset", {"timeout_s": 3600})
        told = await did(socket, "exec", {"command": "true"})
        assert (told["code"], told["path"]) == ("VALIDATION_ERROR", "timeout_s")
        assert (await asked(socket, "state"))["data"]["step_count"] == 0


async def test_the_quota_of_boxes_is_the_keys(start: Start, settings: dict[str, Any]) -> None:
    server = await start({**settings, "boxes.per_key": 1})
    async with AsyncClient(server.serving.http) as client, session(server, "box") as socket:
        async with client.box("python"):
            told = (await asked(socket, "reset", {}))["data"]
            assert (told["code"], told["limit"]) == ("EXECUTION_ERROR", "boxes.per_key")
            assert (await did(socket, "submit"))["code"] == "EXECUTION_ERROR"
        for _ in range(3):  # each closes the one before
            assert "observation" in (await asked(socket, "reset", {}))["data"]


async def test_many_sessions_live_beside_each_other(server: Running) -> None:
    async def live(number: int) -> str:
        async with session(server, "box") as socket:
            await asked(socket, "reset", {"env": {"ME": str(number)}})
            await seen(socket, "exec", command="echo $ME >me")
            return str((await seen(socket, "read", path="me"))["text"])

    assert await asyncio.gather(*map(live, range(6))) == [f"{number}\n" for number in range(6)]


async def test_another_key_has_neither_the_episode_nor_the_environment(start: Start, settings: dict[str, Any]) -> None:
    (one, first), (two, second), (three, third) = new_key(), new_key(), new_key()
    rules = json.dumps(
        {name: {"scopes": ["verify", "sessions"]} for name in ("one", "two")} | {"three": {"scopes": ["verify"]}}
    )
    named = f"one={first},two={second},three={third}"
    server = await start({**settings, "keys.named": named, "keys.rules": rules})

    def headers(key: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {key}"}

    begun = await server.http.post("/openenv/box/reset", json={"episode_id": "e"}, headers=headers(one))
    assert begun.status_code == 200
    step = {"episode_id": "e", "action": {"tool": "exec", "arguments": {"command": "true"}}}
    state = {"episode_id": "e"}
    box = (await server.http.get("/openenv/box/state", params=state, headers=headers(one))).json()["box"]
    rights = {"rights": ["exec", "read"]}
    lent = await server.http.post(f"/v1/sessions/{box}/lease", json=rights, headers=headers(one))
    lease = lent.json()["lease"]
    for key, status in ((two, 404), (three, 403), (lease, 401)):
        assert (await server.http.post("/openenv/box/step", json=step, headers=headers(key))).status_code == status
        found = await server.http.get("/openenv/box/state", params=state, headers=headers(key))
        assert found.status_code == status
    with pytest.raises(InvalidStatus):
        async with session(server, "box", additional_headers=headers(three)):
            pass
    assert (await server.http.post("/openenv/box/step", json=step, headers=headers(one))).status_code == 200


async def test_an_environment_of_boxes_describes_itself(server: Running) -> None:
    assert {"box", "task"} <= set((await server.http.get("/openenv")).json()["environments"])
    for name in ("box", "task"):
        schema = (await server.http.get(f"/openenv/{name}/schema")).json()
        assert schema["action"]["required"] == ["tool"]
        assert (await server.http.get(f"/openenv/{name}/health")).json() == {"status": "healthy"}
        readme = (await server.http.get(f"/openenv/{name}/metadata")).json()["readme_content"]
        assert "`write(path, text)`" in readme


async def test_the_published_client_lives_a_task(server: Running) -> None:
    generic = pytest.importorskip("openenv.core.generic_client", reason="openenv is not installed")
    async with generic.GenericEnvClient(base_url=f"{server.serving.http}/openenv/task") as env:
        begun = await env.reset(task="greeting")
        assert (begun.reward, begun.done) == (None, False)
        assert "Hello, world!" in begun.observation["text"]
        ran = await env.step({"tool": "exec", "arguments": {"command": SOLVE}})
        assert (ran.observation["status"], ran.reward, ran.done) == ("ok", None, False)
        judged = await env.step({"tool": "submit", "arguments": {}})
        assert (judged.reward, judged.done) == (1.0, True)
        assert (await env.state())["return"] == 1.0


class Frozen:
    """The clock of the registry of boxes, which passes only when it is told to."""

    def __init__(self) -> None:
        self.now = time.monotonic()

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(server: Running, monkeypatch: pytest.MonkeyPatch) -> Frozen:
    """That clock."""
    made = Frozen()
    monkeypatch.setattr(server.serving.service.boxes, "_clock", made)
    return made


SCORED = {"score": {"use": "math", "response": "1", "reference": "1"}}


async def test_a_policy_that_sleeps_until_its_box_is_over_gets_nothing(server: Running, clock: Frozen) -> None:
    """Attack: no reward instead of a bad one."""
    for tool, arguments in (("exec", {"command": "sleep 1000"}), ("python", {"code": "import time; time.sleep(1000)"})):
        async with session(server, "box") as socket:
            await asked(socket, "reset", {"ttl_s": 2, **SCORED})
            assert (await seen(socket, tool, **arguments))["status"] == "time_limit"
            clock.now += 2
            told = await did(socket, "exec", {"command": "true"})
            assert (told["observation"]["error"], told["reward"], told["done"]) == ("box_expired", 0.0, True)
            state = (await asked(socket, "state"))["data"]
            (verdict,) = state["verdicts"]
            assert (verdict["status"], verdict["score"], verdict["reason"]) == ("scored", 0.0, "box_expired")
            assert (verdict["fault"], state["ended"], state["return"]) == ("policy", "expired", 0.0)


async def test_the_steps_of_a_task_that_were_not_reached_get_nothing(server: Running, clock: Frozen) -> None:
    async with session(server, "task") as socket:
        await asked(socket, "reset", {"task": "steps", "ttl_s": 3})
        await seen(socket, "exec", command="echo a >>log")
        assert (await did(socket, "submit"))["reward"] == 1.0
        assert (await seen(socket, "exec", command="sleep 1000"))["status"] == "time_limit"
        clock.now += 3
        told = await did(socket, "submit")
        assert (told["reward"], told["done"]) == (0.0, True)
        state = (await asked(socket, "state"))["data"]
        assert ([verdict["score"] for verdict in state["verdicts"]], state["return"]) == ([1.0, 0.0], 1.0)


async def test_time_that_the_caller_took_is_the_callers(server: Running, clock: Frozen) -> None:
    for reason, seconds in (("expired", 1000), ("idle", 30)):
        async with session(server, "box") as socket:
            await asked(socket, "reset", {"ttl_s": 1000, "idle_s": 30, **SCORED})
            await seen(socket, "exec", command="true")
            if reason == "expired":
                server.serving.service.boxes._open[(await asked(socket, "state"))["data"]["box"]].idle_s = 1e6
            clock.now += seconds
            told = await did(socket, "submit")
            assert (told["code"], told["reason"], told["fault"]) == ("EXECUTION_ERROR", reason, "caller")
            assert ("ttl_s" if reason == "expired" else "idle_s, 30 s") in told["message"]
            state = (await asked(socket, "state"))["data"]
            assert (state["verdicts"], state["done"]) == ([], False)


async def test_time_that_the_server_took_is_nobodys(server: Running, clock: Frozen) -> None:
    """Flake: a host that stands still during a program, for which the policy must not pay."""
    boxes = server.serving.service.boxes
    async with session(server, "box") as socket:
        await asked(socket, "reset", {"ttl_s": 100, "timeout_s": 90, **SCORED})
        action = {"tool": "exec", "arguments": {"command": "touch begun; while [ ! -e go ]; do sleep 0.01; done"}}
        await socket.send(json.dumps({"type": "step", "data": action}))
        (box,) = boxes._open.values()
        async with asyncio.timeout(60):
            while not box.execs:
                await asyncio.sleep(0.01)
        clock.now += 100
        boxes.sweep()
        told = json.loads(await socket.recv())["data"]
        assert (told["code"], told["reason"], told["fault"]) == ("EXECUTION_ERROR", "expired", "infra")
        assert (await asked(socket, "state"))["data"]["verdicts"] == []


async def test_work_that_was_submitted_in_time_is_not_the_policys_if_its_box_expires(
    server: Running, clock: Frozen
) -> None:
    async with session(server, "box") as socket:
        await asked(socket, "reset", {"ttl_s": 2, "score": {"use": "math", "response_file": "a"}})  # no reference
        await seen(socket, "write", path="a", text="1")
        assert (await seen(socket, "exec", command="sleep 1000"))["status"] == "time_limit"
        assert (await did(socket, "submit"))["fault"] == "reference"
        clock.now += 2
        told = await did(socket, "submit")
        assert (told["code"], told["reason"], told["fault"]) == ("EXECUTION_ERROR", "expired", "infra")
