"""The settings of API keys and of the audit log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from rewarden_server.access.rules import KeyRule
from rewarden_server.setting import Count, File, Pairs, Tables, Whole, table, tables


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySettings:
    """The API keys. Without any key, everyone who can reach the port has access.

    `named` maps a key's name to its SHA-256 in hex; `file` has a line for each key (`access/key_record.py`), which
    `rewarden keys` writes. `rules`: what a key may do, by its name; `*` applies to keys without a rule.
    """

    file: File | None = None
    named: Annotated[Mapping[str, str], Pairs, table("name", "sha256")] = field(default_factory=dict)
    rules: Annotated[Mapping[str, KeyRule], Tables, tables("keys.rules")] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditSettings:
    """The audit log. `file`: its path (if not set, there is none); `max_bytes`: its size before rotation; `keep`:
    the number of rotated files; `ids`: the most sample ids per line; `required`: whether requests are refused while it
    cannot be written."""

    file: File | None = None
    max_bytes: Whole = 100 * 1024**2
    keep: Whole = 10
    ids: Count = 1000
    required: bool = False
