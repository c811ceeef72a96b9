"""The command line of the sandbox host, which is a process of its own."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

import uvloop

from rewarden_sandboxes.errors import HostError
from rewarden_sandboxes.host import Host
from rewarden_sandboxes.languages import LanguageError
from rewarden_sandboxes.secret import read_tokens
from rewarden_sandboxes.service import serve
from rewarden_sandboxes.settings import HostSettings
from rewarden_sandboxes.tls import Tls


def main(arguments: list[str] | None = None) -> int:
    """Serve until SIGTERM. Returns exit code 2 if the settings are wrong, or it cannot listen."""
    parser = argparse.ArgumentParser(prog="rewarden sandbox-host", description=__doc__)
    parser.add_argument("--address", required=True, help="unix:PATH or HOST:PORT")
    parser.add_argument("--settings", default="{}", help="JSON object of settings")
    parser.add_argument("--tied", action="store_true", help="end when standard input does")
    for name, what in (
        ("cert", "this host's certificate, PEM"),
        ("key", "its key"),
        ("ca", "the authority that signs the servers' certificates; without it, they need none"),
    ):
        parser.add_argument(f"--tls-{name}", type=Path, metavar="FILE", help=what)
    parser.add_argument("--token-file", type=Path, metavar="FILE", help="tokens, one of which comes with each call")
    given = parser.parse_args(arguments)
    files = {name: getattr(given, f"tls_{name}") for name in ("cert", "key", "ca")}
    tls = Tls(**files) if any(files.values()) else None
    try:
        settings = settings_of(json.loads(given.settings))
        tokens = read_tokens(given.token_file) if given.token_file is not None else ()
        uvloop.run(_serve(settings, given.address, given.tied, tls, tokens))
    except (HostError, LanguageError, ValueError, TypeError) as error:
        print(f"rewarden sandbox-host: {error}", file=sys.stderr)
        return 2
    return 0


def settings_of(given: dict[str, Any]) -> HostSettings:
    """Returns settings from JSON. Raises ValueError, which names an unknown key."""
    known = {field.name for field in dataclasses.fields(HostSettings)}
    for key in given:
        if key not in known:
            raise ValueError(f"unknown setting {key!r}; known: {', '.join(sorted(known))}")
    values = dict(given)
    for name in ("limits", "max_limits"):
        if name in values:
            values[name] = dataclasses.replace(getattr(HostSettings(), name), **values[name])
    return HostSettings(**values)


async def _serve(settings: HostSettings, address: str, tied: bool, tls: Tls | None, tokens: tuple[str, ...]) -> None:
    await serve(Host(settings), address, tied=tied, tls=tls, tokens=tokens, drain_s=settings.drain_s)
