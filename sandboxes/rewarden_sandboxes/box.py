"""Boxes, as callers ask for them: frozen dataclasses, with checks where they arrive.

A *box* is a slot of one's own for as long as one wants: a writable file system, any number of programs at once, no
network. Everything that is done in it is an *exec*: a program with its streams, its limits and its end.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from rewarden_sandboxes.agent.room import BOX
from rewarden_sandboxes.job import LIMITS, Clock, Limits, Program, Report
from rewarden_sandboxes.session import Begun, Taken

OF_EXEC = frozenset({"cpu_s", "wall_s", "output_bytes"})
"""The limits of an exec; where none is given it has none, and lives as long as the box."""
OF_BOX = frozenset(LIMITS) - OF_EXEC
"""The limits of a box, which all of its execs share."""

MOST_EXECS = 64
"""Programs of one box at the same time, and beside them as many pieces of work on files: a policy that begins many
programs must not keep its files from being read.
"""

_NO_LIMITS = Limits()

Work = Literal["put", "get", "list", "remove", "archive", "extract", "snapshot", "restore"]
WITH_LAYERS = "snapshot"
"""The work that looks at the layers of a box, and not at its root."""
READING_ALL = frozenset({"archive", "snapshot"})
"""The work that reads what the box's user has forbidden to itself as well. Attack: one such file, and nothing of a
folder can be had.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxSpec:
    """A box to be made. image: the short name of an image. limits: those of `OF_BOX`. env: added to every exec's."""

    image: str = "python"
    limits: Limits = _NO_LIMITS
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """Work on the files of a box. path: absolute, or relative to the working folder. depth: of a list. mode: of a file
    that is put.
    """

    work: Work
    path: str = ""
    depth: int = 1
    mode: int = 0o644

    def request(self) -> bytes:
        """Returns what the agent is told (`rewarden_sandboxes.agent.box_files`)."""
        told = {"op": self.work, "path": self.path, "depth": self.depth, "mode": self.mode}
        return json.dumps(told).encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Exec:
    """A program to be run in a box: a command line, source text in a language that is not compiled, or work on files.
    stdin: whether it is fed; else its stdin is empty. limits: those of `OF_EXEC`.
    """

    argv: Sequence[str] = ()
    program: Program | None = None
    files: Files | None = None
    stdin: bool = False
    cwd: str = BOX
    env: Mapping[str, str] = field(default_factory=dict)
    limits: Limits = _NO_LIMITS


@dataclass(frozen=True, slots=True)
class Output:
    """Some bytes that an exec has written."""

    stream: Literal["stdout", "stderr"]
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """The box is there. image: the identity of what it stands on; empty where there is none. limits: settled."""

    image: str
    limits: Limits
    enforced: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Still:
    """All programs of the box stand still; or they go on."""

    still: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A name in a box's folder, relative to what was listed. mode: its permissions. modified: seconds since 1970.
    target: of a link.
    """

    path: str
    kind: Literal["file", "folder", "link", "other"]
    size: int
    mode: int
    modified: float
    target: str | None = None


ExecEvent = Begun | Output | Taken | Clock | Report
"""A report is the last."""

BoxEvent = Clock | Still
