"""The limits of the store: what is removed, and when."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Collection

from rewarden_server.runs.figures import SUMS

MOST_POINTS = 200_000
"""Stored points of a run. A run with more merges neighbours: a point then covers a step, two steps, four …"""

MOST_RUNS = 1000
"""Runs of a key; beyond, the oldest are removed. Attack: an endless series of names that pushes out the runs of other
keys."""

EVERY_S = 10.0
_ROOM = 0.95
_AT_ONCE = 500
_TABLES = ("points", "counts", "rollouts", "names")


class Retention:
    """Keeps a store within its limits. The work is spread: each call does a little."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._last = 0.0

    def tidy(self, connection: sqlite3.Connection, written: Collection[tuple[str, str]]) -> None:
        """Removes what exceeds the limits. written: keys and names of the runs that grew. Raises sqlite3.Error."""
        full = used_bytes(connection) > self._max_bytes
        now = time.monotonic()
        if not full and now - self._last < EVERY_S:
            return
        self._last = now
        for key, name in written:
            self._check_run(connection, key, name)
        for key in {key for key, _ in written}:
            _check_key(connection, key)
        if full:
            self._make_room(connection)
        shrink(connection)

    @staticmethod
    def _check_run(connection: sqlite3.Connection, key: str, name: str) -> None:
        row = connection.execute("SELECT number FROM runs WHERE key = ? AND name = ?", (key, name)).fetchone()
        if row is None:
            return
        for by_step in (0, 1):
            while _points(connection, row[0], by_step) > MOST_POINTS:
                widen(connection, row[0], by_step)

    def _make_room(self, connection: sqlite3.Connection) -> None:
        """Removes the oldest rollouts, then the oldest runs, until there is some room; of the last run, every second
        point."""
        while used_bytes(connection) > _ROOM * self._max_bytes:
            connection.execute("BEGIN IMMEDIATE")
            oldest = connection.execute(
                "SELECT run, count(*), max(number) FROM (SELECT run, number FROM rollouts ORDER BY number LIMIT ?) "
                "GROUP BY run",
                (_AT_ONCE,),
            ).fetchall()
            for run, count, last in oldest:
                connection.execute("DELETE FROM rollouts WHERE run = ? AND number <= ?", (run, last))
                connection.execute("UPDATE runs SET rollouts = rollouts - ? WHERE number = ?", (count, run))
            if not oldest:
                runs = connection.execute("SELECT number FROM runs ORDER BY latest LIMIT 2").fetchall()
                if len(runs) < 2:
                    connection.execute("COMMIT")
                    for (run,) in runs:
                        before = used_bytes(connection)
                        for by_step in (0, 1):
                            widen(connection, run, by_step)
                        if used_bytes(connection) >= before:
                            return
                    if not runs:
                        return
                    continue
                delete_run(connection, runs[0][0])
            connection.execute("COMMIT")


def used_bytes(connection: sqlite3.Connection) -> int:
    """Returns the bytes of the file that are in use."""
    pages, free, size = (
        connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    used: int = (pages - free) * size
    return used


def delete_run(connection: sqlite3.Connection, number: int) -> None:
    """Removes a run and everything that belongs to it, within a transaction."""
    for table in _TABLES:
        connection.execute(f"DELETE FROM {table} WHERE run = ?", (number,))
    connection.execute("DELETE FROM runs WHERE number = ?", (number,))


def shrink(connection: sqlite3.Connection) -> None:
    """Returns free pages to the file system."""
    connection.execute("PRAGMA incremental_vacuum").fetchall()


def widen(connection: sqlite3.Connection, run: int, by_step: int) -> None:
    """Merges neighbouring points of a run's axis in pairs."""
    width = "step_width" if by_step else "time_width"
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(f"UPDATE runs SET {width} = {width} * 2, seq = seq + 1 WHERE number = ?", (run,))
    new, seq = connection.execute(f"SELECT {width}, seq FROM runs WHERE number = ?", (run,)).fetchone()
    values = {"run": run, "by_step": by_step, "width": new, "seq": seq}
    where = "run = :run AND by_step = :by_step"
    sums = ", ".join(f"sum({name})" for name in SUMS)
    at = "at / :width * :width"
    for table, columns, group in (
        ("points", f"run, by_step, {at}, source, min(began), :seq, {sums}", "3, 4"),
        ("counts", f"run, by_step, {at}, source, kind, name, sum(n)", "3, 4, 5, 6"),
    ):
        connection.execute(
            f"CREATE TEMP TABLE wide AS SELECT {columns} FROM {table} WHERE {where} GROUP BY {group}", values
        )
        connection.execute(f"DELETE FROM {table} WHERE {where}", values)
        connection.execute(f"INSERT INTO {table} SELECT * FROM wide")
        connection.execute("DROP TABLE wide")
    connection.execute(f"UPDATE rollouts SET at = {at} WHERE {where} AND at % :width", values)
    connection.execute("COMMIT")


def _points(connection: sqlite3.Connection, run: int, by_step: int) -> int:
    found: int = connection.execute(
        "SELECT count(*) FROM points WHERE run = ? AND by_step = ?", (run, by_step)
    ).fetchone()[0]
    return found


def _check_key(connection: sqlite3.Connection, key: str) -> None:
    connection.execute("BEGIN IMMEDIATE")
    many = connection.execute(
        "SELECT number FROM runs WHERE key = ? ORDER BY latest DESC LIMIT -1 OFFSET ?", (key, MOST_RUNS)
    ).fetchall()
    for (number,) in many:
        delete_run(connection, number)
    connection.execute("COMMIT")
