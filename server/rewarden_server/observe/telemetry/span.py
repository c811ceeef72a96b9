"""A span: a timed part of a request's work. Independent of OpenTelemetry, so that disabled tracing costs no import and,
on busy paths, only a check of `recording`.

Spans contain ids, names, counts and times, never a sample's text.
"""

from __future__ import annotations

import time
from contextvars import ContextVar
from typing import Literal

Kind = Literal["internal", "server", "client"]

Value = str | int | float | bool | None
"""A value that a span can carry. None is left out."""


class Span:
    """A span that is not recorded: it has no children, stores nothing, and costs nothing."""

    __slots__ = ()

    recording = False
    """True if it is worth collecting values for this span."""

    @property
    def traceparent(self) -> str | None:
        """The W3C header for outgoing requests on behalf of this span, or None if there is no trace."""
        return None

    def child(self, name: str, *, kind: Kind = "internal", start_s: float | None = None, **said: Value) -> Span:
        """Returns a span within this one that began at `start_s` (Unix time; None: now)."""
        return self

    def note(self, **said: Value) -> None:
        """Adds attributes."""

    def rename(self, name: str) -> None:
        """Sets the name, if it becomes known late."""

    def fail(self, reason: str) -> None:
        """Marks the span as failed. `reason` is a name of ours, never a message, which may quote a sample."""

    def end(self, at_s: float | None = None) -> None:
        """Ends the span at that time (None: now). Only the first call has an effect."""


UNTRACED = Span()

_CURRENT: ContextVar[Span] = ContextVar("span", default=UNTRACED)


def current() -> Span:
    """Returns the span of the current task."""
    return _CURRENT.get()


class within:
    """Makes a span current in the block and in tasks started there, and ends it with the block. An exception marks it
    as failed, by the exception's type."""

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
    """Adds a span of work that has just ended elsewhere, by the times that it reported."""
    if parent.recording:
        now = time.time()
        parent.child(name, start_s=now - run_s, queue_s=queue_s).end(now)
