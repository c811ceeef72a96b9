"""The requests and events of boxes: frozen dataclasses, which their receivers validate.

A *box* is a slot that one caller keeps for as long as it wants: a writable file system, any number of programs at once,
and no network, or a few names through the host's proxy. All work in it is done by an *exec*: a program with its
streams, its limits and its report.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from rewarden_sandboxes.job import LIMITS, Clock, Limits, Program, Report
from rewarden_sandboxes.session import Begun, Taken

OF_EXEC = frozenset({"cpu_s", "wall_s", "output_bytes"})
"""The limits of an exec; without any, it can run as long as the box lives."""
OF_BOX = frozenset(LIMITS) - OF_EXEC
"""The limits of a box, which all of its execs share."""

MOST_EXECS = 64
"""The most concurrent programs of one box. Separately, it can have as many concurrent file operations: a policy that
starts many programs must not block the reading of its files."""

_NO_LIMITS = Limits()

Work = Literal["put", "get", "list", "remove", "archive", "extract", "snapshot", "restore", "left"]
WITH_LAYERS = "snapshot"
"""The operation on the layers of a box instead of its root."""
READING_ALL = frozenset({"archive", "snapshot"})
"""The operations that also read files without read permission for the box's user. Attack: one such file, which makes a
whole folder unreadable."""


def is_own(image: str) -> bool:
    """Returns whether an image's name is immutable: an id, or a name with a digest. All other names are the short names
    of the project's own images.
    """
    return image.startswith("sha256:") or "@sha256:" in image


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxSpec:
    """The specification of a box. image: the short name of an image, or an own image (`is_own`). limits: those of
    `OF_BOX`. env: added to every exec's. network: the names that its programs may reach (see `network.rules`), each
    allowed by the host. label: the box's name in the record of the network.
    """

    image: str = "python"
    limits: Limits = _NO_LIMITS
    env: Mapping[str, str] = field(default_factory=dict)
    network: Sequence[str] = ()
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """An operation on the files of a box. path: absolute, or relative to the working folder. depth: of `list`. mode: of
    the file that `put` writes.
    """

    work: Work
    path: str = ""
    depth: int = 1
    mode: int = 0o644

    def request(self) -> bytes:
        """Returns the request for the agent (`rewarden_sandboxes.agent.box_files`)."""
        told = {"op": self.work, "path": self.path, "depth": self.depth, "mode": self.mode}
        return json.dumps(told).encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Exec:
    """A program to run in a box: a command line, source text, or an operation on files. Source text in a language that
    is compiled has no other files; compiling it counts as running it, and a compiler that fails is how it ends. stdin:
    the caller writes its stdin; otherwise that is empty. cwd: absolute, or relative to the box's working folder.
    limits: those of `OF_EXEC`.
    """

    argv: Sequence[str] = ()
    program: Program | None = None
    files: Files | None = None
    stdin: bool = False
    cwd: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    limits: Limits = _NO_LIMITS


@dataclass(frozen=True, slots=True)
class Output:
    """Some bytes of an exec's output."""

    stream: Literal["stdout", "stderr"]
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """The box is open. image: the identity of its image; empty if it has none. limits: with the defaults filled in.
    folder: its working folder.
    """

    image: str
    limits: Limits
    enforced: Mapping[str, str]
    folder: str


@dataclass(frozen=True, slots=True)
class Still:
    """All programs of the box are paused, or have been resumed."""

    still: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An entry of a box's folder. path: relative to the listed folder. mode: its permissions. modified: seconds since
    1970. target: of a link.
    """

    path: str
    kind: Literal["file", "folder", "link", "other"]
    size: int
    mode: int
    modified: float
    target: str | None = None


ExecEvent = Begun | Output | Taken | Clock | Report
"""The events of an exec. A report is the last."""

BoxEvent = Clock | Still
