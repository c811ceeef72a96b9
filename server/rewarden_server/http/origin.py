"""Protection against foreign web pages, opened in a browser that can reach this server.

A browser sends a page's simple requests to any address, with or without keys, and a page can use another name for our
address (DNS rebinding). Without keys, access to the port is enough to be served. Therefore:

* A request with an `Origin` header (which browsers send with everything but a plain GET) is served only if the origin
  is our own address, as in the request's `Host`, or is listed in `server.origins`.
* Without keys, `Host` must be a name that a stranger cannot point at our address: an IP address, `localhost`, a name
  without a dot, one under `.localhost`, `.internal` or `.cluster.local`, or one of `server.hosts`. If `server.hosts` is
  set, only its names are served, with or without keys.

No response ever permits a page of another origin to read it (no `Access-Control-…` header).
"""

from __future__ import annotations

import ipaddress
from functools import lru_cache
from urllib.parse import urlsplit

from rewarden.errors import Forbidden, InvalidRequest
from rewarden_server.config import ConfigError, ServerSettings

_LOCAL = (".localhost", ".internal", ".cluster.local")
"""RFC 6761 reserves `localhost`, and ICANN (2024) `internal`, for private use; the last one is used within a
cluster."""


class Origins:
    """The rules of one server. `keyed`: whether callers need a key."""

    def __init__(self, settings: ServerSettings, *, keyed: bool) -> None:
        """Raises ConfigError for an origin that a browser would never send."""
        for origin in settings.origins:
            parts = urlsplit(origin)
            if (
                parts.scheme not in ("http", "https")
                or not parts.netloc
                or origin != f"{parts.scheme}://{parts.netloc}"
            ):
                raise ConfigError(
                    f"server.origins: {origin!r} must be an origin without a path, such as 'https://rewards.example.com'"
                )
        self._origins = frozenset(origin.lower() for origin in settings.origins)
        self._hosts = frozenset(host.lower() for host in settings.hosts)
        self._schemes = ("https",) if settings.tls_cert is not None else ("http", "https")  # a proxy may speak TLS
        self._any_host = keyed and not self._hosts
        # Clients use one host name or a few. Bounded, because anyone can send others.
        self._known = lru_cache(256)(self._serves)

    def check(self, host: str | None, origin: str | None) -> None:
        """Raises Forbidden, InvalidRequest."""
        if not self._any_host and not self._known((host or "").lower()):
            raise Forbidden(
                f"unknown host name {(host or '')[:100]!r}: add it to server.hosts, use an IP address, or set up "
                "API keys (rewarden keys new NAME)"
            )
        if origin is None:
            return
        origin = origin.lower()
        if origin in self._origins:
            return
        if host and any(origin == f"{scheme}://{host.lower()}" for scheme in self._schemes):
            return
        raise Forbidden(
            f"requests from pages of {origin[:100]!r} are not allowed; add it to server.origins if you trust it"
        )

    def _serves(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            raise InvalidRequest("Host: not a valid host") from None
        name = name.rstrip(".")
        if self._hosts:
            return name in self._hosts
        if not name:
            return not host  # HTTP/1.0 does not require Host, and browsers do not use it
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return "." not in name or name.endswith(_LOCAL)
        return True
