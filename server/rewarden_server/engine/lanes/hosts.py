"""The hosts that run programs: the interface that a lane needs, for our own hosts and for remote ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rewarden_sandboxes.client import HostClient


@dataclass(frozen=True, slots=True, kw_only=True)
class Wants:
    """The requirements on a host: languages that it must have, all in one image; for a session, or for a job."""

    languages: tuple[str, ...]
    session: bool = False


def row_of(rows: Mapping[str, Any], language: str) -> Mapping[str, Any] | None:
    """Returns the row of a language in a host's status, by its name or an alias in any case."""
    name = language.lower()
    found = rows.get(name) or next((row for row in rows.values() if name in row.get("aliases", ())), None)
    return found if isinstance(found, Mapping) else None


class Lent:
    """A host that jobs can be sent to. Its `name` is unique. By default it ignores what it is notified of."""

    name: str
    client: HostClient

    def load(self, *, session: bool) -> AbstractContextManager[None]:
        """Wraps each call to the host."""
        return nullcontext()

    def lost(self) -> None:
        """The host was lost during a job."""

    def busy(self) -> None:
        """The host is overloaded."""

    def leaves(self) -> None:
        """The host announced that it is about to exit."""


class Hosts(ABC):
    """Made and used on one loop. `changed`: called if `slots` may have changed."""

    changed: Callable[[], None]

    @abstractmethod
    def start(self) -> None:
        """Starts the hosts, or the search for them; returns at once."""

    @abstractmethod
    async def close(self) -> None:
        """Releases all hosts: jobs that wait there end as lost."""

    @abstractmethod
    async def lend(self, wants: Wants, patience_s: float, *, avoid: Collection[str] = (), patient: bool = True) -> Lent:
        """Returns a host for this job, one of `avoid` only if there is no other.

        Waits up to `patience_s` seconds for one; if not patient, only if there was one before. Raises HostLost, NoRoom.
        """

    @abstractmethod
    def others(self, wants: Wants, avoid: Collection[str]) -> bool:
        """Returns whether this can be sent at once to a host that is not in `avoid`."""

    @abstractmethod
    async def until_back(self, lent: Lent) -> None:
        """Waits, after a host was lost, until it makes sense to ask for the next."""

    @property
    @abstractmethod
    def slots(self) -> int | None:
        """Returns the slots of all available hosts together, or None if that is unknown."""

    @abstractmethod
    async def status(self) -> dict[str, Any]:
        """Returns the state, ready for JSON; see `SandboxLane.status`. Never raises."""
