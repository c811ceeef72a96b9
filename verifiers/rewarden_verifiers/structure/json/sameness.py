"""Equivalence of two JSON answers, used by `consensus` and maj@k."""

from __future__ import annotations

from typing import Any

from rewarden_verifiers.structure.json.comparing import TooExpensive, normal
from rewarden_verifiers.structure.json.expected import content
from rewarden_verifiers.structure.json.locate import Hedged
from rewarden_verifiers.structure.json.reading import JsonParams
from rewarden_verifiers.structure.json.strict import Malformed, canonical, parse


class JsonEquivalence:
    """See `rewarden_verifiers.equivalence`. An answer is JSON in canonical form, with sorted keys."""

    def __init__(self, params: JsonParams) -> None:
        self._reader = params.reader
        # Otherwise, keys capture only part of the equivalence, and `same` decides the rest.
        keyed = not params.fields and params.blank == "value" and not params.coerce and params.lists == "ordered"
        self._normal = keyed and params.text == "normal"

    def extract(self, text: str) -> str | None:
        """The JSON of a viewed response; None if there is none, it hedges, or it is malformed."""
        try:
            found = self._reader.finder.find(text, (dict, list))
        except (Malformed, Hedged):
            return None
        return None if found is None else canonical(found.value)

    def key(self, answer: str) -> str | None:
        """Equal keys mean equal answers. None if no cheap key exists."""
        try:
            value = parse(answer)
        except Malformed:
            return None
        return canonical(_plain(value, self._normal))

    def same(self, a: str, b: str) -> bool | None:
        """Returns whether two answers are equal, taking either one as the expected value."""
        try:
            first, second = parse(a), parse(b)
            there = content(self._reader.scheme.node(first), second, 1.0).exact
            back = content(self._reader.scheme.node(second), first, 1.0).exact
        except (Malformed, TooExpensive, ValueError):
            return None
        return there or back


def _plain(value: Any, alike: bool) -> Any:
    """Writes every number in one form, and every text in one form if case and white space do not matter (`alike`)."""
    if isinstance(value, dict):
        return {key: _plain(inner, alike) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner, alike) for inner in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and alike:
        return normal(value)
    return value
