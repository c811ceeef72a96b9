"""Databases that are made on a server: how they are named, how many are kept, and what making one may take."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from rewarden_verifiers.sql.databases import Database
from rewarden_verifiers.sql.engines.engine import DatabaseFailed

KEPT = 64
"""Made databases that a server keeps; beyond, those that were not used for the longest time go first."""
MAKE_S = 60.0
"""Seconds that a script of a request has."""
TRUSTED_MAKE_S = 3600.0
"""Seconds that a script of the server's own catalogue has."""
MAKE_BYTES = 1024**3
"""Bytes on the server's disk that a script of a request may fill."""
LOOK_S = 0.25
"""Seconds between two looks at them."""
WAIT_S = 120
"""Seconds to wait for another process that makes the same database."""


def name_of(database: Database) -> str:
    """The name of a made database: of its content."""
    return f"rewarden_{database.key[:24]}"


def make_seconds(database: Database) -> float:
    """Returns how long it may take to make."""
    return TRUSTED_MAKE_S if database.ours else MAKE_S


class Limit:
    """The time and the space that making one database may take.

    size: asks the server how many bytes it holds. late: the words for a time that is up. ended: what ended it.
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
        """Seconds left."""
        return self._until - time.monotonic()

    def full(self) -> bool:
        """Returns whether it holds more than it may."""
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
    """A throw-away database. drop: drops it, and lets go of its name; never raises."""

    name: str
    drop: Callable[[], None]


def not_made(database: Database, why: str) -> DatabaseFailed:
    """Its script does not run: the doing of whoever wrote it."""
    return DatabaseFailed(f"it cannot be made: {why[:500]}", ours=database.ours)
