"""The rows of two scored files, brought together."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rewarden.errors import RewardenError
from rewarden.wire.json import loads
from rewarden_server.studies.rescore.groups import AsItStands
from rewarden_server.studies.rescore.options import RescoreError
from rewarden_server.studies.rescore.read import LONGEST_LINE, find_inputs

Advance = Callable[[int, float], None]
"""Called with the number of rows read and the share of the files, from 0 to 1."""

_USUAL = ("verdict", "verdicts", "score", "scores", "reward")


class CompareError(RescoreError):
    """The two files cannot be compared; the message names the row and the fix."""


@dataclass(frozen=True, slots=True)
class Judged:
    """The judgement of one side on one response. `top` is the highest score that it gives, where it says so."""

    status: str
    score: float | None
    passed: bool | None
    reason: str | None
    top: float
    verdict: Any

    def passes(self, threshold: float | None) -> bool | None:
        """Returns whether it passes: as its verifier says, else by the threshold or full marks; None if unscored."""
        if self.score is None:
            return None
        if threshold is not None:
            return self.score >= threshold
        return self.passed if self.passed is not None else self.score >= self.top


@dataclass(frozen=True, slots=True)
class Pair:
    """One response with both judgements. `row` counts the rows from 1, `place` the responses of a row from 0."""

    row: int
    place: int
    values: Mapping[str, Any]
    left: Judged
    right: Judged


@dataclass(frozen=True, slots=True)
class _Row:
    number: int
    values: dict[str, Any]
    judged: list[Judged]


def pairs(
    a: Path,
    b: Path,
    *,
    key: str | None = None,
    columns: tuple[str | None, str | None],
    advance: Advance = lambda rows, share: None,
) -> Iterator[Pair]:
    """The responses of two scored files, in A's order: row by row, or, with `key`, by that column's value.

    columns: for each side the column that holds verdicts or numbers; None: `verdict`, `verdicts`, `score`, `scores` or
    `reward`, the first that is there. advance: receives the progress. Raises CompareError if the files do not hold the
    same rows.
    """
    if key:
        # All of B is read before the first row of A.
        known = _by_key(_rows(b, columns[1], lambda rows, share: advance(rows, share / 2)), key, b)
        left = _rows(a, columns[0], lambda rows, share: advance(len(known) + rows, 0.5 + share / 2))
        matched = _keyed(left, known, key)
    else:
        matched = _in_order(_rows(a, columns[0], advance), a, b, columns[1])
    for mine, other in matched:
        if len(mine.judged) != len(other.judged):
            raise CompareError(
                f"{a}, row {mine.number} has {len(mine.judged)} verdicts, and {len(other.judged)} in {b}: "
                "these are not the same rollouts"
            )
        for place, (one, two) in enumerate(zip(mine.judged, other.judged, strict=True)):
            yield Pair(mine.number, place, mine.values, one, two)


def _in_order(left: Iterator[_Row], a: Path, b: Path, column: str | None) -> Iterator[tuple[_Row, _Row]]:
    right = _rows(b, column, lambda rows, share: None)
    for mine in left:
        other = next(right, None)
        if other is None:
            raise CompareError(
                f"{b} ends after {mine.number - 1} rows, {a} does not; give --key to match rows by a column"
            )
        for name in ("id", "sample_id", "rollout_id"):
            if name in mine.values and name in other.values and mine.values[name] != other.values[name]:
                raise CompareError(
                    f"row {mine.number} is {mine.values[name]!r} in {a} and {other.values[name]!r} in {b}: "
                    f"the files are in a different order; match them with --key {name}"
                )
        yield mine, other
    if next(right, None) is not None:
        raise CompareError(f"{b} has more rows than {a}; give --key to match rows by a column")


def _by_key(rows: Iterator[_Row], key: str, path: Path) -> dict[Any, _Row]:
    known: dict[Any, _Row] = {}
    for row in rows:
        value = _key(row, key)
        if value in known:
            raise CompareError(f"{path}: {key} {value!r} occurs in rows {known[value].number} and {row.number}")
        known[value] = _Row(row.number, {}, row.judged)
    return known


def _keyed(left: Iterator[_Row], known: Mapping[Any, _Row], key: str) -> Iterator[tuple[_Row, _Row]]:
    seen: set[Any] = set()
    for row in left:
        value = _key(row, key)
        if value in seen:
            raise CompareError(f"{key} {value!r} occurs twice in the first file")
        seen.add(value)
        if value in known:
            yield row, known[value]
    if not seen & set(known):
        raise CompareError(f"no {key} is in both files")


def _key(row: _Row, key: str) -> Any:
    value = row.values.get(key)
    if isinstance(value, (str, int)):
        return value
    raise CompareError(f"row {row.number} has no usable {key!r} to match by (a string or whole number)")


def _rows(path: Path, column: str | None, advance: Advance) -> Iterator[_Row]:
    order = AsItStands(find_inputs(path), LONGEST_LINE)
    advance(0, 0.0)
    for number, (line, place) in enumerate(order.lines(None), start=1):
        advance(number, order.share(place))
        if line.fault is not None:
            raise CompareError(f"{path}, line {line.number}: {line.fault}")
        try:
            values = loads(line.data)
        except RewardenError as error:
            raise CompareError(f"{path}, line {line.number}: {error.message}") from None
        if not isinstance(values, dict):
            raise CompareError(f"{path}, line {line.number}: a row must be an object")
        name = column or next((usual for usual in _USUAL if usual in values), None)
        if name is None or name not in values:
            wanted = f"the column {column!r}" if column else f"any of the columns {', '.join(_USUAL)}"
            raise CompareError(f"{path}, line {line.number} lacks {wanted}: name the one that holds verdicts or scores")
        found = values[name]
        listed = found if isinstance(found, list) else [found]
        yield _Row(number, values, [_judged(item, f"{path}, line {line.number}, {name}") for item in listed])


def _judged(value: Any, where: str) -> Judged:
    if value is None:
        return Judged("missing", None, None, None, 1.0, None)
    if isinstance(value, bool):
        return Judged("scored", float(value), value, None, 1.0, value)
    if _is_number(value):
        return Judged("scored", float(value), None, None, 1.0, value)
    if isinstance(value, Mapping) and isinstance(value.get("status"), str):
        score, span = value.get("score"), value.get("range") or (0.0, 1.0)
        if not (score is None or _is_number(score)) or not _is_range(span):
            raise CompareError(f"{where} has a score or a range that is not a number")
        return Judged(
            value["status"],
            None if score is None else float(score),
            value.get("passed"),
            value.get("reason"),
            float(span[1]),
            value,
        )
    raise CompareError(f"{where} is neither a verdict nor a number")


def _is_number(value: Any) -> bool:
    """Returns whether a value is a number that a score can be."""
    try:
        return isinstance(value, (int, float)) and math.isfinite(value)
    except OverflowError:
        return False


def _is_range(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and len(value) == 2 and all(map(_is_number, value))
