"""`rewarden sandbox-host`: a sandbox host of its own, and what its slots are made of."""

from __future__ import annotations

import argparse
import asyncio
import os
import ssl
import sys
from pathlib import Path

from rewarden.commands.terminal import say
from rewarden.errors import InvalidRequest
from rewarden_sandboxes import building
from rewarden_sandboxes.client import HostClient
from rewarden_sandboxes.errors import HostError
from rewarden_sandboxes.tls import Tls
from rewarden_server.cli.settings import add_settings, read_settings
from rewarden_server.config import ConfigError
from rewarden_server.processes.host import command, listening
from rewarden_server.processes.settings import SandboxSettings

HELP = "run the sandbox host by itself, for servers that name it in sandbox.address; or build what it needs"

_CHECK_S = 5.0
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]", "*": "127.0.0.1", "": "127.0.0.1"}
"""Addresses to listen at that are no addresses to connect to, and the local addresses that stand for them."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's flags."""
    add_settings(parser)
    parser.add_argument(
        "--listen", metavar="ADDRESS", help="unix:PATH or HOST:PORT; default: sandbox.address of the configuration"
    )
    parser.add_argument(
        "--check", action="store_true", help="start nothing: 0 where the host that listens there is ready, else 1"
    )
    actions = parser.add_subparsers(dest="action", metavar="build")
    build = actions.add_parser("build", help="make the images of docker's slots, and the root file system of bwrap's")
    parts = build.add_mutually_exclusive_group()
    for what in ("images", "rootfs"):
        parts.add_argument(f"--{what}", action="store_const", const=what, dest="what", help="only this")
    build.set_defaults(what="all")
    build.add_argument("--force", action="store_true", help="also what is current")


def run(args: argparse.Namespace) -> int:
    """Become the host, which ends with SIGTERM or SIGINT; or build: 0 where all is there; or check: 0 where it is
    ready, else 1. 2: a setting is wrong.
    """
    try:
        config = read_settings(args)
    except ConfigError as error:
        raise InvalidRequest(error.message) from None
    sandbox = config.sandbox
    if args.action == "build":
        words = [args.what, *(["--force"] if args.force else [])]
        return building.main([*words, *(["--prefix", sandbox.image_prefix] if sandbox.image_prefix else [])])
    address = args.listen or sandbox.address
    if address is None or (len(sandbox.addresses) > 1 and args.listen is None):
        raise InvalidRequest(
            "say where the host listens: --listen unix:PATH or HOST:PORT, or one sandbox.address in the configuration"
        )
    if args.check:
        return asyncio.run(check(address, sandbox))
    host = [*command(sandbox, config.lean, address), *listening(sandbox)]
    sys.stdout.flush()
    os.execv(host[0], host)


async def check(address: str, settings: SandboxSettings) -> int:
    """Ask the host that listens there on this machine, with its own settings, whether it is ready: 0, or 1 after saying
    why not.
    """
    host, _, port = address.rpartition(":")
    if not address.startswith("unix:"):
        address = f"{_EVERYWHERE.get(host, host)}:{port}"
    cert = settings.tls_cert
    client: HostClient | None = None
    try:
        if cert is None or settings.tls_key is None:
            client = HostClient(address)
        else:
            # It has the very certificate that the host shows: whose it is needs no authority's word, and no name.
            name = await _name_there(address, cert, settings.tls_key)
            client = HostClient(address, Tls(cert=cert, key=settings.tls_key, ca=cert), name=name)
        ready = await client.healthy(_CHECK_S)
    except (HostError, OSError, TimeoutError) as error:
        words = error.message if isinstance(error, HostError) else f"{address}: {error or 'it does not answer'}"
        say(f"rewarden sandbox-host: {words}", file=sys.stderr)
        return 1
    finally:
        if client is not None:
            await client.close()
    if not ready:
        say("rewarden sandbox-host: the host answers, and is not ready; rewarden doctor says why", file=sys.stderr)
    return 0 if ready else 1


async def _name_there(address: str, cert: Path, key: Path) -> str:
    """A name in the certificate that is shown at an address, after it was found to be `cert`. Raises OSError."""
    context = ssl.create_default_context(cafile=str(cert))
    context.check_hostname = False
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.load_cert_chain(cert, key)
    context.set_alpn_protocols(["h2"])
    host, _, port = address.rpartition(":")
    async with asyncio.timeout(_CHECK_S):
        _, writer = await asyncio.open_connection(host.strip("[]"), int(port), ssl=context)
    names = writer.get_extra_info("peercert").get("subjectAltName", ())
    writer.close()
    return next((name.replace("*", "a") for kind, name in names if kind == "DNS"), "") or next(
        (name for _, name in names), host
    )
