"""`rewarden doctor`: what is in force and where it was set, what is missing, and the command that mends it."""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import socket
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

from rewarden.errors import RewardenError, SampleError
from rewarden.types import Limits
from rewarden_sandboxes.client import HostClient
from rewarden_sandboxes.errors import HostError
from rewarden_sandboxes.probing import clean as clean_sandboxes
from rewarden_server.cli.judge_state import judge_state
from rewarden_server.cli.lean_state import lean_state
from rewarden_server.cli.settings import add_settings, read_settings
from rewarden_server.config import Config, known_keys, variable_of
from rewarden_server.engine.settings import SandboxSettings
from rewarden_server.host_process import HostProcess, tls_of
from rewarden_server.host_process import clean as clean_sockets
from rewarden_server.keys import Keys, check_name, new_key
from rewarden_server.lean.projects import shown_place
from rewarden_server.sites import sites_of, without_password
from rewarden_verifiers.registry import Registry
from rewarden_verifiers.sql.connections import open_session
from rewarden_verifiers.sql.databases import Database, Databases, EngineName

HELP = "print the settings in force, and what is missing with the command that mends it"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's flags."""
    add_settings(parser)
    parser.add_argument(
        "--clean",
        action="store_true",
        help="remove what killed servers and sandbox hosts left: containers, folders, cgroups",
    )
    parser.add_argument("--new-key", metavar="NAME", help="make an API key; it is shown once and kept nowhere")


def run(args: argparse.Namespace) -> int:
    """0: nothing is missing; 1: something is; 2: the settings cannot be read."""
    try:
        if args.new_key is not None:
            check_name(args.new_key, "--new-key")
            print(key_text(args.new_key))
            return 0
        config = read_settings(args)
        if args.clean:
            print("\n".join([*clean_sandboxes(), *clean_sockets()]) or "Nothing was left.")
            return 0
        print(settings_text(config))
        told, missing = asyncio.run(sandbox_state(config.sandbox))
        print(f"\nsandbox: {told}")
        told_sql, missing_sql = databases_state(config)
        print(f"sql: {told_sql}")
        told_lean, missing_lean = asyncio.run(lean_state(config))
        print(f"lean: {told_lean}")
        told_judges, missing_judges = asyncio.run(judge_state(config))
        print(f"judges: {told_judges}")
        problems = [*missing, *missing_sql, *missing_lean, *missing_judges, *_settings_problems(config)]
        problems += verifier_problems(Registry())
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


_START_S = 30.0
_PROBE_S = 90.0


async def sandbox_state(settings: SandboxSettings) -> tuple[str, list[tuple[str, str]]]:
    """How the sandbox is, in words, after a program was really run in it; and what is missing, with what mends it."""
    if settings.address is None and settings.launcher == "none":
        return "none (sandbox.launcher = none)", []
    process = HostProcess(settings) if settings.address is None else None
    remote: HostClient | None = None
    try:
        if process is not None:
            client = await process.client(_START_S)
        else:
            assert settings.address is not None
            client = remote = HostClient(settings.address, tls_of(settings))
        status = await client.status(probe=True, timeout_s=_PROBE_S)
    except HostError as error:
        mend = _mend(error.message) if process is not None else f"rewarden sandbox-host --listen {settings.address}"
        return "missing", [(f"the sandbox: {error.message}", mend)]
    finally:
        if process is not None:
            await process.close()
        if remote is not None:
            await remote.close()
    return _sandbox_text(status), _sandbox_problems(status)


def _sandbox_text(status: Mapping[str, Any]) -> str:
    """What the host says of itself, a line each."""
    probe = status.get("probe") or {}
    where = " ".join(filter(None, [status.get("launcher"), status.get("runtime")]))
    head = f"{where} runs programs" if probe.get("ok") else "nothing runs"
    rooms = "" if status.get("rooms", True) else "; each in a container to itself (rooms cannot be had): slower"
    lines = [f"{head}{rooms}"]
    lines += [f"  image {name}: {image or 'missing'}" for name, image in status.get("images", {}).items()]
    lines.append(f"  languages: {', '.join(status.get('languages', {}))}")
    enforced = status.get("enforced", {})
    if enforced:
        lines.append(f"  limits held by: {', '.join(f'{name}: {how}' for name, how in enforced.items())}")
    return "\n".join(lines)


_COMMAND = re.compile(r"\b(?:apt-get|docker|pip|rewarden|sysctl|systemctl|usermod) [^;,()]+")


def _sandbox_problems(status: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What is missing. The host's words hold the command that mends it."""
    probe = status.get("probe") or {}
    reason = probe.get("reason") or status.get("problem")
    found = [] if reason is None else [(f"the sandbox: {reason}", _mend(str(reason)))]
    for tier, modules in (status.get("missing") or {}).items():
        if modules:
            found.append((f"the sandbox's Python lacks {', '.join(modules)} ({tier})", "rewarden sandbox-host build"))
    return found


def _mend(reason: str) -> str:
    command = _COMMAND.search(reason)
    return command[0].strip() if command is not None else "as it says; docs/sandbox.md has more"


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
    if key == "lean.kimina_key":
        return "set"
    if key == "judges.named":
        return ", ".join(f"{name}={judge.model}" for name, judge in value.items()) or "none"
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={shown_place(text)}" for name, text in value.items()) or "none"
    if section == "sql" and isinstance(value, str):
        return without_password(value)
    if isinstance(value, Limits):
        return ", ".join(f"{name}={limit:g}" for name, limit in asdict(value).items() if limit is not None) or "none"
    return str(value).lower() if isinstance(value, bool) else str(value)


def databases_state(config: Config) -> tuple[str, list[tuple[str, str]]]:
    """Which databases `sql` has, in words, after one of each engine was opened; and what is missing, with its mend.

    Raises ConfigError for a catalogue that cannot be read.
    """
    databases = sites_of(config)["sql"]
    assert isinstance(databases, Databases)
    counts = Counter(items[0].engine for items in databases.known.values())
    told = ", ".join(f"{count} on {engine}" for engine, count in sorted(counts.items())) or "none"
    made = ", ".join(databases.servers) or "embedded engines only"
    lines = [f"databases registered: {told}; those that come with requests: {made}"]
    probes = {items[0].engine: items[0] for items in databases.known.values()}
    for engine in get_args(EngineName):
        if engine in databases.servers:
            probes[engine] = Database(id="doctor", engine=engine, version="1", script="CREATE TABLE t (a INTEGER)")
    missing = []
    for engine, database in probes.items():
        try:
            open_session(database, databases.servers).close()
            lines.append(f"  {engine}: {database.id} opens")
        except SampleError as error:
            lines.append(f"  {engine}: {database.id} does not open")
            missing.append((f"{engine}: {error.message}", "see sql.catalogue and docs/sql.md"))
    return "\n".join(lines), missing


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
