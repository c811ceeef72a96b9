"""Reads runs, points and counts from the file, on threads of its own.

SQLite writes points as JSON: a hundred thousand of them would otherwise block the interpreter, and with it the loop,
for half a second.
"""

from __future__ import annotations

import sqlite3
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rewarden.wire.json import dumps
from rewarden_server.runs import database
from rewarden_server.runs.figures import BUCKETS, POSITION_BOUNDS, SUMS, Kind, bounds_of

Axis = Literal["step", "time"]

MOST_RUNS = 1000
"""The most runs in a list."""

MOST_POINTS = 200_000

DEFAULT_POINTS = 2_000

_RUN_COLUMNS = (
    "number, id, key, name, began, latest, verdicts, scored, positions, position, cost_usd, last_step, step_width, "
    "time_width, rollouts, seq"
)

_MEANS: Mapping[str, str] = {
    "unscored": "verdicts - scored",
    "failed": "judged - passed",
    "mean": "round(position / nullif(positions, 0), 6)",
    "std": "round(sqrt(max(0, (squares - position * position / positions) / nullif(positions, 0))), 6)",
    "score": "round(score / nullif(scored, 0), 6)",
    "chars": "round(1.0 * chars / nullif(measured, 0), 1)",
    "tokens": "round(1.0 * tokens / nullif(counted, 0), 1)",
    "run_s": "round(run_s / nullif(verdicts - cached, 0), 6)",
    "queue_s": "round(queue_s / nullif(verdicts - cached, 0), 6)",
    "cost_usd": "round(cost_usd, 9)",
}
"""Columns of points computed from stored sums."""

COLUMNS = (
    *("source", "at", "began"),
    *("verdicts", "scored", "unscored", "passed", "failed", "flagged", "no_answer", "truncated", "cached"),
    *("mean", "std", "score", "chars", "tokens", "run_s", "queue_s"),
    *("judge_calls", "judge_tokens", "cost_usd"),
    *("all_pass", "all_fail", "flat", "mixed", "partly", "single"),
)
"""The columns of points, each a JSON array."""


@dataclass(frozen=True, slots=True)
class Run:
    """A stored run."""

    number: int
    id: str
    key: str
    name: str
    began: float
    latest: float
    verdicts: int
    scored: int
    positions: int
    position: float
    cost_usd: float
    last_step: int | None
    step_width: int
    time_width: int
    rollouts: int
    seq: int
    sources: tuple[str, ...] = ()
    verifiers: tuple[str, ...] = ()

    @property
    def axis(self) -> Axis:
        """Returns the axis on which a run is shown by default."""
        return "time" if self.last_step is None else "step"

    def width(self, axis: Axis) -> int:
        """Returns the steps, or seconds, of one stored place."""
        return self.step_width if axis == "step" else self.time_width

    def to_json(self) -> dict[str, Any]:
        """Returns the run, ready for JSON."""
        return {
            "id": self.id,
            "name": self.name,
            "key": self.key,
            "began": self.began,
            "latest": self.latest,
            "verdicts": self.verdicts,
            "scored": self.scored,
            "unscored": self.verdicts - self.scored,
            "mean": self.position / self.positions if self.positions else None,
            "cost_usd": self.cost_usd,
            "axis": self.axis,
            "last_step": self.last_step,
            "sources": list(self.sources),
            "verifiers": list(self.verifiers),
            "rollouts": self.rollouts,
        }


@dataclass(frozen=True, slots=True)
class Points:
    """Points as JSON, and the number of the last change that they include."""

    seq: int
    body: bytes


@dataclass(frozen=True, slots=True)
class Range:
    """A part of a run: the places from `first` to `last` of an axis, and one data source; None: no bound."""

    axis: Axis
    first: float | None = None
    last: float | None = None
    source: str | None = None


class Reader:
    """Reads from several threads, each with its own connection."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._local = threading.local()
        self._open: list[sqlite3.Connection] = []

    def runs(self, key: str | None) -> list[Run]:
        """Returns the runs of a key, or of all keys, latest first. Raises sqlite3.Error."""
        with self.snapshot() as connection:
            where, values = ("", ()) if key is None else ("WHERE key = ?", (key,))
            rows = connection.execute(
                f"SELECT {_RUN_COLUMNS} FROM runs {where} ORDER BY latest DESC LIMIT {MOST_RUNS}", values
            ).fetchall()
            names: dict[int, dict[int, dict[str, None]]] = defaultdict(lambda: defaultdict(dict))
            chosen = f"SELECT number FROM runs {where} ORDER BY latest DESC LIMIT {MOST_RUNS}"
            for run, kind, name in connection.execute(
                f"SELECT run, kind, name FROM names WHERE kind IN ({Kind.SOURCE}, {Kind.VERIFIER}) "
                f"AND run IN ({chosen}) ORDER BY number",
                values,
            ):
                names[run][kind][name if kind == Kind.SOURCE else name.split(" ")[0]] = None
            return [_made(row, names[row[0]]) for row in rows]

    def run(self, id: str, key: str | None) -> Run | None:
        """Returns a run, if there is one that the key may see. Raises sqlite3.Error."""
        with self.snapshot() as connection:
            return _run(connection, id, key)

    def points(self, id: str, key: str | None, axis: Axis | None, most: int, after: int | None = None) -> Points | None:
        """Returns a run with its points as JSON, or only those that changed after a given change; None if there is no
        such run. Raises sqlite3.Error.
        """
        with self.snapshot() as connection:
            run = _run(connection, id, key)
            if run is None:
                return None
            axis = axis or run.axis
            width = run.width(axis)
            if after is None:
                width *= _factor(connection, run, axis, width, most)
            columns = _columns(connection, run, axis, width, after)
        head = {"run": run.to_json(), "axis": axis, "width": width, "sources": list(run.sources), "seq": run.seq}
        points = b",".join(b'"%s":%s' % (name.encode(), text.encode()) for name, text in columns.items())
        return Points(run.seq, dumps(head)[:-1] + b',"points":{' + points + b"}}")

    def counts(self, run: Run, part: Range) -> dict[str, Any]:
        """Returns the counts of a part of a run. Raises sqlite3.Error."""
        with self.snapshot() as connection:
            return counts_of(connection, run, part)

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """Opens a connection that sees one state of the file. Raises sqlite3.Error."""
        connection = self._connection()
        connection.execute("BEGIN")
        try:
            yield connection
        finally:
            connection.execute("COMMIT")

    def close(self) -> None:
        """Closes all connections, once no thread reads any more."""
        for connection in self._open:
            connection.close()
        self._open.clear()

    def _connection(self) -> sqlite3.Connection:
        found = database.identity(self._folder)
        known: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if known is not None and self._local.identity == found:
            return known
        if known is not None:
            self._open.remove(known)
            known.close()
            self._local.connection = None
        self._local.connection = database.open_for_reading(self._folder)
        self._local.identity = found
        self._open.append(self._local.connection)
        made: sqlite3.Connection = self._local.connection
        return made


def where_of(run: Run, part: Range, named: str = "") -> tuple[str, dict[str, Any]]:
    """Returns a condition on places and its values, whose names begin with `named`."""
    first = None if part.first is None else part.first - run.width(part.axis)
    values: dict[str, Any] = {"run": run.number, f"{named}first": first, f"{named}last": part.last}
    bounds = f"(:{named}first IS NULL OR {{0}} > :{named}first) AND (:{named}last IS NULL OR {{0}} <= :{named}last)"
    condition = f"by_step = 1 AND {bounds.format('at')}"
    if part.axis == "time":
        began = f"SELECT at, source FROM points WHERE run = :run AND by_step = 1 AND {bounds.format('began')}"
        condition = f"(by_step = 0 AND {bounds.format('at')} OR by_step = 1 AND (at, source) IN ({began}))"
    if part.source is not None:
        values[f"{named}source"] = part.source
        source = f"SELECT number FROM names WHERE run = :run AND kind = {Kind.SOURCE} AND name = :{named}source"
        condition += f" AND source = ({source})"
    return f"run = :run AND {condition}", values


def counts_of(connection: sqlite3.Connection, run: Run, part: Range) -> dict[str, Any]:
    """See `Reader.counts`."""
    where, values = where_of(run, part)
    sums = dict(
        zip(
            SUMS,
            connection.execute(
                f"SELECT {', '.join(f'coalesce(sum({name}), 0)' for name in SUMS)} FROM points WHERE {where}", values
            ).fetchone(),
            strict=True,
        )
    )
    found: dict[Kind, list[tuple[Any, int, int, int]]] = {kind: [] for kind in Kind}
    for kind, bucket, name, count, first, last in connection.execute(
        "SELECT counts.kind, counts.name, names.name, count, first, last FROM ("
        f"SELECT kind, name, sum(n) AS count, min(at) AS first, max(at) AS last FROM counts WHERE {where} "
        "GROUP BY kind, name) AS counts LEFT JOIN names ON names.number = counts.name AND names.kind = counts.kind "
        "AND names.run = :run ORDER BY count DESC, names.name",
        values,
    ):
        found[Kind(kind)].append((bucket if kind in BUCKETS else name, count, first, last))
    by_name = {kind: {name: count for name, count, _, _ in rows} for kind, rows in found.items()}
    statuses = {"scored": sums["scored"], **by_name[Kind.STATUS]} if sums["scored"] else by_name[Kind.STATUS]
    return {
        "verdicts": sums["verdicts"],
        "mean": sums["position"] / sums["positions"] if sums["positions"] else None,
        **{name: sums[name] for name in ("judge_calls", "judge_tokens", "cost_usd")},
        "statuses": statuses,
        "reasons": by_name[Kind.REASON],
        "flags": by_name[Kind.FLAG],
        "faults": by_name[Kind.FAULT],
        "groups": {name: sums[name] for name in _GROUPS if sums[name]},
        "positions": [[*_position_bounds(bucket), count] for bucket, count in sorted(by_name[Kind.POSITION].items())],
        "lengths": [[*bounds_of(bucket), count] for bucket, count in sorted(by_name[Kind.LENGTH].items())],
        "verifiers": [
            {
                **dict(zip(("name", "version", "fingerprint"), name.rsplit(" ", 2), strict=False)),
                "first": first,
                "last": last,
                "verdicts": count,
            }
            for name, count, first, last in found[Kind.VERIFIER]
        ],
    }


_GROUPS = ("all_pass", "all_fail", "flat", "mixed", "partly", "single")


def _position_bounds(bucket: int) -> tuple[float, float]:
    """Returns the ends of a bucket of positions, rounded to 0 and 1 if they nearly are."""
    last = len(POSITION_BOUNDS) - 1
    low = POSITION_BOUNDS[bucket] if bucket in (0, last) else POSITION_BOUNDS[bucket - 1]
    return low, round(POSITION_BOUNDS[bucket], 3)


def _run(connection: sqlite3.Connection, id: str, key: str | None) -> Run | None:
    row = connection.execute(
        f"SELECT {_RUN_COLUMNS} FROM runs WHERE id = ? AND (? IS NULL OR key = ?)", (id, key, key)
    ).fetchone()
    if row is None:
        return None
    names: dict[int, dict[str, None]] = defaultdict(dict)
    for kind, name in connection.execute(
        f"SELECT kind, name FROM names WHERE run = ? AND kind IN ({Kind.SOURCE}, {Kind.VERIFIER}) ORDER BY number",
        (row[0],),
    ):
        names[kind][name if kind == Kind.SOURCE else name.split(" ")[0]] = None
    return _made(row, names)


def _made(row: tuple[Any, ...], names: Mapping[int, Mapping[str, None]]) -> Run:
    """Builds a run from its columns, and its names by kind."""
    sources, verifiers = (tuple(names.get(kind, ())) for kind in (Kind.SOURCE, Kind.VERIFIER))
    return Run(*[*row, sources, verifiers])


def _at(axis: Axis) -> str:
    return "at" if axis == "step" else "(CASE by_step WHEN 1 THEN CAST(began AS INTEGER) ELSE at END)"


def _factor(connection: sqlite3.Connection, run: Run, axis: Axis, width: int, most: int) -> int:
    """Returns how many neighbouring places are shown as one, so that there are at most `most`."""
    where = "run = ?" + (" AND by_step = 1" if axis == "step" else "")
    first, last, places = connection.execute(
        f"SELECT min(place), max(place), count(DISTINCT place) FROM (SELECT {_at(axis)} / {width} AS place FROM points "
        f"WHERE {where})",
        (run.number,),
    ).fetchone()
    if places <= most:
        return 1
    factor: int = -(-(last - first + 1) // most)
    return factor


def _columns(connection: sqlite3.Connection, run: Run, axis: Axis, width: int, after: int | None) -> dict[str, str]:
    """Returns the columns of points, each as JSON."""
    where = "run = :run" + (" AND by_step = 1" if axis == "step" else "")
    if after is not None and axis == "step":
        # Mostly only the last step changed, so the others need not be read.
        where += " AND at >= (SELECT min(at) FROM points WHERE run = :run AND by_step = 1 AND seq > :after)"
    place = f"(SELECT count(*) FROM names WHERE run = :run AND kind = {Kind.SOURCE} AND number < source)"
    sums = ", ".join(f"sum({name}) AS {name}" for name in SUMS)
    changed = "" if after is None else "HAVING max(seq) > :after"
    columns = ", ".join(f"json_group_array({_MEANS.get(name, name)})" for name in COLUMNS)
    row = connection.execute(
        f"SELECT {columns} FROM (SELECT {place} AS source, at, began, {', '.join(SUMS)} FROM ("
        f"SELECT source, {_at(axis)} / :width * :width AS at, round(min(began), 3) AS began, {sums} FROM points "
        f"WHERE {where} GROUP BY 2, 1 {changed} ORDER BY 2, 1) LIMIT {MOST_POINTS})",
        {"run": run.number, "width": width, "after": after},
    ).fetchone()
    return dict(zip(COLUMNS, row, strict=True))
