"""The caller of a request that is under way: its name, what it may do, what it used, what the audit log says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from rewarden.errors import Forbidden, Overloaded, Unavailable
from rewarden.types import Verdict
from rewarden_server.access.audit import Entry
from rewarden_server.access.rates import Meter


@dataclass(slots=True)
class Caller:
    """One request's. `meter`: where its key has bounds; `entry`: where there is an audit log."""

    name: str
    scopes: frozenset[str]
    meter: Meter | None = None
    entry: Entry | None = None

    def demand(self, scope: str) -> None:
        """Raises Forbidden where the key has not that scope."""
        if scope not in self.scopes:
            raise Forbidden(
                f"the key {self.name!r} lacks the scope {scope!r}; it has "
                f"{', '.join(sorted(self.scopes)) or 'none'} (keys.rules.{self.name}.scopes)",
                scope=scope,
            )


CURRENT: ContextVar[Caller | None] = ContextVar("rewarden_caller", default=None)
"""The caller of the current request, set by the surfaces. None within `local` and the commands, which have no callers
to tell apart."""


@contextmanager
def charged(samples: int) -> Iterator[None]:
    """Counts a request's samples before its work, which is done in the block. Raises Overloaded, TooLarge.

    The samples are given back where the caller is told to come back: else it would pay for every try of work that was
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
    """Count one sample of a stream, waiting for the key's rate. Raises Overloaded when its day is used up."""
    caller = CURRENT.get()
    if caller is None:
        return
    if caller.meter is not None:
        await caller.meter.wait()
    if caller.entry is not None:
        caller.entry.samples += 1


def note(verdicts: Iterable[Verdict]) -> None:
    """Have the audit log name verdicts of the request under way."""
    caller = CURRENT.get()
    if caller is not None and caller.entry is not None:
        caller.entry.note(verdicts)


def detail(**said: Any) -> None:
    """Have the audit log say more of the request under way: ids and names, no texts."""
    caller = CURRENT.get()
    if caller is not None and caller.entry is not None:
        caller.entry.detail.update(said)
