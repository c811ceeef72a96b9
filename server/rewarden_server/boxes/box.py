"""One open box: its place on a sandbox host, its times, and the programs in it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rewarden.boxes.types import BoxInfo, BoxUsage, ExecState
from rewarden_server.boxes.running import Running
from rewarden_server.boxes.trajectory import Trajectory

if TYPE_CHECKING:
    from rewarden_sandboxes.notebook import Notebook
    from rewarden_sandboxes.remote_box import RemoteBox


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """The part of a key's quota that a box takes, MiB."""

    memory_mb: int
    disk_mb: int


@dataclass(eq=False, slots=True, kw_only=True)
class Box:
    """`opened`, `ends` and `used` are on the registry's clock; `created_at` and `expires_at` are seconds since the
    epoch. reason: set once it has ended. untouched: the caller has put nothing into it. trajectory: only for a box
    opened for a task. starting: notebooks that are being started; they count against the limit."""

    id: str
    owner: str
    image: str
    rollout: str | None
    task: str | None
    env: dict[str, str]
    network: tuple[str, ...]
    trajectory: Trajectory | None
    share: Share
    remote: RemoteBox
    created_at: float
    expires_at: float
    ends: float
    idle_s: float
    used: float
    reason: str | None = None
    untouched: bool = True
    active: int = 0
    execs: dict[int, Running] = field(default_factory=dict)
    notebooks: dict[int, Notebook] = field(default_factory=dict)
    starting: int = 0
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def over(self, now: float) -> str | None:
        """Returns the reason to end the box now: `expired` or `idle`; None if there is none."""
        if now >= self.ends:
            return "expired"
        return "idle" if not self.active and now - self.used >= self.idle_s else None

    def info(self, usage: BoxUsage | None = None) -> BoxInfo:
        """Returns its state for callers."""
        return BoxInfo(
            id=self.id,
            state="open" if self.reason is None else "ended",
            reason=self.reason,
            image=self.image,
            image_id=self.remote.image or None,
            rollout=self.rollout,
            created_at=self.created_at,
            expires_at=self.expires_at,
            idle_s=self.idle_s,
            limits=self.remote.limits.given(),
            enforced=dict(self.remote.enforced),
            usage=usage,
            execs=tuple(_state(each) for each in self.execs.values()),
            task=self.task,
        )


def _state(running: Running) -> ExecState:
    result = running.result
    return ExecState(
        exec=running.number,
        state="ended" if running.over else "running",
        background=running.background,
        status=None if result is None else result.status,
    )
