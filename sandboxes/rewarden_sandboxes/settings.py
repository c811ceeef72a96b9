"""The settings of the sandbox host."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_network
from typing import Literal

from rewarden_sandboxes.job import Limits
from rewarden_sandboxes.network.rules import read_rule
from rewarden_sandboxes.rootfs import default_folder

ROOM_LIMITS = Limits(
    cpu_s=10.0, wall_s=10.0, memory_mb=512, processes=64, output_bytes=16 * 1024**2, disk_mb=64, open_files=256
)
"""The limits of a run, unless the job or the language sets others."""

MOST_LIMITS = Limits(
    cpu_s=600.0, wall_s=600.0, memory_mb=4096, processes=512, output_bytes=64 * 1024**2, disk_mb=2048, open_files=4096
)
"""The most that a job may ask for."""


def cores() -> int:
    """Returns the number of CPUs that this process may use."""
    return len(os.sched_getaffinity(0))


def default_slots() -> int:
    """Returns the default number of slots: many more than cores, because idle programs occupy a slot without a CPU."""
    return max(8, 6 * cores())


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSettings:
    """Settings of a host.

    launcher: `auto` uses docker if there is an engine with the images, otherwise bwrap, otherwise refuses jobs. slots:
    the most slots of one image for runs. sessions: the most sessions, programs whose stdin and stdout the caller
    streams. boxes: the most boxes. warm_boxes: slots kept ready for boxes of an image, from the first box on.
    box_rest_s: how long a box in which nothing runs keeps its slot (see `open_box`); 0: until it is closed. warm: slots
    kept ready; the others are started on demand. cpu_permits: the most runs that use a CPU at the same time; an
    idle run gives its permit back. runtime: the container engine's (`runc`, `runsc`; None: the engine's default).
    apparmor: the profile's name; None: `unconfined` if AppArmor is active, because Docker's default profile denies
    mount. own_images: patterns of further images that boxes may have, as requests name them: an id (`sha256:*`) or a
    name with its digest (`registry.example/tasks/*`); none by default. image_prefix, image_tag: parts of the images'
    names. rootfs: a folder with a root file system for each image (bwrap); `host`: the machine's own /usr, read-only.
    uid: user and group id of the first slot; each slot has its own. languages: a YAML file with more languages. limits,
    max_limits: of one run, by default and at most. queue: the most jobs that wait; queue_timeout_s: the longest wait of
    a job for a room, unless the job sets its own. runs: the number of runs after which a slot is replaced. cpus: cores
    that one slot may use at once. rooms: `no`: each run has a container of its own; `auto`: the same, but only if slots
    cannot make namespaces. drain_s: how long a host that was told to end lets running jobs finish before it kills them.
    compile_cache_mb: MiB of compiled programs kept in memory and reused for the same source; 0: none. folder: the
    folder of the slots' sockets; None: the temporary folder. lean: Lean projects, name to the folder of a lake project
    or of a toolchain; the first one's compiler is also the language `lean`. lean_memory_mb: the memory limit of each of
    their programs. network: names that boxes may reach through the host's proxy, if they ask for them (see
    `network.rules`); none by default. network_private: addresses and networks that such names may lead to although they
    are not public. network_log: the file in which each request is recorded; needed with network. network_mb: MiB that a
    box may send and receive together; network_mb_s: MiB a second.
    """

    launcher: Literal["auto", "docker", "bwrap", "none"] = "auto"
    slots: int = field(default_factory=default_slots)
    sessions: int = field(default_factory=lambda: 2 * cores())
    boxes: int = 64
    warm_boxes: int = 1
    box_rest_s: float = 30.0
    warm: int = field(default_factory=cores)
    cpu_permits: int = field(default_factory=lambda: cores() + 1)
    runtime: str | None = None
    apparmor: str | None = None
    own_images: Sequence[str] = ()
    image_prefix: str = "rewarden-sandbox-"
    image_tag: str = "latest"
    rootfs: str = field(default_factory=lambda: str(default_folder()))
    uid: int = 200_000
    languages: str | None = None
    lean: Mapping[str, str] = field(default_factory=dict)
    lean_memory_mb: int = 8192
    limits: Limits = ROOM_LIMITS
    max_limits: Limits = MOST_LIMITS
    queue: int = 4096
    queue_timeout_s: float = 60.0
    runs: int = 5000
    cpus: float = field(default_factory=lambda: float(min(2, cores())))
    rooms: Literal["auto", "yes", "no"] = "auto"
    drain_s: float = 5.0
    compile_cache_mb: int = 256
    folder: str | None = None
    network: Sequence[str] = ()
    network_private: Sequence[str] = ()
    network_log: str | None = None
    network_mb: int = 1024
    network_mb_s: float = 16.0

    def __post_init__(self) -> None:
        """Raises ValueError, which names the setting and its valid values."""
        for name, known in (("launcher", ("auto", "docker", "bwrap", "none")), ("rooms", ("auto", "yes", "no"))):
            if getattr(self, name) not in known:
                raise ValueError(f"{name} must be one of {', '.join(known)}, not {getattr(self, name)!r}")
        for name in (
            "slots",
            "sessions",
            "boxes",
            "warm",
            "cpu_permits",
            "queue",
            "runs",
            "uid",
            "lean_memory_mb",
            "network_mb",
        ):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name} must be a whole number above 0, not {value!r}")
        for name in ("compile_cache_mb", "warm_boxes"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int):
                raise ValueError(f"{name} must be a whole number, not {value!r}")
            if value < 0:
                raise ValueError(f"{name} must be at least 0, not {value!r}")
        if isinstance(self.own_images, str) or not all(isinstance(pattern, str) for pattern in self.own_images):
            raise ValueError(f"own_images must be a list of patterns, not {self.own_images!r}")
        if not isinstance(self.lean, Mapping) or not all(
            isinstance(text, str) for pair in self.lean.items() for text in pair
        ):
            raise ValueError(f"lean must map names to folders, not {self.lean!r}")
        self._check_network()
        least = ", at least 0"
        words_of = {"drain_s": least, "box_rest_s": least}
        words_of |= dict.fromkeys(("queue_timeout_s", "cpus", "network_mb_s"), " above 0")
        for name, words in words_of.items():
            value = getattr(self, name)
            number = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < float("inf")
            if not number or (value == 0 and words != least):
                raise ValueError(f"{name} must be a number{words}, not {value!r}")

    def _check_network(self) -> None:
        """Raises ValueError for rules that cannot be read, and for rules without a record."""
        for name, read in (("network", read_rule), ("network_private", ip_network)):
            texts = getattr(self, name)
            if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
                raise ValueError(f"{name} must be a list of strings, not {texts!r}")
            for text in texts:
                try:
                    read(text)
                except ValueError as error:
                    raise ValueError(f"{name}: {error}") from None
        if self.network and not self.network_log:
            raise ValueError("network_log must name a file, in which requests are recorded, if network lists names")
