"""`rewarden doctor`: checks each part of the installation, and says what does not work and how to fix it."""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, get_args

import httpx

from rewarden.commands.terminal import add_examples, say
from rewarden.errors import RewardenError, SampleError, near
from rewarden_sandboxes.job import Limits
from rewarden_sandboxes.probing import clean as clean_sandboxes
from rewarden_server.access.key_table import KeyTable
from rewarden_server.access.tls import Certificate
from rewarden_server.cli.cache_state import cache_state
from rewarden_server.cli.check_lines import show_check
from rewarden_server.cli.judge_state import judge_state
from rewarden_server.cli.lean_state import lean_state
from rewarden_server.cli.model_state import model_state
from rewarden_server.cli.sandbox_state import sandbox_state
from rewarden_server.cli.settings import add_settings, read_settings
from rewarden_server.config import Config, known_keys, variable_of
from rewarden_server.lean.projects import shown_place
from rewarden_server.observe.check import Check, Problem
from rewarden_server.observe.health import open_to_all, unwritable
from rewarden_server.observe.installed import installed
from rewarden_server.processes.kept import clean as clean_sockets
from rewarden_server.runs.settings import RunSettings
from rewarden_server.verifier_resources import resources_of, without_password
from rewarden_verifiers.registry import Registry
from rewarden_verifiers.sql.connections import open_session
from rewarden_verifiers.sql.databases import Database, Databases, EngineName

HELP = "check each part of the installation, and report what is missing and how to fix it"
_ANSWER_S = 2.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's flags."""
    add_settings(parser)
    parser.add_argument(
        "--all", action="store_true", help="print all settings with their sources, and more of each part"
    )
    parser.add_argument("--json", action="store_true", help="print everything as JSON, a list of checks")
    parser.add_argument(
        "--clean",
        action="store_true",
        help="remove the containers, folders and cgroups that killed servers and sandbox hosts left behind",
    )
    add_examples(parser, "rewarden doctor", "rewarden doctor --config rewarden.toml --all")


def run(args: argparse.Namespace) -> int:
    """Returns 0 if nothing is missing, 1 if something is, and 2 if the settings cannot be read."""
    try:
        config = read_settings(args)
        if args.clean:
            say("\n".join([*clean_sandboxes(), *clean_sockets()]) or "Nothing to remove.")
            return 0
        checks = asyncio.run(all_checks(config))
    except RewardenError as error:
        say(f"rewarden doctor: {error.message}", file=sys.stderr)
        return 2
    if args.json:
        say(json.dumps([check.as_json() for check in checks], indent=2))
    else:
        _show(checks, details=args.all)
    return 1 if any(check.problems for check in checks) else 0


def _show(checks: Sequence[Check], *, details: bool) -> None:
    width = max(len(check.part) for check in checks)
    for check in checks:
        show_check(check, width, details=details)
    if not any(check.problems for check in checks):
        say("Nothing is missing.")


async def all_checks(config: Config) -> list[Check]:
    """Checks each part. Those of the server's address and keys are listed only if they have a problem."""
    address = address_checks(config)
    found = await asyncio.gather(
        asyncio.to_thread(_libraries, config),
        _programs(config),
        judge_state(config),
        model_state(config),
        cache_state(config),
    )
    (verifiers, sql), (sandbox, lean), judges, models, cache = found
    parts = [verifiers, sandbox, sql, lean, judges, models, cache, runs_state(config.runs)]
    return [settings_check(config), *parts, *(check for check in address if check.problems)]


def _libraries(config: Config) -> tuple[Check, Check]:
    """Checks verifiers, then databases: one thread imports the libraries of both."""
    return verifiers_state(Registry()), databases_state(config)


async def _programs(config: Config) -> tuple[Check, Check]:
    """Checks the sandbox, then Lean: each starts a host, and two at once compete for the same cores."""
    return await sandbox_state(config.sandbox, config.boxes), await lean_state(config)


def settings_check(config: Config) -> Check:
    """Returns the file and the number of other sources. Its details are all settings."""
    counts = Counter(config.source(key).partition(" ")[0] for key in known_keys())
    others = [
        f"{counts[kind]} from {name}" for kind, name in (("env", "the environment"), ("flag", "flags")) if counts[kind]
    ]
    file = str(config.file) if config.file is not None else "defaults (./rewarden.toml does not exist)"
    return Check("settings", "; ".join([file, *others]), tuple(settings_text(config).splitlines()))


def verifiers_state(registry: Registry) -> Check:
    """Loads every verifier and recipe. An extra that is not installed is a choice, and no problem."""
    found = installed(registry)
    summary = f"{found.verifiers} verifiers and {found.recipes} recipes are usable"
    if found.lacking:
        unloaded = len({name for names in found.lacking.values() for name in names})
        summary += f"; {unloaded} more with {found.command}"
    details = tuple(f"without the extra {extra}: {', '.join(names)}" for extra, names in found.lacking.items())
    return Check("verifiers", summary, details, found.broken)


def settings_text(config: Config) -> str:
    """Returns every setting with its value and source. Of keys, only the names are shown."""
    rows = [(key, _shown(config, key), config.source(key)) for key in known_keys()]
    width = max(len(key) for key, _, _ in rows)
    middle = max(len(value) for _, value, _ in rows)
    return "\n".join(f"{key:<{width}}  {value:<{middle}}  {source}".rstrip() for key, value, source in rows)


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


def databases_state(config: Config) -> Check:
    """Opens one database of each engine.

    Raises ConfigError for a catalogue that cannot be read.
    """
    databases = resources_of(config)["sql"]
    assert isinstance(databases, Databases)
    counts = Counter(items[0].engine for items in databases.known.values())
    told = ", ".join(f"{count} on {engine}" for engine, count in sorted(counts.items())) or "none"
    made = ", ".join(databases.servers) or "embedded engines only"
    lines = []
    probes = {items[0].engine: items[0] for items in databases.known.values()}
    for engine in get_args(EngineName):
        if engine in databases.servers:
            probes[engine] = Database(id="doctor", engine=engine, version="1", script="CREATE TABLE t (a INTEGER)")
    missing = []
    for engine, database in probes.items():
        try:
            open_session(database, databases.servers).close()
            lines.append(f"{engine}: {database.id} opens")
        except SampleError as error:
            lines.append(f"{engine}: {database.id} cannot be opened")
            missing.append(Problem(f"{engine}: {error.message}", "see sql.catalogue and docs/sql.md"))
    summary = f"databases registered: {told}; for those sent with requests: {made}"
    if not probes:
        summary = "no databases registered; those sent with requests use embedded engines"
    return Check("sql", summary, tuple(lines), tuple(missing), used=bool(probes))


def runs_state(settings: RunSettings) -> Check:
    """Returns the folder of the store of runs, and its size. A folder that cannot be written is in another check."""
    if not settings.store:
        return Check("runs", "not stored (runs.store)", used=False)
    size = sum(path.stat().st_size for path in settings.folder.glob("*") if path.is_file())
    texts = "figures and rollouts" if settings.texts else "figures without texts"
    return Check(
        "runs", f"{texts} in {settings.folder}, {size / 1024**2:.1f} of {settings.max_bytes / 1024**2:.0f} MiB"
    )


def address_checks(config: Config) -> list[Check]:
    """Checks keys, TLS, folders and ports."""
    keys = KeyTable.load(config.keys)
    server = config.server
    unkeyed = open_to_all(config, keyed=keys.required)
    for name in keys.ruled_only:
        mend = f"rewarden keys new {name}, or remove [keys.rules.{name}]"
        unkeyed.append(Problem(f"keys.rules.{name}: unknown key{near(name, keys.records, otherwise='')}", mend))
    open_text = []
    if Certificate.of(server) is None and keys.required and not server.local:
        mend = "set server.tls_cert and server.tls_key, or put a TLS proxy in front of the server"
        open_text.append(
            Problem(f"TLS: keys and samples are sent unencrypted to {server.published or server.host}", mend)
        )
    closed = [
        Problem(f"{key}: {folder} cannot be written", f"mkdir -p {folder} && chown $USER {folder}")
        for key, folder in unwritable(config)
    ]
    return [
        Check("keys", f"{len(keys.records)} keys", problems=tuple(unkeyed)),
        Check("TLS", "not set", problems=tuple(open_text)),
        Check("folders", "not writable", problems=tuple(closed)),
        Check("ports", "in use", problems=tuple(_taken(config))),
    ]


def _taken(config: Config) -> list[Problem]:
    """Returns the ports that a server cannot listen on. Those of a Rewarden server that already runs are no problem: it
    is the one that is looked at, in a container for example."""
    server = config.server
    ports = (("server.port", server.port, "--port"), ("server.grpc_port", server.grpc_port, "--grpc-port"))
    taken = [(key, port, flag) for key, port, flag in ports if port and not _free(server.host, port)]
    if not taken or (taken[0][0] == "server.port" and _is_ours(config)):
        return []
    return [
        Problem(
            f"{key}: {server.host}:{port} is used by another program",
            f"rewarden serve {flag} {port + 1}, or {variable_of(key)}={port + 1}",
        )
        for key, port, flag in taken
    ]


def _is_ours(config: Config) -> bool:
    """Returns whether a Rewarden server answers at the HTTP port."""
    server = config.server
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(server.host, server.host)
    scheme = "http" if Certificate.of(server) is None else "https"
    url = f"{scheme}://{f'[{host}]' if ':' in host else host}:{server.port}/healthz"
    try:
        # Only told apart from other programs, and sent nothing: its certificate need not name this address.
        reply = httpx.get(url, timeout=_ANSWER_S, verify=False, trust_env=False)
        return bool(reply.json() == {"status": "alive"})
    except (httpx.HTTPError, httpx.InvalidURL, ValueError):
        return False


def _free(host: str, port: int) -> bool:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True
