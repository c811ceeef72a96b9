"""The search among many tasks for the one that kills their process: they are tried again, group by group."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TypeVar

T = TypeVar("T")

_PARTS = 8
"""Into how many groups suspects are split: of 512, one that kills its process is alone at the third death."""

_MOST_DEATHS = 16
"""In one trial: each costs the time in which a process starts and loads its models. Attack: hundreds of tasks that each
kill it would keep it from all work for hours."""


async def culprits(suspects: Sequence[T], attempt: Callable[[list[T]], Awaitable[Sequence[T]]]) -> AsyncIterator[T]:
    """Those that kill their process, as they are found.

    attempt: tries some together, with nothing beside them, and says under which of them the process died; none: it did
    not. One that dies alone is a culprit; of more, each part is tried by itself. When too many have died, all that are
    still suspected are given up as culprits. What `attempt` raises ends the trial.
    """
    groups = deque(_parts(suspects))
    deaths = 0
    while groups:
        group = groups.popleft()
        left = await attempt(group)
        if not left:
            continue
        deaths += 1
        if deaths >= _MOST_DEATHS:
            for suspect in [*left, *(one for waiting in groups for one in waiting)]:
                yield suspect
            return
        if len(group) == len(left) == 1:
            yield left[0]
        else:
            groups.extendleft(reversed(_parts(left)))


def _parts(suspects: Sequence[T]) -> list[list[T]]:
    """At most so many, of about the same size."""
    size = -(-len(suspects) // _PARTS)
    return [list(suspects[start : start + size]) for start in range(0, len(suspects), size)] if size else []
