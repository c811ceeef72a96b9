"""Targets to transports: `http://…`, `https://…`, `grpc://…`, `grpcs://…`, and whatever packages declare.

A package declares a target by an entry point in the group `rewarden.targets`, whose name is the target's scheme
(`local`, or `x` for `x://…`) and whose value is a class that is a `Transport`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from rewarden.errors import InvalidRequest
from rewarden.transports.base import Transport

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

TARGET_GROUP = "rewarden.targets"


def declares(scheme: str) -> bool:
    """Returns whether an installed package declares a target of that scheme."""
    return bool(_declared(scheme))


def open_target(target: str, **options: Any) -> Transport:
    """The transport of a target. Raises InvalidRequest, with the fix, for an unknown target."""
    scheme = target.split(":", 1)[0]
    if "://" in target and scheme in ("http", "https"):
        from rewarden.transports.http import HttpTransport

        return HttpTransport(target, **options)
    if "://" in target and scheme in ("grpc", "grpcs"):
        from rewarden.transports.grpc import GrpcTransport

        return GrpcTransport(target, **options)
    for point in _declared(scheme):
        transport: Transport = point.load()(target, **options)
        return transport
    if scheme == "local":  # declared by `rewarden-server`
        raise InvalidRequest(
            f"target {target!r} runs the engine in this process and needs rewarden-server: pip install . in a clone"
        )
    raise InvalidRequest(
        f"target {target!r} is not supported; use http://HOST:PORT, https://…, grpc://HOST:PORT, grpcs://… or local"
    )


@lru_cache(maxsize=256)
def proxied(target: str) -> bool:
    """Returns whether the environment names a proxy for a target's requests. A stream would not go through it."""
    from urllib.request import getproxies, proxy_bypass  # here, because few need it and it imports much

    scheme, host = urlsplit(target).scheme, urlsplit(target).hostname
    if scheme not in ("http", "https") or host is None:
        return False
    proxies = getproxies()
    return bool(proxies.get(scheme) or proxies.get("all")) and not proxy_bypass(host)


def _declared(scheme: str) -> EntryPoints:
    from importlib.metadata import entry_points  # here, because it is a tenth of what importing the client costs

    return entry_points(group=TARGET_GROUP, name=scheme)
