"""The client's time-out counts the server's silence, and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from rewarden.transports.duplex import Patience


class Clock:
    """Stands for the loop: time passes when it is told to, and what was to be called then is called."""

    def __init__(self) -> None:
        self.now = 0.0
        self.running: set[Clock.Handle] = set()

    class Handle:
        def __init__(self, clock: Clock, when: float, call: Callable[[], None]) -> None:
            self.clock, self.when, self.call = clock, when, call

        def cancel(self) -> None:
            self.clock.running.discard(self)

    def time(self) -> float:
        return self.now

    def call_later(self, delay: float, call: Callable[[], None]) -> Clock.Handle:
        handle = Clock.Handle(self, self.now + delay, call)
        self.running.add(handle)
        return handle

    def passes(self, seconds: float) -> None:
        end = self.now + seconds
        while due := [handle for handle in self.running if handle.when <= end]:
            first = min(due, key=lambda handle: handle.when)
            self.running.discard(first)
            self.now = first.when
            first.call()
        self.now = end


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
    line = Line()
    patience = Patience(5.0, line)  # type: ignore[arg-type]
    patience.making_sample, patience.receiving = making_sample, receiving
    patience.restart()
    clock.passes(5.0)
    assert line.aborted == counts


def test_whatever_happens_begins_a_new_silence(clock: Clock) -> None:
    line = Line()
    patience = Patience(5.0, line)  # type: ignore[arg-type]
    patience.receiving = True
    for _ in range(3):
        patience.restart()
        clock.passes(4.0)
    assert not line.aborted
    clock.passes(1.0)
    assert line.aborted


def test_our_own_slowness_in_between_stops_the_clock(clock: Clock) -> None:
    line = Line()
    patience = Patience(5.0, line)  # type: ignore[arg-type]
    patience.receiving = True
    patience.restart()
    patience.making_sample = True
    patience.restart()
    clock.passes(60.0)
    patience.making_sample = False
    patience.restart()
    clock.passes(4.0)
    assert not line.aborted
    clock.passes(1.0)
    assert line.aborted


def test_many_samples_need_one_timer(clock: Clock) -> None:
    patience = Patience(5.0, Line())  # type: ignore[arg-type]
    patience.receiving = True
    for _ in range(1000):
        patience.restart()
    assert len(clock.running) == 1
    patience.stop()
    assert not clock.running


def test_silence_past_the_limit_breaks_the_stream_off(clock: Clock) -> None:
    line = Line()
    patience = Patience(5.0, line)  # type: ignore[arg-type]
    patience.receiving = True
    patience.restart()
    clock.passes(5.0)
    assert line.aborted
    assert patience.expired
    assert patience.error().details == {"timeout_s": 5.0}


def test_without_a_limit_the_client_waits_for_as_long_as_it_takes(clock: Clock) -> None:
    patience = Patience(None, Line())  # type: ignore[arg-type]
    patience.receiving = True
    patience.restart()
    assert not clock.running
