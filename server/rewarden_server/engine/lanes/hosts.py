"""The hosts that run programs: the interface that a lane needs, whether the hosts are ours or others'."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rewarden_sandboxes.client import HostClient


@dataclass(frozen=True, slots=True, kw_only=True)
class Wants:
    """The demands on a host: languages that it must have, all in one image; for a session, or for a job."""

    languages: tuple[str, ...]
    session: bool = False


class Lent:
    """A host that jobs can be sent to. Its `name` is unique. By default it takes no note of what it is told."""

    name: str
    client: HostClient

    def load(self, *, session: bool) -> AbstractContextManager[None]:
        """Around what is sent there."""
        return nullcontext()

    def lost(self) -> None:
        """It went away in the middle."""

    def busy(self) -> None:
        """It has too much to do."""

    def leaves(self) -> None:
        """It said that it is about to end."""


class Hosts(ABC):
    """Made and used on one loop. `changed`: called when `slots` may have."""

    changed: Callable[[], None]

    @abstractmethod
    def start(self) -> None:
        """Begin to have hosts; returns at once."""

    @abstractmethod
    async def close(self) -> None:
        """Let go of all of them: what waits there ends as lost."""

    @abstractmethod
    async def lend(self, wants: Wants, patience_s: float, *, avoid: Collection[str] = (), patient: bool = True) -> Lent:
        """Returns a host for this job, one of `avoid` only where there is no other. Waits `patience_s` seconds for one;
        if not patient, only where there was one before. Raises HostLost, NoRoom.
        """

    @abstractmethod
    def others(self, wants: Wants, avoid: Collection[str]) -> bool:
        """Returns whether there is a host to which this can be sent at once, not one of `avoid`."""

    @abstractmethod
    async def until_back(self, lent: Lent) -> None:
        """Waits, after a host was lost, until it makes sense to ask for the next."""

    @property
    @abstractmethod
    def slots(self) -> int | None:
        """The slots of all hosts that are there together, or None where that is not known."""

    @abstractmethod
    async def status(self) -> dict[str, Any]:
        """Returns the state, ready for JSON; see `SandboxLane.status`. Never raises."""
