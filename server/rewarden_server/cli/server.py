"""The running server that a command asks over HTTP: the arguments that name it, and how its answers are read."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from rewarden.commands.connection import authority_options
from rewarden.errors import InvalidRequest, Unavailable
from rewarden.transports.authority import CA_HELP, distrust
from rewarden.transports.http import refusal, tls_context

DEFAULT = "http://127.0.0.1:8080"


def add_server(parser: argparse.ArgumentParser) -> None:
    """Adds `--url`, `--api-key` and `--ca`."""
    parser.add_argument("--url", default=DEFAULT, help="the server's URL (default: %(default)s)")
    parser.add_argument("--api-key", metavar="KEY", help="the API key (default: REWARDEN_API_KEY)")
    parser.add_argument("--ca", metavar="FILE", help=CA_HELP)


def options_of(args: argparse.Namespace, patience_s: float) -> dict[str, Any]:
    """Returns the options of an httpx client for the server that the arguments name. Raises InvalidRequest."""
    key = args.api_key or os.environ.get("REWARDEN_API_KEY")
    authority = authority_options(args.url, args.ca)
    return {
        "base_url": args.url.rstrip("/"),
        "headers": {"authorization": f"Bearer {key}"} if key else {},
        "verify": tls_context(httpx, **authority) if args.url.startswith("https://") else True,
        "timeout": httpx.Timeout(patience_s, connect=10.0),
    }


@contextmanager
def reaching(url: str) -> Iterator[None]:
    """Raises Unavailable for a server that cannot be reached, and InvalidRequest for one that is not trusted."""
    try:
        yield
    except (httpx.TransportError, httpx.InvalidURL) as error:
        if (why := distrust(error)) is not None:
            raise InvalidRequest(f"{url}: {why}") from None
        raise Unavailable(f"{url} cannot be reached: {error or type(error).__name__}") from None


def answer_of(url: str, reply: httpx.Response) -> dict[str, Any]:
    """Returns the object that a server answered. Raises RequestError."""
    if reply.status_code != 200:
        raise refusal(reply.status_code, reply.headers, reply.content)
    try:
        told = reply.json()
    except ValueError:
        told = None
    if not isinstance(told, dict):
        raise Unavailable(f"{url} is not a Rewarden server")
    return told
