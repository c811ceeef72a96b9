"""Databases that are made on a server: how they are named, how many are kept, how long one may take to make."""

from __future__ import annotations

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


def trusted(database: Database) -> bool:
    """Returns whether its script is of the server's own catalogue."""
    return database.script_file is not None


def make_seconds(database: Database) -> float:
    """Returns how long it may take to make."""
    return TRUSTED_MAKE_S if trusted(database) else MAKE_S


def not_made(database: Database, why: str) -> DatabaseFailed:
    """Its script does not run: the doing of whoever wrote it."""
    return DatabaseFailed(f"it cannot be made: {why[:500]}", ours=trusted(database))
