"""A single program in the sandbox: `POST /v1/run`, gRPC's `Run`, and the target `local`, which say the same."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
import pytest_asyncio

from rewarden import NO_RETRY, AsyncClient, Client, Retry
from rewarden.errors import InvalidRequest, Overloaded, RequestError, Unavailable
from rewarden.types import Limits, Run, RunResult
from rewarden.v1 import rewarden_pb2 as pb
from rewarden_sandboxes import job as host
from rewarden_sandboxes.errors import BadJob, Busy, HostError, NoRoom
from rewarden_server.engine.lanes import remote_hosts
from rewarden_server.processes.settings import SandboxSettings
from tests.server.conftest import Running, Start
from tests.server.hosts import ENFORCED, ScriptedHost, serving

JSON = {"Content-Type": "application/json"}
PROGRAM = {"language": "python", "code": "print(1)"}


def doing(*events: host.JobEvent | HostError) -> Any:
    """A script: these events, or this error, for every job."""

    async def answer(job: host.Job) -> AsyncGenerator[host.JobEvent, None]:
        for event in events:
            if isinstance(event, HostError):
                raise event
            yield event

    return answer


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks at a host may take as long as a busy machine needs."""
    monkeypatch.setattr(remote_hosts, "_STATUS_PATIENCE_S", 60.0)


@pytest.fixture
def script() -> ScriptedHost:
    """Returns the scripted host."""
    return ScriptedHost()


@pytest_asyncio.fixture
async def server(start: Start, script: ScriptedHost, tmp_path: Path) -> AsyncIterator[Running]:
    """A server whose sandbox is scripted."""
    async with serving(script, tmp_path) as address:
        yield await start({"sandbox.address": address})


@pytest_asyncio.fixture(params=["http", "grpc", "local"])
async def client(request: pytest.FixtureRequest, server: Running) -> AsyncIterator[AsyncClient]:
    """A client, over each way."""
    if request.param == "local":
        async with AsyncClient("local", sandbox=server.serving.service.config.sandbox) as made:
            yield made
        return
    async with AsyncClient(getattr(server.serving, request.param), retry=NO_RETRY) as made:
        yield made


async def post(server: Running, body: Any) -> httpx.Response:
    """`POST /v1/run`."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return await server.http.post("/v1/run", content=content, headers=JSON)


# --- what comes back


async def test_a_program_is_run_as_it_was_sent_over_every_way(client: AsyncClient, script: ScriptedHost) -> None:
    result = await client.run(
        "print('é')",
        "python",
        stdin=b"\xff\x00",
        files={"a.txt": "é", "b/c": b"\xfe"},
        args=["-x", "é"],
        limits={"cpu_s": 1.5, "memory_mb": 64},
    )
    assert result == RunResult(
        status="ok",
        exit_code=0,
        stdout="\ufffd\x00",
        stdout_base64=base64.b64encode(b"\xff\x00").decode(),
        cpu_time=0.25,
        wall_time=0.5,
        enforced=ENFORCED,
    )
    (job,) = script.jobs
    assert job == host.Job(
        program=host.Program(
            language="python",
            code="print('é')".encode(),
            files={"a.txt": "é".encode(), "b/c": b"\xfe"},
            args=("-x", "é"),
            limits=host.Limits(cpu_s=1.5, memory_mb=64),
        ),
        cases=(host.Case(stdin=b"\xff\x00"),),
    )


async def test_every_field_of_a_report_comes_back(client: AsyncClient, script: ScriptedHost) -> None:
    report = host.Report(
        status="time_limit",
        limit="cpu_s",
        signal=9,
        stdout=b"out",
        stderr=b"err",
        cpu_time=2.0,
        wall_time=3.0,
        peak_memory=2**40,
        truncated=True,
        enforced=ENFORCED,
        flags=("rerun",),
        message="words",
    )
    script.answer = doing(
        host.CompileResult(report=host.Report(status="ok", exit_code=0, stderr=b"warning")),
        host.CaseResult(index=0, program=report),
    )
    assert await client.run("", "cpp") == RunResult(
        status="time_limit",
        limit="cpu_s",
        signal=9,
        stdout="out",
        stderr="err",
        cpu_time=2.0,
        wall_time=3.0,
        peak_memory=2**40,
        truncated=True,
        enforced=ENFORCED,
        flags=("rerun",),
        message="words",
        compile=RunResult(status="ok", exit_code=0, stderr="warning"),
    )


@pytest.mark.parametrize(
    ("ended", "status", "limit"),
    [
        (host.Report(status="compile_error", exit_code=1, stderr=b"main.c:1: no"), "compile_error", None),
        (host.Report(status="time_limit", limit="cpu_s"), "compile_error", "cpu_s"),
        (host.Report(status="internal_error", message="the disk is full"), "internal_error", None),
    ],
)
async def test_what_does_not_compile_never_ran(
    client: AsyncClient, script: ScriptedHost, ended: host.Report, status: str, limit: str | None
) -> None:
    script.answer = doing(host.CompileResult(report=ended))
    result = await client.run("", "c")
    assert (result.status, result.limit, result.exit_code, result.stdout) == (status, limit, None, "")
    assert result.compile is not None
    assert result.compile.stderr == ended.stderr.decode()
    assert result.message == ended.message


async def test_the_plain_form_always_has_the_same_fields(server: Running) -> None:
    assert (await post(server, PROGRAM)).json() == {
        "status": "ok",
        "limit": None,
        "exit_code": 0,
        "signal": None,
        "stdout": "",
        "stderr": "",
        "cpu_time": 0.25,
        "wall_time": 0.5,
        "peak_memory": None,
        "truncated": False,
        "enforced": ENFORCED,
    }


async def test_equal_programs_are_run_each_and_nothing_is_kept(client: AsyncClient, script: ScriptedHost) -> None:
    await asyncio.gather(*(client.run("print(1)") for _ in range(3)))
    await client.run("print(1)")
    assert len(script.jobs) == 4


async def test_a_client_that_leaves_kills_its_program(server: Running, script: ScriptedHost) -> None:
    begun = asyncio.Event()

    async def forever(job: host.Job) -> AsyncGenerator[host.JobEvent, None]:
        begun.set()
        await asyncio.Event().wait()
        yield host.CaseResult(index=0, program=host.Report(status="ok"))

    script.answer = forever
    for target in (server.serving.http, server.serving.grpc):
        begun.clear()
        script.left.clear()
        async with AsyncClient(target) as client:
            task = asyncio.create_task(client.run("while 1: pass"))
            await begun.wait()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await asyncio.wait_for(script.left.wait(), 30)


async def test_what_was_sent_before_the_drain_ends(server: Running, script: ScriptedHost) -> None:
    begun, let_go = asyncio.Event(), asyncio.Event()

    async def slow(job: host.Job) -> AsyncGenerator[host.JobEvent, None]:
        begun.set()
        await let_go.wait()
        yield host.CaseResult(index=0, program=host.Report(status="ok"))

    script.answer = slow
    running = asyncio.create_task(post(server, PROGRAM))
    await begun.wait()
    draining = asyncio.create_task(server.serving.drain(30))
    async with asyncio.timeout(30):
        while (await server.http.get("/readyz")).status_code != 503:
            await asyncio.sleep(0.01)
    assert (await post(server, PROGRAM)).status_code == 503
    let_go.set()
    assert (await running).json()["status"] == "ok"
    await draining


# --- what is refused


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"language": None}, "language"),
        ({"language": ""}, "language"),
        ({"language": 7}, "language"),
        ({"code": None}, "code"),
        ({"code": ["print(1)"]}, "code"),
        ({"code": "a\0b"}, "code"),
        ({"stdin": 7}, "stdin"),
        ({"stdin": {"base64": "no base64!"}}, "stdin.base64"),
        ({"stdin": {"base64": "YQ"}}, "stdin.base64"),
        ({"stdin": {"base64": None}}, "stdin.base64"),
        ({"stdin": {"base46": "YQ=="}}, "stdin.base46"),
        ({"stdin": [[[[]]]]}, "stdin"),
        ({"files": []}, "files"),
        ({"files": {"a": 7}}, "files.a"),
        ({"files": {"../x": ""}}, "files['../x']"),
        ({"files": {"/etc/passwd": ""}}, "files['/etc/passwd']"),
        ({"files": {"a\0b": ""}}, "files['a\\x00b']"),
        ({"files": {"": ""}}, "files['']"),
        ({"files": {"a": "", "a/b": ""}}, "files['a/b']"),
        ({"args": "-x"}, "args"),
        ({"args": ["a\0"]}, "args[0]"),
        ({"collect": "out"}, "collect"),
        ({"collect": ["../out"]}, "collect['../out']"),
        ({"args": [1]}, "args[0]"),
        ({"limits": {"cpu_s": 0}}, "limits.cpu_s"),
        ({"limits": {"cpu_s": -1}}, "limits.cpu_s"),
        ({"limits": {"cpu_s": 1e18}}, "limits.cpu_s"),
        ({"limits": {"cpu_s": 1e8}}, "limits.cpu_s"),
        ({"limits": {"cpu_s": "1"}}, "limits.cpu_s"),
        ({"limits": {"cpu_s": True}}, "limits.cpu_s"),
        ({"limits": {"memory_mb": 0}}, "limits.memory_mb"),
        ({"limits": {"memory_mb": 1.5}}, "limits.memory_mb"),
        ({"limits": {"memory_mb": 10**30}}, "limits.memory_mb"),
        ({"limits": {"memory_mb": 10**12}}, "limits.memory_mb"),
        ({"limits": {"output_bytes": 2**40}}, "limits.output_bytes"),
        ({"limits": {"cpu": 1}}, "limits.cpu"),
        ({"limits": []}, "limits"),
        ({"timeout": 5}, "timeout"),
        ({"x": [[[[[[]]]]]]}, "x"),
    ],
    ids=lambda value: json.dumps(value)[:40] if isinstance(value, dict) else "",
)
async def test_a_field_at_fault_is_named_and_nothing_runs(
    server: Running, script: ScriptedHost, change: dict[str, Any], path: str
) -> None:
    answer = await post(server, {**PROGRAM, **change})
    assert answer.status_code == 400, answer.text
    error = answer.json()["error"]
    assert error["code"] == "invalid_request"
    assert error["details"]["path"] == path
    assert error["message"].startswith(path)
    assert script.jobs == []


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
async def test_a_limit_that_is_no_number_is_refused(server: Running, number: str) -> None:
    for name in ("cpu_s", "memory_mb"):
        answer = await post(server, f'{{"language": "c", "code": "", "limits": {{"{name}": {number}}}}}'.encode())
        assert answer.status_code == 400
        assert name in answer.json()["error"]["message"] or "JSON" in answer.json()["error"]["message"]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'"x"', b"\xff", b'{"code": ' + b"[" * 100_000])
async def test_a_body_that_is_no_run_is_refused(server: Running, body: bytes) -> None:
    assert (await post(server, body)).status_code in (400, 413)


async def test_ten_megabytes_of_code_run_and_more_than_the_limit_do_not(
    server: Running, script: ScriptedHost, start: Start
) -> None:
    code = "#" * 10_000_000
    assert (await post(server, {**PROGRAM, "code": code})).json()["status"] == "ok"
    assert len(script.jobs[0].program.code) == len(code)
    small = await start(
        {"sandbox.address": server.serving.service.config.sandbox.address, "limits.max_run_bytes": 1000}
    )
    answer = await post(small, {**PROGRAM, "code": "#" * 1000})
    assert (answer.status_code, answer.json()["error"]["details"]["limit"]) == (413, "max_run_bytes")
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await small.stub.Run(pb.RunRequest(language="python", code="#" * 1000))
    assert raised.value.code() == grpc.StatusCode.OUT_OF_RANGE


async def test_grpc_refuses_by_the_same_names(server: Running, script: ScriptedHost) -> None:
    async with AsyncClient(server.serving.grpc) as client:
        transport = client._open()
        for wrong, path in (
            (Run(language="python", code="a\0"), "code"),
            (Run(language="python", code="", files={"../x": ""}), "files['../x']"),
            (Run(language="python", code="", limits=Limits(cpu_s=float("nan"))), "limits.cpu_s"),
            (Run(language="python", code="", limits=Limits(memory_mb=-1)), "limits.memory_mb"),
        ):
            with pytest.raises(InvalidRequest) as raised:
                await transport.run(wrong)
            assert raised.value.details["path"] == path
    assert script.jobs == []


async def test_the_hosts_own_refusals_name_the_runs_field(client: AsyncClient, script: ScriptedHost) -> None:
    script.answer = doing(BadJob("program.language", "unknown language 'pyhton': did you mean python?"))
    with pytest.raises(InvalidRequest, match="did you mean python") as raised:
        await client.run("", "pyhton")
    assert raised.value.details["path"] == "language"
    script.answer = doing(BadJob("cases[0].limits.cpu_s", "1000 is more than this host gives, 600"))
    with pytest.raises(InvalidRequest, match="600") as raised:
        await client.run("", limits={"cpu_s": 1000})
    assert raised.value.details["path"] == "limits.cpu_s"


@pytest.mark.parametrize(
    ("raised", "named"),
    [(NoRoom("no Docker engine answers; start it"), Unavailable), (Busy("4096 jobs wait"), Overloaded)],
)
async def test_no_room_is_503_and_too_much_that_waits_is_429(
    server: Running, script: ScriptedHost, raised: HostError, named: type[RequestError]
) -> None:
    script.answer = doing(raised)
    answer = await post(server, PROGRAM)
    assert answer.status_code == named.http_status
    assert raised.message in answer.json()["error"]["message"]
    assert int(answer.headers["Retry-After"]) >= 1
    async with AsyncClient(server.serving.grpc, retry=NO_RETRY) as client:
        with pytest.raises(named):
            await client.run("print(1)")


async def test_a_broken_host_is_a_defect_of_ours(server: Running, script: ScriptedHost) -> None:
    script.answer = doing(HostError("its disk is full"))
    answer = await post(server, PROGRAM)
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "internal")


async def test_more_than_may_wait_is_429(start: Start, script: ScriptedHost, tmp_path: Path) -> None:
    let_go = asyncio.Event()

    async def slow(job: host.Job) -> AsyncGenerator[host.JobEvent, None]:
        await let_go.wait()
        yield host.CaseResult(index=0, program=host.Report(status="ok"))

    script.answer = slow
    async with serving(script, tmp_path) as address:
        server = await start({"sandbox.address": address, "sandbox.in_flight": 1, "sandbox.max_waiting": 2})
        running = [asyncio.create_task(post(server, PROGRAM)) for _ in range(3)]
        lane = server.serving.service.engine.sandbox
        async with asyncio.timeout(30):
            while (lane.under_way, lane.waiting) != (1, 2):
                await asyncio.sleep(0.001)
        answer = await post(server, PROGRAM)
        assert (answer.status_code, answer.json()["error"]["code"]) == (429, "overloaded")
        assert "sandbox.max_waiting" in answer.json()["error"]["message"]
        let_go.set()
        assert [(await task).status_code for task in running] == [200] * 3


async def test_without_a_sandbox_it_is_503_with_the_reason(start: Start) -> None:
    server = await start({"sandbox.launcher": "none"})
    answer = await post(server, PROGRAM)
    assert answer.status_code == 503
    assert "sandbox.launcher is none" in answer.json()["error"]["message"]


async def test_a_key_is_asked_for(start: Start) -> None:
    server = await start({"keys.named": "a=" + "0" * 64, "sandbox.launcher": "none"})
    assert (await post(server, PROGRAM)).status_code == 401


# --- how the sandbox is


async def test_probes_information_and_metrics_say_how_it_is(server: Running, script: ScriptedHost) -> None:
    await post(server, PROGRAM)
    script.answer = doing(host.CaseResult(index=0, program=host.Report(status="time_limit", wall_time=2.0)))
    await post(server, {**PROGRAM, "language": "cpp"})
    assert (await server.http.get("/readyz")).json()["sandbox"] == {"state": "ready", "reason": None}
    told = (await server.http.get("/v1/info")).json()["sandbox"]
    assert told["state"] == "ready"
    assert told["host"]["launcher"] == "scripted"
    assert told["host"]["enforced"] == ENFORCED
    over_grpc = json.loads((await server.stub.Info(pb.InfoRequest())).info_json)["sandbox"]
    assert over_grpc["host"] == told["host"]
    page = (await server.http.get("/metrics")).text
    for line in (
        'rewarden_sandbox_runs_total{language="python",status="ok"} 1.0',
        'rewarden_sandbox_runs_total{language="cpp",status="time_limit"} 1.0',
        'rewarden_sandbox_run_seconds_count{language="cpp"} 1.0',
        'rewarden_sandbox_slots{state="busy"} 2.0',
        'rewarden_sandbox_slots{state="idle"} 1.0',
        'rewarden_sandbox_slots{state="starting"} 2.0',
        "rewarden_sandbox_ready 1.0",
        "rewarden_sandbox_waiting 0.0",
        "rewarden_sandbox_compile_cache_hits_total 5.0",
        "rewarden_sandbox_compile_cache_misses_total 2.0",
        "rewarden_sandbox_compile_cache_evictions_total 1.0",
        "rewarden_sandbox_compile_cache_bytes 900.0",
    ):
        assert line in page


async def test_a_required_sandbox_that_is_missing_makes_the_server_unready(
    start: Start, script: ScriptedHost, tmp_path: Path
) -> None:
    script.told |= {"ready": False, "reason": "no Docker engine answers; start it: systemctl start docker"}
    async with serving(script, tmp_path) as address:
        required = await start({"sandbox.address": address, "sandbox.required": True})
        answer = await required.http.get("/readyz")
        assert answer.status_code == 503
        assert "systemctl start docker" in answer.json()["error"]["message"]
        free = await start({"sandbox.address": address})
        answer = await free.http.get("/readyz")
        assert answer.status_code == 200
        assert answer.json()["sandbox"]["state"] == "missing"
        assert "systemctl start docker" in answer.json()["sandbox"]["reason"]


async def test_a_host_that_says_nothing_holds_up_no_probe(start: Start, tmp_path: Path) -> None:
    server = await start({"sandbox.address": f"unix:{tmp_path}/nobody.sock"})
    told = (await server.http.get("/readyz")).json()["sandbox"]
    assert told["state"] == "missing"
    assert "cannot be reached" in told["reason"]


async def test_the_client_tries_again_what_had_no_room(server: Running, script: ScriptedHost) -> None:
    tried = 0

    async def second(job: host.Job) -> AsyncGenerator[host.JobEvent, None]:
        nonlocal tried
        tried += 1
        if tried == 1:
            raise NoRoom("all slots are busy")
        yield host.CaseResult(index=0, program=host.Report(status="ok"))

    script.answer = second
    async with AsyncClient(server.serving.http, retry=replace(Retry(), first_s=0.001)) as client:
        assert (await client.run("print(1)")).status == "ok"


async def test_arguments_of_the_client_are_checked_before_they_are_sent() -> None:
    client = AsyncClient("http://127.0.0.1:1")
    for wrong, path in (
        ({"args": "-x"}, "args"),
        ({"limits": {"cpu": 1}}, "limits.cpu"),
        ({"limits": Limits(cpu_s=-1)}, "limits.cpu_s"),
        ({"stdin": 7}, "stdin"),
        ({"stdin": {"base64": "?"}}, "stdin.base64"),
    ):
        with pytest.raises(InvalidRequest) as raised:
            await client.run("print(1)", **wrong)
        assert raised.value.details["path"] == path


def test_a_blocking_client_runs_too(tmp_path: Path) -> None:
    async def serve_until(done: asyncio.Event, ready: list[str]) -> None:
        async with AsyncExitStack() as stack:
            ready.append(await stack.enter_async_context(serving(ScriptedHost(), tmp_path)))
            await done.wait()

    async def both() -> RunResult:
        done, ready = asyncio.Event(), list[str]()
        task = asyncio.create_task(serve_until(done, ready))
        while not ready:
            await asyncio.sleep(0.001)

        def blocking() -> RunResult:
            with Client("local", sandbox=SandboxSettings(address=ready[0])) as client:
                return client.run("", "python", stdin="x")

        result = await asyncio.to_thread(blocking)
        done.set()
        await task
        return result

    assert asyncio.run(both()).stdout == "x"
