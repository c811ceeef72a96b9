"""A circuit breaker: a judge that failed many times in a row is left alone for a while, and then tried once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

State = Literal["closed", "open", "probing"]


class Breaker:
    """Opens after `failures` attempts that failed in a row. After `open_s` seconds one attempt is let through: the
    probe. If it succeeds all is well; if it fails the wait begins anew."""

    def __init__(self, failures: int, open_s: float, clock: Callable[[], float]) -> None:
        self._most = failures
        self._open_s = open_s
        self._clock = clock
        self._failures = 0
        self._until: float | None = None
        self._probing = False

    @property
    def state(self) -> State:
        """The state, which stays `open` after the wait until somebody tries."""
        if self._probing:
            return "probing"
        return "closed" if self._until is None else "open"

    @property
    def left_s(self) -> float:
        """Seconds until the next probe; 0 where there is nothing to wait for."""
        return 0.0 if self._until is None else max(0.0, self._until - self._clock())

    @property
    def shut(self) -> bool:
        """Returns whether an attempt would be turned away now."""
        return self._probing or self.left_s > 0

    def enter(self) -> bool:
        """Begin an attempt, unless it is shut; whether it is the probe. What it led to must be told."""
        if self._until is None:
            return False
        self._probing = True
        return True

    def succeeded(self) -> None:
        """An attempt found the judge well: also one that began before the breaker opened."""
        self._failures = 0
        self._until = None
        self._probing = False

    def failed(self, probe: bool) -> bool:
        """An attempt failed; whether the breaker opened by it."""
        if probe:
            self._probing = False
            self._until = self._clock() + self._open_s
            return True
        self._failures += 1
        if self._until is not None or self._failures < self._most:
            return False
        self._until = self._clock() + self._open_s
        return True

    def left(self, probe: bool) -> None:
        """An attempt was given up before it said anything: another may be the probe."""
        if probe:
            self._probing = False
