"""Ties each request to a judge's server to the sample, or group, that caused it: also one that failed, or that came to
its end after its caller had left.

A request that several samples share belongs to the one that asked first; a remembered reply is not a request.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

from rewarden_verifiers.chat import Usage

Spent = Callable[[Usage], None]

_SPENT: ContextVar[Spent | None] = ContextVar("rewarden_spent", default=None)


class spending:
    """Within the block, also in the tasks that it starts, `spent` is told the usage of each request; None: nobody."""

    __slots__ = ("_before", "_spent")

    def __init__(self, spent: Spent | None) -> None:
        self._spent = spent

    def __enter__(self) -> None:
        self._before = _SPENT.set(self._spent)

    def __exit__(self, *raised: object) -> None:
        _SPENT.reset(self._before)


def spend(usage: Usage) -> None:
    """Tells the usage of a request, or its upper bound, to whoever caused it."""
    spent = _SPENT.get()
    if spent is not None:
        spent(usage)
