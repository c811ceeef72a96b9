"""The interfaces of launchers and of the places that they start."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from rewarden_sandboxes.errors import NoRoom
from rewarden_sandboxes.images import TIERS, read_images

LABEL = "rewarden.sandbox"
"""The label of all our containers, by which `doctor --clean` finds those that a killed host left behind."""

ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "PYTHONHASHSEED": "0"} | dict.fromkeys(
    ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"
)
"""The environment of a slot's first process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Defaults:
    """The defaults of an own image. env: the variables that every program gets. folder: the initial working folder."""

    env: Mapping[str, str]
    folder: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The parameters that a slot is started with. name: unique on the machine. image: an image's short name, or an own
    image. folder: on the host, holds the socket. uid: its user and group; an own image has those that it names.
    memory_mb, processes: limits of the whole slot, including its zygotes. mounts: path inside, below /mnt, to a folder
    of this machine, read-only.
    """

    name: str
    image: str
    folder: Path
    uid: int
    memory_mb: int
    processes: int
    mounts: Mapping[str, str] = field(default_factory=dict)

    def check_mounts(self) -> None:
        """Raises NoRoom for a missing folder, for which an engine silently makes an empty one."""
        for outside in self.mounts.values():
            if not os.path.isdir(outside):
                raise NoRoom(f"the folder that {self.image!r} mounts does not exist here: {outside}")


class Place(Protocol):
    """A started slot, as its launcher knows it. `image`: the identity of the image's content; empty if it has none.
    `defaults`: of an own image, None for others.
    """

    image: str
    defaults: Defaults | None

    async def counters(self) -> dict[str, int]:
        """Returns open descriptors of the place's cgroup counters, by name; empty if it has none. The caller closes
        them.
        """

    async def end(self) -> None:
        """Kills every process in the place, and removes everything that was made for it. Never raises; idempotent."""

    async def over(self) -> None:
        """Waits until the place has died."""

    async def last_words(self) -> str:
        """Returns the last output of the place, for an error message."""


class Launcher(Protocol):
    """Starts slots."""

    name: str

    async def problem(self, image: str) -> str | None:
        """Returns why no slot of this image can be started, with the fix; None if one can."""

    async def start(self, lease: Lease) -> Place:
        """Starts a slot, which will connect to `lease.folder/host.sock`. Raises NoRoom."""

    async def image_id(self, image: str) -> str:
        """Returns the identity of an image's content, which changes with it; empty if there is no such image."""

    def close(self) -> None:
        """Releases the launcher's resources."""


def build_command(image: str, kind: Literal["images", "rootfs"]) -> str:
    """Returns the command that builds an image or its root file system, for an error message."""
    if image not in read_images():
        return "build one of your own (docs/languages.md)"
    words = ["rewarden sandbox-host build", *(["--rootfs"] if kind == "rootfs" else [])]
    return " ".join([*words, *(["--only", image] if image in TIERS else [])])
