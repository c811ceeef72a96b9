"""The CPU time of a run, from a counter of the whole slot and from what the kernel says of the rooms that ended."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from rewarden_sandboxes.agent.accounting import Clock


class Counter:
    """A slot's counter of CPU time."""

    counts_cpu = True

    def __init__(self, *seconds: float) -> None:
        self._seconds = list(seconds)

    def cpu(self) -> float:
        """The next of its readings."""
        return self._seconds.pop(0)


@pytest.mark.parametrize(
    ("begins", "ends", "rooms", "found"),
    [
        (5.0, 7.0, 1.5, 2.0),  # orphans that nobody waited for are in the counter alone
        (5.0, 5.0, 0.004, 0.004),  # the counter lags behind a program that takes less than a scheduler's tick
        (5.0, 5.0, 0.0, 0.0),
    ],
)
def test_the_end_of_a_run_knows_all_that_it_took(begins: float, ends: float, rooms: float, found: float) -> None:
    counter: Any = Counter(begins, ends)
    clock = Clock(counter)
    assert clock.finish(rooms) == pytest.approx(found, abs=0.05)


BURN = "import time\nwhile time.process_time() < {}: pass"
"""A program that uses so many CPU seconds."""

PARENT = """
import subprocess, sys
for line in sys.stdin:
    subprocess.run([sys.executable, "-I", "-S", "-c", line.encode().decode("unicode_escape")], check=True)
    print(flush=True)
"""
"""A program that runs each line of its input as another one, and waits for it."""


class Uncounted:
    """The counters of a slot without a control group."""

    counts_cpu = False


class Family:
    """A process that has children on demand."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.rooms = [(self._process.pid, 0)]

    def burn(self, seconds: float) -> None:
        """Has a child use CPU time, from its start to its end."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(BURN.format(seconds).encode("unicode_escape").decode() + "\n")
        self._process.stdin.flush()
        assert self._process.stdout.readline() == "\n"

    def end(self) -> None:
        """Ends it."""
        self._process.communicate()


@pytest.fixture
def family() -> Iterator[Family]:
    """A process."""
    made = Family()
    yield made
    made.end()


def test_children_that_no_look_has_seen_count_once_they_were_waited_for(family: Family) -> None:
    """Attack: processes so short that none lives when somebody looks."""
    uncounted: Any = Uncounted()
    clock = Clock(uncounted)
    before = clock.tick(family.rooms)
    family.burn(0.3)
    first = clock.tick(family.rooms)
    assert 0.29 <= first - before < 0.6
    family.burn(0.3)
    assert 0.29 <= clock.tick(family.rooms) - first < 0.6


def test_the_time_does_not_run_backwards_when_something_else_begins_in_the_slot(family: Family) -> None:
    """Otherwise a cell that began before would have that much more time."""
    counter: Any = Counter(0.0, *[50.0] * 10)
    clock = Clock(counter)
    assert clock.tick(family.rooms) == pytest.approx(50.0, abs=1)
    clock.share(family.rooms)
    shared = clock.tick(family.rooms)
    assert shared == pytest.approx(50.0, abs=1)
    family.burn(0.3)
    assert 0.29 <= clock.tick(family.rooms) - shared < 0.6
