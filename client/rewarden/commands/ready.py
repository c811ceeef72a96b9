"""`rewarden ready`: checks whether a server accepts work, for container health checks: no curl, few imports."""

from __future__ import annotations

import argparse
import os
import ssl
import sys
import urllib.error
import urllib.request

from rewarden.commands.terminal import add_examples, say
from rewarden.errors import InvalidRequest
from rewarden.transports.authority import CA_HELP, authority

HELP = "check whether a server accepts work: exit status 0 if it does, 1 if not (for health checks)"

DEFAULT = "http://127.0.0.1:8080"
_SERVING = b"\x08\x01"  # grpc.health.v1.HealthCheckResponse{status: SERVING}


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.add_argument(
        "target",
        nargs="?",
        metavar="URL",
        help=f"http(s)://… or grpc(s)://… (default: REWARDEN_TARGET, or else {DEFAULT})",
    )
    parser.add_argument("--ca", metavar="FILE", help=CA_HELP)
    parser.add_argument(
        "--timeout", type=float, default=5.0, metavar="S", help="seconds to wait for an answer (default: 5)"
    )
    add_examples(parser, "rewarden ready http://127.0.0.1:8080", "rewarden ready grpc://127.0.0.1:50051 --timeout 2")


def run(args: argparse.Namespace) -> int:
    """Returns 0 if the server accepts work, and 1 if not. Raises InvalidRequest for a target of another kind."""
    target = args.target or os.environ.get("REWARDEN_TARGET") or DEFAULT
    scheme, _, place = target.partition("://")
    place = place.rstrip("/")
    if scheme in ("http", "https"):
        problem = _over_http(f"{scheme}://{place}", args.ca, args.timeout)
    elif scheme in ("grpc", "grpcs"):
        problem = _over_grpc(place, args.ca, args.timeout, secure=scheme == "grpcs")
    else:
        raise InvalidRequest(
            f"target {target!r} is not supported; use http://HOST:PORT, https://…, grpc://… or grpcs://…"
        )
    if problem is not None:
        say(f"not ready: {problem}", file=sys.stderr)
        return 1
    say("ready")
    return 0


def _over_http(target: str, ca: str | None, timeout_s: float) -> str | None:
    """Returns the reason why a server is not ready, or None if it is."""
    path = authority(ca)
    context = ssl.create_default_context(cafile=str(path) if path is not None else None)
    # No proxy: a probe runs next to its server.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))
    try:
        with opener.open(f"{target}/readyz", timeout=timeout_s):
            return None
    except urllib.error.HTTPError as error:
        return f"{target} answers {error.code}: {error.read(500).decode(errors='replace')}"
    except (OSError, ValueError) as error:
        return f"{target}: {getattr(error, 'reason', None) or error}"


def _over_grpc(place: str, ca: str | None, timeout_s: float, *, secure: bool) -> str | None:
    try:
        import grpc
    except ImportError:
        raise InvalidRequest("targets grpc://… need gRPC: pip install 'rewarden[grpc]'") from None
    path = authority(ca)
    roots = grpc.ssl_channel_credentials(None if path is None else path.read_bytes())
    with grpc.secure_channel(place, roots) if secure else grpc.insecure_channel(place) as channel:
        try:
            # The standard health service; its messages are small enough to parse without its package.
            answer = channel.unary_unary("/grpc.health.v1.Health/Check")(b"", timeout=timeout_s)
        except grpc.RpcError as error:
            return f"{place}: {error.code().name}: {error.details()}"
    return None if answer == _SERVING else f"{place} is not serving"
