"""`rewarden sandbox-host`: runs a sandbox host, or builds its images and root file system."""

from __future__ import annotations

import argparse
import asyncio
import os
import ssl
import sys
from pathlib import Path

from rewarden.commands.terminal import add_examples, say
from rewarden.errors import InvalidRequest
from rewarden_sandboxes import building
from rewarden_sandboxes.client import HostClient
from rewarden_sandboxes.errors import HostError
from rewarden_sandboxes.tls import Tls
from rewarden_server.cli.settings import add_settings, read_settings
from rewarden_server.config import ConfigError
from rewarden_server.processes.host import command, listening
from rewarden_server.processes.settings import SandboxSettings

HELP = "run a sandbox host that servers reach through sandbox.address, or build its images"

_BUILD = "rewarden sandbox-host build --images"
_CHECK_S = 5.0
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]", "*": "127.0.0.1", "": "127.0.0.1"}
"""Wildcard addresses to listen on, and the local addresses to connect to instead."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's flags."""
    add_settings(parser)
    parser.add_argument("--listen", metavar="ADDRESS", help="unix:PATH or HOST:PORT (default: sandbox.address)")
    parser.add_argument(
        "--check",
        action="store_true",
        help="start nothing; exit with 0 if the host at that address is ready, else with 1",
    )
    actions = parser.add_subparsers(dest="action", metavar="build")
    build = actions.add_parser(
        "build", help="build the images for Docker slots and the root file system for bubblewrap slots"
    )
    parts = build.add_mutually_exclusive_group()
    for what, built in (("images", "images"), ("rootfs", "root file system")):
        parts.add_argument(f"--{what}", action="store_const", const=what, dest="what", help=f"build only the {built}")
    build.set_defaults(what="all")
    build.add_argument(
        "--only",
        nargs="+",
        default=[],
        metavar="IMAGE",
        help="build these images, such as jvm native scripts (default: python toolchains)",
    )
    build.add_argument("--force", action="store_true", help="rebuild even what is up to date")
    add_examples(build, _BUILD)
    add_examples(parser, "rewarden sandbox-host --listen unix:/run/rewarden/host.sock", _BUILD)


def run(args: argparse.Namespace) -> int:
    """Becomes the host, which ends on SIGTERM or SIGINT. `build` returns 0 if everything was built; --check returns 0
    if the host is ready, else 1. A wrong setting is 2.
    """
    try:
        config = read_settings(args)
    except ConfigError as error:
        raise InvalidRequest(error.message) from None
    sandbox = config.sandbox
    if args.action == "build":
        more = [*(["--force"] if args.force else [])]
        more += ["--prefix", sandbox.image_prefix] if sandbox.image_prefix else []
        if args.what == "rootfs" and args.only:
            return max(building.main(["rootfs", "--image", image, *more]) for image in args.only)
        if args.only:  # a root file system of each would take the same space once more
            return building.main(["images", "--only", *args.only, *more])
        return building.main([args.what, *more])
    address = args.listen or sandbox.address
    if address is None or (len(sandbox.addresses) > 1 and args.listen is None):
        raise InvalidRequest(
            "no address to listen on: give --listen unix:PATH or HOST:PORT, or set a single sandbox.address"
        )
    if args.check:
        return asyncio.run(check(address, sandbox))
    host = [*command(sandbox, config.lean, address), *listening(sandbox)]
    sys.stdout.flush()
    os.execv(host[0], host)


async def check(address: str, settings: SandboxSettings) -> int:
    """Asks the host that listens there on this machine whether it is ready. Returns 0, or 1 after printing the
    reason.
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
            # It has the same certificate as the host, so it needs neither a CA nor a name to trust it.
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
        say("rewarden sandbox-host: the host answers but is not ready; run rewarden doctor to see why", file=sys.stderr)
    return 0 if ready else 1


async def _name_there(address: str, cert: Path, key: Path) -> str:
    """Returns a name in the certificate of an address, after checking that it is `cert`. Raises OSError."""
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
