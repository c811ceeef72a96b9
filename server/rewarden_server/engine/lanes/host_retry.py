"""The tries to begin a job or a session, where hosts fail under it."""

from __future__ import annotations

import asyncio
import random

from rewarden_sandboxes.errors import Busy, HostError, HostLost, Leaving, NoRoom
from rewarden_server.engine.lanes.hosts import Hosts, Lent, Wants

_TRIES = 2
"""The number of times that a job is begun when hosts are lost under it: one that kills its host must not be tried for
ever. A host that has no room for it may have spent long on finding out, so that counts alike."""

_BUSY_S = 0.1
_BUSY_DOUBLINGS = 6
"""The wait for a host that is busy grows up to 64 times."""

_LEFT_TRIES = 8
"""A host that ends says so before it takes anything, or kills what it took: one after the other may, when all are
started again."""


class HostRetry:
    """The tries of one job or session. patient: wait as long as all hosts are overloaded (other servers may use them),
    which is not a failure; the caller enforces the deadline.
    """

    def __init__(self, hosts: Hosts, wants: Wants, *, patient: bool) -> None:
        self._hosts = hosts
        self._wants = wants
        self._patient = patient
        self._lent: Lent | None = None
        self._avoid: set[str] = set()
        self._lost = 0
        self._busy = 0
        self._left = 0

    async def host(self, patience_s: float) -> Lent:
        """The host to try next. Raises HostError."""
        self._lent = await self._hosts.lend(self._wants, patience_s, avoid=self._avoid, patient=self._patient)
        return self._lent

    async def after(self, failed: HostError) -> None:
        """Return when the next may be tried. Raises what failed where it should not be."""
        lent = self._lent
        assert lent is not None
        match failed:
            case HostLost():
                self._lost += 1
                lent.lost()
                self._avoid.add(lent.name)
                if self._lost >= _TRIES:
                    raise failed
                await self._hosts.until_back(lent)
            case Leaving():
                self._left += 1
                lent.leaves()
                if self._left >= _LEFT_TRIES:
                    raise failed
                await self._hosts.until_back(lent)
            case NoRoom():
                self._lost += 1
                self._avoid.add(lent.name)
                if self._lost >= _TRIES or not self._hosts.others(self._wants, self._avoid):
                    raise failed
            case Busy():
                lent.busy()
                if self._hosts.others(self._wants, ()):
                    return
                if not self._patient:
                    raise failed
                self._busy = min(self._busy + 1, _BUSY_DOUBLINGS)
                # Not all of them in the same moments.
                await asyncio.sleep(_BUSY_S * 2**self._busy * random.uniform(0.5, 1.5))
            case _:
                raise failed
