"""API keys: several, each with a name, known to the server by their hash only.

A key is 32 random bytes, made by us. Against such a token a plain SHA-256 is the right hash: there is nothing to guess,
so a slow, salted password hash would only let a caller burn the server's CPU at every request. Comparison takes the
same time for every key and goes through all of them, so that timing tells nothing. The name, never the key, appears
in logs and metrics.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping
from pathlib import Path

from rewarden.errors import Unauthorized
from rewarden_server.config import ConfigError, KeySettings

ANONYMOUS = "anonymous"
"""The name of whoever asks where no keys are configured."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_HASH = re.compile(r"[0-9a-f]{64}")


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
    """Who may ask. Holds hashes only."""

    def __init__(self, hashes: Mapping[str, str]) -> None:
        for name, digest in hashes.items():
            check_name(name, "keys")
            if not _HASH.fullmatch(digest):
                raise ConfigError(f"keys: {name!r} must be 64 hex digits (the SHA-256 of a key, never the key itself)")
        self._hashes = {name: bytes.fromhex(digest) for name, digest in hashes.items()}

    @classmethod
    def load(cls, settings: KeySettings) -> Keys:
        """The keys of the configuration and of its file. Raises ConfigError, naming the line."""
        hashes = dict(settings.named)
        if settings.file is not None:
            for name, digest in _read(settings.file).items():
                if name in hashes:
                    raise ConfigError(f"keys: the name {name!r} is in the configuration and in {settings.file}")
                hashes[name] = digest
        return cls(hashes)

    @property
    def names(self) -> list[str]:
        """The names, in order."""
        return list(self._hashes)

    def check(self, authorization: str | None) -> str:
        """The name that belongs to an `Authorization` value: `Bearer` and the key, or `Basic` with the key as password.

        Raises Unauthorized.
        """
        if not self._hashes:
            return ANONYMOUS
        key = _key_in(authorization or "")
        if not key:
            raise Unauthorized(
                "this server asks for an API key: send the header 'Authorization: Bearer <key>', or put the key into "
                "the address, http://any:<key>@host, where a client sets no headers"
            )
        digest = hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()
        found = None
        for name, known in self._hashes.items():
            if hmac.compare_digest(known, digest):
                found = name
        if found is None:
            raise Unauthorized("this API key is not known here")
        return found


def _key_in(authorization: str) -> str:
    """The key that a header's value holds; empty where it holds none.

    HTTP clients make `Basic` of an address like http://any:KEY@host, and other servers' clients take nothing but an
    address. Of the user's name nothing is asked.
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
