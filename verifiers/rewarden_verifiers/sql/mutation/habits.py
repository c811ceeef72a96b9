"""The rules that the rows of a table follow, declared or not.

A database that breaks a rule of the real rows can distinguish queries that agree on every possible database. So
generated rows follow every rule that the sampled rows suggest: missing a difference is better than inventing one.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import permutations
from typing import Any, Literal

from rewarden_verifiers.sql.mutation.blueprint import Part

Value = Any
Kind = Literal["int", "float", "decimal", "text", "date", "datetime", "bool", "frozen"]

_KEY = re.compile(
    r"(?!.*(paid|valid|bid|grid|humid)$)"
    r"(.*(id|code|key|uuid|guid|isbn|issn|sku|iata|icao|ssn|email|login|username|slug)|(.*[_ ])?(no|nr|number))"
)
_CAMEL_KEY = re.compile(r".*[a-z0-9](ID|Id|Code|Key|No|UUID)|.*_(ID|CODE|KEY|NO)")
_NAME = re.compile(r"(.*_)?(name|title)|.*(Name|Title)", re.I)
_RANGES = (
    ("start", "end"),
    ("begin", "end"),
    ("from", "to"),
    ("min", "max"),
    ("low", "high"),
    ("birth", "death"),
    ("born", "died"),
    ("open", "close"),
    ("first", "last"),
    ("order", "ship"),
    ("create", "update"),
)
_FLAGS = (
    {"0", "1"},
    {"m", "f"},
    {"t", "f"},
    {"y", "n"},
    {"yes", "no"},
    {"true", "false"},
    {"male", "female"},
)
_SURE = 50
"""The number of distinct rows from which a name or a text counts as a key."""
_DEPENDS = 8
"""The number of consistent repetitions from which one column counts as determined by another."""
_CLOSED = 4
"""The average number of occurrences per value from which a column's values count as complete."""


def folded(value: Value) -> Value:
    """A value as the most permissive collation sees it."""
    return value.lower().rstrip() if isinstance(value, str) else value


def shape(text: str) -> str:
    """Returns the shape of a text: runs of digits, upper-case and lower-case letters are each replaced by one
    character.
    """
    marks = ["9" if c.isdigit() else "A" if c.isupper() else "a" if c.isalpha() else c for c in text]
    return re.sub(r"(.)\1+", r"\1", "".join(marks))


def dated(text: str) -> str | None:
    """The `strftime` format of a text that is a date or a timestamp, or None."""
    for pattern, form in _DATES:
        if pattern.fullmatch(text):
            try:
                datetime.datetime.strptime(text, form)
            except ValueError:
                return None
            return form
    return None


_DATES = (
    (re.compile(r"\d{4}-\d\d-\d\d"), "%Y-%m-%d"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"), "%Y-%m-%d %H:%M:%S"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"), "%Y-%m-%dT%H:%M:%S"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d"), "%Y-%m-%d %H:%M"),
    (re.compile(r"\d{4}/\d\d/\d\d"), "%Y/%m/%d"),
    (re.compile(r"\d{4}-\d\d"), "%Y-%m"),
    (re.compile(r"\d{8}"), "%Y%m%d"),
)


@dataclass(frozen=True, eq=False)
class Look:
    """The look of a column's existing values. `samples` are distinct and not NULL. most: the greatest whole number, or
    the maximum length, that its declared type permits.
    """

    kind: Kind
    samples: tuple[Value, ...]
    closed: bool
    nulls: bool
    most: int

    @cached_property
    def form(self) -> str | None:
        """The format of dates that are stored as texts."""
        forms = {dated(value) for value in self.samples} if self.kind == "text" and self.samples else {None}
        return forms.pop() if len(forms) == 1 else None

    @cached_property
    def _shapes(self) -> frozenset[str] | None:
        found = {shape(value) for value in self.samples}
        return frozenset(found) if len(self.samples) >= 4 and len(found) <= max(1, len(self.samples) // 3) else None

    @cached_property
    def _cases(self) -> tuple[bool, bool, bool]:
        """Returns whether all values are upper case, are lower case, or begin with an upper-case letter."""
        texts = [value for value in self.samples if value]
        enough = len(texts) >= 3
        return (
            enough and all(value == value.upper() for value in texts),
            enough and all(value == value.lower() for value in texts),
            enough and all(value == value[0].upper() + value[1:] for value in texts),
        )

    @cached_property
    def _lengths(self) -> frozenset[int] | None:
        """The length of all values, if they are codes or numbers of the same length."""
        found = {len(value) for value in self.samples}
        plain = all(value.isalnum() and (value.isupper() or any(map(str.isdigit, value))) for value in self.samples)
        return frozenset(found) if plain and len(found) == 1 and len(self.samples) >= 3 else None

    @cached_property
    def _positive(self) -> bool:
        return bool(self.samples) and min(self.samples) >= 0

    def permits(self, value: Value) -> bool:
        """Returns whether a value other than NULL would look like the others."""
        if value in self.samples:
            return True
        if self.closed or self.kind == "frozen" or not self.samples:
            return False
        if self.kind == "int":
            return type(value) is int and abs(value) <= self.most and self._signed(value)
        if self.kind in ("float", "decimal"):
            return type(value) in (int, float, Decimal) and self._signed(value)
        if self.kind == "text":
            return isinstance(value, str) and self._text(value)
        return type(value) is type(self.samples[0])

    def _signed(self, value: Any) -> bool:
        return value >= 0 or not self._positive

    def _text(self, value: str) -> bool:
        if self.form is not None:
            return dated(value) == self.form
        upper, lower, first = self._cases
        return (
            (self._shapes is None or shape(value) in self._shapes)
            and (self._lengths is None or len(value) in self._lengths)
            and len(value) <= self.most
            and len(value) <= max(24, *(len(item) for item in self.samples))
            and (not value or value == value.strip())
            and (not upper or value == value.upper())
            and (not lower or value == value.lower())
            and (not first or value[:1] == value[:1].upper())
        )


class Habits:
    """The rules of one table.

    unique: declared sets of columns; a column named like a key (id, code, …) whose sampled values differ; a text column
    with 50 or more rows that all differ, or a name if the table has no other key; in a table without any key, all
    columns together that look like keys or refer to other tables. determined: pairs of columns of which the second
    never differed when the first was the same. before: pairs of columns of which the first was never the greater.
    """

    def __init__(self, part: Part, rows: Sequence[tuple[Value, ...]]) -> None:
        self.part = part
        self.rows = rows
        self.names = [column.name for column in part.columns]
        self.place = {name: place for place, name in enumerate(self.names)}
        self.looks = [self._look(place) for place in range(len(self.names))]
        self.unique = self._unique()
        self.determined = self._determined()
        self.before = self._before()

    def _values(self, place: int) -> list[Value]:
        return [row[place] for row in self.rows if row[place] is not None]

    def _look(self, place: int) -> Look:
        values = self._values(place)
        kind = _kind(values, self.part.columns[place].type)
        if self.names[place] in self.part.frozen:
            kind = "frozen"
        distinct = tuple(dict.fromkeys(values)) if kind != "frozen" else ()
        flags = {str(value).lower() for value in distinct}
        closed = (
            (len(values) >= _CLOSED * 2 and len(values) >= _CLOSED * len(distinct))
            or any(flags <= known and len(flags) > 1 for known in _FLAGS)
            or re.match(r"(is|has|can)_", self.names[place].lower()) is not None
            or self.part.columns[place].type.upper().startswith(("ENUM", "BOOL"))
            or kind == "bool"
        )
        nulls = any(row[place] is None for row in self.rows)
        return Look(kind, distinct, closed, nulls, _most(kind, self.part.columns[place].type))

    def _unique(self) -> tuple[tuple[int, ...], ...]:
        found = [tuple(self.place[name] for name in names) for names in self.part.unique]
        single = {places[0] for places in found if len(places) == 1}
        keyed = bool(found)
        links = {name for link in self.part.links for name in link.columns}
        for place, name in enumerate(self.names):
            values = [folded(value) for value in self._values(place) if value.__hash__ is not None]
            if place in single or name in links or len(values) < 2 or len(set(values)) < len(values):
                continue
            key = _KEY.fullmatch(name.lower()) or _CAMEL_KEY.fullmatch(name)
            named = _NAME.fullmatch(name) and not keyed
            sure = isinstance(values[0], str) and len(values) >= _SURE
            if key or named or sure:
                found.append((place,))
        if not found:
            keys = tuple(
                place
                for place, name in enumerate(self.names)
                if name in links or _KEY.fullmatch(name.lower()) or _CAMEL_KEY.fullmatch(name)
            )
            tuples = [tuple(folded(row[place]) for place in keys) for row in self.rows]
            if len(keys) > 1 and len(set(map(repr, tuples))) == len(tuples):
                found.append(keys)
        return tuple(dict.fromkeys(found))

    def _determined(self) -> tuple[tuple[int, int], ...]:
        keys = {places[0] for places in self.unique if len(places) == 1}
        found = []
        for one, other in permutations(range(len(self.names)), 2):
            if one in keys:
                continue
            known: dict[str, str] = {}
            for row in self.rows:
                before = known.setdefault(repr(row[one]), repr(row[other]))
                if before != repr(row[other]):
                    break
            else:
                if len(self.rows) - len(known) >= _DEPENDS and len(set(known.values())) > 1:
                    found.append((one, other))
        return tuple(found)

    def _before(self) -> tuple[tuple[int, int], ...]:
        found = []
        for one, other in permutations(range(len(self.names)), 2):
            kind = self.looks[one].kind
            if kind != self.looks[other].kind or kind == "frozen":
                continue
            if kind == "text" and (self.looks[one].form is None or self.looks[one].form != self.looks[other].form):
                continue
            both = [(row[one], row[other]) for row in self.rows if None not in (row[one], row[other])]
            names = self.names[one].lower(), self.names[other].lower()
            told = any(low in names[0] and high in names[1] for low, high in _RANGES)
            if len(both) >= (1 if told else 20) and all(low <= high for low, high in both):
                found.append((one, other))
        return tuple(found)


def _kind(values: Sequence[Value], declared: str) -> Kind:
    types = {type(value) for value in values}
    if types == {int}:
        return "float" if re.search(r"REAL|FLOA|DOUB|NUMERIC|DECIMAL", declared.upper()) else "int"
    if types and types <= {int, float}:
        return "float"
    one = {Decimal: "decimal", str: "text", bool: "bool", datetime.date: "date", datetime.datetime: "datetime"}
    return one.get(next(iter(types)), "frozen") if len(types) == 1 else "frozen"  # type: ignore[return-value]


def _most(kind: Kind, declared: str) -> int:
    declared = declared.upper()
    if kind == "text":
        length = re.search(r"CHAR[^(]*\(\s*(\d+)", declared)
        return int(length[1]) if length is not None else 10_000
    if declared.startswith("TINYINT"):
        return 127
    if declared.startswith(("SMALLINT", "INT2")):
        return 2**15 - 1
    return 2**62 if declared.startswith(("BIGINT", "INT8")) else 2**31 - 1
