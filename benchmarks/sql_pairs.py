"""`sql`: pairs per second, large files, runaway queries and leftovers, against the bare queries in the same run.

Load: four SQLite files of 1 MB, each with the same four tables and different rows; 40 questions to each (joins of two
and three tables, groups, subqueries, set operations) with 8 answers, all texts distinct, half of them right. Then a
file of 500 MB that is read to its end; runaway queries on each engine that is available; and 500 pairs at once, one in
twenty of them a runaway. Two workers for short queries and one for long ones.
"""

from __future__ import annotations

import asyncio
import os
import random
import sqlite3
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.report import Report
from rewarden.types import Batch, Sample, Use, Verdict
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.settings import EngineSettings
from rewarden_verifiers.contract import Unwatched
from rewarden_verifiers.sql.databases import Database, Databases, EngineName, Table
from rewarden_verifiers.sql.engines import engine_named
from rewarden_verifiers.sql.engines.engine import Caps, QueryFailed
from tests.verifiers.sql.servers import Unavailable, mysql, postgres

_FILES, _QUESTIONS, _ANSWERS = 4, 40, 8
_LARGE_ROWS = 480_000
"""Rows of one kilobyte each."""

ENDLESS = (
    "WITH RECURSIVE r(n) AS (SELECT {start} UNION ALL SELECT n + 1 FROM r) "
    "SELECT id FROM customers WHERE id < (SELECT count(*) FROM r)"
)
STUCK = "SELECT id FROM customers WHERE printf('%.60000000c', 'a') LIKE '%' || printf('%.49000c', 'a') || 'b'"
_LIMIT_S = 0.5

_TABLES = """
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT NOT NULL, since TEXT NOT NULL);
CREATE TABLE products (id INTEGER PRIMARY KEY, name TEXT NOT NULL, category TEXT NOT NULL, price REAL NOT NULL);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customers(id),
    placed TEXT NOT NULL, status TEXT NOT NULL);
CREATE TABLE items (order_id INTEGER NOT NULL REFERENCES orders(id),
    product_id INTEGER NOT NULL REFERENCES products(id), quantity INTEGER NOT NULL, PRIMARY KEY (order_id, product_id));
CREATE INDEX orders_customer ON orders(customer_id);
CREATE INDEX items_product ON items(product_id);
"""

# Each question: a query about a number {n}, and another form of it; {k} leaves rows out, or none if it is 7.
_FORMS: Sequence[tuple[str, str]] = (
    (
        "SELECT name FROM customers WHERE city = 'City {n}'",
        "SELECT c.name FROM customers AS c WHERE c.city IN ('City {n}') AND c.id % 7 <> {k}",
    ),
    (
        "SELECT city, COUNT(*) FROM customers WHERE id > {n} GROUP BY city",
        "SELECT c.city, COUNT(c.id) AS n FROM customers c WHERE c.id >= {n} + 1 AND c.id % 7 <> {k} GROUP BY 1",
    ),
    (
        "SELECT o.id, o.placed FROM orders o JOIN customers c ON c.id = o.customer_id WHERE c.city = 'City {n}'",
        "SELECT id, placed FROM orders WHERE customer_id IN (SELECT id FROM customers WHERE city = 'City {n}') "
        "AND id % 7 <> {k}",
    ),
    (
        "SELECT p.name, SUM(i.quantity) FROM products p JOIN items i ON i.product_id = p.id WHERE p.id < {n} "
        "GROUP BY p.id",
        "SELECT p.name, (SELECT SUM(quantity) FROM items WHERE product_id = p.id) FROM products p "
        "WHERE p.id < {n} AND EXISTS (SELECT 1 FROM items WHERE product_id = p.id) AND p.id % 7 <> {k}",
    ),
    (
        "SELECT COUNT(*) FROM orders WHERE status = 'paid' AND placed >= '2024-{m:02}-01'",
        "SELECT SUM(CASE WHEN status = 'paid' THEN 1 ELSE 0 END) FROM orders WHERE placed >= '2024-{m:02}-01' "
        "AND id % 7 <> {k}",
    ),
    (
        "SELECT category, AVG(price) FROM products WHERE price > {n} GROUP BY category ORDER BY 2 DESC",
        "SELECT category, SUM(price) / COUNT(*) FROM products WHERE NOT price <= {n} AND id % 7 <> {k} "
        "GROUP BY category ORDER BY AVG(price) DESC",
    ),
    (
        "SELECT c.name, COUNT(o.id) FROM customers c LEFT JOIN orders o ON o.customer_id = c.id "
        "WHERE c.id <= {n} GROUP BY c.id",
        "WITH t AS (SELECT * FROM customers WHERE id <= {n} AND id % 7 <> {k}) SELECT t.name, "
        "(SELECT COUNT(*) FROM orders WHERE customer_id = t.id) FROM t",
    ),
    (
        "SELECT DISTINCT p.category FROM products p JOIN items i ON i.product_id = p.id WHERE i.order_id < {n}",
        "SELECT category FROM products WHERE id IN (SELECT product_id FROM items WHERE order_id < {n}) "
        "AND id % 7 <> {k} GROUP BY category",
    ),
    (
        "SELECT id FROM customers WHERE id > {n} * 20 EXCEPT SELECT customer_id FROM orders",
        "SELECT id FROM customers c WHERE id > {n} * 20 AND id % 7 <> {k} "
        "AND NOT EXISTS (SELECT 1 FROM orders WHERE customer_id = c.id)",
    ),
    (
        "SELECT i.order_id, SUM(i.quantity * p.price) AS total FROM items i JOIN products p ON p.id = i.product_id "
        "WHERE i.order_id < {n} GROUP BY i.order_id ORDER BY total DESC LIMIT 10",
        "SELECT order_id, t FROM (SELECT i.order_id, SUM(p.price * i.quantity) AS t FROM items i, products p "
        "WHERE p.id = i.product_id AND i.order_id < {n} AND i.order_id % 7 <> {k} "
        "GROUP BY i.order_id) ORDER BY t DESC LIMIT 10",
    ),
)


@dataclass(frozen=True, slots=True)
class Pair:
    """A reference's query and an answer, on one of the databases."""

    database: str
    reference: str
    answer: str


def _registered(id: str, file: Path) -> Database:
    stat = file.stat()
    return Database(id=id, engine="sqlite", version="1", file=str(file), stat=(stat.st_size, stat.st_mtime_ns))


def shop(file: Path, seed: int) -> Database:
    """Makes a file of about 1 MB."""
    rng = random.Random(seed)
    connection = sqlite3.connect(file)
    connection.executescript(_TABLES)

    def day() -> str:
        return f"2024-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"

    customers = [(n, f"Name {rng.randint(1, 900)}", f"City {rng.randint(1, 60)}", day()) for n in range(1, 1501)]
    products = [(n, f"Product {n}", f"Category {n % 12}", rng.randint(100, 9999) / 100) for n in range(1, 301)]
    orders = [(n, rng.randint(1, 1450), day(), rng.choice(("paid", "open", "void"))) for n in range(1, 6001)]
    items = {(rng.randint(1, 6000), rng.randint(1, 290)): rng.randint(1, 9) for _ in range(16_000)}
    connection.executemany("INSERT INTO customers VALUES (?, ?, ?, ?)", customers)
    connection.executemany("INSERT INTO products VALUES (?, ?, ?, ?)", products)
    connection.executemany("INSERT INTO orders VALUES (?, ?, ?, ?)", orders)
    connection.executemany("INSERT INTO items VALUES (?, ?, ?)", [(*key, value) for key, value in items.items()])
    connection.commit()
    connection.close()
    return _registered(f"shop{seed}", file)


def pairs() -> list[Pair]:
    """Returns all pairs, question after question."""
    made = []
    for seed in range(_FILES):
        for question in range(_QUESTIONS):
            reference, answer = _FORMS[question % len(_FORMS)]
            number, month = 20 + question, 1 + question % 12
            for place in range(_ANSWERS):
                text = answer.format(n=number, m=month, k=place // 2 if place % 2 else 7)
                # A policy's answers are seldom equal letter for letter.
                made.append(Pair(f"shop{seed}", reference.format(n=number, m=month), f"{text} -- {place}"))
    return made


def _samples(load: Sequence[Pair]) -> list[Sample]:
    return [
        Sample(response=f"```sql\n{pair.answer}\n```", reference={"database": pair.database, "sql": pair.reference})
        for pair in load
    ]


def bare(load: Sequence[Pair], files: Mapping[str, str]) -> float:
    """Returns the seconds for both queries of each pair through the standard library, with connections kept open."""
    open_ = {id: sqlite3.connect(file) for id, file in files.items()}
    start = time.perf_counter()
    for pair in load:
        for text in (pair.reference, pair.answer):
            open_[pair.database].execute(text).fetchall()
    took = time.perf_counter() - start
    for connection in open_.values():
        connection.close()
    return took


async def _engine(databases: Sequence[Database], *, cache: bool = False) -> Engine:
    site = Databases(known={database.id: (database,) for database in databases})
    settings = EngineSettings(workers=1, query_workers=2, slow_query_workers=1, cache=cache)
    engine = Engine(settings=settings, warm=(), resources={"sql": site})
    await engine.start()
    return engine


async def _judged(engine: Engine, samples: Sequence[Sample], **params: Any) -> tuple[Sequence[Verdict], float]:
    start = time.perf_counter()
    result = await engine.verify(Batch(samples=samples, use=Use(name="sql", params=params)))
    return result.verdicts, time.perf_counter() - start


async def _rate(report: Report, databases: Sequence[Database]) -> None:
    load = pairs()
    baseline = bare(load, {database.id: database.file or "" for database in databases})
    report.figure("1 MB files: bare queries, one loop", len(load) / baseline, "pairs/s")
    for cache in (False, True):
        engine = await _engine(databases, cache=cache)
        await _judged(engine, _samples([Pair(item.database, item.reference, item.answer + "w") for item in load[::40]]))
        verdicts, took = await _judged(engine, _samples(load))
        again = (await _judged(engine, _samples(load)))[1]
        await engine.close()
        words = "cache on, the second time" if cache else "cache off"
        if not cache:
            report.figure("pairs that are scored", sum(v.status == "scored" for v in verdicts), least=len(load))
            report.figure("right ones that pass", sum(v.score == 1.0 for v in verdicts[::2]), least=len(load) / 2)
            report.figure(f"1 MB files: Rewarden, {words}", len(load) / took, "pairs/s", least=800)
            report.figure("times the bare loop", baseline / took)
        else:
            report.figure(f"1 MB files: Rewarden, {words}", len(load) / again, "pairs/s")


def large(file: Path) -> Database:
    """Measures a file of about 500 MB."""
    connection = sqlite3.connect(file)
    connection.execute("PRAGMA journal_mode = OFF")
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute(
        "CREATE TABLE log (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, size INTEGER NOT NULL, body BLOB)"
    )
    connection.execute(
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r LIMIT ?) INSERT INTO log "
        "SELECT n, 'kind ' || (n % 40), (n * 7919) % 100003, randomblob(1000) FROM r",
        (_LARGE_ROWS,),
    )
    connection.commit()
    connection.close()
    return _registered("large", file)


async def _large(report: Report, folder: Path) -> None:
    database = large(folder / "large.sqlite")
    report.figure("the large file", (database.stat or (0, 0))[0] / 1e6, "MB")
    load = [
        Pair(
            "large",
            f"SELECT kind, COUNT(*), SUM(size) FROM log WHERE size > {n} GROUP BY kind",
            f"SELECT kind, COUNT(size), SUM(size) FROM log WHERE NOT size <= {n} GROUP BY 1",
        )
        for n in range(4)
    ]
    bare(load[:1], {"large": database.file or ""})  # to fill the system's cache
    baseline = bare(load, {"large": database.file or ""}) / len(load)
    engine = await _engine([database])
    await _judged(engine, _samples([Pair("large", "SELECT id FROM log LIMIT 1", "SELECT id FROM log LIMIT 1")]))
    took = []
    for pair in load:  # one after another, as in the loop
        verdicts, seconds = await _judged(engine, _samples([pair]), time_s=30.0)
        assert verdicts[0].score == 1.0, verdicts[0]
        took.append(seconds)
    await engine.close()
    report.figure("500 MB: both bare queries", baseline, "s")
    report.figure("500 MB: a pair, times both bare queries", sum(took) / len(took) / baseline, most=2)
    os.unlink(database.file or "")


_CROSS = "SELECT count(*) FROM n a, n b, n c, n d, n e, n f WHERE a.id + b.id + c.id + d.id + e.id + f.id = 1"
"""A trillion rows, on every engine."""


def _overtime(engine: EngineName, scratch: str | None, clock: Callable[[], float]) -> float:
    """Returns the milliseconds that a statement ran past its limit, by the clock of that limit."""
    numbers = Table(columns=(("id", "INTEGER"),), rows=tuple((number,) for number in range(100)))
    database = Database(id="numbers", engine=engine, version="1", tables={"n": numbers})
    session = engine_named(engine).open(database, scratch=scratch)
    start = clock()
    try:
        session.query(_CROSS, Caps(time_s=_LIMIT_S), Unwatched())
    except QueryFailed as failed:
        if failed.reason == "time_limit":
            return (clock() - start - _LIMIT_S) * 1000
        raise
    finally:
        session.close()
    raise AssertionError("it ended by itself")


async def _runaways(report: Report, databases: Sequence[Database]) -> None:
    embedded: EngineName
    remote: EngineName
    for name, embedded in (("SQLite", "sqlite"), ("DuckDB", "duckdb")):
        over = _overtime(embedded, None, time.process_time)
        report.figure(f"{name}: after its limit of 0.5 s of CPU", over, "ms", most=200)
    for name, remote, server in (("PostgreSQL", "postgres", postgres), ("MariaDB", "mysql", mysql)):
        try:
            with server() as running:
                over = _overtime(remote, running.dsn, time.perf_counter)
        except Unavailable as problem:
            print(f"   {name}: {problem}")
        else:
            report.figure(f"{name}: after its limit of 0.5 s", over, "ms", most=200)
    engine = await _engine(databases)
    sample = _samples([Pair("shop0", "SELECT id FROM customers", STUCK)])
    await _judged(engine, _samples(pairs()[:8]))
    _, took = await _judged(engine, sample, time_s=0.2)
    await engine.close()
    # A statement killed on a worker for short queries is retried once on the other kind.
    report.figure("SQLite, within one call: killed after its limit of 0.2 s", (took / 2 - 0.2) * 1000, "ms", most=200)


def _descriptors(pids: Sequence[int]) -> int:
    return sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in pids)


def _processes() -> int:
    """Returns the processes below this one."""
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as file:
                    parents[int(name)] = int(file.read().rpartition(")")[2].split()[1])
            except OSError:
                continue
    found = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return len(found) - 1


async def _crowd(report: Report, databases: Sequence[Database]) -> None:
    engine = await _engine(databases)
    load = pairs()[:1000:2]
    await _judged(engine, _samples([*load, *pairs()[1:1000:2]]))  # all connections are open now
    lane = engine.info()["lanes"]["queries"]
    before = len(lane["pids"]), _processes(), _descriptors([os.getpid(), *lane["pids"]])
    crowd = [
        Pair(pair.database, pair.reference, ENDLESS.format(start=place) if place % 20 == 7 else f"{pair.answer} again")
        for place, pair in enumerate(load)
    ]
    verdicts, took = await _judged(engine, _samples(crowd), time_s=0.3)
    lane = engine.info()["lanes"]["queries"]
    after = len(lane["pids"]), _processes(), _descriptors([os.getpid(), *lane["pids"]])
    await engine.close()
    right = sum(
        (verdict.score, verdict.reason) == ((0.0, "time_limit") if place % 20 == 7 else (1.0, None))
        for place, verdict in enumerate(verdicts)
    )
    report.figure("500 at once, 25 of them runaways of 0.3 s: as expected", right, least=500)
    report.figure("500 at once: seconds", took, "s")
    for what, old, new in zip(("workers", "processes", "descriptors"), before, after, strict=True):
        report.figure(f"{what} more than before", new - old, most=0)
    report.figure("processes left behind when the engine has closed", _processes(), most=0)


async def _run(report: Report) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        databases = [shop(folder / f"shop{seed}.sqlite", seed) for seed in range(_FILES)]
        report.figure("a small file", (databases[0].stat or (0, 0))[0] / 1e6, "MB")
        await _rate(report, databases)
        await _runaways(report, databases)
        await _crowd(report, databases)
        await _large(report, folder)


def run() -> list[str]:
    """Runs and reports; returns the broken promises."""
    report = Report("sql: 1,280 pairs on four 1 MB SQLite files, a 500 MB one, runaways, 500 at once; 2 workers")
    asyncio.run(_run(report))
    return report.broken
