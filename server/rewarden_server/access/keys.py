"""API keys: several, each with a name. The server stores only their hashes.

Keys are looked up by their hash, so a wrong key takes the same time with one key as with thousands; the time of the
look-up depends on the hash of the guess, which reveals nothing about a key. Logs and metrics contain the name, never
the key. The key file is reloaded after a change, so a leaked key can be revoked without a restart.
"""

from __future__ import annotations

import base64
import hashlib
import time
from collections.abc import Callable
from datetime import UTC, datetime

from rewarden.errors import Unauthorized
from rewarden_server.access.caller import Caller
from rewarden_server.access.key_file import LOOK_S, KeyFile, Stamp
from rewarden_server.access.key_record import ANONYMOUS, shown_time
from rewarden_server.access.key_table import KeyTable
from rewarden_server.access.rates import Meter
from rewarden_server.access.settings import KeySettings
from rewarden_server.config import ConfigError
from rewarden_server.observe.logs import get_logger

_LONGEST = 1024
"""Characters of a header that can contain a key. Attack: long headers, which cost time to hash and decode."""

_log = get_logger("keys")


class Keys:
    """The keys of callers, and the permissions of each. Holds only hashes, and each key's usage against the limits of
    its rule.

    Used only on the loop, by both surfaces. `problem`: the reason why the current key file is unusable, in which case
    the previous keys stay in force; None if it is usable. `clock` is monotonic; `wall` is the time since the epoch, in
    seconds.
    """

    def __init__(
        self,
        settings: KeySettings,
        *,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """Reads the file. Raises ConfigError, naming the line."""
        self._settings = settings
        self._clock = clock
        self._wall = wall
        self._file = KeyFile(settings.file) if settings.file is not None else None
        self._looked = clock()
        self._stamp: Stamp | None = None
        self._meters: dict[str, Meter | None] = {}
        self.problem: str | None = None
        if self._file is not None:
            self._stamp = self._file.stamp()  # before the content: the next check sees any later change
        self._use(KeyTable.load(settings))

    @property
    def required(self) -> bool:
        """Returns whether callers need a key. This does not change while the server runs."""
        return self._table.required

    def check(self, authorization: str | None) -> str:
        """Returns the name for an `Authorization` value: `Bearer` with the key, or `Basic` with the key as password.
        Raises Unauthorized."""
        if not self.required:
            return ANONYMOUS
        self._look()
        key = _key_in(authorization or "") if len(authorization or "") <= _LONGEST else ""
        if not key:
            raise Unauthorized(
                "an API key is required: send the header 'Authorization: Bearer <key>', or, if the client cannot set "
                "headers, put the key into the URL: http://any:<key>@host"
            )
        found = self._table.secrets.get(hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest())
        if found is None:
            raise Unauthorized("unknown API key")
        if found.until <= self._wall():
            ended = shown_time(datetime.fromtimestamp(found.until, UTC))
            raise Unauthorized(f"this API key ({found.name}) expired at {ended}; get a new one")
        return found.name

    def caller(self, authorization: str | None) -> Caller:
        """Returns the caller that an `Authorization` header identifies. Raises Unauthorized."""
        name = self.check(authorization)
        return Caller(name, self._table.scopes(name), self._meters[name])

    def holder(self, name: str) -> Caller:
        """Returns the caller whose key has this name, for a lease that it gave. Raises Unauthorized if the key was
        revoked, or has expired."""
        self._look()
        record = self._table.records.get(name)
        expired = record is not None and record.expires is not None and record.expires.timestamp() <= self._wall()
        if name not in self._meters or expired:
            raise Unauthorized("the key that issued this lease is no longer valid")
        return Caller(name, self._table.scopes(name), self._meters[name])

    def spend(self, name: str, samples: int) -> None:
        """Counts samples that were judged for a key outside its requests, by a job. An unknown key is ignored."""
        meter = self._meters.get(name)
        if meter is not None:
            meter.note(samples)

    def _look(self) -> None:
        """Reloads the key file if it has changed and a server could start with it."""
        now = self._clock()
        if self._file is None or now - self._looked < LOOK_S:
            return
        self._looked = now
        stamp = self._file.stamp()
        if stamp == self._stamp:
            return
        before = self._table.records
        try:
            table = KeyTable.load(self._settings)
        except ConfigError as error:
            # Each check tries again, because a disk can fail for a moment; the error is logged once.
            if error.message != self.problem:
                _log.error("key file cannot be used; the old keys stay", why=error.message)
            self.problem = error.message
            return
        self._stamp, self.problem = stamp, None
        self._use(table)
        after = table.records
        changed = {
            "added": sorted(after.keys() - before.keys()),
            "revoked": sorted(before.keys() - after.keys()),
            "changed": sorted(name for name in after.keys() & before.keys() if after[name] != before[name]),
        }
        _log.info("keys reloaded", file=str(self._file.path), **changed)

    def _use(self, table: KeyTable) -> None:
        """Replaces the table. A key whose rule has not changed keeps its counts."""
        meters: dict[str, Meter | None] = {}
        for name, rule in table.rules.items():
            meter = self._meters.get(name)
            if rule is None or not rule.bounded:
                meters[name] = None
            elif meter is not None and meter.rule == rule:
                meters[name] = meter
            else:
                meters[name] = Meter(name, rule, clock=self._clock, wall=self._wall)
        self._table, self._meters = table, meters
        if table.ruled_only:
            _log.warning("rules without a key", names=table.ruled_only)


def _key_in(authorization: str) -> str:
    """Returns the key in a header's value, or an empty text if there is none.

    HTTP clients send `Basic` for an address such as http://any:KEY@host, and the clients of some other servers accept
    only an address. The user name is ignored.
    """
    scheme, _, value = authorization.partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    if scheme.lower() != "basic":
        return ""
    try:
        pair = base64.b64decode(value.strip(), validate=True)
    except ValueError:
        return ""
    return pair.decode("utf-8", "surrogateescape").partition(":")[2].strip()
