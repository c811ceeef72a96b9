"""Queries through a real engine: they run isolated, end at their limits, and leave nothing behind."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from rewarden.types import Batch, Sample, Use, Verdict
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.settings import EngineSettings
from rewarden_verifiers.sql.databases import Database, Databases
from tests.engine.conftest import Recorder

pytestmark = [pytest.mark.needs_server, pytest.mark.alone]

ENDLESS = (
    "WITH RECURSIVE r(n) AS (SELECT {start} UNION ALL SELECT n + 1 FROM r) "
    "SELECT id FROM t WHERE id < (SELECT count(*) FROM r)"
)
STUCK = "SELECT id FROM t WHERE printf('%.60000000c', 'a') LIKE '%' || printf('%.49000c', 'a') || 'b'"
"""Compares the pattern at each of sixty million places: hours within one step of SQLite's machine."""

Make = Callable[..., Awaitable[Engine]]


@pytest.fixture
async def make() -> AsyncIterator[Make]:
    """Makes engines with few workers for queries; closes them at the end."""
    made: list[Engine] = []

    async def engine(databases: Databases | None = None, **settings: Any) -> Engine:
        options: dict[str, Any] = {"workers": 1, "query_workers": 2, "slow_query_workers": 1, **settings}
        resources = {} if databases is None else {"sql": databases}
        new = Engine(settings=EngineSettings(**options), observer=Recorder(), warm=(), resources=resources)
        await new.start()
        made.append(new)
        return new

    yield engine
    for engine_ in made:
        await engine_.close(drain_s=0)


def registered(tmp_path: Path, name: str = "shop", rows: int = 10, version: str = "1") -> Database:
    """A file with one table, as the catalogue would have it."""
    file = tmp_path / f"{name}.sqlite"
    connection = sqlite3.connect(file)
    connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT)")
    connection.executemany("INSERT INTO t VALUES (?, ?)", [(number, f"n{number}") for number in range(rows)])
    connection.commit()
    connection.close()
    stat = file.stat()
    return Database(id=name, engine="sqlite", version=version, file=str(file), stat=(stat.st_size, stat.st_mtime_ns))


def catalogue(*databases: Database) -> Databases:
    return Databases(known={database.id: (database,) for database in databases})


async def judged(
    engine: Engine, statements: Sequence[str], sql: str = "SELECT id FROM t", database: Any = "shop", **params: Any
) -> Sequence[Verdict]:
    """The verdicts of statements, each against the same reference."""
    samples = [Sample(response=text, reference={"database": database, "sql": sql}) for text in statements]
    return (await engine.verify(Batch(samples=samples, use=Use(name="sql", params=params)))).verdicts


def cpu_s(engine: Engine) -> float:
    """CPU seconds that the lane's workers have used."""
    return sum(time.clock_gettime((~pid << 3) | 2) for pid in engine.info()["lanes"]["queries"]["pids"])


async def test_queries_run_in_their_own_lane(make: Make, tmp_path: Path) -> None:
    engine = await make(catalogue(registered(tmp_path)))
    right, wrong = await judged(engine, ["SELECT t.id FROM t", "SELECT id + 1 FROM t"])
    assert (right.score, wrong.score, wrong.reason) == (1.0, 0.0, "wrong_result")
    assert len(engine.info()["lanes"]["queries"]["pids"]) == 3
    assert engine.info()["lanes"]["cpu"]["pids"] == [], "nothing else was asked for"


async def test_a_statement_that_hangs_within_one_call_costs_only_itself(make: Make, tmp_path: Path) -> None:
    engine = await make(catalogue(registered(tmp_path)))
    before = (await judged(engine, ["SELECT id FROM t -- first"]))[0]
    pids = engine.info()["lanes"]["queries"]["pids"]
    stuck, *others = await judged(engine, [STUCK, *(f"SELECT id FROM t -- {n}" for n in range(60))], time_s=0.1)
    assert (stuck.status, stuck.score, stuck.reason, stuck.fault) == ("scored", 0.0, "too_expensive", "policy")
    assert "too_expensive" in stuck.flags
    assert stuck.evidence == {"limit": "time"}
    assert [verdict.score for verdict in (before, *others)] == [1.0] * 61
    assert isinstance(engine.observer, Recorder)
    await engine.observer.until_ended("limit")
    (after,) = await judged(engine, ["SELECT id FROM t -- last"])
    assert after.score == 1.0
    async with asyncio.timeout(30):
        while len(now := engine.info()["lanes"]["queries"]["pids"]) < len(pids):
            await asyncio.sleep(0)
    assert set(now) != set(pids), "the worker that was killed has a successor"


async def test_a_reference_that_hangs_is_not_the_policys_fault(make: Make, tmp_path: Path) -> None:
    engine = await make(catalogue(registered(tmp_path)))
    (stuck,) = await judged(engine, ["SELECT id FROM t"], sql=STUCK, time_s=0.1)
    (endless,) = await judged(engine, ["SELECT id FROM t"], sql=ENDLESS.format(start=0), time_s=0.1)
    for verdict in (stuck, endless):
        assert (verdict.status, verdict.score, verdict.fault) == ("undecided", None, "reference")


async def test_a_reference_that_hangs_on_a_further_database_is_not_the_policys_fault(
    make: Make, tmp_path: Path
) -> None:
    many = registered(tmp_path, "many", rows=10)
    few = registered(tmp_path, "few", rows=0)
    engine = await make(Databases(known={"shop": (few, many)}))
    hangs_where_rows_are = STUCK.replace("SELECT id FROM t WHERE", "SELECT 1 AS id UNION ALL SELECT id FROM t WHERE")
    (verdict,) = await judged(
        engine, ["SELECT 1 AS id"], hangs_where_rows_are, databases="suite", constants=True, time_s=0.1
    )
    assert (verdict.status, verdict.score, verdict.fault) == ("undecided", None, "reference")


async def test_five_hundred_pairs_with_runaways_lose_and_leak_nothing(make: Make, tmp_path: Path) -> None:
    descriptors = set(os.listdir("/proc/self/fd"))
    databases = [registered(tmp_path, f"shop{number}", rows=20 + number) for number in range(10)]
    engine = await make(catalogue(*databases))
    await judged(engine, ["SELECT id FROM t"], database="shop0")
    workers = len(engine.info()["lanes"]["queries"]["pids"])
    held = len(os.listdir("/proc/self/fd"))
    samples, expected = [], []
    for number in range(500):
        runs_away, right = number % 20 == 7, number % 3 > 0
        text = ENDLESS.format(start=number) if runs_away else f"SELECT id FROM t WHERE id < {500 + number}"
        text += "" if right or runs_away else " LIMIT 5"
        samples.append(Sample(response=text, reference={"database": f"shop{number % 10}", "sql": "SELECT id FROM t"}))
        expected.append((0.0, "time_limit") if runs_away else (1.0, None) if right else (0.0, "wrong_result"))
    result = await engine.verify(Batch(samples=samples, use=Use(name="sql", params={"time_s": 0.1})))
    assert [(verdict.score, verdict.reason) for verdict in result.verdicts] == expected
    assert len(engine.info()["lanes"]["queries"]["pids"]) == workers
    assert len(os.listdir("/proc/self/fd")) == held
    for pid in engine.info()["lanes"]["queries"]["pids"]:
        open_files = [os.readlink(f"/proc/{pid}/fd/{number}") for number in os.listdir(f"/proc/{pid}/fd")]
        assert sum(name.endswith(".sqlite") for name in open_files) <= 2 * len(databases)
    await engine.close()
    assert len(set(os.listdir("/proc/self/fd")) - descriptors) <= 1, "at most the directory's own descriptor"


async def test_a_slow_reference_runs_once_for_all_its_answers(make: Make, tmp_path: Path) -> None:
    engine = await make(catalogue(registered(tmp_path)), query_workers=1)
    slow = (
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r LIMIT {steps}) "
        "SELECT id FROM t WHERE id < (SELECT count(*) FROM r)"
    )
    await judged(engine, ["SELECT id FROM t"])
    start = cpu_s(engine)
    (first,) = await judged(engine, ["SELECT id FROM t"], sql=slow.format(steps=700_000))
    once = cpu_s(engine) - start
    others = await judged(engine, [f"SELECT id FROM t -- {n}" for n in range(20)], sql=slow.format(steps=700_000))
    assert [verdict.score for verdict in (first, *others)] == [1.0] * 21
    assert cpu_s(engine) - start < 8 * once, "not twenty times"


@pytest.mark.parametrize("change", ["rewritten", "gone"])
async def test_a_changed_file_is_our_error_and_never_a_zero(make: Make, tmp_path: Path, change: str) -> None:
    database = registered(tmp_path)
    engine = await make(catalogue(database))
    assert (await judged(engine, ["SELECT id FROM t -- before"]))[0].score == 1.0
    assert database.file is not None
    Path(database.file).unlink()
    if change == "rewritten":
        registered(tmp_path, rows=11)
    for text in ("SELECT id FROM t", "SELECT id FROM t WHERE id < 5", "SELECT nothing FROM t"):
        (verdict,) = await judged(engine, [text], sql="SELECT t.id FROM t")
        assert (verdict.status, verdict.score, verdict.fault) == ("error", None, "infra")
        assert verdict.reason == "database_unavailable"


async def test_an_unknown_database_is_the_callers_error(make: Make, tmp_path: Path) -> None:
    engine = await make(catalogue(registered(tmp_path)))
    (verdict,) = await judged(engine, ["SELECT id FROM t"], database="shopp")
    assert (verdict.status, verdict.fault) == ("error", "caller")
    assert "did you mean 'shop'?" in (verdict.feedback or "")


async def test_the_fingerprint_moves_with_the_catalogue(make: Make, tmp_path: Path) -> None:
    database = registered(tmp_path)
    prints = set()
    for databases in (None, catalogue(database), catalogue(registered(tmp_path, "other")), catalogue(database)):
        engine = await make(databases)
        prints.add(engine.planner.bind(Use(name="sql")).ref.fingerprint)
    assert len(prints) == 3, "the same catalogue has the same fingerprint"
