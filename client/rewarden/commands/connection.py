"""The arguments that say where a command's requests go, the same for every command that sends some."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from typing import Any

from rewarden.client import DEFAULT_TARGET, Client
from rewarden.commands.use import functions_of
from rewarden.errors import InvalidRequest
from rewarden.retry import Retry
from rewarden.transports.targets import declares
from rewarden.types import Use

ONLY_HERE = "a function in a file is judged by an engine in this process alone; for a server, put it into a package"

_PATIENCE = Retry(patience_s=5.0)
"""Somebody looks at the screen, and may have mistyped the address."""


def default_target() -> str:
    """`REWARDEN_TARGET`, or else the engine in this process where it is installed, or else a server on this machine."""
    return os.environ.get("REWARDEN_TARGET") or ("local" if declares("local") else DEFAULT_TARGET)


def add_connection_arguments(parser: argparse.ArgumentParser) -> None:
    """`--target`, `--api-key`, `--ca` and `--timeout`."""
    group = parser.add_argument_group("where requests go")
    group.add_argument(
        "--target",
        metavar="URL",
        help=f"http://…, grpc://HOST:PORT or local; default: REWARDEN_TARGET, or else {default_target()}",
    )
    group.add_argument("--api-key", metavar="KEY", help="default: REWARDEN_API_KEY")
    group.add_argument("--ca", metavar="FILE", help="PEM: who signed the server's certificate; default: REWARDEN_CA")
    group.add_argument("--timeout", type=float, metavar="S", help="longest silence of the server's, in seconds")


def open_client(args: argparse.Namespace, uses: Iterable[Use] = ()) -> Client:
    """The client that the arguments speak of, for these uses. Raises InvalidRequest for what its target cannot do."""
    target = args.target or default_target()
    options: dict[str, Any] = {} if args.ca is None else {"ca": args.ca}
    if functions := functions_of(uses):
        if target != "local":  # a server runs no code that a request brings
            raise InvalidRequest(f"--use {functions[0]}: {ONLY_HERE}")
        options["functions"] = functions
    if args.ca is not None and not target.startswith(("https://", "grpcs://")):  # others know of no authority
        raise InvalidRequest(f"--ca: target {target!r} shows no certificate; https://… and grpcs://… do")
    return Client(
        target,
        api_key=args.api_key or os.environ.get("REWARDEN_API_KEY") or None,
        timeout_s=args.timeout,
        retry=_PATIENCE,
        **options,
    )
