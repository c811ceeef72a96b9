"""The shared parts of engines with a server: a statement's time, and unsupported cases."""

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
"""Seconds that our own statements have."""
LATE_S = 0.05
"""Seconds after the limit until we stop waiting for the server to end a statement by itself."""
_CANCEL_S = 4.0
"""Seconds that the server has to accept a cancellation before the process is killed."""


class Late(Exception):
    """A statement did not end in its time. It was stopped."""


class Run:
    """A running statement with its limits. until: a reading of the monotonic clock."""

    def __init__(self, caps: Caps, watch: Watch) -> None:
        self.caps = caps
        self.limit_s = caps.seconds(watch)
        self._watch = watch
        self.begin()

    def begin(self) -> None:
        """Starts its clock."""
        self.until = time.monotonic() + self.limit_s + LATE_S

    def watched(self) -> AbstractContextManager[None]:
        """Kills the process if the statement neither ends nor can be cancelled.

        Only the statement runs within: the server's time for our own statements is not the response's.
        """
        return self._watch.limit(wall_s=self.limit_s + GRACE_S + _CANCEL_S)

    def late(self) -> BaseException:
        """Returns the exception for a time that is up."""
        if self.caps.goes_on(self._watch):
            return Expired()
        return QueryFailed("time_limit", f"it ran for more than {self.caps.time_s:g} s")


@contextmanager
def ours(failures: tuple[type[Exception], ...], said: Callable[[Any], str]) -> Iterator[None]:
    """Wraps our own statements. failures: the exceptions of an engine's library; said: extracts the server's message.

    Raises DatabaseFailed for any failure: the judged response has caused none of them.
    """
    try:
        yield
    except Late:
        raise DatabaseFailed("its server is too slow for the verifier's own statements", ours=True) from None
    except failures as error:
        raise DatabaseFailed(f"its server failed: {said(error)}", ours=True) from None


def check_unicode(statement: str) -> None:
    """Raises QueryFailed for a statement that cannot be sent to any server."""
    try:
        statement.encode()
    except UnicodeEncodeError:
        raise QueryFailed("syntax_error", "it is not Unicode") from None


def unserved(engine: EngineName) -> DatabaseFailed:
    """Returns the error for a database that must be made without a server for it."""
    where = f"[sql] {engine} in the server's configuration"
    return DatabaseFailed(f"no server is configured on which it could be made ({where})", ours=True)


def uncopied(dump: str) -> DatabaseFailed:
    """Returns the error for a write to a registered database on a server. dump: the program that makes a script of
    it."""
    mend = f"to judge statements that write, register it as a script ({dump}) instead"
    return DatabaseFailed(f"a database on a server cannot be copied; {mend}", ours=True)
