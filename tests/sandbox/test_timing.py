"""The same program gets the same verdict on a busy host: CPU and idle time decide, and waiting for a CPU is neither."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from rewarden_sandboxes.job import CaseResult, Job, JobEvent, Limits, Program
from tests.attacks.sandbox.grounds import LAUNCHERS, Ground, ground
from tests.suite.hogs import hogs

pytestmark = [pytest.mark.needs_server, pytest.mark.alone, pytest.mark.slow, pytest.mark.stress]

LIMIT_S = 0.4
LIMITS = Limits(cpu_s=LIMIT_S, wall_s=LIMIT_S, memory_mb=128, processes=16)
BELOW, ABOVE = 0.4, 2.5


def burner(share: float) -> str:
    """Uses so much of the CPU limit by its own count, and ends."""
    return (
        f"import time\nuntil = time.process_time() + {share * LIMIT_S}\n"
        "while time.process_time() < until:\n    pass\nprint('done')\n"
    )


def sleeper(share: float) -> str:
    """Sleeps so much of the idle limit, and ends."""
    return f"import time\ntime.sleep({share * LIMIT_S})\nprint('done')\n"


def napper(share: float) -> str:
    """Sleeps and works by turns, together so much of the idle limit and little CPU.

    Ten naps: each ends late by what a virtual machine at rest needs to wake, ten milliseconds and more on some.
    """
    return f"import time\nfor _ in range(10):\n    time.sleep({share * LIMIT_S / 10})\nprint('done')\n"


def crowd(share: float) -> str:
    """Uses so much of the CPU limit in four processes together."""
    return (
        "import os, time\nfor _ in range(4):\n    if os.fork() == 0:\n"
        f"        until = time.process_time() + {share * LIMIT_S / 4}\n"
        "        while time.process_time() < until:\n            pass\n"
        "        os._exit(0)\nfor _ in range(4):\n    os.wait()\nprint('done')\n"
    )


KINDS = {
    "burner": (burner, "cpu_s"),
    "crowd": (crowd, "cpu_s"),
    "sleeper": (sleeper, "wall_s"),
    "napper": (napper, "wall_s"),
}
EXPECTED = [
    (kind, share, "ok" if share < 1 else "time_limit", None if share < 1 else limit)
    for kind, (_, limit) in KINDS.items()
    for share in (BELOW, ABOVE)
]


@pytest.fixture(scope="module", params=LAUNCHERS)
def host(request: pytest.FixtureRequest) -> Iterator[Ground]:
    """A host with more slots than there are cores."""
    with ground(request.param, slots=8, warm=4) as made:
        yield made


def jobs() -> list[Job]:
    """One job for each expectation."""
    return [
        Job(program=Program(language="python", code=KINDS[kind][0](share).encode(), limits=LIMITS))
        for kind, share, _, _ in EXPECTED
    ]


def found(answers: Sequence[Sequence[JobEvent]]) -> list[tuple[str, float, str, str | None]]:
    """Returns what was said, in the form of what is expected."""
    reports = [next(event.program for event in answer if isinstance(event, CaseResult)) for answer in answers]
    return [
        (kind, share, report.status, report.limit)
        for (kind, share, _, _), report in zip(EXPECTED * 4, reports, strict=False)
    ]


def test_one_at_a_time(host: Ground) -> None:
    assert found([host.events(job) for job in jobs()]) == EXPECTED


def test_sixteen_at_once(host: Ground) -> None:
    assert found(host.together(jobs() * 2)) == EXPECTED * 2


def test_beside_six_hogs(host: Ground) -> None:
    with hogs(6):
        assert found([host.events(job) for job in jobs()]) == EXPECTED


def test_sixteen_at_once_beside_six_hogs(host: Ground) -> None:
    with hogs(6):
        assert found(host.together(jobs() * 2)) == EXPECTED * 2


SHY = """
import os
os.nice(19)
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
while True:
    pass
"""


def test_who_lets_everybody_pass_is_no_victim_of_the_host(host: Ground) -> None:
    """A program that gives its CPU away of its own will must not go unscored as if the host had starved it."""
    job = Job(program=Program(language="python", code=SHY.encode(), limits=LIMITS))
    with hogs(6):
        ends = [report.status for report in (host.report(job) for _ in range(2))]
    assert ends == ["time_limit"] * 2
