"""The attempts to begin a job or a session while hosts fail."""

from __future__ import annotations

import asyncio
import random

from rewarden_sandboxes.errors import Busy, HostError, HostLost, Leaving, NoRoom
from rewarden_server.engine.lanes.hosts import Hosts, Lent, Wants

_TRIES = 2
"""The number of times that a job is begun if its hosts are lost: a job that kills its host must not be retried forever.
A host without room counts alike, because it may have taken long to find out."""

_BUSY_S = 0.1
_BUSY_DOUBLINGS = 6
"""The wait for a busy host grows up to 64-fold."""

_LEFT_TRIES = 8
"""A host that exits reports so before it takes a job, or kills the jobs that it took. During a restart of all hosts,
this can happen with one after the other."""


class HostRetry:
    """The attempts of one job or session.

    patient: wait as long as all hosts are overloaded (other servers may use them), which is not a failure; the caller
    enforces the deadline.
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
        """Returns the host to try next. Raises HostError."""
        self._lent = await self._hosts.lend(self._wants, patience_s, avoid=self._avoid, patient=self._patient)
        return self._lent

    async def after(self, failed: HostError) -> None:
        """Returns when the next host can be tried. Raises the failure if no retry is allowed."""
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
                # Jitter, so that jobs do not retry at the same moments.
                await asyncio.sleep(_BUSY_S * 2**self._busy * random.uniform(0.5, 1.5))
            case _:
                raise failed
