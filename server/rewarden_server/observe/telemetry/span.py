"""A span: a piece of a request's work with its time. Knows nothing of OpenTelemetry, so that tracing that is off costs
no import and, where work is many, one look at `recording`.

What a span says never holds a sample's text: ids, names, counts, times.
"""

from __future__ import annotations

import time
from contextvars import ContextVar
from typing import Literal

Kind = Literal["internal", "server", "client"]

Value = str | int | float | bool | None
"""A value that a span can carry; None says nothing."""


class Span:
    """A span that is not recorded: it has no children, says nothing, and costs nothing."""

    __slots__ = ()

    recording = False
    """True if it is worth the while to say anything."""

    @property
    def traceparent(self) -> str | None:
        """The W3C header for requests made on its behalf, or None if there is no trace."""
        return None

    def child(self, name: str, *, kind: Kind = "internal", start_s: float | None = None, **said: Value) -> Span:
        """A span within this one, since `start_s` (Unix time; None: now)."""
        return self

    def note(self, **said: Value) -> None:
        """Say more of it."""

    def rename(self, name: str) -> None:
        """Its name, where that is known late."""

    def fail(self, reason: str) -> None:
        """It went wrong; `reason` is a name of ours, never a message, which may quote a sample."""

    def end(self, at_s: float | None = None) -> None:
        """It is over, at that time (None: now). Ending twice is ending once."""


UNTRACED = Span()

_CURRENT: ContextVar[Span] = ContextVar("span", default=UNTRACED)


def current() -> Span:
    """The span within which this task works."""
    return _CURRENT.get()


class within:
    """Gives the span. What the block does, and the tasks that it starts, are part of it, and it ends with the block.
    An exception marks it as failed, by the exception's type."""

    __slots__ = ("_before", "_span")

    def __init__(self, span: Span) -> None:
        self._span = span

    def __enter__(self) -> Span:
        self._before = _CURRENT.set(self._span)
        return self._span

    def __exit__(self, kind: type[BaseException] | None, error: object, traceback: object) -> None:
        if kind is not None:
            self._span.fail(kind.__name__)
        _CURRENT.reset(self._before)
        self._span.end()


def worked(parent: Span, name: str, queue_s: float, run_s: float) -> None:
    """A span of work that ended just now elsewhere, by the times that it reported."""
    if parent.recording:
        now = time.time()
        parent.child(name, start_s=now - run_s, queue_s=queue_s).end(now)
