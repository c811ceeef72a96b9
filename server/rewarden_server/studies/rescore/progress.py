"""The display that a person sees while a command runs: the plan before it begins, then rate and time left."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import TextIO

from rewarden.commands.terminal import say

_TTY_S = 0.2
_LOG_S = 10.0


class Watcher:
    """A receiver of what a run tells of itself. This one is silent; `Console` prints."""

    def plan(self, lines: Sequence[str]) -> None:
        """The plan of what will be done, before any work."""

    def note(self, text: str) -> None:
        """Something that a person should know."""

    def advance(self, rows: int, share: float) -> None:
        """Notes the number of rows written in this sitting, and the share of the input, from 0 to 1, that is done."""

    def end(self) -> None:
        """No more progress comes."""


class Console(Watcher):
    """Prints to standard error: one line that is rewritten on a terminal, else a line now and then."""

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream or sys.stderr
        self._clock = clock
        self._tty = self._stream.isatty()
        self._begun: tuple[float, float] | None = None
        self._shown_at = 0.0
        self._width = 0

    def plan(self, lines: Sequence[str]) -> None:
        """See `Watcher`."""
        say("\n".join(lines), file=self._stream, flush=True)

    def note(self, text: str) -> None:
        """See `Watcher`."""
        self._wipe()
        say(text, file=self._stream, flush=True)

    def advance(self, rows: int, share: float) -> None:
        """See `Watcher`."""
        now = self._clock()
        if self._begun is None:
            self._begun = (now, share)
            self._shown_at = now
            return
        if now - self._shown_at < (_TTY_S if self._tty else _LOG_S):
            return
        self._shown_at = now
        line = progress_line(rows, share, now - self._begun[0], share - self._begun[1])
        if self._tty:
            self._stream.write("\r" + line.ljust(self._width))
            self._width = len(line)
            self._stream.flush()
        else:
            say(line, file=self._stream, flush=True)

    def end(self) -> None:
        """See `Watcher`."""
        self._wipe()

    def _wipe(self) -> None:
        if self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._width = 0


class Bar(Console):
    """Shows progress alone, and only on a terminal: for commands whose work has no plan."""

    def plan(self, lines: Sequence[str]) -> None:
        """See `Watcher`."""

    def advance(self, rows: int, share: float) -> None:
        """See `Watcher`."""
        if self._tty:
            super().advance(rows, share)


def watcher(*, quiet: bool) -> Watcher:
    """Returns the watcher for a command: silent if quiet or if standard error is not a terminal."""
    return Watcher() if quiet or not sys.stderr.isatty() else Bar()


def progress_line(rows: int, share: float, seconds: float, gained: float) -> str:
    """`gained` is the share that was done in these `seconds`."""
    rate = rows / seconds if seconds else 0.0
    parts = [f"{share:6.1%}", f"{rows:,} rows", f"{rate:,.0f} rows/s"]
    if gained > 0:
        parts.append(f"{duration((1.0 - share) * seconds / gained)} left")
    return "  ".join(parts)


def duration(seconds: float) -> str:
    """`42s`, `3m 07s`, `5h 12m`, `3d 04h`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m {whole % 60:02d}s"
    if whole < 86_400:
        return f"{whole // 3600}h {whole % 3600 // 60:02d}m"
    return f"{whole // 86_400}d {whole % 86_400 // 3600:02d}h"
