"""`rewarden sandbox-host`: a sandbox host of its own, and what its slots are made of."""

from __future__ import annotations

import argparse
import os
import sys

from rewarden.errors import InvalidRequest
from rewarden_sandboxes import building
from rewarden_sandboxes.errors import HostError
from rewarden_server.cli.settings import add_settings, read_settings
from rewarden_server.config import ConfigError
from rewarden_server.host_process import command, tls_of

HELP = "run the sandbox host by itself, for servers that name it in sandbox.address; or build what it needs"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's flags."""
    add_settings(parser)
    parser.add_argument(
        "--listen", metavar="ADDRESS", help="unix:PATH or HOST:PORT; default: sandbox.address of the configuration"
    )
    actions = parser.add_subparsers(dest="action", metavar="build")
    build = actions.add_parser("build", help="make the images of docker's slots, and the root file system of bwrap's")
    parts = build.add_mutually_exclusive_group()
    for what in ("images", "rootfs"):
        parts.add_argument(f"--{what}", action="store_const", const=what, dest="what", help="only this")
    build.set_defaults(what="all")
    build.add_argument("--force", action="store_true", help="also what is current")


def run(args: argparse.Namespace) -> int:
    """Become the host, which ends with SIGTERM or SIGINT; or build: 0 where all is there. 2: a setting is wrong."""
    try:
        config = read_settings(args)
    except ConfigError as error:
        raise InvalidRequest(error.message) from None
    sandbox = config.sandbox
    if args.action == "build":
        words = [args.what, *(["--force"] if args.force else [])]
        return building.main([*words, *(["--prefix", sandbox.image_prefix] if sandbox.image_prefix else [])])
    address = args.listen or sandbox.address
    if address is None:
        raise InvalidRequest("say where the host listens: --listen unix:PATH, or sandbox.address in the configuration")
    host = command(sandbox, config.lean, address)
    try:
        tls = tls_of(sandbox)
    except HostError as error:
        raise InvalidRequest(error.message) from None
    if tls is not None:
        host += ["--tls-cert", str(tls.cert), "--tls-key", str(tls.key), "--tls-ca", str(tls.ca)]
    sys.stdout.flush()
    os.execv(host[0], host)
