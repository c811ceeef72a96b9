"""The CPU time of a run, from a counter of the whole slot and from what the kernel says of the rooms that ended."""

from __future__ import annotations

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
