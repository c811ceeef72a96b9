"""The settings of an adapter: arguments first, then the environment, then defaults."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal, Union

from rewarden.commands.use import read_use
from rewarden.errors import InvalidRequest, near
from rewarden.routing import Routing, read_routing
from rewarden.types import Use
from rewarden.wire.json import use_from_json

if TYPE_CHECKING:
    from rewarden.logging import RewardLog

Unscored = Union[float, Literal["raise"], None]
"""The reward without a score: a number; `raise`; or None: skip the sample if the trainer supports it, else `raise`."""

PREFIX = "REWARDEN_"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings that every adapter accepts. Picklable.

    target: the server (`http://…`, `grpc://…`, or `local`). use: the verifier or recipe of all samples. routing: the
    use for each data source. Without either, the server's own routing decides. api_key: the key for the server. Better
    set it in the environment of the process that sends requests, which is read there, so that no pickle contains it.
    ca: a PEM file with the CA of the server's certificate, on the machine that sends requests. unscored: see
    `Unscored`. patience_s: how long, in seconds, to retry transient errors (a restarting server, an overload, a failed
    sandbox). timeout_s: how long the server may be silent, in seconds (a lost machine stays silent; a large batch of
    programs can take minutes). group_deadline_s: how long a group whose members arrive one by one may take, in seconds
    from its first member; after that its members have no score yet. reference: the column of the expected answer, or a
    mapping of the reference's parts to columns (default: the first of the usual names that has a value). data_source,
    group, id: their columns. metadata: columns that the verifier reads as `metadata`. All of these can be paths, such
    as `reward_model.ground_truth` (see `rewarden.columns`). expect: maps a verifier to the fingerprint or
    `NAME@VERSION` that it must have. run: the training run's name, by which the server keeps its figures; sent as
    `metadata.run` of samples that have none of their own. By default the run's name in the trainer's logger: the first
    of `WANDB_NAME`, `WANDB_RUN_ID` and `MLFLOW_RUN_NAME` in the environment, else the name in the trainer's
    configuration, where the adapter sees it. preflight: check the server, the verifiers and their parameters when the
    adapter is made (see `rewarden.adapters.preflight`). log: where to log reward metrics, such as `wandb` or
    `jsonl:rewards.jsonl` (see `rewarden.logging.read_log`), or a `RewardLog`.

    In the environment: `REWARDEN_TARGET`, `REWARDEN_USE` (a name, JSON, or a recipe's file), `REWARDEN_ROUTING` (a
    file, or `starter`), `REWARDEN_API_KEY`, `REWARDEN_CA`, `REWARDEN_UNSCORED` (a number, `raise`, or `native`),
    `REWARDEN_PATIENCE_S`, `REWARDEN_TIMEOUT_S`, `REWARDEN_REFERENCE`, `REWARDEN_RUN`, `REWARDEN_PREFLIGHT` (`0` turns
    it off), `REWARDEN_LOG`.
    """

    target: str = "http://127.0.0.1:8080"
    use: Use | None = None
    routing: Routing | None = None
    api_key: str | None = field(default=None, repr=False)
    ca: str | None = None
    unscored: Unscored = None
    patience_s: float = 300.0
    timeout_s: float = 1800.0
    group_deadline_s: float = 60.0
    reference: str | Mapping[str, str] | None = None
    data_source: str = "data_source"
    group: str | None = None
    id: str | None = None
    metadata: tuple[str, ...] = ()
    expect: Mapping[str, str] = field(default_factory=dict)
    run: str | None = None
    preflight: bool = True
    log: RewardLog | None = None

    @classmethod
    def read(cls, **given: Any) -> Settings:
        """Reads settings from arguments (of code or a configuration file) and from the environment.

        Raises InvalidRequest, naming the setting that is unknown or invalid.
        """
        names = [item.name for item in fields(cls)]
        for name in given:
            if name not in names:
                raise InvalidRequest(f"unknown setting {name!r}{near(name, names)}")
        given = {name: value for name, value in given.items() if value is not None}
        values = {name: os.environ[key] for name in _FROM_ENVIRONMENT if os.environ.get(key := PREFIX + name.upper())}
        if logged := next(filter(None, map(os.environ.get, _LOGGED_RUN)), None):
            values.setdefault("run", logged)
        if "use" in given or "routing" in given:  # arguments override the environment
            values = {name: value for name, value in values.items() if name not in ("use", "routing")}
        values.update(given)
        if values.get("use") is not None and values.get("routing") is not None:
            raise InvalidRequest("give either use (one verifier for all) or routing (a verifier per data source)")
        read: dict[str, Any] = {
            name: _READERS[name](value) if name in _READERS else value for name, value in values.items()
        }
        return cls(**read)

    def of_run(self, name: Any) -> Settings:
        """Returns these settings for a run that the trainer calls so; they stay as they are if they name the run, or
        it has no name."""
        named = self.run is None and isinstance(name, str) and name
        return replace(self, run=_read_run(name)) if named else self

    def refuse(self, *names: str, why: str) -> Settings:
        """Returns these settings for an adapter that does not support `names`. Raises InvalidRequest if one is set."""
        for item in fields(self):
            if item.name in names and getattr(self, item.name) != item.default:
                raise InvalidRequest(f"{item.name}: {why}")
        return self


# The key is not among them: `Scorer` reads it where it connects, so that no pickle of these settings contains it. The
# transport reads `REWARDEN_CA` itself, because the file is on the machine that connects.
_FROM_ENVIRONMENT = (
    *("target", "use", "routing", "unscored", "patience_s", "timeout_s"),
    *("reference", "run", "preflight", "log"),
)

_LOGGED_RUN = ("WANDB_NAME", "WANDB_RUN_ID", "MLFLOW_RUN_NAME")
"""The variables with which the user of a trainer names the run for its logger, in this order."""


def _read_use(value: Any) -> Use:
    if isinstance(value, Use):
        return value
    if isinstance(value, os.PathLike):  # a recipe's file
        value = os.fspath(value)
    if not isinstance(value, (str, Mapping)):
        raise InvalidRequest(f"use: must be a name, or a mapping such as {{'name': …, 'params': {{…}}}}, not {value!r}")
    if value == "":
        raise InvalidRequest("use: is empty; name a verifier or recipe, or omit it")
    return read_use(value) if isinstance(value, str) else use_from_json(unwrapped(value))


def _read_routing(value: Any) -> Routing:
    return value if isinstance(value, Routing) else read_routing(value)


def _read_unscored(value: Any) -> Unscored:
    if value in ("native", "raise"):
        return "raise" if value == "raise" else None
    return _number("unscored", value)


def _read_seconds(value: Any) -> float:
    seconds = _number("patience_s, timeout_s and group_deadline_s", value)
    if seconds < 0:
        raise InvalidRequest(f"patience_s, timeout_s and group_deadline_s must be seconds, not {value!r}")
    return seconds


def _number(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if number - number != 0.0:  # neither a number nor finite
        more = ", 'raise' or 'native'" if name == "unscored" else ""
        raise InvalidRequest(f"{name}: must be a finite number{more}, not {value!r}")
    return number


def _read_names(value: Any) -> tuple[str, ...]:
    names = value.split(",") if isinstance(value, str) else unwrapped(value)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InvalidRequest(f"metadata: must be names of columns, not {value!r}")
    return tuple(name.strip() for name in names if name.strip())


def _read_column(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise InvalidRequest(f"data_source, group and id: must be the name of a column, not {value!r}")
    return value


def _read_key(value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidRequest("api_key: must be a string")  # without the value, which may be a key
    return value


def _read_path(value: Any) -> str:
    if not isinstance(value, (str, os.PathLike)):
        raise InvalidRequest(f"ca: must be the path of a PEM file, not {value!r}")
    return os.fspath(value)


def _read_reference(value: Any) -> Any:
    if isinstance(value, str):
        return value
    if not isinstance(value, Mapping) or not all(isinstance(column, str) for column in value.values()):
        raise InvalidRequest(
            f"reference: must be a column, or a mapping of the reference's parts to columns, not {value!r}"
        )
    return unwrapped(value)


def _read_expect(value: Any) -> Any:
    if not isinstance(value, Mapping) or not all(isinstance(wanted, str) for wanted in value.values()):
        raise InvalidRequest(f"expect: must be a mapping of verifiers to fingerprints or NAME@VERSION, not {value!r}")
    return unwrapped(value)


def _read_target(value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidRequest(f"target: must be a string such as 'http://127.0.0.1:8080', not {value!r}")
    return value


def _read_run(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise InvalidRequest(f"run: must be the name of a training run, not {value!r}")
    return value.encode(errors="replace").decode()  # bytes of the environment that are not UTF-8 cannot be sent


def _read_switch(value: Any) -> bool:
    switch = {"0": False, "false": False, "no": False, "off": False, "1": True, "true": True, "yes": True, "on": True}
    found = value if isinstance(value, bool) else switch.get(str(value).lower())
    if found is None:
        raise InvalidRequest(f"preflight: must be true or false, not {value!r}")
    return found


def _read_log(value: Any) -> RewardLog | None:
    from rewarden.logging import RewardLog, read_log  # imported only if used

    if isinstance(value, RewardLog):
        return value
    if not isinstance(value, str):
        raise InvalidRequest(f"log: must be a string such as 'jsonl:rewards.jsonl', or a RewardLog, not {value!r}")
    return read_log(value) if value else None


def unwrapped(value: Any) -> Any:
    """Converts mappings and lists of configuration libraries (OmegaConf) to plain JSON types."""
    if isinstance(value, Mapping):
        return {str(name): unwrapped(item) for name, item in value.items()}
    if hasattr(value, "__iter__") and not isinstance(value, (str, bytes)):
        return [unwrapped(item) for item in value]
    return value


_READERS: Mapping[str, Any] = {
    "use": _read_use,
    "routing": _read_routing,
    "unscored": _read_unscored,
    "patience_s": _read_seconds,
    "timeout_s": _read_seconds,
    "group_deadline_s": _read_seconds,
    "metadata": _read_names,
    "data_source": _read_column,
    "group": _read_column,
    "id": _read_column,
    "api_key": _read_key,
    "ca": _read_path,
    "reference": _read_reference,
    "expect": _read_expect,
    "target": _read_target,
    "run": _read_run,
    "preflight": _read_switch,
    "log": _read_log,
}
