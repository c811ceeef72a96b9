"""The search among many tasks for the one that kills their process: they are retried group by group."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TypeVar

T = TypeVar("T")

_PARTS = 8
"""Number of groups into which suspects are split: among 512, the one that kills its process is alone at the third
death."""

_MOST_DEATHS = 16
"""Deaths allowed in one trial: each costs the time to start a process and load its models. Attack: hundreds of tasks
that each kill the process would keep it from all work for hours."""


async def culprits(suspects: Sequence[T], attempt: Callable[[list[T]], Awaitable[Sequence[T]]]) -> AsyncIterator[T]:
    """The tasks that kill their process, as they are found.

    attempt: runs some tasks with nothing beside them, and returns those during which the process died, or none. A task
    that dies alone is a culprit; if several do, each part of them is tried by itself. After too many deaths, all
    remaining suspects are given up as culprits. Exceptions from `attempt` end the trial.
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
    """At most `_PARTS` groups of about the same size."""
    size = -(-len(suspects) // _PARTS)
    return [list(suspects[start : start + size]) for start in range(0, len(suspects), size)] if size else []
