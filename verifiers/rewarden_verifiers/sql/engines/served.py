"""Shared by engines behind a connection: a statement's time, and what cannot be."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from rewarden_verifiers.contract import Expired, Watch
from rewarden_verifiers.sql.databases import EngineName
from rewarden_verifiers.sql.engines.engine import GRACE_S, Caps, DatabaseFailed, QueryFailed

CONNECT_S = 5
"""Seconds that a server has to accept a connection."""
OWN_S = 10.0
"""Seconds that statements of our own have."""
LATE_S = 0.05
"""Seconds after which the server is not waited for any longer to end a statement by itself."""
_CANCEL_S = 4.0
"""Seconds that it has to be told so, before the process is killed."""


class Late(Exception):
    """A statement did not end in its time. It was stopped."""


class Run:
    """One statement under way: its limits. until: a reading of the monotonic clock."""

    def __init__(self, caps: Caps, watch: Watch) -> None:
        self.caps = caps
        self.limit_s = caps.seconds(watch)
        self._watch = watch
        self.begin()

    def begin(self) -> None:
        """Its time begins now."""
        self.until = time.monotonic() + self.limit_s + LATE_S

    def watched(self) -> AbstractContextManager[None]:
        """Kills the process if the statement neither ends nor lets itself be given up. Nothing but the statement is
        within: what the server takes for statements of our own is not the response's time.
        """
        return self._watch.limit(wall_s=self.limit_s + GRACE_S + _CANCEL_S)

    def late(self) -> BaseException:
        """Returns what it is that the time is up."""
        if self.caps.goes_on(self._watch):
            return Expired()
        return QueryFailed("time_limit", f"it ran for more than {self.caps.time_s:g} s")


@contextmanager
def ours(failures: tuple[type[Exception], ...], said: Callable[[Any], str]) -> Iterator[None]:
    """Statements of our own. failures: what an engine's library raises; said: the server's words in it. Raises
    DatabaseFailed, whatever happens: none of it is the doing of what is judged.
    """
    try:
        yield
    except Late:
        raise DatabaseFailed("its server is too slow for the verifier's own statements", ours=True) from None
    except failures as error:
        raise DatabaseFailed(f"its server failed: {said(error)}", ours=True) from None


def check_unicode(statement: str) -> None:
    """Raises QueryFailed for a statement that no server can be sent."""
    try:
        statement.encode()
    except UnicodeEncodeError:
        raise QueryFailed("syntax_error", "it is not Unicode") from None


def unserved(engine: EngineName) -> DatabaseFailed:
    """A database has to be made, and there is no server for it."""
    where = f"[sql] {engine} in the server's configuration"
    return DatabaseFailed(f"no server is configured on which it could be made ({where})", ours=True)


def uncopied(dump: str) -> DatabaseFailed:
    """A database on a server of its own is to be written. dump: the program that makes a script of it."""
    mend = f"to judge statements that write, register it as a script ({dump}) instead"
    return DatabaseFailed(f"a database on a server cannot be copied; {mend}", ours=True)
