"""Databases: registered by id in the server's catalogue, or sent with the request.

`Databases` is the server's configuration for `sql` (its resources). `Database` describes where a database is or how it
is made, and has a version that changes with its content.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from rewarden.errors import InvalidSample, near
from rewarden_verifiers.canonical import canonical

EngineName = Literal["sqlite", "duckdb", "postgres", "mysql"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table given as data: column names, or (name, type) pairs, and rows."""

    columns: tuple[str | tuple[str, str], ...]
    rows: tuple[tuple[Any, ...], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CarriedDatabase:
    """A database within the request: made from it, and deleted afterwards.

    engine: Its SQL dialect.
    script: Statements that make it (DDL and INSERTs).
    tables: Further tables as data, made after the script, or rows for a table of the script, with `columns` left empty.
    base64: A SQLite file.
    """

    engine: EngineName = "sqlite"
    script: str = ""
    tables: Mapping[str, Table] = field(default_factory=dict)
    base64: str | None = None


@dataclass(frozen=True, kw_only=True)
class Database:
    """A database.

    id: its name in the catalogue; for one sent with a request, part of its digest. version: changes with its content.
    file: a SQLite or DuckDB file, with its size and modification time (ns) at registration. dsn: its address on a
    server. Otherwise it is made: from the statements in `script` or in the file `script_file`, then `tables`; or from
    `image`, the bytes of a SQLite file.
    """

    id: str
    engine: EngineName
    version: str
    file: str | None = None
    stat: tuple[int, int] | None = None
    dsn: str | None = None
    script: str | None = None
    script_file: str | None = None
    tables: Mapping[str, Table] = field(default_factory=dict)
    image: bytes | None = None

    @cached_property
    def key(self) -> str:
        """Identifies the database and its content: 32 hex digits."""
        text = f"{self.engine}\0{self.id}\0{self.version}"
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

    @property
    def made(self) -> bool:
        """Returns whether the database has to be made before it can be queried."""
        return self.file is None and self.dsn is None

    @property
    def ours(self) -> bool:
        """Returns whether its file, or its script, comes from the server's own catalogue."""
        return self.file is not None or self.script_file is not None

    def changed(self, found: os.stat_result) -> bool:
        """Returns whether its file, or its script's, has changed since registration."""
        return self.stat is not None and (found.st_size, found.st_mtime_ns) != tuple(self.stat)


@dataclass(frozen=True, kw_only=True)
class Databases:
    """The catalogue: maps an id to a database and its variants (the same schema with other rows, for test suites). Also
    has the servers on which databases from requests can be made, by engine.
    """

    known: Mapping[str, tuple[Database, ...]] = field(default_factory=dict)
    servers: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def fingerprint(self) -> str:
        """See `rewarden_verifiers.contract.Resources`. Addresses and passwords are left out."""
        if not self.known:
            return ""
        rows = sorted([name, *(item.key for item in items)] for name, items in self.known.items())
        return hashlib.blake2b(canonical(rows).encode(), digest_size=12).hexdigest()

    def find(self, id: str) -> tuple[Database, ...]:
        """Returns a registered database and its variants. Raises InvalidSample, which suggests similar names."""
        found = self.known.get(id)
        if found is None:
            hint = near(id, self.known, otherwise="") or " (see sql.catalogue)"
            raise InvalidSample(
                f"reference.database: no database {id!r} is registered here{hint}", path="reference.database"
            )
        return found
