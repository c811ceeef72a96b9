"""The settings of who may ask, and of what is noted of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from rewarden_server.access.rules import KeyRule
from rewarden_server.setting import Count, File, Pairs, Tables, Whole, table, tables


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySettings:
    """The keys of those who may ask. Without any key everyone who reaches the port may.

    `named` maps a key's name to its SHA-256 in hex; `file` holds a line for each key (`access/key_record.py`), which
    `rewarden keys` writes. `rules`: what a key may do, by its name; `*` is for those without one.
    """

    file: File | None = None
    named: Annotated[Mapping[str, str], Pairs, table("name", "sha256")] = field(default_factory=dict)
    rules: Annotated[Mapping[str, KeyRule], Tables, tables("keys.rules")] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditSettings:
    """The audit log. `file`: where it lies (without it there is none); `max_bytes`: from which it is put aside; `keep`:
    files put aside; `ids`: samples' ids in one line; `required`: whether requests are refused while it cannot be
    written."""

    file: File | None = None
    max_bytes: Whole = 100 * 1024**2
    keep: Whole = 10
    ids: Count = 1000
    required: bool = False
