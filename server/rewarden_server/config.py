"""What the server is told: one `rewarden.toml`, the environment, flags. The later wins; each value knows its source.

Every key of the file is also `REWARDEN_SECTION_KEY` in the environment (`engine.workers` is `REWARDEN_ENGINE_WORKERS`).
A key that is not known is refused with the nearest known name: a misspelt limit must not be silently without effect.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args, get_origin, get_type_hints

import tomllib

from rewarden.errors import RewardenError
from rewarden.types import Limits
from rewarden_server.engine.settings import EngineSettings, JudgeEndpoint, JudgeSettings, LeanSettings, SandboxSettings

DEFAULT_FILE = Path("rewarden.toml")
FILE_VARIABLE = "REWARDEN_CONFIG"
PREFIX = "REWARDEN_"


class ConfigError(RewardenError):
    """A setting is unknown or has no sense; the message names it, where it was set, and the fix."""

    code: ClassVar[str] = "config"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """Where the server listens (port 0: any free one), and how many seconds it may take to end what is in flight."""

    host: str = "127.0.0.1"
    port: int = 8080
    grpc_port: int = 50051
    drain_s: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitSettings:
    """What one request may weigh; over it is 413, for a single row that row's error. Sizes in bytes, unpacked.

    max_body_bytes: a whole request. max_sample_bytes: one row. max_samples: rows of a request that is no stream.
    max_depth: nesting of JSON. max_run_bytes: a program with its input and files. max_blob_bytes: one blob.
    blob_store_bytes: all blobs together; the least recently used one goes first. max_open_bytes: bodies that are held
    at once, of all requests together; over it is 429.
    """

    max_body_bytes: int = 256 * 1024**2
    max_sample_bytes: int = 16 * 1024**2
    max_samples: int = 131_072
    max_depth: int = 64
    max_run_bytes: int = 64 * 1024**2
    max_blob_bytes: int = 64 * 1024**2
    blob_store_bytes: int = 1024**3
    max_open_bytes: int = 2 * 1024**3
    blob_dir: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySettings:
    """Who may ask. Without any key everyone who reaches the port may.

    `named` maps a key's name to its SHA-256 in hex; `file` holds lines of `name sha256`. Make one with
    `rewarden doctor --new-key NAME`.
    """

    file: Path | None = None
    named: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSettings:
    """Uploaded rescores. `dir`: where jobs lie (without it there are none); `max_bytes`: of one upload."""

    dir: Path | None = None
    max_bytes: int = 8 * 1024**3


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordSettings:
    """Records for `rewarden explain`. `dir`: where they lie (without it none are kept); `share`: of what is dull."""

    dir: Path | None = None
    share: float = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingSettings:
    """Who judges samples that name nobody, in requests that name nobody either. `file`: a routing file, or `starter`
    for the routes that ship; without one such samples are errors of the caller's."""

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
    """How much is said, and whether as JSON lines or for a person."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    json: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """All settings, and for each (`section.key`) where it was set: `default`, `file …`, `env …` or `flag …`."""

    server: ServerSettings = field(default_factory=ServerSettings)
    engine: EngineSettings = field(default_factory=lambda: EngineSettings(eager=True))
    sandbox: SandboxSettings = field(default_factory=SandboxSettings)
    limits: LimitSettings = field(default_factory=LimitSettings)
    keys: KeySettings = field(default_factory=KeySettings)
    logs: LogSettings = field(default_factory=LogSettings)
    jobs: JobSettings = field(default_factory=JobSettings)
    records: RecordSettings = field(default_factory=RecordSettings)
    routing: RoutingSettings = field(default_factory=RoutingSettings)
    sql: SqlSettings = field(default_factory=SqlSettings)
    lean: LeanSettings = field(default_factory=LeanSettings)
    judges: JudgeSettings = field(default_factory=JudgeSettings)
    sources: Mapping[str, str] = field(default_factory=dict)
    file: Path | None = None

    def source(self, key: str) -> str:
        """Where the value of `section.key` comes from."""
        return self.sources.get(key, "default")


SECTIONS: Mapping[str, type] = {
    "server": ServerSettings,
    "engine": EngineSettings,
    "sandbox": SandboxSettings,
    "limits": LimitSettings,
    "keys": KeySettings,
    "logs": LogSettings,
    "jobs": JobSettings,
    "records": RecordSettings,
    "routing": RoutingSettings,
    "sql": SqlSettings,
    "lean": LeanSettings,
    "judges": JudgeSettings,
}

_OF_A_SERVER: Mapping[str, Mapping[str, Any]] = {"engine": {"eager": True}}
"""Defaults that differ from the engine's own: a server is ready when its workers are warm, not before."""

_MAY_BE_ZERO = frozenset(
    {"server.port", "server.grpc_port", "server.drain_s", "engine.slow_workers", "engine.cache_entries"}
    | {"engine.cache_bytes", "records.share"}
    | {"judges.cache_mb", "judges.named.retries", "judges.named.temperature"}
    | {f"judges.named.{name}" for name in ("input_usd", "output_usd", "budget_usd", "budget_tokens", "budget_calls")}
)
_SECRET = ("keys.", "sql.", "lean.projects", "lean.kimina_key", "judges.named")
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
    "judges.named.concurrency": 1000,
}
"""Depth ends below Python's recursion limit: what is decoded is walked by recursive code. A judge's client has so many
connections."""


def known_keys() -> list[str]:
    """Every `section.key`, in the order of the sections."""
    return [f"{name}.{item.name}" for name, kind in SECTIONS.items() for item in dataclasses.fields(kind)]


def variable_of(key: str) -> str:
    """The environment variable of a `section.key`."""
    return PREFIX + key.replace(".", "_").upper()


def load_config(
    file: Path | None = None, *, environ: Mapping[str, str], flags: Mapping[str, tuple[str, Any]] | None = None
) -> Config:
    """The settings in force.

    `file`: the configuration file; without one, the variable `REWARDEN_CONFIG`, then `rewarden.toml` in the working
    folder if there is one. `flags`: `section.key` to (the flag as typed, value). Raises ConfigError.
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
                raise ConfigError(f"{source}: there is no setting {key!r}{_near(key, known_keys())}")
            values[key] = _convert(key, value, types[section][name], source)
            sources[key] = source
    sections = {
        name: kind(
            **dict(_OF_A_SERVER.get(name, {}))
            | {key.partition(".")[2]: value for key, value in values.items() if key.startswith(f"{name}.")}
        )
        for name, kind in SECTIONS.items()
    }
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
            raise ConfigError(f"{source}: there is no section [{section}]{_near(section, SECTIONS)}")
        if not isinstance(table, dict):
            raise ConfigError(f"{source}: [{section}] must be a table")
        found.update({f"{section}.{name}": (source, value) for name, value in table.items()})
    return found


_KUBERNETES = re.compile(r"_SERVICE_(HOST|PORT)|_PORT_\d+_")
"""Kubernetes puts such variables into every pod beside a service named `rewarden-server`; they are not ours."""


def _from_environment(environ: Mapping[str, str]) -> dict[str, tuple[str, Any]]:
    variables = {variable_of(key): key for key in known_keys()}
    prefixes = tuple(f"{PREFIX}{section.upper()}_" for section in SECTIONS)
    found: dict[str, tuple[str, Any]] = {}
    for name, value in environ.items():
        if not name.startswith(prefixes) or _KUBERNETES.search(name) or value.startswith("tcp://"):
            continue
        if name not in variables:
            raise ConfigError(f"env {name}: there is no such setting{_near(name, variables)}")
        found[variables[name]] = (f"env {name}", value)
    return found


def _near(name: str, known: Any) -> str:
    near = difflib.get_close_matches(name, list(known), n=2)
    return f"; did you mean {' or '.join(near)}?" if near else ""


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
    if key == "judges.named":
        return _judges(value, source, wrong)
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
            raise ConfigError(f"{source}: {key} has no limit {name!r}{_near(name, kinds)}")
    return Limits(**{name: _number(f"{key}.{name}", item, kinds[name], source, wrong) for name, item in value.items()})


def _judges(value: Any, source: str, wrong: ConfigError) -> Mapping[str, JudgeEndpoint]:
    """Judges by name: tables `[judges.named.NAME]`, or in the environment one JSON object."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            raise wrong from None
    if not isinstance(value, dict):
        raise wrong
    hints = get_type_hints(JudgeEndpoint)
    made: dict[str, JudgeEndpoint] = {}
    for name, table in value.items():
        where = f"judges.named.{name}"
        if not isinstance(table, dict):
            raise ConfigError(f"{source}: {where} must be a table")
        if "model" not in table:
            raise ConfigError(f"{source}: {where}: model is missing: the model's name, as its server calls it")
        for key in table:
            if key not in hints:
                raise ConfigError(f"{source}: there is no setting {where}.{key}{_near(key, hints)}")
        fields = {
            key: _of_judge(f"{where}.{key}", f"judges.named.{key}", item, hints[key], source)
            for key, item in table.items()
        }
        made[name] = judge = JudgeEndpoint(**fields)
        if judge.budget_usd is not None and judge.input_usd is None and judge.output_usd is None:
            raise ConfigError(f"{source}: {where}.budget_usd needs input_usd and output_usd")
        if judge.api_key is not None and judge.api_key_env is not None:
            raise ConfigError(f"{source}: {where}: api_key and api_key_env are both set; one is enough")
    for name, judge in made.items():
        for other in judge.fallback:
            if other not in made or other == name:
                known = ", ".join(one for one in made if one != name) or "none"
                raise ConfigError(
                    f"{source}: judges.named.{name}.fallback: {other!r} is no other judge; there are: {known}"
                )
    return made


def _of_judge(shown: str, key: str, value: Any, kind: Any, source: str) -> Any:
    """One setting of a judge. `shown` names it; `key` is what bounds are known by."""
    if key in ("judges.named.headers", "judges.named.extra"):
        texts = key.endswith("headers")
        if not isinstance(value, dict) or (texts and not all(isinstance(item, str) for item in value.values())):
            raise ConfigError(f"{source}: {shown} must be a table{' of texts' if texts else ''}")
        return value
    if key == "judges.named.fallback":
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise ConfigError(f"{source}: {shown} must be a list of judges' names")
        return tuple(value)
    try:
        return _convert(key, value, kind, source)
    except ConfigError as error:
        raise ConfigError(error.message.replace(key, shown, 1)) from None


def _describe(key: str, kind: Any) -> str:
    if key == "judges.named":
        return "tables [judges.named.NAME] (in the environment: one JSON object of such tables)"
    if get_origin(kind) is Literal:
        return "one of " + ", ".join(get_args(kind))
    if key in _TABLES:
        name, text = _TABLES[key]
        return f'a table of {name} = "{text}" (in the environment: {name}={text},{name}={text})'
    if kind is Limits:
        return "a table of limits (in the environment: cpu_s=10,memory_mb=512)"
    names = {int: "a whole number", float: "a number", bool: "true or false", Path: "a path", str: "a text"}
    return names[kind]
