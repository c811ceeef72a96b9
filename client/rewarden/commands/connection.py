"""The connection arguments, shared by all commands that send requests."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from typing import Any

from rewarden.client import DEFAULT_TARGET, Client
from rewarden.commands.use import functions_of
from rewarden.errors import InvalidRequest
from rewarden.retry import Retry
from rewarden.transports.authority import CA_HELP
from rewarden.transports.targets import declares
from rewarden.types import Use

ONLY_HERE = "a function in a file runs only in this process; to use it on a server, put it into a package"

_PATIENCE = Retry(patience_s=5.0)
"""Short, because the user is waiting and may have mistyped the address."""


def default_target() -> str:
    """Returns `REWARDEN_TARGET`, else the engine in this process if it is installed, else a server on this machine."""
    return os.environ.get("REWARDEN_TARGET") or ("local" if declares("local") else DEFAULT_TARGET)


def add_connection_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds `--target`, `--api-key`, `--ca` and `--timeout`."""
    group = parser.add_argument_group("connection")
    group.add_argument(
        "--target",
        metavar="URL",
        help=f"http://…, grpc://HOST:PORT or local (default: REWARDEN_TARGET, or else {default_target()})",
    )
    group.add_argument("--api-key", metavar="KEY", help="the API key (default: REWARDEN_API_KEY)")
    group.add_argument("--ca", metavar="FILE", help=CA_HELP)
    group.add_argument("--timeout", type=float, metavar="S", help="give up if the server sends nothing for S seconds")


def authority_options(target: str, ca: str | None) -> dict[str, Any]:
    """A client's `ca` for `--ca`, if it is given. Raises InvalidRequest for a target without TLS."""
    if ca is None:
        return {}
    if not target.startswith(("https://", "grpcs://")):
        raise InvalidRequest(f"--ca: target {target!r} does not use TLS; use https://… or grpcs://…")
    return {"ca": ca}


def open_client(args: argparse.Namespace, uses: Iterable[Use] = ()) -> Client:
    """Opens the client that the arguments describe. Raises InvalidRequest if its target cannot serve these uses."""
    target = args.target or default_target()
    options = authority_options(target, args.ca)
    if functions := functions_of(uses):
        if target != "local":  # a server runs no code that a request brings
            raise InvalidRequest(f"--use {functions[0]}: {ONLY_HERE}")
        options["functions"] = functions
    return Client(
        target,
        api_key=args.api_key or os.environ.get("REWARDEN_API_KEY") or None,
        timeout_s=args.timeout,
        retry=_PATIENCE,
        **options,
    )
