"""docker-compose.yml for real: images are built, the stack is up, and is asked from outside as a stranger asks it."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rewarden import AsyncClient, Client
from rewarden.errors import RequestError
from rewarden.retry import Retry
from rewarden.types import Sample, Use, Verdict
from rewarden_server.processes.host import HostProcess
from rewarden_server.processes.settings import SandboxSettings
from tests.compose.stack import SLOTS, Stack, stack

pytestmark = [
    pytest.mark.needs_server,
    pytest.mark.slow,
    pytest.mark.group("stack"),
    # The first test builds the images, and a machine without the cache installs packages for them.
    pytest.mark.timeout(1800),
]

_PATIENCE_S = 240.0


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with stack(tmp_path_factory.mktemp("clone")) as made:
        yield made


def math(right: bool, number: int = 0) -> Sample:
    """A sample of its own for each number."""
    answer = number + 2 if right else number + 3
    return Sample(
        id=f"math-{number}-{right}", response=f"\\boxed{{{answer}}}", reference=f"{number + 2}", use=Use(name="math")
    )


def code(program: str, name: str) -> Sample:
    """A program that ought to print the square of what it reads."""
    tests = [{"type": "stdio", "stdin": "3", "stdout": "9"}]
    limits = {"cpu_s": 0.5, "memory_mb": 128}
    reference = {"language": "python", "tests": tests, "limits": limits}
    return Sample(id=name, response=f"```python\n{program}\n```", reference=reference, use=Use(name="code"))


SQUARE = "print(int(input()) ** 2)"
PROGRAMS = {
    "right": (SQUARE, 1.0),
    "wrong": ("print(int(input()) + 5)", 0.0),
    "endless": ("while True: pass", 0.0),
    "greedy": ("x = bytearray(10**9); print(9)", 0.0),
    "hostile": (
        "import os, signal\nfor pid in range(1, 5000):\n    try: os.kill(pid, signal.SIGKILL)\n"
        "    except OSError: pass\n"
        "os.fork(); os._exit(0)",
        0.0,
    ),
}


@pytest.mark.parametrize("target", ["http", "grpc"])
def test_math_and_code_are_judged(up: Stack, target: str) -> None:
    samples = [math(True), math(False), *(code(program, name) for name, (program, _) in PROGRAMS.items())]
    with Client(getattr(up, target), retry=Retry(patience_s=_PATIENCE_S)) as client:
        verdicts = client.verify(samples).verdicts
    assert [(verdict.id, verdict.status, verdict.score) for verdict in verdicts] == [
        ("math-0-True", "scored", 1.0),
        ("math-0-False", "scored", 0.0),
        *((name, "scored", score) for name, (_, score) in PROGRAMS.items()),
    ]
    told = {verdict.id: json.dumps(verdict.evidence) for verdict in verdicts}
    assert "TLE" in told["endless"]
    assert "MLE" in told["greedy"]


async def test_limits_are_enforced_as_by_a_host_of_the_machines_own(up: Stack) -> None:
    async with AsyncClient(up.http) as client:
        info = await client.info()
    process = HostProcess(SandboxSettings(launcher="docker"))
    try:
        plain = await (await process.client(60.0)).status(probe=True)
    finally:
        await process.close()
    held = [place["enforced"] for place in _places(info)]
    assert held == [plain["enforced"]]
    assert plain["enforced"]["cpu_s"] == "cgroup"


def _places(told: Any) -> list[dict[str, Any]]:
    """Every object within that says what is enforced, each once."""
    found: list[dict[str, Any]] = []
    if isinstance(told, dict):
        if isinstance(told.get("enforced"), dict) and told["enforced"]:
            found.append(told)
        else:
            found = [place for value in told.values() for place in _places(value)]
    elif isinstance(told, list):
        found = [place for value in told for place in _places(value)]
    return [
        place for index, place in enumerate(found) if place["enforced"] not in [p["enforced"] for p in found[:index]]
    ]


def test_a_hole_in_the_server_is_not_root_on_the_machine(up: Stack) -> None:
    assert up.shell("server", "id -u; id -G") == (0, "10001\n10001\n")
    assert up.shell("server", "find / -xdev -name 'docker*.sock' 2>/dev/null; ls /var/run/docker.sock 2>&1")[0] != 0
    for folder in ("/", "/opt/rewarden", "/etc", "/run/secrets/rewarden", "/etc/rewarden/config"):
        assert up.shell("server", f"touch {folder}/x")[0] != 0, folder
    assert up.shell("server", "grep -E 'CapEff|CapBnd|NoNewPrivs' /proc/self/status")[1].split() == [
        *("CapEff:", "0" * 16),
        *("CapBnd:", "0" * 16),
        *("NoNewPrivs:", "1"),
    ]
    # It is shown who the host is, and has nothing with which to be it.
    assert (
        "tls.key" not in up.shell("server", "find / -xdev -name '*.key' -not -path '*/site-packages/*'; ls -R /run")[1]
    )
    assert up.shell("server", "which gcc cc pip pip3")[1] == ""
    assert up.shell("sandbox", "grep CapEff /proc/self/status")[1].split() == ["CapEff:", "0" * 16]


def test_the_sandbox_host_refuses_whoever_shows_no_token(up: Stack) -> None:
    script = """
import asyncio
from pathlib import Path
from rewarden_sandboxes.client import HostClient
from rewarden_sandboxes.tls import Tls
async def ask():
    await HostClient("sandbox:50052", Tls(ca=Path("/run/secrets/rewarden/ca.crt"))).status()
asyncio.run(ask())
"""
    code, said = up.shell("server", f"python3 -c '{script}'")
    assert code != 0
    assert "token" in said.lower(), said


def test_a_program_reaches_neither_the_server_nor_the_host(up: Stack) -> None:
    addresses = [
        network["IPAddress"]
        for service in ("server", "sandbox")
        for network in up.container(service).attrs["NetworkSettings"]["Networks"].values()
    ]
    program = (
        "import socket\n"
        f"for host in {[*addresses, '127.0.0.1', 'server', 'sandbox']!r}:\n"
        "    for port in (8080, 50051, 50052):\n"
        "        try:\n"
        "            socket.create_connection((host, port), 1)\n"
        "            print('reached', host, port)\n"
        "        except OSError:\n"
        "            pass\n"
        "print('done')\n"
    )
    with Client(up.http) as client:
        ended = client.run(program)
    assert ended.stdout == "done\n", ended


async def everything(up: Stack, count: int, meanwhile: Callable[[], None]) -> dict[str, Verdict]:
    """Verdicts of so many samples, of which most are in flight while something happens; who asks tries again."""
    left = {sample.id: sample for number in range(count) for sample in _load(number) if sample.id is not None}
    found: dict[str, Verdict] = {}
    happening = asyncio.get_running_loop().run_in_executor(None, meanwhile)
    deadline = time.monotonic() + _PATIENCE_S
    async with AsyncClient(up.http, retry=Retry(patience_s=_PATIENCE_S)) as client:
        while left:
            assert time.monotonic() < deadline, f"{len(left)} samples have no verdict"
            for verdict in await _gather(client, list(left.values())):
                if verdict.status == "scored":
                    assert verdict.id is not None
                    found[verdict.id] = verdict
                    del left[verdict.id]
                else:
                    assert verdict.status == "error", verdict
                    assert verdict.retryable, verdict
    await happening
    return found


def _load(number: int) -> list[Sample]:
    slow = f"import time; time.sleep(0.{number % 5}); "
    return [
        math(number % 2 == 0, number),
        code(f"{slow}{SQUARE} # {number}" if number % 2 == 0 else f"{slow}print({number + 10})", f"code-{number}"),
    ]


async def _gather(client: AsyncClient, samples: list[Sample]) -> list[Verdict]:
    results = await asyncio.gather(*(client.verify([sample]) for sample in samples), return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException) and not isinstance(result, RequestError):
            raise result
    return [result.verdicts[0] for result in results if not isinstance(result, BaseException)]


def _are_right(found: dict[str, Verdict], count: int) -> None:
    assert len(found) == 2 * count
    for name, verdict in found.items():
        number = int(name.split("-")[1])
        assert verdict.score == (1.0 if number % 2 == 0 else 0.0), verdict


@pytest.mark.parametrize("service", ["sandbox", "server"])
async def test_a_service_that_is_killed_under_load_costs_no_verdict(up: Stack, service: str) -> None:
    def kill() -> None:
        time.sleep(0.5)  # not to be right: some samples are under way then, whichever
        container = up.container(service)
        container.kill()
        # `docker kill` is somebody's wish, which no restart policy overrules.
        container.start()

    _are_right(await everything(up, 20, kill), 20)


@pytest.mark.parametrize("service", ["sandbox", "server"])
async def test_a_rolling_restart_costs_no_verdict(up: Stack, service: str) -> None:
    _are_right(await everything(up, 20, lambda: up.compose("restart", service) and None), 20)


def test_secrets_stay_and_are_made_anew_when_asked(up: Stack) -> None:
    def token() -> str:
        return up.shell("server", "sha256sum /run/secrets/rewarden/token")[1]

    before = token()
    up.compose("run", "--rm", "secrets")
    assert token() == before
    up.compose("run", "--rm", "secrets", "rotate")
    assert token() != before
    up.compose("restart", "sandbox", "server")
    with Client(up.http, retry=Retry(patience_s=_PATIENCE_S)) as client:
        assert client.verify([code(SQUARE + "  # anew", "anew")]).verdicts[0].score == 1.0


def test_nothing_is_left_when_it_is_taken_down(up: Stack) -> None:
    up.compose("down", "-v")
    assert up.left() == {"containers": [], "volumes": [], "networks": []}
    # Flake: other tests beside this one remove containers of their own meanwhile.
    there = up.client.containers.list(all=True, ignore_removed=True)
    assert not [each.name for each in there if _is_slot_of(each)]
    assert list(SLOTS.iterdir()) == []


def _is_slot_of(container: Any) -> bool:
    """Returns whether it mounts one of our stacks' folders."""
    return any(mount.get("Source", "").startswith(f"{SLOTS}/") for mount in container.attrs.get("Mounts", ()))
