"""The interfaces of a launcher and of what it starts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from rewarden_sandboxes.errors import NoRoom
from rewarden_sandboxes.images import TIERS, read_images

LABEL = "rewarden.sandbox"
"""On every container of ours: `doctor --clean` finds by it what a killed host left."""

ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "PYTHONHASHSEED": "0"} | dict.fromkeys(
    ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"
)
"""The variables that a slot's first process finds in its environment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The parameters that a slot is started with. name: unique on the machine. image: an image's short name. folder: on
    the host, holds the socket. uid: its user and group. memory_mb, processes: of the whole slot, with what is warm in
    it. mounts: path inside, below /mnt, to a folder of this machine, read-only.
    """

    name: str
    image: str
    folder: Path
    uid: int
    memory_mb: int
    processes: int
    mounts: Mapping[str, str] = field(default_factory=dict)

    def check_mounts(self) -> None:
        """Raises NoRoom for a folder that is not there: an engine would make an empty one in its place."""
        for outside in self.mounts.values():
            if not os.path.isdir(outside):
                raise NoRoom(f"what {self.image!r} is to mount is no folder here: {outside}")


class Place(Protocol):
    """A started slot, as its launcher knows it. `image`: the identity of what it was started from, which no other
    content has; empty where there is none.
    """

    image: str

    async def counters(self) -> dict[str, int]:
        """Open descriptors of the place's cgroup counters, by name; the caller closes them. Empty where none."""

    async def end(self) -> None:
        """Kill all that lives there and remove what was made for it. Never raises; twice is once."""

    async def over(self) -> None:
        """Returns when the place has died."""

    async def last_words(self) -> str:
        """Returns what the place said before it died, for an error's text."""


class Launcher(Protocol):
    """Starts slots."""

    name: str

    async def problem(self, image: str) -> str | None:
        """Returns why no slot of this image can be started, with what mends it; None where one can."""

    async def start(self, lease: Lease) -> Place:
        """Start a slot, which will connect to `lease.folder/host.sock`. Raises NoRoom."""

    async def image_id(self, image: str) -> str:
        """Returns what an image really is: changes when it does. Empty where it is not there."""

    def close(self) -> None:
        """Let go of what the launcher holds."""


def build_command(image: str, kind: Literal["images", "rootfs"]) -> str:
    """Returns the command that makes an image or its root file system, for an error's text."""
    if image not in read_images():
        return "build one of your own (docs/languages.md)"
    words = ["rewarden sandbox-host build", *(["--rootfs"] if kind == "rootfs" else [])]
    return " ".join([*words, *(["--only", image] if image in TIERS else [])])
