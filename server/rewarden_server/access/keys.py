"""API keys: several, each with a name, known to the server by their hash only.

A key is 32 random bytes, made by us. Against such a token a plain SHA-256 is the right hash: there is nothing to guess,
so a slow, salted password hash would only let a caller burn the server's CPU at every request. A hash is looked up, so
that a wrong key costs the same with one key and with thousands; what the time of that look-up tells is of the hash of a
guess, from which no way leads to a key. The name, never the key, appears in logs and metrics.
"""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
from collections.abc import Mapping
from pathlib import Path

from rewarden.errors import Unauthorized
from rewarden_server.access.caller import Caller
from rewarden_server.access.rates import Meter
from rewarden_server.access.rules import EVERYONE, OF_A_KEY, SCOPES, KeyRule
from rewarden_server.access.settings import KeySettings
from rewarden_server.config import ConfigError

ANONYMOUS = "anonymous"
"""The name of all callers where no keys are configured."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_HASH = re.compile(r"[0-9a-f]{64}")

_LONGEST = 1024
"""Characters of a header that may hold a key. Attack: long ones, whose hashing and decoding cost."""


def new_key() -> tuple[str, str]:
    """A fresh key and its SHA-256 in hex. The key is shown once and kept nowhere."""
    key = "rwd_" + secrets.token_urlsafe(32)
    return key, hash_key(key)


def hash_key(key: str) -> str:
    """The SHA-256 of a key, in hex."""
    return hashlib.sha256(key.encode()).hexdigest()


def check_name(name: str, source: str) -> None:
    """Raises ConfigError for a name that would not do in logs and metrics."""
    if not _NAME.fullmatch(name):
        raise ConfigError(f"{source}: a key's name has letters, digits, '.', '_' and '-' (64 at most), not {name!r}")
    if name == ANONYMOUS:
        raise ConfigError(f"{source}: the name {name!r} is taken by callers without a key; choose another")


class Keys:
    """The keys of callers, and what each may ask. Holds hashes only, and what each key used of what its rule allows."""

    def __init__(self, hashes: Mapping[str, str], rules: Mapping[str, KeyRule] | None = None) -> None:
        rules = rules or {}
        for name, digest in hashes.items():
            check_name(name, "keys")
            if not _HASH.fullmatch(digest):
                raise ConfigError(f"keys: {name!r} must be 64 hex digits (the SHA-256 of a key, never the key itself)")
        self._names: dict[bytes, str] = {}
        for name, digest in hashes.items():
            other = self._names.setdefault(bytes.fromhex(digest), name)
            if other != name:
                raise ConfigError(f"keys: {other!r} and {name!r} are the same key; each caller has one of its own")
        known = list(hashes) or [ANONYMOUS]
        for name in rules:
            if name not in known and name != EVERYONE:
                raise ConfigError(f"keys.rules: there is no key {name!r}; there are {', '.join(known)}, and '*'")
        self._scopes: dict[str, frozenset[str]] = {}
        self._meters: dict[str, Meter | None] = {}
        for name in known:
            rule = rules.get(name, rules.get(EVERYONE))
            if rule is None:
                # Without keys nobody can be told from anybody: there is no admin to be kept apart.
                self._scopes[name] = OF_A_KEY if hashes else frozenset(SCOPES)
            else:
                self._scopes[name] = frozenset(rule.scopes)
            self._meters[name] = Meter(name, rule) if rule is not None and rule.bounded else None

    @classmethod
    def load(cls, settings: KeySettings) -> Keys:
        """The keys of the configuration and of its file. Raises ConfigError, naming the line."""
        hashes = dict(settings.named)
        if settings.file is not None:
            for name, digest in _read(settings.file).items():
                if name in hashes:
                    raise ConfigError(f"keys: the name {name!r} is in the configuration and in {settings.file}")
                hashes[name] = digest
        return cls(hashes, settings.rules)

    @property
    def names(self) -> list[str]:
        """The names, in order."""
        return list(self._names.values())

    def check(self, authorization: str | None) -> str:
        """The name that belongs to an `Authorization` value: `Bearer` and the key, or `Basic` with the key as password.

        Raises Unauthorized.
        """
        if not self._names:
            return ANONYMOUS
        key = _key_in(authorization or "") if len(authorization or "") <= _LONGEST else ""
        if not key:
            raise Unauthorized(
                "this server asks for an API key: send the header 'Authorization: Bearer <key>', or put the key into "
                "the address, http://any:<key>@host, where a client sets no headers"
            )
        found = self._names.get(hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest())
        if found is None:
            raise Unauthorized("this API key is not known here")
        return found

    def caller(self, authorization: str | None) -> Caller:
        """Returns the caller that an `Authorization` header identifies. Raises Unauthorized."""
        name = self.check(authorization)
        return Caller(name, self._scopes[name], self._meters[name])

    def spend(self, name: str, samples: int) -> None:
        """Counts samples that were judged for a key outside its requests, by a job. An unknown key is ignored."""
        meter = self._meters.get(name)
        if meter is not None:
            meter.note(samples)


def _key_in(authorization: str) -> str:
    """Returns the key in a header's value, or an empty text where there is none.

    HTTP clients make `Basic` of an address like http://any:KEY@host, and other servers' clients take nothing but an
    address. The user's name is ignored.
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


def _read(path: Path) -> dict[str, str]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise ConfigError(f"keys.file: {path} cannot be read: {error.strerror}") from None
    found: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        parts = line.partition("#")[0].split()
        if not parts:
            continue
        if len(parts) != 2 or not _HASH.fullmatch(parts[1]):
            # The line itself is not repeated: somebody may have put the key there.
            raise ConfigError(f"{path}:{number}: a line is 'name sha256', the hash in 64 hex digits")
        if parts[0] in found:
            raise ConfigError(f"{path}:{number}: the name {parts[0]!r} stands twice")
        check_name(parts[0], f"{path}:{number}")
        found[parts[0]] = parts[1]
    return found
