"""Databases that are made on a server: their names, their number, and the limits for making one."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from rewarden_verifiers.sql.databases import Database
from rewarden_verifiers.sql.engines.engine import DatabaseFailed

KEPT = 64
"""Made databases that a server keeps; beyond this number, those that were not used for the longest time are dropped
first."""
MAKE_S = 60.0
"""Seconds that a script from a request has."""
TRUSTED_MAKE_S = 3600.0
"""Seconds that a script from the server's own catalogue has."""
MAKE_BYTES = 1024**3
"""Bytes on the server's disk that a script from a request can fill."""
LOOK_S = 0.25
"""Seconds between two checks of these bytes."""
WAIT_S = 120
"""Seconds to wait for another process that makes the same database."""


def name_of(database: Database) -> str:
    """Returns the name of a made database, which depends on its content."""
    return f"rewarden_{database.key[:24]}"


def make_seconds(database: Database) -> float:
    """Returns the seconds that making the database can take."""
    return TRUSTED_MAKE_S if database.ours else MAKE_S


class Limit:
    """The limits on time and space for making one database.

    size: asks the server for its size in bytes. late: the message when the time is up. ended: the limit that ended it.
    """

    def __init__(self, database: Database, size: Callable[[], int]) -> None:
        seconds = make_seconds(database)
        self.late = f"its script ran for more than {seconds:g} s"
        self.ended: str | None = None
        self._size = size
        self._trusted = database.ours
        self._until = time.monotonic() + seconds

    @property
    def left_s(self) -> float:
        """Returns the seconds left."""
        return self._until - time.monotonic()

    def full(self) -> bool:
        """Returns whether its size exceeds the limit."""
        if not self._trusted and self._size() > MAKE_BYTES:
            self.ended = f"it holds more than {MAKE_BYTES} bytes"
        return self.ended is not None

    def over(self) -> bool:
        """Returns whether its time is up, or it is full."""
        if self.left_s < 0:
            self.ended = self.late
        return self.ended is not None or self.full()


@dataclass(frozen=True)
class Copy:
    """A throw-away database. drop: drops it and releases its name; never raises."""

    name: str
    drop: Callable[[], None]


def not_made(database: Database, why: str) -> DatabaseFailed:
    """Returns the error for a script that does not run, which is the fault of its author."""
    return DatabaseFailed(f"it cannot be made: {why[:500]}", ours=database.ours)
