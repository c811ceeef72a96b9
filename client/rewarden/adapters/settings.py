"""The settings of an adapter: arguments first, then the environment, then defaults."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal, Union

from rewarden.commands.use import read_use
from rewarden.errors import InvalidRequest, near
from rewarden.routing import Routing, read_routing
from rewarden.types import Use
from rewarden.wire.json import use_from_json

if TYPE_CHECKING:
    from rewarden.logging import RewardLog

Unscored = Union[float, Literal["raise"], None]
"""The value where there is no score: a number of yours; `raise`; None: the trainer's own way of leaving a sample out,
and where it has none, `raise`."""

PREFIX = "REWARDEN_"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings that every adapter accepts. Picklable.

    target: where the server is (`http://…`, `grpc://…`, or `local`). use: the verifier or recipe of all samples.
    routing: the use for each data source. Without either, the server's own routing decides. api_key: for the server;
    better left to the environment of the process that asks, which is read there, so that no pickle holds it. ca: a PEM
    file with the issuer of the server's certificate, on the machine of the process that asks. unscored: see `Unscored`.
    patience_s: the seconds for which transient errors (a server that restarts, an overload, a broken sandbox) are
    retried before they count. timeout_s: the longest silence of the server that is tolerated (a lost machine is silent
    for ever; a large batch of programs may well take minutes). group_deadline_s: the seconds that a group whose members
    arrive one by one may take, from its first member; then its members have no score yet. reference: the column that
    holds the expected answer, or a mapping of the reference's parts to columns; by default the first of the usual
    names. data_source, group, id: their columns. metadata: columns that the verifier reads as `metadata`. expect: maps
    a verifier to the fingerprint or `NAME@VERSION` that it must have. log: where figures of the verdicts go, such as
    `wandb` or `jsonl:rewards.jsonl` (see `rewarden.logging.read_log`), or a `RewardLog`.

    In the environment: `REWARDEN_TARGET`, `REWARDEN_USE` (a name, JSON, or a recipe's file), `REWARDEN_ROUTING` (a
    file, or `starter`), `REWARDEN_API_KEY`, `REWARDEN_CA`, `REWARDEN_UNSCORED` (a number, `raise`, or `native`),
    `REWARDEN_PATIENCE_S`, `REWARDEN_TIMEOUT_S`, `REWARDEN_REFERENCE`, `REWARDEN_LOG`.
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
    log: RewardLog | None = None

    @classmethod
    def read(cls, **given: Any) -> Settings:
        """Settings from arguments as a person or a configuration file gives them, and from the environment.

        Raises InvalidRequest naming the setting that is unknown or has no sense.
        """
        names = [item.name for item in fields(cls)]
        for name in given:
            if name not in names:
                raise InvalidRequest(f"there is no setting {name!r}{near(name, names)}")
        given = {name: value for name, value in given.items() if value is not None}
        values = {name: os.environ[key] for name in _FROM_ENVIRONMENT if os.environ.get(key := PREFIX + name.upper())}
        if "use" in given or "routing" in given:  # an argument is not to be crossed by what lies in the environment
            values = {name: value for name, value in values.items() if name not in ("use", "routing")}
        values.update(given)
        if values.get("use") is not None and values.get("routing") is not None:
            raise InvalidRequest("give either use (one judge for all) or routing (a judge for each data source)")
        read: dict[str, Any] = {
            name: _READERS[name](value) if name in _READERS else value for name, value in values.items()
        }
        return cls(**read)

    def refuse(self, *names: str, why: str) -> Settings:
        """These settings, for an adapter that cannot heed `names`: InvalidRequest where one of them was set."""
        for item in fields(self):
            if item.name in names and getattr(self, item.name) != item.default:
                raise InvalidRequest(f"{item.name}: {why}")
        return self


# The key is not among them: `Scorer` reads it where it connects, and no pickle of these settings holds it. So does the
# transport with `REWARDEN_CA`, whose file is of the machine that asks.
_FROM_ENVIRONMENT = ("target", "use", "routing", "unscored", "patience_s", "timeout_s", "reference", "log")


def _read_use(value: Any) -> Use:
    if isinstance(value, Use):
        return value
    if not isinstance(value, (str, Mapping)):
        raise InvalidRequest(f"use: must be a name, or a mapping such as {{'name': …, 'params': {{…}}}}, not {value!r}")
    if value == "":
        raise InvalidRequest("use: is empty; name a verifier or a recipe, or leave it out")
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
        raise InvalidRequest("api_key: must be a text")  # without what was given: it may be a key all the same
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
            f"reference: must be a column, or a mapping of the reference's parts to columns: {value!r}"
        )
    return unwrapped(value)


def _read_expect(value: Any) -> Any:
    if not isinstance(value, Mapping) or not all(isinstance(wanted, str) for wanted in value.values()):
        raise InvalidRequest(f"expect: must be a mapping of verifiers to fingerprints or NAME@VERSION, not {value!r}")
    return unwrapped(value)


def _read_target(value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidRequest(f"target: must be a text such as 'http://127.0.0.1:8080', not {value!r}")
    return value


def _read_log(value: Any) -> RewardLog | None:
    from rewarden.logging import RewardLog, read_log  # only who logs pays for it

    if isinstance(value, RewardLog):
        return value
    if not isinstance(value, str):
        raise InvalidRequest(f"log: must be a text such as 'jsonl:rewards.jsonl', or a RewardLog, not {value!r}")
    return read_log(value) if value else None


def unwrapped(value: Any) -> Any:
    """Mappings and lists of configuration libraries (OmegaConf's) as what JSON has."""
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
    "log": _read_log,
}
