"""`lean`: the overhead of a warm process over Lean's own time, that of the strict tier over the screen, and 500 texts.

Runs on the tests' library `Base`, under bubblewrap if that works, else under Docker, with two Lean processes. "What
Lean reports" is the sum of `lean -Dprofiler=true` without import and initialization, the smaller of two runs: a sum of
wall times, which other load on the machine makes longer. Next to it is the CPU time of `lean` on the text, minus that
on the header alone, which other load does not affect. Plain `lean` runs outside any sandbox. Skips if Lean or the
sandbox is missing.
"""

from __future__ import annotations

import asyncio
import os
import re
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from benchmarks.lean_load import HEADER, computed, proof, searched, small, statement, stepped
from benchmarks.report import Report
from benchmarks.sandbox_cost import descendants
from rewarden.types import Batch, Sample, Use, Verdict
from rewarden_sandboxes.job import Limits
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.settings import EngineSettings
from rewarden_server.lean.settings import LeanSettings
from rewarden_server.processes.settings import SandboxSettings
from rewarden_verifiers.lean.inspecting import inspect
from rewarden_verifiers.provers import Checked, Compiled, Snippet
from tests.lean.endless import HANGING, HUNGRY
from tests.lean.toolchain import Library, build, toolchain
from tests.programs import no_lean, problem_of

Launcher = Literal["docker", "bwrap"]

_PROCESSES = 2
_MEMORY_MB = 384
_TIMES = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6}
_CUMULATIVE = re.compile(r"\t(.+) ([\d.]+)(s|ms|us|µs)")

KINDS: Mapping[str, Callable[[int], str]] = {
    "two commands, one of 0.3 s": lambda number: computed(number, 50),
    "seven commands, one of 0.1 s": lambda number: searched(number, 300),
    "81 tactics of 0.3 ms": stepped,
    "one declaration": lambda number: small(number, 1),
    "20 declarations": lambda number: small(number, 20),
}
"""Number of texts in the warm load."""


class Plain:
    """A new `lean` process for each text."""

    def __init__(self, library: Library, folder: Path) -> None:
        self._library = library
        self._folder = folder

    def run(self, text: str, *words: str, name: str = "Plain") -> tuple[float, str]:
        """CPU seconds, and what it says on stderr."""
        (self._folder / f"{name}.lean").write_text(HEADER + text, encoding="utf-8")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        ended = self._library.lean(*words, f"{name}.lean", folder=self._folder)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert ended.returncode == 0, ended.stdout
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, ended.stderr

    def reported(self, text: str) -> float:
        """Returns the seconds that Lean itself reports for a text."""
        return min(self._sum(self.run(text, "-Dprofiler=true")[1]) for _ in range(2))

    @staticmethod
    def _sum(said: str) -> float:
        found = _CUMULATIVE.findall(said)
        return sum(float(time) * _TIMES[unit] for what, time, unit in found if what not in ("import", "initialization"))


@dataclass(slots=True)
class Costs:
    """Seconds for a kind of text, for all its texts together. warm: CPU in a warm process; wall: until its verdict
    arrived. reported, plain: see the module.
    """

    warm: float = 0.0
    wall: float = 0.0
    reported: float = 0.0
    plain: float = 0.0


def _snippet(text: str) -> Snippet:
    return Snippet(project="base", text=HEADER + text)


async def _warm(report: Report, engine: Engine, plain: Plain) -> None:
    await asyncio.gather(*(engine.lean.check(_snippet(small(10_000 + each, 30))) for each in range(_PROCESSES)))
    whole, count = Costs(), 0
    for kind, made in KINDS.items():
        costs, texts = Costs(), [made(number) for number in range(6)]
        for text in texts:  # alternating, so that other load affects both alike
            costs.reported += await asyncio.to_thread(plain.reported, text)
            header = min([(await asyncio.to_thread(plain.run, ""))[0] for _ in range(2)])
            costs.plain += (await asyncio.to_thread(plain.run, text))[0] - header
            start = time.perf_counter()
            checked = await engine.lean.check(_snippet(text))
            costs.wall += time.perf_counter() - start
            assert (checked.warm, checked.status, checked.messages) == (True, "ok", ()), checked
            costs.warm += checked.cpu_s
        report.figure(f"{kind}: CPU per text", 1e3 * costs.warm / len(texts), "ms")
        report.figure("   until the verdict", 1e3 * costs.wall / len(texts), "ms")
        report.figure("   more than `lean`'s CPU for it", 1e3 * (costs.warm - costs.plain) / len(texts), "ms")
        report.figure("   times what Lean reports", costs.warm / costs.reported, "x")
        count += len(texts)
        for name in ("warm", "wall", "reported", "plain"):
            setattr(whole, name, getattr(whole, name) + getattr(costs, name))
    report.figure("all kinds alike: times what Lean itself reports", whole.warm / whole.reported, "x", most=1.3)
    report.figure("all kinds alike: times `lean`'s CPU without its start", whole.warm / whole.plain, "x")


async def _rates(report: Report, engine: Engine, plain: Plain) -> None:
    """Measures texts per second, two at a time."""
    for kind, made, count in (("one declaration", KINDS["one declaration"], 60), ("0.3 s", computed, 12)):
        texts = [made(20_000 + number) for number in range(count)]
        start = time.perf_counter()
        with ThreadPoolExecutor(_PROCESSES) as pool:
            each = [pool.submit(plain.run, text, name=f"Plain{number}") for number, text in enumerate(texts)]
            await asyncio.gather(*map(asyncio.wrap_future, each))
        cold = count / (time.perf_counter() - start)
        start = time.perf_counter()
        checked = await asyncio.gather(*(engine.lean.check(_snippet(made(30_000 + n))) for n in range(count)))
        warm = count / (time.perf_counter() - start)
        assert all(found.warm and not found.messages for found in checked)
        report.figure(f"{kind}: `lean` started for each, two at a time", cold, "/s")
        report.figure(f"{kind}: warm, in the sandbox", warm, "/s")
        report.figure("   times", warm / cold, "x", least=1 if count > 50 else None)


async def _strict(report: Report, engine: Engine) -> None:
    """Measures the cost that the strict tier adds to the screen of a proof, by its parts."""
    reference = await engine.lean.compile("base", statement(0), Limits())
    screens: list[Checked] = []
    compiled: list[tuple[Compiled, float]] = []
    inspected: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
    for number in range(10):
        text = proof(0, number, small(40_000 + number, 2))
        screens.append(await engine.lean.check(Snippet(project="base", text=text)))
        start = time.perf_counter()
        one = await engine.lean.compile("base", text, Limits())
        compiled.append((one, time.perf_counter() - start))
        for replay in (True, False):
            question = {
                "theorems": ["zero_add_0"],
                "definitions": [],
                "lemmas": [],
                "permitted_axioms": [],
                "replay": replay,
                "toolchain": "/mnt/lean/toolchain",
                "path": list(engine.lean.project("base").path),
            }
            start = time.perf_counter()
            found = await inspect(engine.sandbox, "base", reference.module, one.module or b"", question)
            inspected[replay].append((found.cpu_s, time.perf_counter() - start))
            assert (found.theorems[0].reason, found.replay) == (None, "accepted" if replay else "off"), found
    parts = {
        "the screen": [(checked.cpu_s, checked.wall_s) for checked in screens],
        "compiling in a fresh room": [(one.cpu_s, wall) for one, wall in compiled],
        "inspecting, without a replay": inspected[False],
        "inspecting, with the kernel's replay": inspected[True],
    }
    for what, seconds in parts.items():
        report.figure(f"{what}: CPU", 1e3 * statistics.median(cpu for cpu, _ in seconds), "ms")
        report.figure("   until the verdict", 1e3 * statistics.median(wall for _, wall in seconds), "ms")
    added = [
        (one.cpu_s + cpu, compiling + inspecting)
        for (one, compiling), (cpu, inspecting) in zip(compiled, inspected[True], strict=True)
    ]
    report.figure("the strict tier adds to a proof: CPU", 1e3 * statistics.median(cpu for cpu, _ in added), "ms")
    report.figure("   until the verdict", 1e3 * statistics.median(wall for _, wall in added), "ms")


@dataclass(frozen=True, slots=True)
class Case:
    """A response and its expected verdict. reason: None for an accepted response."""

    sample: Sample
    reason: str | None
    tier: str
    cpu_s: float = 1.0


def crowd() -> list[Case]:
    """Returns 500 texts, 60 of them for the strict tier, in an order that mixes all kinds."""
    cases = []
    for number in range(500):
        kind, tier = number % 25, "strict" if number % 25 in (3, 9, 15) else "screen"
        text, reason = proof(number % 4, number, small(50_000 + number, number % 3)), None
        if kind in (1, 11):
            text, reason = text.replace("Nat.zero_add", "Nat.nothing"), "lean_error"
        elif kind == 5:
            text, reason = f"{HEADER}theorem zero_add_{number % 4} : False := sorry -- {number}\n", "sorry"
        elif kind == 7:
            text, reason = f"{text}axiom cheat{number} : False\n", "axiom_added"
        elif kind == 9:  # another statement under the same name, which the screen accepts
            text = text.replace("Eq (Nat.add Nat.zero n) n :=", "Eq n n :=").replace("Nat.zero_add", "Eq.refl")
            reason = "statement_changed"
        elif kind == 13:
            text, reason = f"{text}#eval run{number}\n", "elaboration_code"
        elif kind == 17:
            text, reason = proof(number % 4, number, HANGING), "time_limit"
        elif number % 200 == 21:  # few: each takes seconds to fill its memory, and is tried twice
            text, reason = proof(number % 4, number, HUNGRY), "memory_limit"
        sample = Sample(response=f"```lean\n{text}```", reference=statement(number % 4))
        cases.append(Case(sample, reason, tier, cpu_s=60.0 if number % 200 == 21 else 1.0))
    return cases


async def _judged(engine: Engine, cases: Sequence[Case]) -> list[Verdict]:
    """Judges all texts at once."""

    async def judged(case: Case) -> Verdict:
        use = Use(name="lean", params={"tier": case.tier, "cpu_s": case.cpu_s})
        return (await engine.verify(Batch(samples=[case.sample], use=use))).verdicts[0]

    return await asyncio.gather(*map(judged, cases))


def _held() -> tuple[int, int]:
    """Returns the visible processes below this one, and the open files of this process and of those."""
    below = list(descendants(os.getpid()))
    files = 0
    for pid in (os.getpid(), *below):
        try:
            files += len(os.listdir(f"/proc/{pid}/fd"))
        except OSError:
            continue
    return len(below), files


async def _quiet(engine: Engine) -> dict[str, Any]:
    """Returns the state of the lane and the host after all work has finished."""
    async with asyncio.timeout(60):
        while True:
            lane, box = (await engine.lean.status())["processes"], (await engine.sandbox.status())["host"]
            starting = sum(slots["starting"] for slots in box["slots"].values())
            if lane["alive"] == lane["idle"] == box["sessions"]["open"] and not starting:
                return {**lane, "sessions": box["sessions"]["open"], "slots": box["slots"]}
            await asyncio.sleep(1.1)


async def _crowd(report: Report, engine: Engine) -> None:
    cases = crowd()
    # After this, the maximum number of slots is alive.
    await _judged(engine, [replace(case, tier="strict") for case in cases if case.reason is None][:24])
    before = await _quiet(engine), _held()
    start = time.perf_counter()
    told = list(zip(cases, await _judged(engine, cases), strict=True))
    took = time.perf_counter() - start
    for case, verdict in told:
        if (verdict.score, verdict.reason) != (0.0 if case.reason else 1.0, case.reason):
            became = f"{verdict.status}, {verdict.score}, {verdict.reason}: {(verdict.feedback or '')[:300]!r}"
            print(f"   {case.tier}, wanted {case.reason or 'a proof'}: {became}")
    good = [verdict.score for case, verdict in told if case.reason is None]
    bad = [(verdict.score, verdict.reason) == (0.0, case.reason) for case, verdict in told if case.reason]
    report.figure("500 texts: good ones", len(good))
    report.figure("   accepted", sum(score == 1.0 for score in good), least=len(good))
    report.figure("500 texts: bad, hanging, hungry, code-running ones", len(bad))
    report.figure("   refused for the right reason", sum(bad), least=len(bad))
    report.figure("500 texts: seconds", took, "s")
    after = await _quiet(engine), _held()
    report.figure("Lean processes alive", after[0]["alive"], most=_PROCESSES)
    again = await asyncio.gather(
        *(engine.lean.check(Snippet(project="base", text=proof(0, 9_000 + each))) for each in range(2 * _PROCESSES))
    )
    report.figure("good texts that are accepted", sum(not each.messages for each in again), least=2 * _PROCESSES)
    report.figure("processes more than before", after[1][0] - before[1][0], most=0)
    report.figure("open files more than before", after[1][1] - before[1][1], most=0)


@contextmanager
def _library(folder: Path) -> Iterator[Library]:
    """Makes the library available as a project."""
    lean = toolchain()
    assert lean is not None
    library = build(folder, lean)
    kept = os.environ.get("ELAN_HOME")
    os.environ["ELAN_HOME"] = str(library.elan)
    try:
        yield library
    finally:
        del os.environ["ELAN_HOME"]
        if kept is not None:
            os.environ["ELAN_HOME"] = kept


async def _run(report: Report, library: Library, folder: Path) -> None:
    settings = LeanSettings(projects={"base": str(library.folder)}, processes=_PROCESSES, memory_mb=_MEMORY_MB)
    # All processes of bubblewrap's slots are below this one, so none is missed.
    launcher: Launcher = "bwrap" if await problem_of("bwrap") is None else "docker"
    sandbox = SandboxSettings(launcher=launcher)
    engine = Engine(settings=EngineSettings(cache=False, workers=1), sandbox=sandbox, lean=settings)
    start = time.perf_counter()
    await engine.start()
    try:
        first = next(case for case in crowd() if case.reason is None and case.tier == "strict")
        verdict = (await _judged(engine, [first]))[0]
        assert verdict.score == 1.0, verdict
        report.figure("from the engine's start to the first strict verdict", time.perf_counter() - start, "s")
        plain = Plain(library, folder)
        await _warm(report, engine, plain)
        await _rates(report, engine, plain)
        await _strict(report, engine)
        await _crowd(report, engine)
    finally:
        await engine.close(0)
    report.figure("processes left behind when the engine has closed", len(list(descendants(os.getpid()))), most=0)


def run() -> list[str]:
    """Returns CPU seconds and the text on stderr."""
    report = Report(f"lean: the tests' library, {_PROCESSES} processes")
    missing = no_lean()
    if missing is not None:
        print(f"   skipped: {missing}")
        return []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with _library(folder / "library") as library:
            asyncio.run(_run(report, library, folder))
    return report.broken
