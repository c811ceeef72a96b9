"""A key as a line of the key file: `NAME SHA256`, then `field=value` for its rule, its times, and its former secrets.

A secret is 32 random bytes that we generate. For such a token a plain SHA-256 is the right hash: it cannot be guessed,
and a slow, salted password hash would only let callers burn the server's CPU on every request.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from rewarden_server.access.rules import KeyRule
from rewarden_server.config import ConfigError
from rewarden_verifiers.schema import Misfit, read

ANONYMOUS = "anonymous"
"""The name of all callers if no keys are configured."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_HASH = re.compile(r"[0-9a-f]{64}")
_RULE = tuple(item.name for item in fields(KeyRule))
_FIELDS = (*_RULE, "created", "expires", "old")


def new_key() -> tuple[str, str]:
    """Returns a new key and its SHA-256 in hex. The key is shown once and not stored."""
    key = "rwd_" + secrets.token_urlsafe(32)
    return key, hash_key(key)


def hash_key(key: str) -> str:
    """Returns the SHA-256 of a key, in hex."""
    return hashlib.sha256(key.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class OldSecret:
    """The hash of a replaced secret, and the time until which it still works."""

    digest: str
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRecord:
    """One key. `source`: its place in the configuration or file, for messages; `rule`: None if its line contains none;
    `expires`: when its secret stops working; `old`: secrets that `rotate` replaced and that still work for a while.

    Raises ConfigError for a name that is unsuitable for logs and metrics, and for an invalid hash.
    """

    name: str
    digest: str
    source: str = field(compare=False)
    rule: KeyRule | None = None
    created: datetime | None = None
    expires: datetime | None = None
    old: tuple[OldSecret, ...] = ()

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ConfigError(
                f"{self.source}: a key's name has letters, digits, '.', '_' and '-' (64 at most), not {self.name!r}"
            )
        if self.name == ANONYMOUS:
            raise ConfigError(f"{self.source}: the name {ANONYMOUS!r} is taken by callers without a key; use another")
        if not all(_HASH.fullmatch(digest) for digest in (self.digest, *(each.digest for each in self.old))):
            raise ConfigError(
                f"{self.source}: the hash of {self.name!r} must be 64 hex digits (the SHA-256 of a key, never the key)"
            )

    @classmethod
    def parse(cls, line: str, source: str) -> KeyRecord | None:
        """Returns the record of a line, or None if the line contains only a comment. Raises ConfigError.

        Of the line's content, messages repeat only the name: someone may have put the key itself there.
        """
        words = line.partition("#")[0].split()
        if not words:
            return None
        if len(words) < 2 or not _HASH.fullmatch(words[1]) or not all("=" in word for word in words[2:]):
            raise ConfigError(
                f"{source}: a line is 'NAME SHA256', the hash in 64 hex digits, and then any of "
                f"{', '.join(f'{name}=…' for name in _FIELDS)}"
            )
        given: dict[str, str] = {}
        for name, _, value in (word.partition("=") for word in words[2:]):
            if name not in _FIELDS or name in given:
                wrong = "is given twice" if name in given else "is unknown"
                raise ConfigError(f"{source}: field {len(given) + 1} {wrong}; known: {', '.join(_FIELDS)}")
            given[name] = value
        return cls(
            name=words[0],
            digest=words[1],
            source=source,
            rule=rule_of({name: given[name] for name in _RULE if name in given}, source),
            created=_time(given["created"], f"{source}: created") if "created" in given else None,
            expires=_time(given["expires"], f"{source}: expires") if "expires" in given else None,
            old=tuple(_old(part, source) for part in given["old"].split(",")) if "old" in given else (),
        )

    def line(self) -> str:
        """Returns the line that `parse` reads as this record."""
        words = [self.name, self.digest]
        for name in _RULE if self.rule is not None else ():
            value = getattr(self.rule, name)
            if value is not None:
                words.append(f"{name}={','.join(value) if isinstance(value, tuple) else f'{value:.15g}'}")
        words += [f"created={shown_time(self.created)}"] if self.created is not None else []
        words += [f"expires={shown_time(self.expires)}"] if self.expires is not None else []
        words += [f"old={','.join(f'{each.digest}@{shown_time(each.until)}' for each in self.old)}"] if self.old else []
        return " ".join(words)

    def rotated(self, digest: str, now: datetime, *, grace: timedelta, lifetime: timedelta | None = None) -> KeyRecord:
        """Returns this key with another secret. Its current secrets work for `grace` from now on, but never longer than
        before.

        lifetime: how long the new secret works; None: as long as the current one, from its creation on. Raises
        ConfigError if the key expires and its creation time is unknown.
        """
        if lifetime is None and self.expires is not None:
            if self.created is None:
                raise ConfigError(f"{self.source}: {self.name!r} expires but has no created=…: say --expires")
            lifetime = self.expires - self.created
        end = now + grace
        still = [OldSecret(self.digest, end if self.expires is None else min(end, self.expires))]
        still += [OldSecret(each.digest, min(end, each.until)) for each in self.old]
        return replace(
            self,
            digest=digest,
            created=now,
            expires=None if lifetime is None else now + lifetime,
            old=tuple(each for each in still if each.until > now),
        )


def shown_time(time: datetime) -> str:
    """Returns a time as shown in lines and to people: in UTC, to the second."""
    return time.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def rule_of(given: Mapping[str, str], source: str) -> KeyRule | None:
    """Returns the rule in these fields, or None if there are none. Raises ConfigError."""
    if not given:
        return None
    values: dict[str, Any] = {**given, **({"scopes": given["scopes"].split(",")} if "scopes" in given else {})}
    try:
        rule: KeyRule = read(KeyRule, values, "")
    except Misfit as misfit:
        raise ConfigError(f"{source}: {misfit.message}") from None
    return rule


def _time(text: str, where: str) -> datetime:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        time = None
    if time is None or time.tzinfo is None:
        raise ConfigError(f"{where} must be a time with its zone, such as 2027-01-31T12:00:00Z")
    return time.astimezone(UTC)


def _old(text: str, source: str) -> OldSecret:
    digest, _, until = text.partition("@")
    return OldSecret(digest, _time(until, f"{source}: old, of the form SHA256@TIME, its time"))
