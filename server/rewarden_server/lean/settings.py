"""The settings of Lean: its projects, and its processes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from rewarden_sandboxes.settings import cores
from rewarden_server.setting import Pairs, Positive, Text, Whole, table
from rewarden_verifiers.schema import AfterValidator

_PROJECTS = table("name", "folder or address")
_WARM = table("project", "import lines")


def _expanded(projects: Mapping[str, str]) -> Mapping[str, str]:
    # A leading ~ alone: what else stands there may be an address, or Lean.
    return {name: os.path.expanduser(place) for name, place in projects.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class LeanSettings:
    """The places of Lean's projects, and the number of Lean processes.

    projects: maps names to the folder of a built lake project, the folder of a toolchain, or the URL of a server with
    Kimina's protocol (http://…). If empty, each toolchain of elan is a project, named by its version. default: the
    project of samples that name none; if not set, the first one. warm: maps projects to import lines that are loaded
    before the first sample arrives. processes: the most Lean processes at once, over all import headers; each can use
    memory_mb. snippets: a process is replaced after this many. cpu_s, wall_s: limits of one text, unless the caller
    sets them. kept_mb: the cache of compiled references. kimina_key: the key for remote projects.
    """

    projects: Annotated[Mapping[str, str], Pairs, AfterValidator(_expanded), table("name", "folder or address")] = (
        field(default_factory=dict)
    )
    default: Text | None = None
    warm: Annotated[Mapping[str, str], Pairs, _WARM] = field(default_factory=dict)
    processes: Whole = field(default_factory=cores)
    memory_mb: Whole = 8192
    snippets: Whole = 1000
    cpu_s: Positive = 60.0
    wall_s: Positive = 30.0
    kept_mb: Whole = 256
    kimina_key: Text | None = None
