"""A row of the output: the input's own bytes, and our columns after them.

The line is not decoded and encoded again: numbers, spaces, key order and escapes of the input stay as they are.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import msgspec

from rewarden.types import Verdict
from rewarden.wire.json import VERDICT_FIELDS, dumps, loads, verdict_to_json
from rewarden_server.studies.rescore.options import RescoreOptions

_RAW = msgspec.json.Decoder(dict[str, msgspec.Raw])
_COUNTED = ("status", "score", "passed", "reason", "fault", "feedback", "flags", "exclude", "verifier")
"""The fields that the summary reads."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict in its JSON form, and that as text: it is written twice, to the journal and to the output."""

    value: Mapping[str, Any]
    data: bytes

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> Judged:
        """Returns a value together with its text."""
        return cls(value, dumps(value))


@dataclass(frozen=True, slots=True)
class Renderer:
    """Writes rows and knows our columns in rows that hold some already.

    `fields`: of a verdict, those that are written; `noted`: those that are kept until then.
    """

    options: RescoreOptions
    fields: frozenset[str]
    noted: frozenset[str]

    @classmethod
    def of(cls, options: RescoreOptions) -> Renderer:
        """The renderer that the options describe."""
        return cls(options, frozenset((*options.fields, "status")), frozenset((*options.fields, *_COUNTED)))

    def judged(self, verdict: Verdict) -> Judged:
        """A verdict with what of it is needed from here on."""
        noted = self.noted
        return Judged.of({name: value for name, value in verdict_to_json(verdict).items() if name in noted})

    def earlier(self, row: Mapping[str, Any]) -> list[dict[str, Any]] | None:
        """The verdicts that an earlier rescore left in a row, or None."""
        one, several = row.get(self.options.verdict_column), row.get(self.options.verdict_column + "s")
        if several is None:
            return [one] if isinstance(one, dict) and is_verdict(one) else None
        if isinstance(several, list) and all(map(is_verdict, several)):
            return several
        return None

    def taken(self, row: Mapping[str, Any], many: bool) -> str | None:
        """A column of the user's that ours would replace, or None."""
        if self.options.overwrite:
            return None
        present = [name for name in self.names(many) if name in row]
        if not present or self.earlier(row) is not None:
            return None
        return present[0]

    def names(self, many: bool) -> tuple[str, str]:
        """The score's and the verdict's column, for rows with one response or with a list of them."""
        plural = "s" if many else ""
        return self.options.score_column + plural, self.options.verdict_column + plural

    def line(self, data: bytes, verdicts: Sequence[Judged], many: bool, *, replaces: bool = False) -> bytes | None:
        """The output's line for a row, or None if it is to be left out.

        `data` is the input's line, a JSON object; `replaces` says that it has columns of our names.
        """
        if self.options.unscored == "skip" and all(judged.value["status"] != "scored" for judged in verdicts):
            return None
        return self.columns(_without(data, self.names(many)) if replaces else data, verdicts, many) + b"\n"

    def columns(self, data: bytes, verdicts: Sequence[Judged], many: bool) -> bytes:
        """A JSON object with our columns behind its own."""
        names = self.names(many)
        score: Any = [self._score(judged.value) for judged in verdicts]
        texts = [self._text(judged) for judged in verdicts]
        text = b"[" + b",".join(texts) + b"]" if many else texts[0]
        head = data[:-1].rstrip()
        comma = b"" if head.endswith(b"{") else b","
        score_key, verdict_key = _keys(names)
        return b"%b%b%b:%b,%b:%b}" % (head, comma, score_key, dumps(score if many else score[0]), verdict_key, text)

    def _text(self, judged: Judged) -> bytes:
        if judged.value.keys() <= self.fields:
            return judged.data
        return dumps({name: value for name, value in judged.value.items() if name in self.fields})

    def _score(self, verdict: Mapping[str, Any]) -> Any:
        if verdict["status"] == "scored" or self.options.unscored == "skip":
            return verdict.get("score")
        return self.options.unscored


@lru_cache(maxsize=64)
def _keys(names: tuple[str, str]) -> tuple[bytes, bytes]:
    return dumps(names[0]), dumps(names[1])


def _without(data: bytes, names: tuple[str, ...]) -> bytes:
    """The line without some of its columns; the values of the others keep their bytes."""
    try:
        cells = _RAW.decode(data)
    except ValueError:  # msgspec is strict: NaN, or half of a surrogate pair
        values = loads(data)
        return json.dumps({name: value for name, value in values.items() if name not in names}).encode()
    return msgspec.json.encode({name: value for name, value in cells.items() if name not in names})


def is_verdict(value: Any) -> bool:
    """Returns whether a value is a verdict that we wrote (some of its fields may have been left out)."""
    if not isinstance(value, dict) or not value.keys() <= _FIELDS:
        return False
    try:
        form = msgspec.convert(value, _Form)
    except (msgspec.ValidationError, OverflowError):
        return False
    return all(number is None or math.isfinite(number) for number in (form.score, *(form.range or ())))


_FIELDS = frozenset(VERDICT_FIELDS)


class _Ref(msgspec.Struct):
    name: str
    version: str
    fingerprint: str


class _Form(msgspec.Struct):
    """The fields of a verdict that are counted and shown, so that no other program's column is taken for ours."""

    status: Literal["scored", "undecided", "error"]
    score: float | None = None
    range: tuple[float, float] | None = None
    passed: bool | None = None
    reason: str | None = None
    fault: str | None = None
    flags: list[str] | None = None
    components: dict[str, Any] | None = None
    steps: list[Any] | None = None
    evidence: dict[str, Any] | None = None
    verifier: _Ref | None = None
