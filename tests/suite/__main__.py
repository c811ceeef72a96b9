"""Runs the tests. `make test`, `make test-all`, `make test-for` and CI all come here.

usage: python -m tests.suite [--all | --rest | --changed | --for PATH [PATH ...] | --stress N] [-k EXPRESSION]
                             [--minutes N]

Without an option: the core, which is every test that this machine can run but for the groups of groups.py.
--all: those groups too. --rest: only what the core run before skipped. --changed: of that, what the files that changed
since the last green commit reach. --for: only tests that these files reach, without the slow ones. --stress: the tests
that fight the kernel, N times each. -k narrows any of them by name, as pytest does. --minutes: begin no test after
that time; the tests that are left count as skipped.

Tests run in three phases: those that may share the machine, in several processes, each file in one of them; beside
these, those that fork, in a process that nothing has made large or started threads in; in the end those that must be
alone on the machine.
out/tests/ keeps what each run recorded. HOGS in the environment says how many processes compute beside them: no test
depends on an idle machine.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path

from tests.suite import changes, reach, stress
from tests.suite.hogs import hogs
from tests.suite.needs import lacking_in_ci, need_of, table
from tests.suite.record import Record

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
KEPT = ROOT / "out" / "tests"
CORE = KEPT / "core.json"
SHARED, FORKS, ALONE = "not (alone or forks)", "forks", "alone and not forks"
JOBS = os.environ.get("JOBS", "3")
HOGS = int(os.environ.get("HOGS") or 0)
LONGEST = 20
NOTHING_COLLECTED = 5
PREPARES = 6
"""Minutes below which nothing is installed for tests: installing would take them all."""

# A machine on which something hangs lets each test wait for its minute: CI then ends with what is known by then.
GIVE_UP = ("--maxfail", "25") if os.environ.get("CI") == "true" else ()


def files() -> list[Path]:
    """Every file of tests."""
    return sorted(TESTS.rglob("test_*.py"))


def marked(mark: str, paths: Sequence[Path]) -> list[Path]:
    """The files in which such a mark is written. What is read and imported makes a process large, and a large one forks
    slowly: a phase reads no others.
    """
    return [path for path in paths if re.search(rf"\bmark\.{mark}\b", path.read_text(encoding="utf-8"))]


def run(
    name: str, expression: str, paths: Sequence[Path], *flags: str, beside_others: bool = False, aside: bool = False
) -> tuple[int, Record]:
    """One phase: its exit status, and its record. What one prints that runs aside goes to a file."""
    record, told_aside = KEPT / f"{name}.json", KEPT / f"{name}.log"
    record.unlink(missing_ok=True)
    told_aside.unlink(missing_ok=True)
    if not paths:
        return 0, Record()
    KEPT.mkdir(parents=True, exist_ok=True)
    named = [str(path.relative_to(ROOT)) for path in paths]
    command = [sys.executable, "-m", "pytest", *GIVE_UP, *flags, "--record", str(record), "-m", expression, *named]
    # torch's threads wait for the last of them, and spin meanwhile: beside other tests a step of training took half a
    # minute.
    environment = {"OMP_WAIT_POLICY": "passive", **({"OMP_NUM_THREADS": "1"} if beside_others else {}), **os.environ}
    with told_aside.open("w", encoding="utf-8") if aside else nullcontext() as log:
        status = subprocess.run(
            command, cwd=ROOT, env=environment, stdout=log, stderr=log and subprocess.STDOUT
        ).returncode
    return (0 if status == NOTHING_COLLECTED else status), Record.read(record)


def phases(name: str, paths: Sequence[Path], *flags: str, only: str = "") -> tuple[int, Record]:
    """All phases. `only` narrows which marks take part."""

    def narrowed(phase: str) -> str:
        return f"({phase}) and ({only})" if only else phase

    sharing = ("-n", JOBS, "--dist", "loadfile", "--no-loadscope-reorder")
    with ThreadPoolExecutor() as beside:
        forks = beside.submit(run, f"{name}-forks", narrowed(FORKS), marked("forks", paths), *flags, aside=True)
        shared = run(f"{name}-shared", narrowed(SHARED), paths, *sharing, *flags, beside_others=True)
        done = [shared, forks.result()]
    log = KEPT / f"{name}-forks.log"
    print(log.read_text(encoding="utf-8") if log.is_file() else "", end="", flush=True)
    done.append(run(f"{name}-alone", narrowed(ALONE), marked("alone", paths), *flags))
    return max(status for status, _ in done), Record.sum(record for _, record in done)


def rest(affected: bool, minutes: float | None, *flags: str) -> tuple[int, Record]:
    """Returns what the core run skipped, or of that what a change reaches. minutes: that it may take."""
    skipped = Record.read(CORE).skipped
    waiting = {name for name, reason in skipped.items() if (need := need_of(reason)) is None or need.ci != "never"}
    by_file = {ROOT / name.partition("::")[0] for name in waiting}
    if affected:
        changed = changes.since_green(ROOT)
        if changed is None:
            print("No commit is recorded as green: every group runs.")
        else:
            reached = reach.tests_reached(changed)
            by_file &= reached
            print(
                f"{len(changed)} files changed since the last green commit; they reach {len(by_file)} files of tests."
            )
    if not by_file:
        return 0, Record()
    wanted = {
        need.target
        for name in waiting
        if ROOT / name.partition("::")[0] in by_file and (need := need_of(skipped[name]))
    }
    targets = " ".join(sorted(filter(None, wanted))).split()
    hurried = minutes is not None and minutes < PREPARES
    if targets and not hurried and subprocess.run(["make", *targets], cwd=ROOT).returncode:
        return 1, Record()
    names = KEPT / "rest.txt"
    names.parent.mkdir(parents=True, exist_ok=True)
    names.write_text("\n".join(sorted(waiting)), encoding="utf-8")
    return phases("rest", sorted(by_file), "--only", str(names), *flags)


def stressed(times: int, *flags: str) -> tuple[int, Record]:
    """The tests that fight the kernel, so many times each; how often each failed is printed, and kept as JSON."""
    status, record = phases("stress", marked("stress", files()), "--stress", str(times), *flags)
    rates = stress.rates(record)
    print("", *stress.table(rates), sep="\n")
    told_here = {"times": times, "hogs": HOGS, "rates": [asdict(rate) for rate in rates]}
    (KEPT / "stress-rates.json").write_text(json.dumps(told_here, indent=1) + "\n", encoding="utf-8")
    return status, record


def told(status: int, record: Record, seconds: float) -> None:
    """Print the end: the longest tests, what was not tried, and one line of counts."""
    if record.seconds:
        print(f"\nThe longest {LONGEST}:")
        for name, took in record.longest(LONGEST):
            print(f"  {took:6.1f} s  {name}")
    failed, skipped = len(record.failed), len(record.skipped)
    print()
    print("\n".join(table(record.skipped, record.passed + failed + skipped)))
    for name, fault in record.failed.items():
        print(f"FAILED {name}\n  {fault}")
    minutes, rest_s = divmod(round(seconds), 60)
    print(f"\n{minutes} min {rest_s} s, exit status {status}")
    print(f"{record.passed} passed, {failed} failed, {skipped} skipped", flush=True)


def chosen(given: argparse.Namespace) -> tuple[int, Record]:
    """Run what the command line asks for."""
    flags = ("-k", given.matching) if given.matching else ()
    if given.minutes:
        flags += ("--until", str(time.time() + 60 * given.minutes))
    if given.stress:
        return stressed(given.stress, *flags)
    if given.paths:
        named = {(ROOT / path).resolve() for path in given.paths}
        return phases("for", sorted(reach.tests_near(named)), "--core", *flags, only="not slow")
    if given.rest or given.changed:
        return rest(given.changed, given.minutes, *flags)
    if given.all:
        return phases("all", files(), *flags)
    status, record = phases("core", files(), "--core", *flags)
    record.write(CORE)
    return status, record


def main(words: Sequence[str]) -> int:
    """See the module."""
    parser = argparse.ArgumentParser(prog="python -m tests.suite")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--all", action="store_true", help="every test, the groups too")
    which.add_argument("--rest", action="store_true", help="what the core run before skipped")
    which.add_argument("--changed", action="store_true", help="of that, what changed files reach")
    which.add_argument("--for", nargs="+", metavar="PATH", dest="paths", help="tests that these files reach")
    which.add_argument("--stress", type=int, metavar="N", help="the tests that fight the kernel, N times each")
    parser.add_argument("-k", metavar="EXPRESSION", dest="matching", help="only tests whose names match, as in pytest")
    parser.add_argument("--minutes", type=float, metavar="N", help="begin no test after this time")
    given = parser.parse_args(words)
    began = time.monotonic()
    with hogs(HOGS):
        status, record = chosen(given)
    told(status, record, time.monotonic() - began)
    if os.environ.get("CI") == "true":
        lacking = lacking_in_ci(record.skipped.values())
        if lacking:
            print("CI must be able to try these:", *lacking, sep="\n  ")
            return 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
