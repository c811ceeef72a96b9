"""`rewarden doctor`: prints the settings in effect and where they were set, what is missing, and how to fix it."""

from __future__ import annotations

import argparse
import asyncio
import socket
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, get_args

from rewarden.commands.terminal import say
from rewarden.errors import RewardenError, SampleError, near
from rewarden_sandboxes.job import Limits
from rewarden_sandboxes.probing import clean as clean_sandboxes
from rewarden_server.access.key_table import KeyTable
from rewarden_server.access.tls import Certificate
from rewarden_server.cli.cache_state import cache_state
from rewarden_server.cli.judge_state import judge_state
from rewarden_server.cli.lean_state import lean_state
from rewarden_server.cli.model_state import model_state
from rewarden_server.cli.sandbox_state import sandbox_state
from rewarden_server.cli.settings import add_settings, read_settings
from rewarden_server.config import Config, known_keys, variable_of
from rewarden_server.lean.projects import shown_place
from rewarden_server.observe.health import open_to_all, unwritable
from rewarden_server.processes.kept import clean as clean_sockets
from rewarden_server.verifier_resources import resources_of, without_password
from rewarden_verifiers.registry import Registry
from rewarden_verifiers.sql.connections import open_session
from rewarden_verifiers.sql.databases import Database, Databases, EngineName

HELP = "print the settings in effect, and report what is missing and how to fix it"


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's flags."""
    add_settings(parser)
    parser.add_argument(
        "--clean",
        action="store_true",
        help="remove the containers, folders and cgroups that killed servers and sandbox hosts left behind",
    )


def run(args: argparse.Namespace) -> int:
    """Returns 0 if nothing is missing, 1 if something is, and 2 if the settings cannot be read."""
    try:
        config = read_settings(args)
        if args.clean:
            say("\n".join([*clean_sandboxes(), *clean_sockets()]) or "Nothing to remove.")
            return 0
        say(settings_text(config))
        told, missing = asyncio.run(sandbox_state(config.sandbox))
        say(f"\nsandbox: {told}")
        told_sql, missing_sql = databases_state(config)
        say(f"sql: {told_sql}")
        told_lean, missing_lean = asyncio.run(lean_state(config))
        say(f"lean: {told_lean}")
        told_judges, missing_judges = asyncio.run(judge_state(config))
        say(f"judges: {told_judges}")
        told_models, missing_models = asyncio.run(model_state(config))
        say(f"models: {told_models}")
        told_cache, missing_cache = asyncio.run(cache_state(config))
        say(f"cache: {told_cache}")
        problems = [*missing, *missing_sql, *missing_lean, *missing_judges, *missing_models, *missing_cache]
        problems += _settings_problems(config)
        problems += verifier_problems(Registry())
    except RewardenError as error:
        say(f"rewarden doctor: {error.message}", file=sys.stderr)
        return 2
    say()
    if not problems:
        say("Nothing is missing.")
        return 0
    for problem, mend in problems:
        say(f"missing: {problem}\n    fix: {mend}")
    return 1


def settings_text(config: Config) -> str:
    """Returns every setting with its value and source. Of keys, only the names are shown."""
    file = f"file: {config.file}" if config.file is not None else "file: none (./rewarden.toml does not exist)"
    rows = [(key, _shown(config, key), config.source(key)) for key in known_keys()]
    width = max(len(key) for key, _, _ in rows)
    middle = max(len(value) for _, value, _ in rows)
    lines = [f"{key:<{width}}  {value:<{middle}}  {source}".rstrip() for key, value, source in rows]
    return "\n".join([file, *lines])


def _shown(config: Config, key: str) -> str:
    section, _, name = key.partition(".")
    value: Any = getattr(getattr(config, section), name)
    if key in ("keys.named", "keys.rules", "server.origins", "server.hosts"):
        return ", ".join(value) or "none"
    if value is None:
        return "none"
    if key in ("lean.kimina_key", "engine.cache_redis"):
        return "set"
    if key in ("judges.named", "models.named"):
        return ", ".join(f"{name}={made.model}" for name, made in value.items()) or "none"
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={shown_place(text)}" for name, text in value.items()) or "none"
    if section == "sql" and isinstance(value, str):
        return without_password(value)
    if isinstance(value, Limits):
        return ", ".join(f"{name}={limit:g}" for name, limit in asdict(value).items() if limit is not None) or "none"
    return str(value).lower() if isinstance(value, bool) else str(value)


def databases_state(config: Config) -> tuple[str, list[tuple[str, str]]]:
    """Opens one database of each engine. Returns a description of the databases that `sql` has, and what is missing,
    each with the fix.

    Raises ConfigError for a catalogue that cannot be read.
    """
    databases = resources_of(config)["sql"]
    assert isinstance(databases, Databases)
    counts = Counter(items[0].engine for items in databases.known.values())
    told = ", ".join(f"{count} on {engine}" for engine, count in sorted(counts.items())) or "none"
    made = ", ".join(databases.servers) or "embedded engines only"
    lines = [f"databases registered: {told}; for those sent with requests: {made}"]
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
            lines.append(f"  {engine}: {database.id} cannot be opened")
            missing.append((f"{engine}: {error.message}", "see sql.catalogue and docs/sql.md"))
    return "\n".join(lines), missing


def verifier_problems(registry: Registry) -> list[tuple[str, str]]:
    """Returns why verifiers and recipes cannot be loaded, each problem once and with the fix."""
    found = []
    for name in registry:
        try:
            registry.get(name)
        except SampleError as error:
            text, _, command = error.message.rpartition(": pip install ")
            plugin = registry.plugin_of(name)
            otherwise = (
                f"fix or remove the package {plugin}" if plugin else "pip install --force-reinstall rewarden-server"
            )
            found.append((text or error.message, f"pip install {command}" if text else otherwise))
    return list(dict.fromkeys(found))  # a recipe lacks what its verifiers lack


def _settings_problems(config: Config) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    keys = KeyTable.load(config.keys)
    server = config.server
    if Certificate.of(server) is None and keys.required and server.host not in ("127.0.0.1", "localhost", "::1"):
        mend = "set server.tls_cert and server.tls_key, or put a TLS proxy in front of the server"
        found.append((f"TLS: keys and samples are sent unencrypted to {server.host}", mend))
    for name in keys.ruled_only:
        mend = f"rewarden keys new {name}, or remove [keys.rules.{name}]"
        found.append((f"keys.rules.{name}: unknown key{near(name, keys.records, otherwise='')}", mend))
    found += open_to_all(config, keyed=keys.required)
    for key, folder in unwritable(config):
        found.append((f"{key}: {folder} cannot be written", f"mkdir -p {folder} && chown $USER {folder}"))
    for key, port, flag in (
        ("server.port", server.port, "--port"),
        ("server.grpc_port", server.grpc_port, "--grpc-port"),
    ):
        if port and not _free(server.host, port):
            mend = f"rewarden serve {flag} {port + 1}, or {variable_of(key)}={port + 1}"
            found.append((f"{key}: {server.host}:{port} is in use (is a server already running?)", mend))
    return found


def _free(host: str, port: int) -> bool:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True
