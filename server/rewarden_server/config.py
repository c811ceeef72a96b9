"""The settings of the server, from `rewarden.toml`, the environment and flags. Later ones override; sources are kept.

Every key of the file is also `REWARDEN_SECTION_KEY` in the environment (`engine.workers` is `REWARDEN_ENGINE_WORKERS`).
An unknown key is refused, with the nearest known name, so that a misspelt limit is not silently ignored.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, get_args, get_type_hints

import tomllib

from rewarden.errors import RewardenError, near
from rewarden_server.access.settings import AuditSettings, KeySettings
from rewarden_server.boxes.settings import BoxSettings
from rewarden_server.engine.settings import EngineSettings
from rewarden_server.environments.settings import EnvironmentSettings
from rewarden_server.intake.settings import LimitSettings, RoutingSettings
from rewarden_server.judges.settings import JudgeSettings
from rewarden_server.lean.settings import LeanSettings
from rewarden_server.models.settings import ModelSettings
from rewarden_server.observe.settings import LogSettings, RecordSettings, TelemetrySettings
from rewarden_server.processes.settings import SandboxSettings
from rewarden_server.runs.settings import RunSettings
from rewarden_server.setting import Amount, File, Parts, Port, Text, texts
from rewarden_server.studies.settings import JobSettings
from rewarden_server.tasks.settings import TaskSettings
from rewarden_verifiers.schema import Misfit, read

DEFAULT_FILE = Path("rewarden.toml")
FILE_VARIABLE = "REWARDEN_CONFIG"
PREFIX = "REWARDEN_"


class ConfigError(RewardenError):
    """A setting is unknown or invalid. The message names it, where it was set, and the fix."""

    code: ClassVar[str] = "config"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """The server's address (port 0 picks a free one), and how many seconds draining may take.

    tls_cert, tls_key: PEM files; with them, both ports accept only TLS. origins: further origins of web pages
    (`https://rewards.example.com`) whose requests are served, besides the server's own. hosts: the `Host` names that
    the server answers to; if empty, see `http/origin.py`. published: the address at which others reach a container's
    ports, which decides whether it is open to other machines; if None, `host` does.
    """

    host: Text = "127.0.0.1"
    port: Port = 8080
    grpc_port: Port = 50051
    drain_s: Amount = 30.0
    tls_cert: File | None = None
    tls_key: File | None = None
    origins: Annotated[tuple[Text, ...], Parts, texts("https://rewards.example.com")] = ()
    hosts: Annotated[tuple[Text, ...], Parts, texts("rewards.example.com")] = ()
    published: Text | None = None

    @property
    def local(self) -> bool:
        """Returns whether only this machine reaches the server."""
        return (self.published or self.host) in ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlSettings:
    """The databases of `sql`.

    catalogue: a TOML file that registers them. postgres, mysql: addresses of servers on which databases that come with
    requests, or as scripts, can be created.
    """

    catalogue: File | None = None
    postgres: Text | None = None
    mysql: Text | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """All settings, with the source of each (`section.key`): `default`, `file …`, `env …` or `flag …`."""

    server: ServerSettings = field(default_factory=ServerSettings)
    engine: EngineSettings = field(default_factory=lambda: EngineSettings(eager=True))
    sandbox: SandboxSettings = field(default_factory=SandboxSettings)
    boxes: BoxSettings = field(default_factory=BoxSettings)
    tasks: TaskSettings = field(default_factory=TaskSettings)
    environments: EnvironmentSettings = field(default_factory=EnvironmentSettings)
    limits: LimitSettings = field(default_factory=LimitSettings)
    keys: KeySettings = field(default_factory=KeySettings)
    audit: AuditSettings = field(default_factory=AuditSettings)
    logs: LogSettings = field(default_factory=LogSettings)
    jobs: JobSettings = field(default_factory=JobSettings)
    records: RecordSettings = field(default_factory=RecordSettings)
    runs: RunSettings = field(default_factory=RunSettings)
    routing: RoutingSettings = field(default_factory=RoutingSettings)
    sql: SqlSettings = field(default_factory=SqlSettings)
    lean: LeanSettings = field(default_factory=LeanSettings)
    judges: JudgeSettings = field(default_factory=JudgeSettings)
    models: ModelSettings = field(default_factory=ModelSettings)
    telemetry: TelemetrySettings = field(default_factory=TelemetrySettings)
    sources: Mapping[str, str] = field(default_factory=dict)
    file: Path | None = None

    def source(self, key: str) -> str:
        """Returns the origin of the value of `section.key`."""
        return self.sources.get(key, "default")


SECTIONS: Mapping[str, type] = {
    name: kind for name, kind in get_type_hints(Config).items() if name not in ("sources", "file")
}

_RENAMED: Mapping[str, str] = {
    "sandbox.tokens": "sandbox.cpu_permits",
    "sandbox.most": "sandbox.max_limits",
    "sandbox.patience_s": "sandbox.queue_timeout_s",
    "limits.head_s": "limits.header_timeout_s",
}
"""Settings that were renamed before the first release."""


def known_keys() -> list[str]:
    """Every `section.key`, in the order of the sections."""
    return [f"{name}.{item.name}" for name, kind in SECTIONS.items() for item in fields(kind)]


def variable_of(key: str) -> str:
    """The environment variable of a `section.key`."""
    return PREFIX + key.replace(".", "_").upper()


def load_config(
    file: Path | None = None,
    *,
    environ: Mapping[str, str],
    flags: Mapping[str, tuple[str, Any]] | None = None,
    only: str | None = None,
) -> Config:
    """Returns the settings in effect.

    `file`: the configuration file; without one, the variable `REWARDEN_CONFIG`, then `rewarden.toml` in the working
    folder if it exists. `flags`: `section.key` to (the flag as typed, value). `only`: the one section to read; the
    others keep their defaults. Raises ConfigError.
    """
    values: dict[str, dict[str, Any]] = {}
    sources: dict[str, str] = {}
    path = _find_file(file, environ)
    layers = [*([_from_file(path)] if path is not None else []), _from_environment(environ), dict(flags or {})]
    types = {name: get_type_hints(kind, include_extras=True) for name, kind in SECTIONS.items()}
    for layer in layers:
        for key, (source, value) in layer.items():
            section, _, name = key.partition(".")
            if name not in types.get(section, {}):
                raise ConfigError(f"{source}: unknown setting {key!r}{_instead(key, known_keys(), _RENAMED)}")
            if only not in (None, section):
                continue
            kind = types[section][name]
            unset = value == "" and type(None) in get_args(kind)
            try:
                made = None if unset else read(kind, value, key, unknown="unknown setting {}", table="a table")
            except Misfit as misfit:
                raise ConfigError(f"{source}: {misfit.message}") from None
            values.setdefault(section, {})[name] = made
            sources[key] = source
    config = Config(sources=sources, file=path)
    config = replace(config, **{name: replace(getattr(config, name), **given) for name, given in values.items()})
    _check_cache(config)
    return config


def _find_file(file: Path | None, environ: Mapping[str, str]) -> Path | None:
    if file is None and environ.get(FILE_VARIABLE):
        file = Path(environ[FILE_VARIABLE])
    if file is not None:
        if not file.is_file():
            raise ConfigError(f"the configuration file {str(file)!r} does not exist")
        return file
    return DEFAULT_FILE if DEFAULT_FILE.is_file() else None


def _from_file(path: Path) -> dict[str, tuple[str, Any]]:
    source = f"file {path}"
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{source}: not TOML: {error}") from None
    found: dict[str, tuple[str, Any]] = {}
    for section, table in data.items():
        if section not in SECTIONS:
            raise ConfigError(f"{source}: unknown section [{section}]{near(section, SECTIONS)}")
        if not isinstance(table, dict):
            raise ConfigError(f"{source}: [{section}] must be a table")
        found.update({f"{section}.{name}": (source, value) for name, value in table.items()})
    return found


_KUBERNETES = re.compile(r"_SERVICE_(HOST|PORT)|_PORT_\d+_")
"""Kubernetes sets these variables in every pod next to a service named `rewarden-server`; they are not settings."""


_IN_FILE = "_FILE"
"""The suffix of a variable that names a file with a setting's value. A setting whose own name ends in it (`keys.file`)
is not meant."""


def _from_environment(environ: Mapping[str, str]) -> dict[str, tuple[str, Any]]:
    variables = {variable_of(key): key for key in known_keys()}
    prefixes = tuple(f"{PREFIX}{section.upper()}_" for section in SECTIONS)
    found: dict[str, tuple[str, Any]] = {}
    for name, value in environ.items():
        if not name.startswith(prefixes) or _KUBERNETES.search(name) or value.startswith("tcp://"):
            continue
        if name in variables:
            found[variables[name]] = (f"env {name}", value)
        elif name.removesuffix(_IN_FILE) in variables:
            # Container engines show the environment, so a variable can name a file that holds a secret.
            if value:
                found[variables[name.removesuffix(_IN_FILE)]] = (f"env {name}", _content(name, Path(value)))
        else:
            renamed = {variable_of(old): variable_of(new) for old, new in _RENAMED.items()}
            raise ConfigError(f"env {name}: unknown setting{_instead(name, variables, renamed)}")
    return found


def _content(name: str, path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"env {name}: the file {str(path)!r} cannot be read: {error}") from None


def _instead(name: str, known: Any, renamed: Mapping[str, str]) -> str:
    """Returns the end of a message that suggests a name: the new name of a renamed setting, or near names."""
    return f"; it is now called {renamed[name]}" if name in renamed else near(name, known, otherwise="")


_LEAST_CACHE_KEY = 16


def _check_cache(config: Config) -> None:
    """Checks the shared cache. Its address can hold a password, so messages do not repeat it."""
    engine = config.engine
    if engine.cache_redis is None:
        return
    where = f"{config.source('engine.cache_redis')}: engine.cache_redis"
    if not engine.cache_redis.startswith(("redis://", "rediss://", "unix://")):
        raise ConfigError(f"{where} must be redis://HOST:PORT/0, rediss://… or unix://PATH")
    if importlib.util.find_spec("redis") is None:
        raise ConfigError(f"{where} needs a package: pip install 'rewarden-server[redis]'")
    for name in ("cache_redis_password_file", "cache_key_file"):
        path: Path | None = getattr(engine, name)
        if path is None:
            continue
        key = f"{config.source(f'engine.{name}')}: engine.{name}"
        try:
            length = len(path.read_bytes().strip())
        except OSError as error:
            raise ConfigError(f"{key}: {path} cannot be read: {error.strerror}") from None
        if name == "cache_key_file" and length < _LEAST_CACHE_KEY:
            raise ConfigError(
                f"{key}: {path} must contain at least {_LEAST_CACHE_KEY} bytes: openssl rand -hex 32 > {path}"
            )
