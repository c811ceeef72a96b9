"""The writer: stores what the feed summed up, on a thread of its own.

Rows go to SQLite as one JSON text per table. A statement per row would release the interpreter's lock each time and
wait for it again, which takes milliseconds while the loop is busy.
"""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rewarden_server.observe.logs import get_logger
from rewarden_server.observe.series import OTHER
from rewarden_server.runs import database, retention
from rewarden_server.runs.feed import Taken
from rewarden_server.runs.figures import BUCKETS, MOST_NAMES, SUMS, Figures, Kind
from rewarden_server.runs.keeper import Kept
from rewarden_server.runs.place import Place
from rewarden_server.runs.rollout import COLUMNS, row_of
from rewarden_server.runs.stored_name import stored_name

_RUN = """
INSERT INTO runs (key, name, began, latest, verdicts, scored, positions, position, cost_usd, last_step, seq)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)
ON CONFLICT (key, name) DO UPDATE SET
    began = min(began, excluded.began),
    latest = max(latest, excluded.latest),
    verdicts = verdicts + excluded.verdicts,
    scored = scored + excluded.scored,
    positions = positions + excluded.positions,
    position = position + excluded.position,
    cost_usd = cost_usd + excluded.cost_usd,
    last_step = max(coalesce(last_step, excluded.last_step), coalesce(excluded.last_step, last_step)),
    seq = seq + 1
RETURNING number, step_width, time_width, seq
"""


def _fields(count: int) -> str:
    """Returns the columns of a row that is a JSON list. The operator ->> would need SQLite 3.38."""
    return ", ".join(f"json_extract(value, '$[{place}]')" for place in range(count))


_POINT_COLUMNS = ("run", "by_step", "at", "source", "began", "seq", *SUMS)

_POINTS = f"""
INSERT INTO points ({", ".join(_POINT_COLUMNS)})
SELECT {_fields(len(_POINT_COLUMNS))} FROM json_each(?) WHERE true
ON CONFLICT (run, by_step, at, source) DO UPDATE SET
    began = min(began, excluded.began), seq = excluded.seq,
    {", ".join(f"{name} = {name} + excluded.{name}" for name in SUMS)}
"""

_COUNTS = f"""
INSERT INTO counts (run, by_step, at, source, kind, name, n)
SELECT {_fields(7)} FROM json_each(?) WHERE true
ON CONFLICT (run, by_step, at, source, kind, name) DO UPDATE SET n = n + excluded.n
"""

_AT_ONCE = 50
"""Rollouts stored by one statement, for the reason above."""

_KNOWN_RUNS = 100

_log = get_logger("runs")


class Writer:
    """Used on one thread. max_bytes: the size of the file that may be in use."""

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self._folder = folder
        self._keeper = retention.Retention(max_bytes)
        self._connection: sqlite3.Connection | None = None
        self._identity: tuple[int, int] | None = None
        self._names: dict[int, _Names] = {}
        self.problem: str | None = None

    def write(self, taken: Taken) -> None:
        """Stores it. Never raises for a disk that is full or gone, or for a broken file: it is then lost, and the log
        says so once.
        """
        if taken.lost:
            _log.warning("verdicts are not in the store of runs: too many steps and sources at once", lost=taken.lost)
        for last in (False, True):
            try:
                with self._transaction() as connection:
                    self._store(connection, taken)
                self._keeper.tidy(connection, {place[:2] for place in taken.figures})
            except (OSError, sqlite3.Error) as error:
                self.close()
                if database.is_broken(error) and not last:
                    try:
                        database.set_aside(self._folder)
                    except OSError as further:
                        self._fail(further)
                        return
                    continue
                self._fail(error)
            else:
                self.problem = None
            return

    def delete(self, number: int) -> None:
        """Removes a run. Raises OSError, sqlite3.Error."""
        with self._transaction() as connection:
            retention.delete_run(connection, number)
        retention.shrink(connection)

    def close(self) -> None:
        """Closes the file."""
        connection, self._connection = self._connection, None
        self._names.clear()
        if connection is not None:
            try:
                connection.close()
            except sqlite3.Error as error:
                _log.debug("the store of runs was not closed", error=str(error))

    def _fail(self, error: Exception) -> None:
        if self.problem is None:
            _log.error(
                "runs cannot be stored: their figures are lost until they can be",
                folder=str(self._folder),
                error=str(error),
            )
        self.problem = str(error)

    def _transaction(self) -> _Transaction:
        found = database.identity(self._folder)
        if self._connection is not None and found != self._identity:
            self.close()  # another server set the file aside, or somebody removed it
        if self._connection is None:
            self._connection = database.open_for_writing(self._folder)
            self._identity = database.identity(self._folder)
        return _Transaction(self._connection, self._names)

    def _store(self, connection: sqlite3.Connection, taken: Taken) -> None:
        figures_of: dict[tuple[str, str], list[tuple[Place, Figures]]] = defaultdict(list)
        for place, figures in taken.figures.items():
            figures.fold()
            figures_of[place[:2]].append((place, figures))
        rollouts_of: dict[tuple[str, str], list[tuple[Place, Kept]]] = defaultdict(list)
        for place, kept in taken.rollouts:
            rollouts_of[place[:2]].append((place, kept))
        points: list[list[Any]] = []
        counts: list[list[int]] = []
        for key in {**figures_of, **rollouts_of}:
            run = _run(connection, key, figures_of[key])
            if run is None:
                continue
            names = self._names_of(connection, run.number)
            for place, figures in figures_of[key]:
                where = [run.number, *run.stored(place), names[Kind.SOURCE, place[-1]]]
                points.append([*where, figures.began, run.seq, *figures.sums()])
                for kind, name, count in figures.counts():
                    number = name if kind in BUCKETS else names[kind, name]
                    counts.append([*where, kind, number, count])
            rows = [
                (run.number, *run.stored(place), names[Kind.SOURCE, place[-1]], *row)
                for place, kept in rollouts_of[key]
                if (row := row_of(kept, place[3] if place[2] else None)) is not None
            ]
            if rows:
                _insert_rollouts(connection, rows)
                connection.execute("UPDATE runs SET rollouts = rollouts + ? WHERE number = ?", (len(rows), run.number))
        connection.execute(_POINTS, (json.dumps(points),))
        connection.execute(_COUNTS, (json.dumps(counts),))

    def _names_of(self, connection: sqlite3.Connection, run: int) -> _Names:
        names = self._names.get(run)
        if names is None:
            if len(self._names) >= _KNOWN_RUNS:
                self._names.clear()
            names = self._names[run] = _Names(connection, run)
        return names


class _Names(dict[tuple[int, str], int]):
    """Returns the numbers of a run's names; names beyond the limit get the number of `other`."""

    def __init__(self, connection: sqlite3.Connection, run: int) -> None:
        rows = connection.execute("SELECT kind, name, number FROM names WHERE run = ?", (run,))
        super().__init__({(kind, name): number for kind, name, number in rows})
        self._connection = connection
        self._run = run

    def __missing__(self, named: tuple[int, str]) -> int:
        kind, name = named
        kept = stored_name(name)
        if (kind, kept) not in self and sum(of == kind for of, _ in self) >= MOST_NAMES:
            kept = OTHER
        if (kind, kept) in self:
            return self[kind, kept]
        values = (self._run, int(kind), kept)
        self._connection.execute("INSERT OR IGNORE INTO names (run, kind, name) VALUES (?, ?, ?)", values)
        found = self._connection.execute(
            "SELECT number FROM names WHERE run = ? AND kind = ? AND name = ?", values
        ).fetchone()
        number: int = found[0]
        self[kind, kept] = number
        return number


@dataclass(frozen=True, slots=True)
class _Run:
    """A stored run. seq: the number of its last change."""

    number: int
    step_width: int
    time_width: int
    seq: int

    def stored(self, place: Place) -> tuple[int, int]:
        """Returns the stored place in which a place is counted: the first of those that share a width."""
        _, _, by_step, at, _ = place
        width = self.step_width if by_step else self.time_width
        return int(by_step), at // width * width


class _Transaction:
    """All or nothing: names learnt in a failed transaction are forgotten."""

    def __init__(self, connection: sqlite3.Connection, names: dict[int, _Names]) -> None:
        self._connection = connection
        self._names = names

    def __enter__(self) -> sqlite3.Connection:
        self._connection.execute("BEGIN IMMEDIATE")
        return self._connection

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if kind is None:
            self._connection.execute("COMMIT")
            return
        self._names.clear()
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")


def _run(connection: sqlite3.Connection, run: tuple[str, str], places: Sequence[tuple[Place, Figures]]) -> _Run | None:
    """Adds to a run's own figures. Returns None for a run that was deleted and has nothing new but rollouts."""
    if not places:
        row = connection.execute(
            "SELECT number, step_width, time_width, seq FROM runs WHERE key = ? AND name = ?", run
        ).fetchone()
        return None if row is None else _Run(*row)
    every = [figures for _, figures in places]
    steps = [at for (_, _, by_step, at, _), _ in places if by_step]
    values = (
        *run,
        min(figures.began for figures in every),
        max(figures.latest for figures in every),
        *(
            sum(figures.sum(name) for figures in every)
            for name in ("verdicts", "scored", "positions", "position", "cost_usd")
        ),
        max(steps) if steps else None,
    )
    return _Run(*connection.execute(_RUN, values).fetchone())


def _insert_rollouts(connection: sqlite3.Connection, rows: Sequence[tuple[Any, ...]]) -> None:
    one = f"({', '.join('?' * len(COLUMNS))})"
    for first in range(0, len(rows), _AT_ONCE):
        some = rows[first : first + _AT_ONCE]
        connection.execute(
            f"INSERT INTO rollouts ({', '.join(COLUMNS)}) VALUES {', '.join([one] * len(some))}",
            [value for row in some for value in row],
        )
