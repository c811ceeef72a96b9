"""Each attack ends as it must, outlives nothing, and leaves its slot serving; its honest twin works."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rewarden_sandboxes.job import Job, Program, Report
from tests.attacks.sandbox import (
    burning,
    compiling,
    descriptors,
    disk,
    flooding,
    memory,
    network,
    privileges,
    processes,
    secrets,
    signals,
)
from tests.attacks.sandbox.attack import ROOMY, Attack
from tests.attacks.sandbox.grounds import Ground, alive, report_of

pytestmark = pytest.mark.alone  # they fill what they are given, and the machine is searched for what is left of them

MODULES = (
    processes,
    signals,
    burning,
    memory,
    flooding,
    disk,
    secrets,
    network,
    privileges,
    descriptors,
    compiling,
)
NAMED = {f"{module.__name__.rpartition('.')[2]}: {attack}": attack for module in MODULES for attack in module.ATTACKS}
FIGHT = [*processes.ATTACKS, *burning.ATTACKS, *memory.ATTACKS]
"""Those that fill memory, fork without end or burn all there is."""
ATTACKS = [
    pytest.param(attack, id=name, marks=[pytest.mark.stress] if attack in FIGHT else [])
    for name, attack in NAMED.items()
]
TOGETHER = 32
"""Twins that are asked for at once: who waits for a slot has so much patience, and no more."""


def allowed(attack: Attack, report: Report) -> list[str]:
    """The statuses that will do, by what counted memory where it ran."""
    counted = report.enforced.get("memory_mb") == "cgroup"
    return [*attack.ends, *(() if counted else attack.without_counters)]


@pytest.mark.parametrize("attack", ATTACKS)
def test_it_ends_as_it_must(host: Ground, attack: Attack) -> None:
    lost = host.losses
    report = host.report(attack.job(attack.code, attack.limits))
    said = (report.status, report.limit, report.exit_code, report.signal, report.message, report.flags)
    assert not alive(), said
    assert report.status in allowed(attack, report), (said, report.stdout[-500:], report.stderr[-500:])
    if attack.limit is not None:
        assert report.limit == attack.limit, said
    if attack.limit == "cpu_s" and attack in burning.ATTACKS:
        assert report.cpu_time >= 0.5, report  # it is not only ended, it is seen what it took
    if attack.held:
        assert b"BREACH" not in report.stdout, report.stdout[:2000]
        assert report.stdout.endswith(b"HELD\n"), (said, report.stdout[-500:], report.stderr[-500:])
    if attack.says is not None:
        assert report.stdout == attack.says, said
    assert host.losses == lost, "a slot died of it"
    after = host.report(Job(program=Program(language="python", code=b"print(6 * 7)", limits=ROOMY)))
    assert (after.status, after.stdout) == ("ok", b"42\n"), after


@pytest.mark.stress
@pytest.mark.parametrize("attack", [pytest.param(attack, id=str(attack)) for attack in memory.ATTACKS])
def test_memory_ends_it_soon_where_no_file_is_in_memory(host: Ground, attack: Attack) -> None:
    """Whoever reads a file first is charged for it. A kernel at a limit takes such pages before it kills, the running
    code among them: in such a slot a program could go on for two minutes, with twenty times the CPU time it may have.
    """
    drop = Path("/proc/sys/vm/drop_caches")
    if not os.access(drop, os.W_OK):
        pytest.skip("only root may have the kernel forget the files that it holds")
    drop.write_text("1")
    report = host.report(attack.job(attack.code, attack.limits))
    assert report.status in allowed(attack, report), report
    if report.status == "memory_limit":
        assert attack.limits.cpu_s is not None
        assert report.cpu_time < attack.limits.cpu_s, report


@pytest.fixture(scope="module")
def twins(host: Ground) -> dict[str, Report]:
    """Returns the reports of the twins: honest programs need no host for themselves, so that both slots work."""
    found: dict[str, Report] = {}
    for start in range(0, len(NAMED), TOGETHER):
        names = list(NAMED)[start : start + TOGETHER]
        ends = host.together([NAMED[name].job(NAMED[name].twin, NAMED[name].limits) for name in names])
        found |= {name: report_of(events) for name, events in zip(names, ends, strict=True)}
    return found


@pytest.mark.parametrize("name", NAMED)
def test_its_twin_works(twins: dict[str, Report], name: str) -> None:
    attack, report = NAMED[name], twins[name]
    assert (report.status, report.stdout) == ("ok", attack.twin_says), (
        report.limit,
        report.message,
        report.stderr[-500:],
    )


def test_the_cpu_time_of_orphans_that_ended_is_seen(host: Ground) -> None:
    report = host.report(Job(program=Program(language="python", code=burning.SPREAD.encode(), limits=ROOMY)))
    assert (report.status, report.stdout) == ("ok", b"fine\n"), report
    if report.enforced["cpu_s"] == "cgroup":
        assert 0.95 <= report.cpu_time <= 1.6, report
