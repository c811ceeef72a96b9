"""The client's time-out counts the server's silence, and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from rewarden.transports.duplex import Patience


class Clock:
    """Stands for the loop; tells whether a time-out is running."""

    def __init__(self) -> None:
        self.running: set[Clock.Handle] = set()

    class Handle:
        def __init__(self, clock: Clock, call: Callable[[], None]) -> None:
            self.clock, self.call = clock, call

        def cancel(self) -> None:
            self.clock.running.discard(self)

    def call_later(self, delay: float, call: Callable[[], None]) -> Clock.Handle:
        handle = Clock.Handle(self, call)
        self.running.add(handle)
        return handle


class Line:
    """Stands for a duplex."""

    aborted = False

    def abort(self) -> None:
        self.aborted = True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(asyncio, "get_running_loop", lambda: clock)
    return clock


@pytest.mark.parametrize(
    ("making_sample", "receiving", "counts"),
    [(False, True, True), (True, True, False), (False, False, False), (True, False, False)],
)
def test_only_waiting_for_the_server_alone_counts(
    clock: Clock, making_sample: bool, receiving: bool, counts: bool
) -> None:
    patience = Patience(5.0, Line())  # type: ignore[arg-type]
    patience.making_sample, patience.receiving = making_sample, receiving
    patience.restart()
    assert bool(clock.running) == counts


def test_whatever_happens_begins_a_new_silence(clock: Clock) -> None:
    patience = Patience(5.0, Line())  # type: ignore[arg-type]
    patience.receiving = True
    patience.restart()
    first = set(clock.running)
    patience.restart()
    assert len(clock.running) == 1
    assert clock.running != first
    patience.stop()
    assert not clock.running


def test_silence_past_the_limit_breaks_the_stream_off(clock: Clock) -> None:
    line = Line()
    patience = Patience(5.0, line)  # type: ignore[arg-type]
    patience.receiving = True
    patience.restart()
    clock.running.pop().call()
    assert line.aborted
    assert patience.expired
    assert patience.error().details == {"timeout_s": 5.0}


def test_without_a_limit_the_client_waits_for_as_long_as_it_takes(clock: Clock) -> None:
    patience = Patience(None, Line())  # type: ignore[arg-type]
    patience.receiving = True
    patience.restart()
    assert not clock.running
