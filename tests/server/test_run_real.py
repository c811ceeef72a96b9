"""Programs that really run: over HTTP and gRPC through the server's own sandbox host, on each launcher there is."""

from __future__ import annotations

import asyncio
import base64
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import docker
import httpx
import pytest
import pytest_asyncio

from rewarden import AsyncClient, InvalidRequest
from rewarden_sandboxes.images import PREFIX
from rewarden_server import scaffold
from rewarden_server.engine.lanes.own_host import OwnHost
from tests.programs import absent
from tests.server.conftest import Running, Start
from tests.server.launchers import launcher as launcher
from tests.server.launchers import missing
from tests.server.process import ServerProcess

pytestmark = [pytest.mark.needs_server, pytest.mark.slow]


@pytest_asyncio.fixture
async def server(start: Start, launcher: str) -> Running:
    """A server with that launcher."""
    return await start({"sandbox.launcher": launcher})


@pytest_asyncio.fixture(params=["http", "grpc"])
async def client(request: pytest.FixtureRequest, server: Running) -> AsyncIterator[AsyncClient]:
    """A client of it."""
    async with AsyncClient(getattr(server.serving, request.param)) as made:
        yield made


async def test_a_program_reads_writes_and_ends(client: AsyncClient) -> None:
    code = """
import sys
print(sys.argv[1:], open("data/a.txt").read(), repr(sys.stdin.buffer.read()))
print("error", file=sys.stderr)
sys.exit(3)
"""
    result = await client.run(code, "py", stdin=b"\xff\n", files={"data/a.txt": "é"}, args=["-x", "é"])
    assert (result.status, result.exit_code, result.signal) == ("runtime_error", 3, None)
    assert result.stdout == "['-x', 'é'] é b'\\xff\\n'\n"
    assert result.stderr == "error\n"
    assert result.cpu_time > 0
    assert set(result.enforced) >= {"cpu_s", "wall_s", "memory_mb", "processes", "output_bytes"}


async def test_bytes_that_are_no_text_come_back_whole(client: AsyncClient) -> None:
    result = await client.run("import os; os.write(1, bytes(range(256)))")
    assert result.stdout_base64 is not None
    assert base64.b64decode(result.stdout_base64) == bytes(range(256))


async def test_files_that_a_program_leaves_come_back(client: AsyncClient) -> None:
    code = "import os; os.mkdir('out'); open('out/é', 'w').write('é'); open('b', 'wb').write(bytes([255]))"
    result = await client.run(code, collect=["out/", "b", "missing"])
    assert (result.status, result.files) == ("ok", {"out/é": "é", "b": {"base64": "/w=="}})
    assert (await client.run(code)).files == {}
    flood = await client.run("open('b', 'wb').write(bytes(10000))", collect=["b"], limits={"output_bytes": 1000})
    assert (flood.status, flood.limit, flood.files) == ("output_limit", "output_bytes", {})


async def test_a_compiler_says_what_is_wrong_and_what_is_right_runs(client: AsyncClient) -> None:
    wrong = await client.run("int main(void) { return undeclared; }", "c")
    assert wrong.status == "compile_error"
    assert wrong.compile is not None
    assert "undeclared" in wrong.compile.stderr
    right = await client.run(
        '#include <cstdio>\nint main() { int n; scanf("%d", &n); printf("%d", n * 2); }', "c++", stdin="21"
    )
    assert (right.status, right.stdout) == ("ok", "42")
    assert right.compile is not None
    assert right.compile.status == "ok"


@pytest.fixture
def python_alone() -> Iterator[str]:
    """A prefix of images under which only that of Python is built."""
    reason = missing("docker")
    if reason is not None:
        pytest.skip(absent("docker", f"docker: {reason}"))
    prefix = f"rewarden-alone-{os.getpid()}-"
    engine = docker.from_env()
    engine.images.get(f"{PREFIX}python:latest").tag(f"{prefix}python", "latest")
    try:
        yield prefix
    finally:
        engine.images.remove(f"{prefix}python:latest", noprune=True)
        engine.close()


async def test_a_reference_that_cannot_be_judged_here_is_refused_whatever_the_response_is(
    start: Start, python_alone: str
) -> None:
    server = await start({"sandbox.launcher": "docker", "sandbox.image_prefix": python_alone})
    tests = [{"type": "stdio", "stdout": "1"}]
    python = {"language": "python", "tests": tests}
    answers = ["```python\nprint(1)\n```", "I do not know."]
    samples = [
        {"response": answer, "reference": reference}
        for reference in (
            {"language": "ruby", "tests": tests},
            {"language": "python", "languages": ["go"], "tests": tests},
            {**python, "flags": ["-O"]},
            python,
        )
        for answer in answers
    ]
    verdicts = (await server.http.post("/v1/verify", json={"use": "code", "samples": samples})).json()["verdicts"]
    assert [verdict.get("score") for verdict in verdicts] == [None] * 6 + [1.0, 0.0]
    for verdict, path, words in zip(
        verdicts,
        [*["reference.language"] * 2, *["reference.languages"] * 2, *["reference.flags[0]"] * 2],
        [
            *["make it: rewarden sandbox-host build --only scripts"] * 2,
            *["make it: rewarden sandbox-host build --only native"] * 2,
            *["the language 'python' takes no flags; remove them"] * 2,
        ],
        strict=False,
    ):
        assert (verdict["status"], verdict["fault"], verdict["reason"]) == (
            "undecided",
            "reference",
            "invalid_reference",
        )
        assert verdict["evidence"]["path"] == path
        assert words in verdict["feedback"]


async def test_limits_are_held_and_named(client: AsyncClient) -> None:
    spun = await client.run("while True: pass", limits={"cpu_s": 0.3})
    assert (spun.status, spun.limit) == ("time_limit", "cpu_s")
    slept = await client.run("import time; time.sleep(60)", limits={"wall_s": 0.3})
    assert (slept.status, slept.limit) == ("time_limit", "wall_s")
    flooded = await client.run("while True: print('x' * 1000)", limits={"output_bytes": 10_000})
    assert (flooded.status, flooded.limit, flooded.truncated) == ("output_limit", "output_bytes", True)


async def test_more_than_the_host_gives_and_unknown_languages_are_refused_by_field(client: AsyncClient) -> None:
    with pytest.raises(InvalidRequest, match="did you mean python") as raised:
        await client.run("", "pyhton")
    assert raised.value.details["path"] == "language"
    with pytest.raises(InvalidRequest, match=r"sandbox\.max_limits") as raised:
        await client.run("", limits={"cpu_s": 5000})
    assert raised.value.details["path"] == "limits.cpu_s"


async def test_ten_megabytes_go_in_and_out(client: AsyncClient) -> None:
    text = "0123456789" * 1_000_000
    result = await client.run(f"import sys\ns = '{text}'\nsys.stdout.write(s)", limits={"output_bytes": 20_000_000})
    assert result.stdout == text


async def test_the_server_says_what_it_has(server: Running, launcher: str) -> None:
    async with AsyncClient(server.serving.http) as client:
        await client.run("print(1)")
        sandbox = (await client.info())["sandbox"]
    assert sandbox["state"] == "ready"
    assert sandbox["host"]["launcher"] == launcher
    assert sandbox["host"]["enforced"]["output_bytes"] == "supervisor"
    page = (await server.http.get("/metrics")).text
    assert 'rewarden_sandbox_runs_total{language="python",status="ok"} 1.0' in page
    assert "rewarden_sandbox_ready 1.0" in page


async def test_a_lost_host_is_replaced_and_its_jobs_run_again(server: Running) -> None:
    hosts = server.serving.service.engine.sandbox._hosts
    assert isinstance(hosts, OwnHost)
    process = hosts._process
    assert process is not None
    async with AsyncClient(server.serving.http) as client:
        assert (await client.run("print(1)")).stdout == "1\n"
        running = asyncio.create_task(client.run("import time; time.sleep(4); print(2)"))
        while server.serving.service.engine.sandbox.under_way == 0:
            await asyncio.sleep(0.01)
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        assert (await running).stdout == "2\n"
    assert process.starts == 2


@pytest.fixture
def owned(tmp_path: Path, launcher: str) -> Iterator[ServerProcess]:
    """A server in a process of its own."""
    with ServerProcess(tmp_path, "--set", f"sandbox.launcher={launcher}") as made:
        yield made


def host_of(pid: int) -> int:
    """The sandbox host among a process's children."""
    found = subprocess.run(["ps", "-o", "pid=,args=", "--ppid", str(pid)], capture_output=True, text=True, check=True)
    return next(int(line.split()[0]) for line in found.stdout.splitlines() if "rewarden_sandboxes" in line)


def below(pid: int) -> set[int]:
    """All processes that a process has started, and those that they have."""
    listed = subprocess.run(["ps", "-e", "-o", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    parents = {int(child): int(parent) for child, parent in map(str.split, listed.splitlines())}
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def containers_of(host: int) -> str:
    """The containers of a host."""
    words = ["docker", "ps", "--all", "--quiet", "--filter", f"name=rewarden-{host}-"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


async def test_a_killed_server_leaves_no_host_no_container_and_no_program(owned: ServerProcess, launcher: str) -> None:
    async with httpx.AsyncClient(base_url=owned.http, timeout=60) as client:
        assert (await client.post("/v1/run", json={"language": "python", "code": "print(1)"})).json()["stdout"] == "1\n"
        host = host_of(owned.process.pid)
        code = "import time\nwhile True: time.sleep(0.1)"
        asking = asyncio.create_task(client.post("/v1/run", json={"language": "python", "code": code}))
        while (await client.get("/v1/info")).json()["sandbox"]["in_flight"] != 1:
            await asyncio.sleep(0.01)
        left = below(host)
        owned.process.kill()
        await asyncio.gather(asking, return_exceptions=True)
    async with asyncio.timeout(60):
        while any(Path(f"/proc/{pid}").exists() for pid in left):
            await asyncio.sleep(0.05)
    if launcher == "docker":
        assert containers_of(host) == ""


def test_a_language_of_ones_own_passes_its_tests(launcher: str, tmp_path: Path) -> None:
    scaffold.write("language", "my_language", tmp_path)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", tmp_path]
    environment = {**os.environ, "REWARDEN_SANDBOX_LAUNCHER": launcher}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert "8 passed" in done.stdout
