"""The settings of the server: one `rewarden.toml`, the environment, flags. The later wins; each value knows its source.

Every key of the file is also `REWARDEN_SECTION_KEY` in the environment (`engine.workers` is `REWARDEN_ENGINE_WORKERS`).
A key that is not known is refused with the nearest known name: a misspelt limit must not be silently without effect.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args, get_origin, get_type_hints
from urllib.parse import urlsplit

import tomllib

from rewarden.errors import RewardenError, near
from rewarden_models.endpoint import ModelEndpoint
from rewarden_sandboxes.job import Limits
from rewarden_server.access.rules import SCOPES, KeyRule
from rewarden_server.engine.settings import (
    EngineSettings,
    JudgeEndpoint,
    JudgeSettings,
    LeanSettings,
    ModelSettings,
    SandboxSettings,
)

DEFAULT_FILE = Path("rewarden.toml")
FILE_VARIABLE = "REWARDEN_CONFIG"
PREFIX = "REWARDEN_"


class ConfigError(RewardenError):
    """A setting is unknown or has no sense; the message names it, where it was set, and the fix."""

    code: ClassVar[str] = "config"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """The server's address (port 0: any free one), and how many seconds it may take to end what is in flight.

    tls_cert, tls_key: PEM files; with them both ports speak TLS only. origins: addresses of pages
    (`https://rewards.example.com`), beside the server's own, whose requests are served. hosts: the names by which the
    server may be asked (`Host`); empty: see `http/origin.py`.
    """

    host: str = "127.0.0.1"
    port: int = 8080
    grpc_port: int = 50051
    drain_s: float = 30.0
    tls_cert: Path | None = None
    tls_key: Path | None = None
    origins: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitSettings:
    """The limits of one request; over them is 413, for a single row that row's error. Sizes in bytes, unpacked.

    max_body_bytes: a whole request. max_sample_bytes: one row. max_samples: rows of a request that is no stream.
    max_depth: nesting of JSON. max_run_bytes: a program with its input and files. max_blob_bytes: one blob.
    blob_store_bytes: all blobs together; the least recently used one goes first. max_open_bytes: bodies that are held
    at once, of all requests together; over it is 429. max_connections: of each port, at once; over it is 503,
    and gRPC closes. header_timeout_s: what a request's line and headers may take, in seconds.
    """

    max_body_bytes: int = 256 * 1024**2
    max_sample_bytes: int = 16 * 1024**2
    max_samples: int = 131_072
    max_depth: int = 64
    max_run_bytes: int = 64 * 1024**2
    max_blob_bytes: int = 64 * 1024**2
    blob_store_bytes: int = 1024**3
    max_open_bytes: int = 2 * 1024**3
    max_connections: int = 10_000
    header_timeout_s: float = 20.0
    blob_dir: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySettings:
    """The keys of those who may ask. Without any key everyone who reaches the port may.

    `named` maps a key's name to its SHA-256 in hex; `file` holds lines of `name sha256`. Make one with
    `rewarden doctor --new-key NAME`. `rules`: what a key may do, by its name; `*` is for those without one.
    """

    file: Path | None = None
    named: Mapping[str, str] = field(default_factory=dict)
    rules: Mapping[str, KeyRule] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditSettings:
    """The audit log. `file`: where it lies (without it there is none); `max_bytes`: from which it is put aside; `keep`:
    files put aside; `ids`: samples' ids in one line; `required`: whether requests are refused while it cannot be
    written."""

    file: Path | None = None
    max_bytes: int = 100 * 1024**2
    keep: int = 10
    ids: int = 1000
    required: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSettings:
    """Uploaded rescores. `dir`: where jobs lie (without it there are none); `max_bytes`: of one upload; `max_jobs`: of
    one key, ended ones too, until they are deleted; `max_total_bytes`: of all of them, with what they wrote."""

    dir: Path | None = None
    max_bytes: int = 8 * 1024**3
    max_jobs: int = 1000
    max_total_bytes: int = 100 * 1024**3


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordSettings:
    """Records for `rewarden explain`. `dir`: where they lie (without it none are kept); `share`: of what is dull;
    `max_bytes`: of all of them, the oldest go first."""

    dir: Path | None = None
    share: float = 0.01
    max_bytes: int = 10 * 1024**3


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingSettings:
    """The routing of samples that name no verifier, in requests that name none either. `file`: a routing file, or
    `starter` for the routes that ship; without one such samples are errors of the caller's."""

    file: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlSettings:
    """The databases of `sql`.

    catalogue: a TOML file that registers them. postgres, mysql: addresses of servers on which databases that come with
    requests, or as scripts, may be made.
    """

    catalogue: Path | None = None
    postgres: str | None = None
    mysql: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSettings:
    """The level of the log, and its form: JSON lines, or text for a person."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    json: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TelemetrySettings:
    """Traces. `endpoint`: a collector that takes OTLP over HTTP (without it there are none); `service`: what they say
    this server is; `sample_share`: of the requests that are traced, beside those whose callers trace already."""

    endpoint: str | None = None
    service: str = "rewarden"
    sample_share: float = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """All settings, and for each (`section.key`) where it was set: `default`, `file …`, `env …` or `flag …`."""

    server: ServerSettings = field(default_factory=ServerSettings)
    engine: EngineSettings = field(default_factory=lambda: EngineSettings(eager=True))
    sandbox: SandboxSettings = field(default_factory=SandboxSettings)
    limits: LimitSettings = field(default_factory=LimitSettings)
    keys: KeySettings = field(default_factory=KeySettings)
    audit: AuditSettings = field(default_factory=AuditSettings)
    logs: LogSettings = field(default_factory=LogSettings)
    jobs: JobSettings = field(default_factory=JobSettings)
    records: RecordSettings = field(default_factory=RecordSettings)
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
    "server": ServerSettings,
    "engine": EngineSettings,
    "sandbox": SandboxSettings,
    "limits": LimitSettings,
    "keys": KeySettings,
    "audit": AuditSettings,
    "logs": LogSettings,
    "jobs": JobSettings,
    "records": RecordSettings,
    "routing": RoutingSettings,
    "sql": SqlSettings,
    "lean": LeanSettings,
    "judges": JudgeSettings,
    "models": ModelSettings,
    "telemetry": TelemetrySettings,
}

_OF_A_SERVER: Mapping[str, Mapping[str, Any]] = {"engine": {"eager": True}}
"""Defaults that differ from the engine's own: a server is ready when its workers are warm, not before."""

_MAY_BE_ZERO = frozenset(
    {"audit.ids"}
    | {"server.port", "server.grpc_port", "server.drain_s", "engine.slow_workers", "engine.cache_entries"}
    | {"engine.cache_bytes", "sandbox.drain_s", "records.share", "telemetry.sample_share"}
    | {"judges.cache_mb", "judges.named.retries", "judges.named.temperature"}
    | {"models.cache_mb", "models.named.latency_ms"}
    | {f"judges.named.{name}" for name in ("input_usd", "output_usd", "budget_usd", "budget_tokens", "budget_calls")}
)
_SECRET = (
    *("keys.", "sql.", "lean.projects", "lean.kimina_key", "judges.named", "models.named"),
    *("telemetry.endpoint", "engine.cache_redis"),
)
"""Keys, or their beginnings, whose values are never repeated: somebody may have put a key where its hash belongs, and
addresses hold passwords."""

_TABLES: Mapping[str, tuple[str, str]] = {
    "keys.named": ("name", "sha256"),
    "lean.projects": ("name", "folder or address"),
    "lean.warm": ("project", "import lines"),
}
"""Settings that map names to texts: what the names and the texts are."""

_MOST: Mapping[str, int] = {
    "server.port": 65_535,
    "server.grpc_port": 65_535,
    "limits.max_depth": 500,
    "telemetry.sample_share": 1,
    "judges.named.concurrency": 1000,
    "models.named.concurrency": 100_000,
}
"""The greatest values of settings. Depth stays below Python's recursion limit, since recursive code walks the decoded
value. A judge's client has only so many connections."""


_RENAMED: Mapping[str, str] = {
    "sandbox.tokens": "sandbox.cpu_permits",
    "sandbox.most": "sandbox.max_limits",
    "sandbox.patience_s": "sandbox.queue_timeout_s",
    "limits.head_s": "limits.header_timeout_s",
}
"""Settings that had another name before the first release."""


def known_keys() -> list[str]:
    """Every `section.key`, in the order of the sections."""
    return [f"{name}.{item.name}" for name, kind in SECTIONS.items() for item in dataclasses.fields(kind)]


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
    """The settings in force.

    `file`: the configuration file; without one, the variable `REWARDEN_CONFIG`, then `rewarden.toml` in the working
    folder if there is one. `flags`: `section.key` to (the flag as typed, value). `only`: the one section that is read;
    the others are as if nothing stood there. Raises ConfigError.
    """
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    path = _find_file(file, environ)
    layers = [*([_from_file(path)] if path is not None else []), _from_environment(environ), dict(flags or {})]
    types = {name: get_type_hints(kind) for name, kind in SECTIONS.items()}
    for layer in layers:
        for key, (source, value) in layer.items():
            section, _, name = key.partition(".")
            if name not in types.get(section, {}):
                raise ConfigError(f"{source}: there is no setting {key!r}{_instead(key, known_keys(), _RENAMED)}")
            if only not in (None, section):
                continue
            values[key] = _convert(key, value, types[section][name], source)
            sources[key] = source
    sections = {
        name: kind(
            **dict(_OF_A_SERVER.get(name, {}))
            | {key.partition(".")[2]: value for key, value in values.items() if key.startswith(f"{name}.")}
        )
        for name, kind in SECTIONS.items()
    }
    _check_cache(sections["engine"], sources)
    return Config(**sections, sources=sources, file=path)


def _find_file(file: Path | None, environ: Mapping[str, str]) -> Path | None:
    if file is None and environ.get(FILE_VARIABLE):
        file = Path(environ[FILE_VARIABLE])
    if file is not None:
        if not file.is_file():
            raise ConfigError(f"there is no configuration file {str(file)!r}")
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
            raise ConfigError(f"{source}: there is no section [{section}]{near(section, SECTIONS)}")
        if not isinstance(table, dict):
            raise ConfigError(f"{source}: [{section}] must be a table")
        found.update({f"{section}.{name}": (source, value) for name, value in table.items()})
    return found


_KUBERNETES = re.compile(r"_SERVICE_(HOST|PORT)|_PORT_\d+_")
"""Kubernetes puts such variables into every pod beside a service named `rewarden-server`; they are not ours."""


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
            # The environment of a container is shown by its engine: a secret stands in a file, which is named instead.
            if value:
                found[variables[name.removesuffix(_IN_FILE)]] = (f"env {name}", _content(name, Path(value)))
        else:
            renamed = {variable_of(old): variable_of(new) for old, new in _RENAMED.items()}
            raise ConfigError(f"env {name}: there is no such setting{_instead(name, variables, renamed)}")
    return found


def _content(name: str, path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"env {name}: the file {str(path)!r} cannot be read: {error}") from None


def _instead(name: str, known: Any, renamed: Mapping[str, str]) -> str:
    """Returns the words that say which name is meant: the new one of a setting that was renamed, or near ones."""
    return f": it is {renamed[name]} now" if name in renamed else near(name, known, otherwise="")


def _convert(key: str, value: Any, kind: Any, source: str) -> Any:
    """A value as its setting's type. Text is read (environment, flags); TOML's own types must fit already."""
    optional = type(None) in get_args(kind)
    if optional:
        kind = next(part for part in get_args(kind) if part is not type(None))
        if value == "":
            return None
    shown = "what stands there" if key.startswith(_SECRET) else repr(value)
    wrong = ConfigError(f"{source}: {key} must be {_describe(key, kind)}, not {shown}")
    if get_origin(kind) is Literal:
        if value not in get_args(kind):
            raise wrong
        return value
    if key in _TABLES:
        table = _table(value, wrong)
        # A leading ~ alone: what else stands there may be an address, or Lean.
        return {name: os.path.expanduser(text) for name, text in table.items()} if key == "lean.projects" else table
    if kind is Limits:
        return _limits(key, value, source, wrong)
    if key == "sandbox.address":
        return _addresses(key, value, source, wrong)
    if key in _NAMED:
        return _named(key, value, source, wrong)
    if key == "keys.rules":
        return _rules(value, source, wrong)
    if key in _LISTS:
        return _list(value, wrong)
    if kind is Path:
        if not isinstance(value, str):
            raise wrong
        return Path(value).expanduser()
    if kind is bool:
        if isinstance(value, str):
            value = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}.get(value.lower())
        if not isinstance(value, bool):
            raise wrong
        return value
    if kind in (int, float):
        return _number(key, value, kind, source, wrong)
    if not isinstance(value, str) or not value:
        raise wrong
    return value


def _addresses(key: str, value: Any, source: str, wrong: ConfigError) -> str | None:
    """Sandbox hosts: a text with commas between them, or a list; as the text."""
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise wrong
    found = [part.strip() for part in parts if part.strip()]
    for address in found:
        host, _, port = address.rpartition(":")
        unix = address.startswith("unix:") and len(address) > len("unix:")
        if not unix and not (host and port.isdigit() and 0 < int(port) <= 65_535 and "/" not in host):
            raise ConfigError(f"{source}: {key}: {address!r} is no address: unix:PATH or HOST:PORT is")
        if found.count(address) > 1:
            raise ConfigError(f"{source}: {key}: {address!r} is given twice")
    return ",".join(found) or None


def _number(key: str, value: Any, kind: type, source: str, wrong: ConfigError) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise wrong
    if kind is int and isinstance(value, float):
        raise wrong
    try:
        number = kind(value)
    except ValueError:
        raise wrong from None
    if not math.isfinite(number) or number < 0 or (number == 0 and key not in _MAY_BE_ZERO):
        raise ConfigError(f"{source}: {key} must be {'at least' if key in _MAY_BE_ZERO else 'above'} 0, not {value}")
    if key in _MOST and number > _MOST[key]:
        raise ConfigError(f"{source}: {key} must be at most {_MOST[key]}, not {value}")
    return number


def _table(value: Any, wrong: ConfigError) -> Mapping[str, str]:
    """A table of texts by name; in the environment `name=text,name=text`."""
    if isinstance(value, str):
        parts = [part.strip() for part in value.split(",") if part.strip()]
        if not all("=" in part for part in parts):
            raise wrong
        value = dict(part.partition("=")[::2] for part in parts)
    if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
        raise wrong
    return value


_LISTS: Mapping[str, str] = {"server.origins": "https://rewards.example.com", "server.hosts": "rewards.example.com"}
"""Settings that are lists of texts, with an example."""


def _list(value: Any, wrong: ConfigError) -> tuple[str, ...]:
    """A list of texts; in the environment separated by commas."""
    if isinstance(value, str):
        value = [part.strip() for part in value.split(",") if part.strip()]
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise wrong
    return tuple(value)


def _named_tables(section: str, value: Any, source: str, wrong: ConfigError) -> Mapping[str, Mapping[str, Any]]:
    """Tables `[section.NAME]`, by name; in the environment one JSON object of such tables."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            raise wrong from None
    if not isinstance(value, dict):
        raise wrong
    for name, table in value.items():
        if not isinstance(table, dict):
            raise ConfigError(f"{source}: {section}.{name} must be a table")
    return value


def _rules(value: Any, source: str, wrong: ConfigError) -> Mapping[str, KeyRule]:
    """Returns the rules of keys by the keys' names, from tables `[keys.rules.NAME]` or from one JSON object in the
    environment."""
    hints = get_type_hints(KeyRule)
    made: dict[str, KeyRule] = {}
    for name, table in _named_tables("keys.rules", value, source, wrong).items():
        where = f"keys.rules.{name}"
        for key in table:
            if key not in hints:
                raise ConfigError(f"{source}: there is no setting {where}.{key}{near(key, hints)}")
        fields: dict[str, Any] = {
            key: _scopes(f"{where}.scopes", item, source)
            if key == "scopes"
            else _of_named(f"{where}.{key}", f"keys.rules.{key}", item, hints[key], source)
            for key, item in table.items()
        }
        made[name] = KeyRule(**fields)
    return made


def _scopes(shown: str, value: Any, source: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(item, str) for item in value):
        raise ConfigError(f"{source}: {shown} must be a list of {', '.join(SCOPES)}")
    for item in value:
        if item not in SCOPES:
            raise ConfigError(f"{source}: {shown}: there is no scope {item!r}{near(item, SCOPES)}")
    return tuple(value)


def _limits(key: str, value: Any, source: str, wrong: ConfigError) -> Limits:
    """A program's limits: a table, or in the environment `cpu_s=10,memory_mb=512`."""
    if isinstance(value, str):
        value = dict(part.strip().partition("=")[::2] for part in value.split(",") if part.strip())
    if not isinstance(value, dict):
        raise wrong
    hints = get_type_hints(Limits)
    kinds = {name: next(part for part in get_args(hint) if part is not type(None)) for name, hint in hints.items()}
    for name in value:
        if name not in kinds:
            raise ConfigError(f"{source}: {key} has no limit {name!r}{near(name, kinds)}")
    return Limits(**{name: _number(f"{key}.{name}", item, kinds[name], source, wrong) for name, item in value.items()})


_NAMED: Mapping[str, tuple[type, str]] = {
    "judges.named": (JudgeEndpoint, "the model's name, as its server calls it"),
    "models.named": (ModelEndpoint, "a folder, a GGUF file, or the name by which it is served"),
}
"""Settings that are tables by name: what each becomes, and what its `model` is."""


def _named(section: str, value: Any, source: str, wrong: ConfigError) -> Mapping[str, Any]:
    """Judges or models by name: tables `[judges.named.NAME]`, or in the environment one JSON object."""
    kind, model = _NAMED[section]
    hints = get_type_hints(kind)
    made: dict[str, Any] = {}
    for name, table in _named_tables(section, value, source, wrong).items():
        where = f"{section}.{name}"
        if "model" not in table:
            raise ConfigError(f"{source}: {where}: model is missing: {model}")
        if _KEY_FILE in table:
            table = _with_key(table, where, source)
        for key in table:
            if key not in hints:
                raise ConfigError(f"{source}: there is no setting {where}.{key}{near(key, hints)}")
        fields = {
            key: _of_named(f"{where}.{key}", f"{section}.{key}", item, hints[key], source)
            for key, item in table.items()
        }
        made[name] = one = kind(**fields)
        if one.api_key is not None and one.api_key_env is not None:
            raise ConfigError(f"{source}: {where}: api_key and api_key_env are both set; one is enough")
        if one.api_key is not None and not (one.api_key.isascii() and one.api_key.isprintable()):
            raise ConfigError(f"{source}: {where}.api_key holds characters that no key can have in a request's header")
    _CHECKS[section](made, source)
    return made


_KEY_FILE = "api_key_file"


def _with_key(table: Mapping[str, Any], where: str, source: str) -> dict[str, Any]:
    """The settings of a judge or a model with its key, which stands in the file that they name."""
    rest = {key: value for key, value in table.items() if key != _KEY_FILE}
    if "api_key" in rest:
        raise ConfigError(f"{source}: {where}: api_key and {_KEY_FILE} are both set; one is enough")
    try:
        key = Path(_convert(f"{where}.{_KEY_FILE}", table[_KEY_FILE], Path, source)).read_text(encoding="utf-8").strip()
    except OSError as error:  # the name is not repeated: somebody may have put the key there
        raise ConfigError(f"{source}: {where}.{_KEY_FILE} cannot be read: {error.strerror}") from None
    except ValueError:
        raise ConfigError(f"{source}: {where}.{_KEY_FILE} is no text") from None
    if not key:
        raise ConfigError(f"{source}: {where}.{_KEY_FILE} is empty")
    return {**rest, "api_key": key}


def _check_judges(made: Mapping[str, JudgeEndpoint], source: str) -> None:
    for name, judge in made.items():
        if judge.budget_usd is not None and judge.input_usd is None and judge.output_usd is None:
            raise ConfigError(f"{source}: judges.named.{name}.budget_usd needs input_usd and output_usd")
        for other in judge.fallback:
            if other not in made or other == name:
                known = ", ".join(one for one in made if one != name) or "none"
                raise ConfigError(
                    f"{source}: judges.named.{name}.fallback: {other!r} is no other judge; there are: {known}"
                )


_MODEL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_LEAST_CONTEXT = 16


def _check_models(made: Mapping[str, ModelEndpoint], source: str) -> None:
    for name, model in made.items():
        where = f"{source}: models.named.{name}"
        if not _MODEL_NAME.fullmatch(name):
            # It stands in addresses (/v1/models/NAME) and in metrics.
            raise ConfigError(f"{where}: a name has letters, digits, and . _ - within, at most 64 of them")
        ours = model.backend == "own"
        if model.address is None and not ours:
            raise ConfigError(f"{where}.address is missing: where {model.backend} listens, such as http://HOST:8000")
        if model.address is not None and not _address(model.address, unix=ours):
            # An address may hold a password: it is not repeated.
            wanted = "unix:PATH or http://HOST:PORT" if ours else "http://HOST:PORT"
            raise ConfigError(f"{where}.address must be {wanted}")
        if model.context is not None and model.context < _LEAST_CONTEXT:
            raise ConfigError(f"{where}.context must be at least {_LEAST_CONTEXT}, not {model.context}")


def _address(address: str, *, unix: bool) -> bool:
    if unix and address.startswith("unix:"):
        return len(address) > len("unix:")
    try:
        parts = urlsplit(address)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # no port, or no host
        return False


_LEAST_CACHE_KEY = 16


def _check_cache(engine: EngineSettings, sources: Mapping[str, str]) -> None:
    """The address of the shared cache holds a password: it is not repeated."""
    if engine.cache_redis is None:
        return
    where = f"{sources.get('engine.cache_redis')}: engine.cache_redis"
    if not engine.cache_redis.startswith(("redis://", "rediss://", "unix://")):
        raise ConfigError(f"{where} must be redis://HOST:PORT/0, rediss://… or unix://PATH")
    if importlib.util.find_spec("redis") is None:
        raise ConfigError(f"{where} needs a package: pip install 'rewarden-server[redis]'")
    for name in ("cache_redis_password_file", "cache_key_file"):
        path: Path | None = getattr(engine, name)
        if path is None:
            continue
        key = f"{sources.get(f'engine.{name}')}: engine.{name}"
        try:
            length = len(path.read_bytes().strip())
        except OSError as error:
            raise ConfigError(f"{key}: {path} cannot be read: {error.strerror}") from None
        if name == "cache_key_file" and length < _LEAST_CACHE_KEY:
            raise ConfigError(
                f"{key}: {path} must hold at least {_LEAST_CACHE_KEY} bytes: openssl rand -hex 32 > {path}"
            )


_CHECKS: Mapping[str, Callable[[Any, str], None]] = {"judges.named": _check_judges, "models.named": _check_models}


def _of_named(shown: str, key: str, value: Any, kind: Any, source: str) -> Any:
    """One setting of a judge or a model. `shown` names it; `key` is what bounds are known by."""
    if key in ("judges.named.headers", "judges.named.extra"):
        texts = key.endswith("headers")
        if not isinstance(value, dict) or (texts and not all(isinstance(item, str) for item in value.values())):
            raise ConfigError(f"{source}: {shown} must be a table{' of texts' if texts else ''}")
        return value
    if get_origin(kind) is tuple:
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            of = "judges' names" if key.endswith("fallback") else "texts"
            raise ConfigError(f"{source}: {shown} must be a list of {of}")
        return tuple(value)
    try:
        return _convert(key, value, kind, source)
    except ConfigError as error:
        raise ConfigError(error.message.replace(key, shown, 1)) from None


def _describe(key: str, kind: Any) -> str:
    if key in _LISTS:
        return f'a list such as ["{_LISTS[key]}"] (in the environment: separated by commas)'
    if key == "keys.rules":
        return f"tables [{key}.NAME] (in the environment: one JSON object of such tables)"
    if key == "sandbox.address":
        return "a text, unix:PATH or HOST:PORT, several separated by commas, or a list of such"
    if key in _NAMED:
        return f"tables [{key}.NAME] (in the environment: one JSON object of such tables)"
    if get_origin(kind) is Literal:
        return "one of " + ", ".join(get_args(kind))
    if key in _TABLES:
        name, text = _TABLES[key]
        return f'a table of {name} = "{text}" (in the environment: {name}={text},{name}={text})'
    if kind is Limits:
        return "a table of limits (in the environment: cpu_s=10,memory_mb=512)"
    names = {int: "a whole number", float: "a number", bool: "true or false", Path: "a path", str: "a text"}
    return names[kind]
