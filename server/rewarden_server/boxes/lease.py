"""Leases: signed, expiring permissions to use one box.

A lease is `rwl_`, its terms in base64, a point, and their HMAC-SHA256 in base64. It names the box, the rights, the
rollout and the expiry. Nobody can change it without the secret, which only servers have.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rewarden.errors import Unauthorized
from rewarden_server.config import ConfigError

PREFIX = "rwl_"

_LONGEST = 2048
"""The maximum length of a lease, in characters. Attack: long leases that cost time to decode."""

_SECRET_BYTES = 32
_CONTEXT = b"rewarden lease 1\0"
"""A prefix of the signed bytes, so that nothing else signed with this secret passes for a lease."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The terms of a lease. owner: the name of the key that issued it. until: seconds since the epoch."""

    box: str
    owner: str
    rights: frozenset[str]
    rollout: str | None
    until: float


class Leases:
    """Signs leases, and reads them."""

    def __init__(self, secret: bytes, wall: Callable[[], float]) -> None:
        self._secret = secret
        self._wall = wall

    def sign(self, lease: Lease) -> str:
        """Returns the text of a lease."""
        terms = {
            "b": lease.box,
            "k": lease.owner,
            "r": sorted(lease.rights),
            "o": lease.rollout,
            "e": lease.until,
            "n": secrets.token_hex(8),
        }
        body = json.dumps(terms, separators=(",", ":")).encode()
        return f"{PREFIX}{_text(body)}.{_text(self._signature(body))}"

    def read(self, text: str) -> Lease:
        """Returns the terms of a lease. Raises Unauthorized if it is forged or expired."""
        if len(text) > _LONGEST or not text.startswith(PREFIX):
            raise Unauthorized("unknown lease")
        body, _, signature = text.removeprefix(PREFIX).partition(".")
        try:
            terms, signed = _bytes(body), _bytes(signature)
        except ValueError:
            raise Unauthorized("unknown lease") from None
        # Check the signature first: never parse what a stranger wrote.
        if not hmac.compare_digest(self._signature(terms), signed):
            raise Unauthorized("unknown lease")
        told = json.loads(terms)
        lease = Lease(
            box=told["b"], owner=told["k"], rights=frozenset(told["r"]), rollout=told["o"], until=float(told["e"])
        )
        if self._wall() >= lease.until:
            raise Unauthorized("this lease has expired; ask the owner of the box for another one")
        return lease

    def _signature(self, body: bytes) -> bytes:
        return hmac.digest(self._secret, _CONTEXT + body, hashlib.sha256)


def lease_in(authorization: str | None, header: str | None) -> str | None:
    """Returns the lease of a call, from its own header or the bearer token; None if the call has a key."""
    if header is not None:
        return header.strip()
    scheme, _, value = (authorization or "").partition(" ")
    found = value.strip()
    return found if scheme.lower() == "bearer" and found.startswith(PREFIX) else None


def load_secret(folder: Path) -> bytes:
    """Returns the secret in a folder, and creates it if there is none. Raises ConfigError."""
    path = folder / "lease-secret"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            # Link the complete file into place: if two servers start at once, both read the first one's secret.
            draft = folder / f".lease-secret-{os.getpid()}-{secrets.token_hex(4)}"
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(secrets.token_bytes(_SECRET_BYTES))
            try:
                os.link(draft, path)
            except FileExistsError:
                pass
            finally:
                draft.unlink()
        found = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"boxes.dir: {path} cannot be used: {error.strerror}") from None
    if len(found) != _SECRET_BYTES:
        raise ConfigError(f"boxes.dir: {path} must contain {_SECRET_BYTES} bytes; delete it, and all leases end")
    return found


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _bytes(text: str) -> bytes:
    if not text.isascii():
        raise ValueError
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
