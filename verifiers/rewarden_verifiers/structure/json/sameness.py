"""Equivalence of two JSON answers, on which `consensus` and maj@k build."""

from __future__ import annotations

from typing import Any

from rewarden_verifiers.structure.json.comparing import Rules, TooExpensive, normal
from rewarden_verifiers.structure.json.expected import content
from rewarden_verifiers.structure.json.locate import Hedged
from rewarden_verifiers.structure.json.reading import JsonParams
from rewarden_verifiers.structure.json.strict import Malformed, canonical, parse


class JsonEquivalence:
    """See `rewarden_verifiers.equivalence`. An answer is JSON in canonical form, its keys sorted."""

    def __init__(self, params: JsonParams) -> None:
        self._reader = params.reader
        rules = self._reader.scheme.rules
        # Where keys tell only part of what is the same, `same` decides the rest.
        self._keyed = not params.fields and params.blank == "value" and not params.coerce and rules.lists == "ordered"
        self._rules = rules

    def extract(self, text: str) -> str | None:
        """The JSON of a viewed response; None where there is none, or it hedges or is malformed."""
        try:
            found = self._reader.finder.find(text, (dict, list))
        except (Malformed, Hedged):
            return None
        return None if found is None else canonical(found.value)

    def key(self, answer: str) -> str | None:
        """Equal keys mean equal answers. None where there is no cheap one."""
        try:
            value = parse(answer)
        except Malformed:
            return None
        return canonical(_plain(value, self._rules if self._keyed else Rules()))

    def same(self, a: str, b: str) -> bool | None:
        """Returns whether two answers are equal, either taken for what is expected."""
        try:
            first, second = parse(a), parse(b)
            there = content(self._reader.scheme.node(first), second, 1.0).exact
            back = content(self._reader.scheme.node(second), first, 1.0).exact
        except (Malformed, TooExpensive, ValueError):
            return None
        return there or back


def _plain(value: Any, rules: Rules) -> Any:
    """The value with one spelling for each number, and for each text where case and space mean nothing."""
    if isinstance(value, dict):
        return {key: _plain(inner, rules) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner, rules) for inner in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and rules.text == "normal":
        return normal(value)
    return value
