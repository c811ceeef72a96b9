"""SandboxFusion's routes, as verl's client and PyPI's `sandbox-fusion` ask them.

What a host only does when it breaks comes from a scripted one; what programs do, from a real sandbox.
"""

from __future__ import annotations

import asyncio
import base64
import importlib.util
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import pytest
import pytest_asyncio

from rewarden_sandboxes import job as host
from rewarden_sandboxes.errors import BadJob, HostError, NoRoom
from rewarden_server.compat import sandbox_fusion
from tests.compat.conftest import Running, Start
from tests.server.hosts import ScriptedHost, serving

PATH = "/compat/sandbox_fusion/run_code"
PRINTS = {"code": "print(1)", "language": "python"}

pytestmark = pytest.mark.needs_server


def doing(*events: host.JobEvent | HostError) -> Any:
    """A script: these events, or this error, for every job."""

    async def answer(job: host.Job) -> AsyncGenerator[host.JobEvent, None]:
        for event in events:
            if isinstance(event, HostError):
                raise event
            yield event

    return answer


def ending(**report: Any) -> Any:
    """A script: every program ends like that."""
    return doing(host.CaseResult(index=0, program=host.Report(**report)))


@pytest.fixture
def script() -> ScriptedHost:
    """Returns the scripted host."""
    return ScriptedHost()


@pytest_asyncio.fixture
async def server(start: Start, script: ScriptedHost, tmp_path: Path) -> AsyncIterator[Running]:
    """A server whose sandbox is scripted."""
    async with serving(script, tmp_path) as address:
        yield await start({"sandbox.address": address})


async def post(server: Running, **body: Any) -> httpx.Response:
    """`POST /run_code`, written as Python's `json` writes it."""
    return await server.http.post(PATH, content=json.dumps(body), headers={"Content-Type": "application/json"})


async def run(server: Running, **body: Any) -> Any:
    """The reply of a program."""
    answer = await post(server, **{**PRINTS, **body})
    assert answer.status_code == 200, answer.text
    return answer.json()


# --- bodies


async def test_the_reply_has_their_fields(server: Running, script: ScriptedHost) -> None:
    assert await run(server, stdin="é") == {
        "status": "Success",
        "message": "",
        "compile_result": None,
        "run_result": {
            "status": "Finished",
            "execution_time": 0.5,
            "cpu_time": 0.25,
            "return_code": 0,
            "stdout": "é",
            "stderr": "",
        },
        "executor_pod_name": None,
        "files": {},
    }
    job = script.jobs[0]
    assert (job.program.language, job.program.code) == ("python", b"print(1)")
    assert (job.program.limits.cpu_s, job.program.limits.wall_s) == (10, 10)
    assert (job.compile_limits.cpu_s, job.compile_limits.wall_s) == (10, 10)
    assert job.program.limits.memory_mb is None


async def test_each_field_of_the_request_reaches_the_sandbox(server: Running, script: ScriptedHost) -> None:
    files = {"a/b": base64.b64encode(b"\xff").decode(), "none": None, "IGNORE_THIS_FILE": "?"}
    asked = {"compile_timeout": 3, "run_timeout": 0.5, "memory_limit_MB": 300, "language": "nodejs"}
    script.answer = ending(status="ok", exit_code=0, files={"out": b"\xfe"})
    reply = await run(server, **asked, files=files, fetch_files=["out", "nothing"], stdin=None)
    assert reply["files"] == {"out": base64.b64encode(b"\xfe").decode()}
    job = script.jobs[0]
    assert (job.program.language, dict(job.program.files), list(job.collect)) == (
        "nodejs",
        {"a/b": b"\xff"},
        ["out", "nothing"],
    )
    assert (job.program.limits.cpu_s, job.program.limits.memory_mb, job.compile_limits.cpu_s) == (0.5, 300, 3)
    assert job.cases[0].stdin == b""


ENDS: list[tuple[dict[str, Any], str, str, int | None]] = [
    ({"status": "runtime_error", "exit_code": 3}, "Failed", "Finished", 3),
    ({"status": "runtime_error", "signal": 11}, "Failed", "Finished", -11),
    ({"status": "runtime_error", "flags": ("killed_sandbox",)}, "Failed", "Finished", -9),
    ({"status": "time_limit", "limit": "cpu_s"}, "Failed", "TimeLimitExceeded", None),
    ({"status": "memory_limit", "limit": "memory_mb"}, "Failed", "Finished", -9),
    ({"status": "output_limit", "limit": "output_bytes"}, "Failed", "Finished", -9),
    # Their time-out is one for running and idling together.
    ({"status": "ok", "exit_code": 0, "cpu_time": 6, "idle_time": 6}, "Failed", "TimeLimitExceeded", None),
    # What a program waited for a CPU is not its own time.
    ({"status": "ok", "exit_code": 0, "cpu_time": 6, "wall_time": 90}, "Success", "Finished", 0),
    ({"status": "ok", "exit_code": 0, "stdout": b"\xff"}, "Success", "Finished", 0),
]


async def test_every_end_has_their_words(server: Running, script: ScriptedHost) -> None:
    for report, status, result, code in ENDS:
        script.answer = ending(**report)
        reply = await run(server)
        assert (reply["status"], reply["run_result"]["status"]) == (status, result), report
        assert reply["run_result"]["return_code"] == code, report
        assert (report.get("limit") or "") in reply["message"]


async def test_what_does_not_compile_has_not_run(server: Running, script: ScriptedHost) -> None:
    wrong = host.Report(status="compile_error", exit_code=1, stderr=b"undeclared")
    script.answer = doing(host.CompileResult(report=wrong))
    reply = await run(server, language="cpp")
    assert (reply["status"], reply["run_result"]) == ("Failed", None)
    assert (reply["compile_result"]["return_code"], reply["compile_result"]["stderr"]) == (1, "undeclared")
    script.answer = doing(host.CompileResult(report=host.Report(status="time_limit", limit="cpu_s")))
    reply = await run(server, language="cpp")
    assert (reply["compile_result"]["status"], reply["compile_result"]["return_code"]) == ("TimeLimitExceeded", None)
    assert reply["run_result"] is None


async def test_what_compiles_has_both_results(server: Running, script: ScriptedHost) -> None:
    fine = host.Report(status="ok", exit_code=0)
    script.answer = doing(host.CompileResult(report=fine), host.CaseResult(index=0, program=fine))
    reply = await run(server, language="cpp")
    assert (reply["status"], reply["compile_result"]["return_code"], reply["run_result"]["return_code"]) == (
        "Success",
        0,
        0,
    )


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"language": "python"}, "code"),
    ({"code": ""}, "language"),
    ({**PRINTS, "code": None}, "code"),
    ({**PRINTS, "language": 7}, "language"),
    ({**PRINTS, "run_timeout": 0}, "run_timeout"),
    ({**PRINTS, "run_timeout": float("nan")}, "run_timeout"),
    ({**PRINTS, "run_timeout": 1e9}, "run_timeout"),
    ({**PRINTS, "run_timeout": 10**400}, "run_timeout"),
    ({**PRINTS, "compile_timeout": "10"}, "compile_timeout"),
    ({**PRINTS, "compile_timeout": 1e9}, "compile_timeout"),
    ({**PRINTS, "memory_limit_MB": 1.5}, "memory_limit_MB"),
    ({**PRINTS, "memory_limit_MB": 1 << 40}, "memory_limit_MB"),
    ({**PRINTS, "stdin": 7}, "stdin"),
    ({**PRINTS, "stdin": "\ud800"}, "stdin"),
    ({**PRINTS, "files": []}, "files"),
    ({**PRINTS, "files": {"a": "no base64"}}, "files"),
    ({**PRINTS, "files": {"../a": ""}}, "files"),
    ({**PRINTS, "files": {"/etc/passwd": ""}}, "files"),
    ({**PRINTS, "fetch_files": "a"}, "fetch_files"),
    ({**PRINTS, "fetch_files": ["../a"]}, "fetch_files"),
]


async def test_a_wrong_field_is_named_as_fastapi_does(server: Running, script: ScriptedHost) -> None:
    for body, field in WRONG:
        answer = await post(server, **body)
        assert answer.status_code == 422, body
        (entry,) = answer.json()["detail"]
        assert entry["loc"] == ["body", field]
        assert entry["msg"]
        assert entry["type"] == ("missing" if field not in body else "value_error")
    assert script.jobs == []


async def test_what_the_host_refuses_is_the_requests_field(server: Running, script: ScriptedHost) -> None:
    for path, field in (
        ("program.language", "language"),
        ("cases[0].limits.cpu_s", "run_timeout"),
        ("cases[0].limits.memory_mb", "memory_limit_MB"),
        ("compile_limits.cpu_s", "compile_timeout"),
    ):
        script.answer = doing(BadJob(path, "more than this host gives"))
        answer = await post(server, **PRINTS)
        assert answer.status_code == 422
        (entry,) = answer.json()["detail"]
        assert (entry["loc"], entry["msg"]) == (["body", field], "more than this host gives")


async def test_a_body_that_is_no_object_is_422(server: Running) -> None:
    for body in (b"", b"{", b"[]", b"\xff"):
        answer = await server.http.post(PATH, content=body)
        assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["body"])


async def test_slashes_and_the_probe(server: Running) -> None:
    for path in (PATH + "/", PATH.replace("/run_code", "//run_code")):
        assert (await server.http.post(path, json=PRINTS)).json()["status"] == "Success"
    assert (await server.http.get("/compat/sandbox_fusion/v1/ping")).text == '"pong"'


# --- what is not the program's fault is never a result


async def test_a_broken_sandbox_is_504(server: Running, script: ScriptedHost) -> None:
    for error in (NoRoom("no Docker engine answers"), HostError("its disk is full")):
        script.answer = doing(error)
        answer = await post(server, **PRINTS)
        assert (answer.status_code, answer.json()) == (504, {"detail": error.message})


async def test_a_run_that_failed_by_us_is_504(server: Running, script: ScriptedHost) -> None:
    script.answer = ending(status="internal_error", message="the host had no CPU for it")
    answer = await post(server, **PRINTS)
    assert (answer.status_code, answer.json()) == (504, {"detail": "the host had no CPU for it"})


async def test_the_answer_comes_before_the_client_leaves(
    server: Running, script: ScriptedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def forever(job: host.Job) -> AsyncGenerator[host.JobEvent, None]:
        await asyncio.Event().wait()
        yield host.CaseResult(index=0, program=host.Report(status="ok"))

    script.answer = forever
    for spare_s in (0.2, 2.0, 20.0):  # a busy machine may not bring the job there in the first
        monkeypatch.setattr(sandbox_fusion, "SPARE_S", spare_s)
        answer = await post(server, **PRINTS, run_timeout=0.1, compile_timeout=0.1)
        assert answer.status_code == 504
        if script.jobs:
            break
    await asyncio.wait_for(script.left.wait(), 30)  # and what nobody waits for is killed


async def test_what_there_is_no_room_for_waits_and_is_then_504(
    start: Start, script: ScriptedHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_go = asyncio.Event()

    async def slow(job: host.Job) -> AsyncGenerator[host.JobEvent, None]:
        await let_go.wait()
        yield host.CaseResult(index=0, program=host.Report(status="ok", exit_code=0))

    script.answer = slow
    for name, limit in enumerate(({"engine.max_samples": 1}, {"sandbox.in_flight": 1, "sandbox.max_waiting": 1})):
        let_go.clear()
        script.jobs.clear()
        async with serving(script, tmp_path, str(name)) as address:
            server = await start({"sandbox.address": address, **limit})
            running = [asyncio.create_task(post(server, **PRINTS)) for _ in range(4)]
            async with asyncio.timeout(30):
                while not script.jobs:
                    await asyncio.sleep(0.001)
            with monkeypatch.context() as patched:
                patched.setattr(sandbox_fusion, "SPARE_S", 0.2)
                late = await post(server, **PRINTS, run_timeout=0.1, compile_timeout=0.1)
            assert (late.status_code, len(script.jobs)) == (504, 1)
            let_go.set()
            assert [(await task).status_code for task in running] == [200] * 4


async def test_a_server_that_ends_is_504_and_waits_for_what_runs(server: Running, script: ScriptedHost) -> None:
    begun, let_go = asyncio.Event(), asyncio.Event()

    async def slow(job: host.Job) -> AsyncGenerator[host.JobEvent, None]:
        begun.set()
        await let_go.wait()
        yield host.CaseResult(index=0, program=host.Report(status="ok", exit_code=0))

    script.answer = slow
    running = asyncio.create_task(post(server, **PRINTS))
    await begun.wait()
    draining = asyncio.create_task(server.serving.drain(30))
    async with asyncio.timeout(30):
        while (await server.http.get("/readyz")).status_code != 503:
            await asyncio.sleep(0.01)
    assert (await post(server, **PRINTS)).status_code == 504
    let_go.set()
    assert (await running).json()["status"] == "Success"
    await draining


# --- their clients


def verls() -> ModuleType:
    """verl's own client, without the rest of verl."""
    found = importlib.util.find_spec("verl")
    if found is None or not found.submodule_search_locations:
        pytest.skip("verl is not installed (pip install --no-deps verl)")
    path = Path(found.submodule_search_locations[0]) / "utils/reward_score/sandbox_fusion/utils.py"
    pytest.importorskip("requests", reason="verl's client needs requests")
    spec = importlib.util.spec_from_file_location("verl_sandbox_fusion", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    logging.getLogger("verl_sandbox_fusion").setLevel(logging.CRITICAL)
    return module


async def test_verl_asks_again_after_a_504_and_after_nothing_else(
    server: Running, script: ScriptedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    verl = verls()
    monkeypatch.setattr(verl, "INITIAL_RETRY_DELAY", 0)
    tries = 0

    async def third(job: host.Job) -> AsyncGenerator[host.JobEvent, None]:
        nonlocal tries
        tries += 1
        if tries < 3:
            raise NoRoom("all slots are busy")
        yield host.CaseResult(index=0, program=host.Report(status="ok", exit_code=0, stdout=job.cases[0].stdin))

    script.answer = third
    asked = {"inputs": ["7\n"], "outputs": ["7"]}
    results, _ = await asyncio.to_thread(verl.check_correctness, server.serving.http + PATH, asked, "x")
    assert (results, tries) == ([True], 3)
    script.answer = doing(NoRoom("all slots are busy"))
    results, told = await asyncio.to_thread(verl.check_correctness, server.serving.http + PATH, asked, "x")
    assert results == [-1]
    assert "504" in told[0]["api_request_error"]


async def test_pypis_client_asks_again_and_reads_the_reply(server: Running, script: ScriptedHost) -> None:
    theirs = pytest.importorskip("sandbox_fusion", reason="pip install sandbox-fusion")
    asked = [theirs.RunCodeRequest(code="print(1)", language="python", stdin=str(number)) for number in range(8)]
    address = server.serving.http + "/compat/sandbox_fusion/"
    script.answer = ending(status="internal_error")
    with pytest.raises(Exception, match="504"):
        await asyncio.to_thread(theirs.run_code, asked[0], address, 1)

    async def echo(job: host.Job) -> AsyncGenerator[host.JobEvent, None]:
        yield host.CaseResult(index=0, program=host.Report(status="ok", exit_code=0, stdout=job.cases[0].stdin))

    script.answer = echo
    at_once = await asyncio.gather(*(theirs.run_code_async(each, address) for each in asked))
    threads = await asyncio.to_thread(theirs.run_concurrent, theirs.run_code, [[each, address] for each in asked])
    for replies in (at_once, threads):
        assert [reply.run_result.stdout for reply in replies] == [str(number) for number in range(8)]
        assert {reply.status.value for reply in replies} == {"Success"}


# --- programs that really run


@pytest.mark.slow
async def test_programs_end_as_their_words_say(real: Running) -> None:
    async def said(**body: Any) -> tuple[str, str | None, str | None]:
        reply = await run(real, **body)
        compiled, ran = reply["compile_result"], reply["run_result"]
        return reply["status"], compiled and compiled["status"], ran and ran["status"]

    assert await said() == ("Success", None, "Finished")
    assert await said(code="raise SystemExit(1)") == ("Failed", None, "Finished")
    assert await said(code="import time; time.sleep(60)", run_timeout=0.2) == ("Failed", None, "TimeLimitExceeded")
    assert await said(code="while True: pass", run_timeout=0.2) == ("Failed", None, "TimeLimitExceeded")
    # Neither running nor idling is over the limit by itself; together they are.
    both = "import time\ntime.sleep(0.4)\nwhile time.process_time() < 0.4: pass"
    assert await said(code=both, run_timeout=0.5) == ("Failed", None, "TimeLimitExceeded")
    assert await said(code="int main() { return x; }", language="cpp") == ("Failed", "Finished", None)
    assert await said(code="int main() { return 0; }", language="cpp") == ("Success", "Finished", "Finished")
    assert await said(code="console.log(1)", language="nodejs") == ("Success", None, "Finished")
    assert await said(code="exit 2", language="bash") == ("Failed", None, "Finished")
    assert (await post(real, code="", language="befunge")).json()["detail"][0]["loc"] == ["body", "language"]
    written = await run(real, code="open('o', 'wb').write(open('d/i', 'rb').read()[::-1])", files={"d/i": "AAE="},
                        fetch_files=["o"])  # fmt: skip
    assert written["files"] == {"o": "AQA="}


@pytest.mark.slow
async def test_verls_wrappers_work_through_it(real: Running) -> None:
    verl = verls()

    async def check(code: str, timeout: float = 10, **cases: Any) -> list[Any]:
        results, _ = await asyncio.to_thread(verl.check_correctness, real.serving.http + PATH, cases, code, timeout)
        return list(results)

    doubles = "print(int(input()) * 2)"
    assert await check(doubles, inputs=["1", "é", "3"], outputs=["2", "4", "7"]) == [True, -2, False]
    assert await check("while True: pass", 0.2, inputs=["1"], outputs=["2"]) == [-3]
    add = "class Solution:\n    def add(self, a, b):\n        return a + b"
    called = {"fn_name": "add", "inputs": ["1\n2", "[1]\n[2]"], "outputs": ["3", "[1, 2]"]}
    assert await check(add, **called) == [True, True]
    asserted = {"inputs": ["", ""], "outputs": [None, None], "assert_case": ["assert f(1) == 1", "assert f(1) == 2"]}
    assert await check("def f(x): return x", **asserted) == [True, -2]


SCENARIOS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    # what a training run sends: status, run_result's fields
    "reads to the end of its input": (
        {"code": "import sys; print(sum(map(int, sys.stdin.read().split())))", "stdin": "1\n2\n3"},
        {"status": "Success", "stdout": "6\n", "return_code": 0},
    ),
    "has no input": (
        {"code": "print(repr(input()))", "stdin": None},
        {"status": "Failed", "return_code": 1, "stderr": "EOFError"},
    ),
    "raises": (
        {"code": "print('before', flush=True)\nraise ValueError('no such thing')"},
        {"status": "Failed", "stdout": "before\n", "return_code": 1, "stderr": "ValueError: no such thing"},
    ),
    "is killed by a signal": (
        {"code": "import os; os.kill(os.getpid(), 11)"},
        {"status": "Failed", "return_code": -11},
    ),
    "leaves with a code": ({"code": "raise SystemExit(7)"}, {"status": "Failed", "return_code": 7}),
    "sleeps beyond its limit": (
        {"code": "import time\nprint('before', flush=True)\ntime.sleep(20)", "run_timeout": 0.5},
        {"status": "Failed", "run_status": "TimeLimitExceeded", "return_code": None, "stdout": "before\n"},
    ),
    "sleeps for ever": (
        {"code": "import time; time.sleep(3600)", "run_timeout": 0.5},
        {"status": "Failed", "run_status": "TimeLimitExceeded", "return_code": None},
    ),
    "sleeps in a child that it waits for": (
        {"code": "import subprocess; subprocess.run(['sleep', '3600'])", "run_timeout": 0.5},
        {"status": "Failed", "run_status": "TimeLimitExceeded", "return_code": None},
    ),
    "takes more memory than it may": (
        {"code": "x = bytearray(2**30)\nprint(len(x))", "memory_limit_MB": 128},
        {"status": "Failed", "stdout": ""},
    ),
    "takes what it may": (
        {"code": "x = bytearray(2**26)\nprint(len(x))", "memory_limit_MB": 256},
        {"status": "Success", "stdout": "67108864\n"},
    ),
    "prints much": (
        {"code": "print('x' * 10**6)"},
        {"status": "Success", "stdout": "x" * 10**6 + "\n", "return_code": 0},
    ),
    "prints what is not text": (
        {"code": "import sys; sys.stdout.buffer.write(b'\\xff\\x00')"},
        {"status": "Success", "stdout": "\ufffd\x00"},
    ),
    "reads a file in a folder": (
        {"code": "print(open('data/in.txt').read())", "files": {"data/in.txt": base64.b64encode(b"in").decode()}},
        {"status": "Success", "stdout": "in\n"},
    ),
    "is C++ that compiles": (
        {"code": "#include <iostream>\nint main() { int n; std::cin >> n; std::cout << 2 * n; }", "language": "cpp",
         "stdin": "4"},
        {"status": "Success", "stdout": "8", "compiled": 0},
    ),
    "is C++ that crashes": (
        {"code": "#include <cstdlib>\nint main() { std::abort(); }", "language": "cpp"},
        {"status": "Failed", "return_code": -6, "compiled": 0},
    ),
    "is JavaScript": (
        {"code": "console.log(require('fs').readFileSync(0, 'utf8').trim() * 2)", "language": "nodejs", "stdin": "4"},
        {"status": "Success", "stdout": "8\n"},
    ),
    "is a shell script": (
        {"code": "read n; echo $((n * 2))", "language": "bash", "stdin": "4\n"},
        {"status": "Success", "stdout": "8\n"},
    ),
}  # fmt: skip


async def answered(server: Running, **body: Any) -> Any:
    """The reply of a program, asked for again after a 504 and after nothing else, as verl's client does: a host that
    has no CPU to give says that it could not tell.
    """
    patient = {"compile_timeout": 60, "run_timeout": 60, **PRINTS, **body}
    while (answer := await post(server, **patient)).status_code == 504:
        pass
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.slow
async def test_what_a_training_run_sends_at_once_is_answered_each_as_if_alone(real: Running) -> None:
    replies = await asyncio.gather(*(answered(real, **asked) for asked, _ in SCENARIOS.values()))
    for (title, (_, wanted)), reply in zip(SCENARIOS.items(), replies, strict=True):
        ran, compiled = reply["run_result"], reply["compile_result"]
        assert set(ran) == {"status", "execution_time", "cpu_time", "return_code", "stdout", "stderr"}, title
        assert type(ran["execution_time"]) is float, title
        found = {**ran, "status": reply["status"], "run_status": ran["status"]}
        assert compiled is None or compiled["return_code"] == wanted["compiled"], title
        assert wanted.get("stderr", "") in ran["stderr"], title
        expected = {"run_status": "Finished", **wanted}
        expected = {name: value for name, value in expected.items() if name not in ("stderr", "compiled")}
        assert {name: found[name] for name in expected} == expected, (title, reply)
        assert (reply["message"] == "") is (ran["status"] == "Finished" and "memory" not in title), (title, reply)


@pytest.mark.slow
async def test_what_does_not_compile_says_so_and_a_program_beside_it_runs(real: Running) -> None:
    broken = {"code": "int main() { return x; }", "language": "cpp"}
    reply, other = await asyncio.gather(answered(real, **broken), answered(real))
    assert (reply["status"], reply["run_result"], reply["compile_result"]["status"]) == ("Failed", None, "Finished")
    assert reply["compile_result"]["return_code"] != 0
    assert "was not declared" in reply["compile_result"]["stderr"]
    assert other["run_result"]["stdout"] == "1\n"


async def test_a_limit_is_the_limit_once(server: Running, script: ScriptedHost) -> None:
    """Attack: sleep between one and one and a half times the limit, and be run again until the client has left."""
    jobs: list[host.Job] = []

    async def late(job: host.Job) -> AsyncGenerator[host.JobEvent, None]:
        jobs.append(job)
        yield host.CaseResult(index=0, program=host.Report(status="time_limit", limit="wall_s", wall_time=1.2))

    script.answer = late
    reply = await run(server, run_timeout=1)
    assert (reply["run_result"]["status"], reply["run_result"]["execution_time"]) == ("TimeLimitExceeded", 1.2)
    assert [job.once for job in jobs] == [True]
