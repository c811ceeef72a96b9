"""The caller of the current request: its name, its permissions, its usage, and its audit entry."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rewarden.errors import Forbidden, Overloaded, Unavailable
from rewarden.types import Verdict
from rewarden_server.access.audit import Entry
from rewarden_server.access.rates import Meter

if TYPE_CHECKING:
    from rewarden_server.boxes.lease import Lease


@dataclass(slots=True)
class Caller:
    """The caller of one request. `meter`: set if its key has limits; `entry`: set if there is an audit log; `lease`:
    set if it has no key of its own, but a lease of a box, whose owner's name it then has."""

    name: str
    scopes: frozenset[str]
    meter: Meter | None = None
    entry: Entry | None = None
    lease: Lease | None = None

    def demand(self, scope: str) -> None:
        """Raises Forbidden if the key does not have that scope."""
        if scope not in self.scopes:
            raise Forbidden(
                f"the key {self.name!r} lacks the scope {scope!r}; it has "
                f"{', '.join(sorted(self.scopes)) or 'none'} (keys.rules.{self.name}.scopes)",
                scope=scope,
            )


CURRENT: ContextVar[Caller | None] = ContextVar("rewarden_caller", default=None)
"""The caller of the current request, set by the surfaces. None within `local` and the commands, which do not
distinguish callers."""


@contextmanager
def charged(samples: int) -> Iterator[None]:
    """Counts a request's samples before the work in the block. Raises Overloaded, TooLarge.

    If the caller is told to retry, the samples are given back: otherwise it would pay for each attempt at work that was
    done once, or never.
    """
    caller = CURRENT.get()
    if caller is None:
        yield
        return
    if caller.meter is not None:
        caller.meter.spend(samples)
    if caller.entry is not None:
        caller.entry.samples += samples
    try:
        yield
    except (Overloaded, Unavailable):
        if caller.meter is not None:
            caller.meter.note(-samples)
        raise


async def charge_one() -> None:
    """Counts one sample of a stream, and waits for the key's rate. Raises Overloaded if the key's daily limit is
    reached."""
    caller = CURRENT.get()
    if caller is None:
        return
    if caller.meter is not None:
        await caller.meter.wait()
    if caller.entry is not None:
        caller.entry.samples += 1


def note(verdicts: Iterable[Verdict]) -> None:
    """Adds verdicts to the audit entry of the current request."""
    caller = CURRENT.get()
    if caller is not None and caller.entry is not None:
        caller.entry.note(verdicts)


def detail(**said: Any) -> None:
    """Adds details to the audit entry of the current request: ids and names, no texts."""
    caller = CURRENT.get()
    if caller is not None and caller.entry is not None:
        caller.entry.detail.update(said)
