"""A circuit breaker: while a judge is down, its questions wait in line, and one at a time probes whether it is back.

Attacks and flakes that this stops: many attempts that fail at once are one failure of the judge, so an attempt counts
only if it began after the last failure that counted, and after the last success. A text that breaks the judge's server
can trip the breaker, but not keep it tripped: a question that has not failed yet probes without a pause, and before all
that have.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Literal

State = Literal["closed", "open", "probing"]

_FIRST_PAUSE_S = 0.5


class OutageError(Exception):
    """A question has waited in line for too long."""


@dataclass(slots=True, eq=False)
class Caller:
    """One question on its way through all its attempts.

    patient: waits in line as long as allowed; otherwise, only for the outcome of the current probe. failures: the
    number of its attempts that counted against the judge's health. until: the time at which it leaves the line, set
    when it first waits there or for the server's rate limit.
    """

    number: int
    patient: bool
    failures: int = 0
    until: float | None = None


@dataclass(slots=True, eq=False)
class Turn:
    """Permission to make one attempt. first: the question had not failed before. story: the number of counted failures
    and successes at its start.
    """

    probe: bool
    first: bool
    story: int = -1


@dataclass(slots=True, order=True)
class _Waiter:
    failures: int
    number: int
    caller: Caller = field(compare=False)
    future: asyncio.Future[Turn] = field(compare=False)

    def before(self, caller: Caller) -> bool:
        """Returns whether it comes before another question: the one with fewer failures first, then the older one."""
        return (self.failures, self.number) < (caller.failures, caller.number)


class Breaker:
    """Trips after `failures` consecutive failed attempts, each of which began after the previous one had failed.

    While it is tripped, one attempt at a time is let through as a probe; its success releases all questions. If it
    fails, the next question probes: at once if it has not failed yet, otherwise after a pause that doubles up to
    `longest_pause_s`. A probe that takes longer than that no longer blocks the others. A question leaves the line
    `outage_s` after it first joined one. Used on one event loop; pause and clock as in `Endpoint`.
    """

    def __init__(
        self,
        failures: int,
        longest_pause_s: float,
        outage_s: float,
        clock: Callable[[], float],
        pause: Callable[[float], Awaitable[None]],
    ) -> None:
        self._most = failures
        self._longest_s = longest_pause_s
        self._outage_s = outage_s
        self._clock = clock
        self._pause = pause
        self._numbers = itertools.count()
        self._failures = 0
        self._story = 0
        self._shut = False
        self._probe: Turn | None = None
        self._overdue = 0.0
        self._next = 0.0
        self._pause_s = 0.0
        self._line: list[_Waiter] = []
        self._leaving: list[tuple[float, int, _Waiter]] = []
        self._impatient: list[_Waiter] = []
        self._alarm: asyncio.Task[None] | None = None
        self._alarm_at = 0.0

    @property
    def state(self) -> State:
        """The state: `open` between two probes."""
        if not self._shut:
            return "closed"
        return "open" if self._probe is None else "probing"

    @property
    def waiting(self) -> int:
        """Returns the number of questions in line."""
        return sum(not waiter.future.done() for waiter in self._line)

    def caller(self, *, patient: bool) -> Caller:
        """Returns a caller for a new question, numbered in order of arrival."""
        return Caller(next(self._numbers), patient)

    def waits(self, caller: Caller, pause_s: float) -> bool:
        """Returns whether a question can wait this long for the server's rate limit, within the total time that it may
        wait in line.
        """
        now = self._clock()
        if caller.patient and caller.until is None:
            caller.until = now + self._outage_s
        return caller.patient and caller.until is not None and now + pause_s <= caller.until

    async def enter(self, caller: Caller) -> Turn:
        """Returns permission for an attempt: at once while the judge is well, otherwise when it is this question's
        turn. It must be given back with `leave`. Raises OutageError.
        """
        if not self._shut:
            return Turn(probe=False, first=not caller.failures)
        if self._free(caller.failures) and not (self._waits() and self._line[0].before(caller)):
            return self._claim(caller)
        now = self._clock()
        if caller.until is None:
            caller.until = now + self._outage_s
        if now >= caller.until or not (caller.patient or self._held()):
            raise OutageError
        waiter = _Waiter(caller.failures, caller.number, caller, asyncio.get_running_loop().create_future())
        heapq.heappush(self._line, waiter)
        heapq.heappush(self._leaving, (caller.until, caller.number, waiter))
        if not caller.patient:
            self._impatient.append(waiter)
        self._move()
        try:
            return await waiter.future
        except asyncio.CancelledError:
            if waiter.future.done() and not waiter.future.cancelled() and waiter.future.exception() is None:
                self.leave(waiter.future.result())  # it was cancelled just as its turn came
            raise

    def begin(self, turn: Turn) -> bool:
        """Begins the attempt and returns whether it may proceed: not if the breaker has tripped since, or another probe
        has replaced this one.
        """
        if self._shut and turn is not self._probe:
            return False
        if turn is self._probe:
            self._overdue = self._clock() + self._longest_s
        turn.story = self._story
        return True

    def succeeded(self) -> None:
        """Records an attempt that found the judge well, even if it began before the breaker tripped."""
        self._failures = 0
        self._story += 1
        self._shut = False
        self._probe = None
        self._move()

    def failed(self, turn: Turn) -> bool:
        """Records a failed attempt, and returns whether it tripped the breaker."""
        if turn.story != self._story and not (self._shut and turn is self._probe):
            return False  # from the same outage as a counted failure, or older than the last success
        self._story += 1
        if self._shut:
            self._probe_failed(turn)
            return False
        self._failures += 1
        if self._failures < self._most:
            return False
        self._shut = True
        self._pause_s = min(_FIRST_PAUSE_S, self._longest_s)
        self._next = self._clock() + self._pause_s
        return True

    def leave(self, turn: Turn) -> None:
        """Ends the attempt. If a probe had no result, another question takes its place."""
        if turn is self._probe:
            self._probe = None
            self._move()

    def dissolve(self, error: Callable[[], Exception]) -> None:
        """Releases all waiting questions, each with an error of its own."""
        for waiter in self._line:
            if not waiter.future.done():
                waiter.future.set_exception(error())
        self._move()

    def _probe_failed(self, turn: Turn) -> None:
        if turn is self._probe:
            self._probe = None
        if not turn.first:
            # Untried questions fail without a pause between them: they show nothing about the length of the outage.
            self._pause_s = min(2 * self._pause_s, self._longest_s)
        self._next = self._clock() + self._pause_s
        impatient, self._impatient = self._impatient, []
        for waiter in impatient:
            if not waiter.future.done():
                waiter.future.set_exception(OutageError())
        self._move()

    def _held(self) -> bool:
        return self._probe is not None and self._clock() < self._overdue

    def _free(self, failures: int) -> bool:
        return not self._held() and (not failures or self._clock() >= self._next)

    def _claim(self, caller: Caller) -> Turn:
        self._probe = Turn(probe=True, first=not caller.failures)
        self._overdue = self._clock() + self._longest_s
        return self._probe

    def _waits(self) -> bool:
        """Returns whether any question is in line, after removing finished ones from the head."""
        while self._line and self._line[0].future.done():
            heapq.heappop(self._line)
        while self._leaving and self._leaving[0][2].future.done():
            heapq.heappop(self._leaving)
        return bool(self._line)

    def _move(self) -> None:
        """Releases the questions whose turn or time has come, and sets the alarm for the next one."""
        if not self._shut:
            line, self._line = self._line, []
            for waiter in sorted(line, key=lambda one: one.number):
                if not waiter.future.done():
                    waiter.future.set_result(Turn(probe=False, first=not waiter.failures))
        now = self._clock()
        while self._waits() and self._leaving[0][0] <= now:
            self._leaving[0][2].future.set_exception(OutageError())
        if self._line and self._free(self._line[0].failures):
            waiter = heapq.heappop(self._line)
            waiter.future.set_result(self._claim(waiter.caller))
        self._set_alarm()

    def _set_alarm(self) -> None:
        if not self._waits():
            self._impatient.clear()
            if self._alarm is not None:
                self._alarm.cancel()
                self._alarm = None
            return
        probe = max(self._overdue if self._held() else 0.0, self._next if self._line[0].failures else 0.0)
        at = min(probe, self._leaving[0][0])
        if self._alarm is not None:
            if at == self._alarm_at:
                return
            self._alarm.cancel()
        self._alarm, self._alarm_at = asyncio.ensure_future(self._ring(at)), at

    async def _ring(self, at: float) -> None:
        await self._pause(max(0.0, at - self._clock()))
        self._alarm = None
        self._move()
