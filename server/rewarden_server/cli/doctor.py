"""`rewarden doctor`: what is in force and where it was set, what is missing, and the command that mends it."""

from __future__ import annotations

import argparse
import os
import socket
import sys
from pathlib import Path
from typing import Any

from rewarden.errors import RewardenError, SampleError
from rewarden_server.cli.settings import add_settings, read_settings
from rewarden_server.config import Config, known_keys, variable_of
from rewarden_server.keys import Keys, check_name, new_key
from rewarden_verifiers.registry import Registry

HELP = "print the settings in force, and what is missing with the command that mends it"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's flags."""
    add_settings(parser)
    parser.add_argument("--new-key", metavar="NAME", help="make an API key; it is shown once and kept nowhere")


def run(args: argparse.Namespace) -> int:
    """0: nothing is missing; 1: something is; 2: the settings cannot be read."""
    try:
        if args.new_key is not None:
            check_name(args.new_key, "--new-key")
            print(key_text(args.new_key))
            return 0
        config = read_settings(args)
        print(settings_text(config))
        problems = [*_settings_problems(config), *verifier_problems(Registry())]
    except RewardenError as error:
        print(f"rewarden doctor: {error.message}", file=sys.stderr)
        return 2
    print()
    if not problems:
        print("Nothing is missing.")
        return 0
    for problem, mend in problems:
        print(f"missing: {problem}\n   mend: {mend}")
    return 1


def key_text(name: str) -> str:
    """A new key and what to do with it."""
    key, digest = new_key()
    return (
        f"key (shown once; give it to the caller): {key}\n\n"
        f'hash (for the server), in rewarden.toml:\n\n[keys.named]\n"{name}" = "{digest}"\n\n'
        f"or as a line of the file that keys.file names:\n\n{name} {digest}"
    )


def settings_text(config: Config) -> str:
    """Every setting, its value and its source. Of keys only the names are shown."""
    file = f"file: {config.file}" if config.file is not None else "file: none (./rewarden.toml is not there)"
    rows = [(key, _shown(config, key), config.source(key)) for key in known_keys()]
    width = max(len(key) for key, _, _ in rows)
    middle = max(len(value) for _, value, _ in rows)
    lines = [f"{key:<{width}}  {value:<{middle}}  {source}".rstrip() for key, value, source in rows]
    return "\n".join([file, *lines])


def _shown(config: Config, key: str) -> str:
    section, _, name = key.partition(".")
    value: Any = getattr(getattr(config, section), name)
    if key == "keys.named":
        return ", ".join(value) or "none"
    if value is None:
        return "none"
    return str(value).lower() if isinstance(value, bool) else str(value)


def verifier_problems(registry: Registry) -> list[tuple[str, str]]:
    """Verifiers and recipes that cannot be loaded, each with what mends it."""
    found = []
    for name in registry:
        try:
            registry.get(name)
        except SampleError as error:
            text, _, command = error.message.rpartition(": pip install ")
            plugin = registry.plugin_of(name)
            otherwise = (
                f"mend or remove the package {plugin}" if plugin else "pip install --force-reinstall rewarden-server"
            )
            found.append((text or error.message, f"pip install {command}" if text else otherwise))
    return found


def _settings_problems(config: Config) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    keys = Keys.load(config.keys)
    server = config.server
    if not keys.names and server.host not in ("127.0.0.1", "localhost", "::1"):
        found.append((f"the server is open to everyone who reaches {server.host}", "rewarden doctor --new-key NAME"))
    for key, folder in (("engine.cache_dir", config.engine.cache_dir), ("limits.blob_dir", config.limits.blob_dir)):
        if folder is not None and not _writable(folder):
            found.append((f"{key}: {folder} cannot be written", f"mkdir -p {folder} && chown $USER {folder}"))
    for key, port, flag in (
        ("server.port", server.port, "--port"),
        ("server.grpc_port", server.grpc_port, "--grpc-port"),
    ):
        if port and not _free(server.host, port):
            mend = f"rewarden serve {flag} {port + 1}, or {variable_of(key)}={port + 1}"
            found.append((f"{key}: {server.host}:{port} is taken (by a server that runs?)", mend))
    return found


def _writable(folder: Path) -> bool:
    """Whether the folder can be written, or made."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)


def _free(host: str, port: int) -> bool:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True
