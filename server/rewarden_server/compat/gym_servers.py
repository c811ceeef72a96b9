"""NeMo Gym's published resources servers: which fields of a row are the reference, and who judges it.

    server = servers()["mcqa"]
    server.judged({"expected_answer": "B", "options": [{"A": "…"}, {"B": "…"}]}, {})
    # Judged(use={"name": "choice", …}, reference={"answer": "B", "options": {"A": "…", "B": "…"}}, reads="text")

The rows of `gym_servers.toml` are the table; its head says how they are written.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, Literal

import tomllib

from rewarden.routing.forms import read_reference
from rewarden.types import Sample
from rewarden_server.compat import gym_fields
from rewarden_server.compat.gym_fields import at

FILE = Path(__file__).with_name("gym_servers.toml")

Reads = Literal["last", "text", "calls", "arguments"]
"""The part of a trajectory that is judged: the last message, all text, all calls, or the arguments of the only call."""

_FIELD = re.compile(r"\$([A-Za-z_][\w.]*)(\?)?")
_WITHIN = re.compile(r"\$\{([A-Za-z_][\w.]*)\}")
_ABSENT = object()


class NotJudged(ValueError):
    """A row that its server's rules do not judge; the message says what is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A row's judge, as JSON, its reference, and the part of the trajectory that the judge reads. `call`: the tool
    whose arguments it reads; None: any."""

    use: dict[str, Any]
    reference: Any
    reads: Reads
    call: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule of a server: the rows that it matches, and their judge."""

    use: Any = None
    params: Mapping[str, Any] = field(default_factory=dict)
    when: Mapping[str, Any] = field(default_factory=dict)
    derive: Sequence[str] = ()
    reference: Any = None
    form: str | None = None
    reads: Reads = "text"
    call: str | None = None
    needs: str | None = None

    def matches(self, row: Mapping[str, Any]) -> bool:
        """Returns whether every field that the rule names is there, with a value of its patterns."""
        return all(_fits(at(row, path), wanted) for path, wanted in self.when.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A resources server. `needs` is None if its rows can be judged, and otherwise what they lack."""

    name: str
    fields: Sequence[str]
    reward: str
    differs: str = ""
    names: Sequence[str] = ()
    options: Sequence[str] = ()
    needs: str | None = None
    rule: Sequence[Rule] = ()

    def judged(self, row: Mapping[str, Any], options: Mapping[str, str], params: Mapping[str, Any]) -> Judged:
        """Returns who judges a row, and by which reference.

        `options` stand for fields that the row does not have; `params` override the judge's. Raises NotJudged.
        """
        if self.needs is not None:
            raise NotJudged(f"{self.name}: not judged here; it needs {self.needs}")
        row = {**options, **row}
        for rule in self.rule:
            try:
                made = {
                    **row,
                    "derived": {k: v for name in rule.derive for k, v in gym_fields.DERIVED[name](row).items()},
                }
            except ValueError as error:
                raise NotJudged(f"{self.name}: {error}") from None
            if rule.matches(made):
                return self._by(rule, made, params)
        raise NotJudged(f"{self.name}: no rule matches the row; its fields are {', '.join(row) or 'none'}")

    def _by(self, rule: Rule, row: Mapping[str, Any], params: Mapping[str, Any]) -> Judged:
        if rule.needs is not None:
            raise NotJudged(f"{self.name}: not judged here; it needs {rule.needs}")
        try:
            reference = None if rule.reference is None else _filled(rule.reference, row)
            if rule.form is not None:
                reference = read_reference(rule.form, Sample(response="", reference=reference, metadata=dict(row)))
            if isinstance(rule.use, str):
                use = {"name": rule.use, "params": {**_filled(rule.params, row), **params}}
            else:
                use = _filled(rule.use, row)
        except ValueError as error:
            raise NotJudged(f"{self.name}: {error}") from None
        call = None if rule.call is None else _filled(rule.call, row)
        return Judged(use=use, reference=reference, reads=rule.reads, call=call if isinstance(call, str) else None)


@cache
def servers() -> Mapping[str, Server]:
    """Returns all servers by name."""
    table = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return {
        name: Server(name=name, **{**told, "rule": [Rule(**rule) for rule in told.get("rule", ())]})
        for name, told in table.items()
    }


def server_named(name: str) -> Server | None:
    """Returns the server of this name, or of this further name of it."""
    return _names().get(name)


def server_of(agent: Any) -> Server | None:
    """Returns the server of an agent (`agent_ref.name`, such as `mcqa_simple_agent`), or None for other agents.

    The longest name that the agent's contains decides.
    """
    if not isinstance(agent, str):
        return None
    named = max((name for name in _names() if f"_{name}_" in f"_{agent}_"), key=len, default=None)
    return None if named is None else _names()[named]


@cache
def _names() -> Mapping[str, Server]:
    return {name: server for server in servers().values() for name in (server.name, *server.names)}


def _fits(value: Any, wanted: Any) -> bool:
    if wanted is True:
        return value is not None
    if value is None:
        return False
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return any(fnmatchcase(text, pattern) for pattern in ([wanted] if isinstance(wanted, str) else wanted))


def _filled(template: Any, row: Mapping[str, Any]) -> Any:
    """Returns a template with the row's values in the places of its fields. Raises NotJudged for a missing one."""
    if isinstance(template, str):
        return _text(template, row)
    if isinstance(template, list):
        return [filled for item in template for filled in _items(item, row)]
    if not isinstance(template, Mapping):
        return template
    if "each" in template:
        return template.get("join", "").join(_items(template, row))
    filled = {key: _filled(value, row) for key, value in template.items()}
    return {key: value for key, value in filled.items() if value is not _ABSENT}


def _text(template: str, row: Mapping[str, Any]) -> Any:
    whole = _FIELD.fullmatch(template)
    if whole is None:
        return _WITHIN.sub(lambda found: str(_needed(row, found[1])), template)
    path, optional = whole.groups()
    return _ABSENT if optional and at(row, path) is None else _needed(row, path)


def _items(template: Any, row: Mapping[str, Any]) -> list[Any]:
    if not isinstance(template, Mapping) or "each" not in template:
        return [_filled(template, row)]
    values = _filled(template["each"], row)
    return [
        _filled(template["as"], {**row, "item": value}) for value in (values if isinstance(values, list) else [values])
    ]


def _needed(row: Mapping[str, Any], path: str) -> Any:
    value = at(row, path)
    if value is None:
        raise NotJudged(f"the row has no {path}")
    return value
