"""Attacks on `sql`, on every engine: none is paid, each for its own reason, and none harms the database, the file, or
the honest query that comes after it.
"""

from __future__ import annotations

import hashlib
import resource
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import apsw
import pytest

from rewarden_server.engine.settings import EngineSettings
from rewarden_verifiers.contract import Unwatched
from rewarden_verifiers.sql.databases import Database, Databases
from rewarden_verifiers.sql.engines.engine import QueryFailed
from rewarden_verifiers.sql.gold import CONNECTIONS, prepare
from rewarden_verifiers.sql.params import SqlParams
from rewarden_verifiers.sql.reference import SqlReference
from rewarden_verifiers.sql.verifier import sql
from tests.attacks.sql_attacks import COUNT, NAMES, PAIRS, Attack
from tests.verifiers.sql.conftest import mysql_server, postgres_server, world
from tests.verifiers.sql.world import SCRIPT, World

pytestmark = pytest.mark.slow

__all__ = ["mysql_server", "postgres_server", "world"]  # fixtures


def fenced(query: str) -> str:
    """A query as models give it."""
    return f"Here it is:\n```sql\n{query}\n```"


@pytest.fixture(autouse=True)
def memory_as_in_a_worker() -> Iterator[None]:
    """Bound the memory that an embedded engine takes in one step by the process's own limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm", encoding="ascii") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + EngineSettings().query_memory_mb * 1024**2, hard))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


EMBEDDED = ("sqlite", "duckdb")
EACH = [
    pytest.param(engine, attack, id=f"{engine}-{attack}", marks=() if engine in EMBEDDED else pytest.mark.needs_server)
    for engine in (*EMBEDDED, "postgres", "mysql")
    for attack in PAIRS
    if engine in attack.engines
]
"""The attacks, each on the engines that know what is attacked."""


@pytest.mark.parametrize(("world", "attack"), EACH, indirect=["world"])
def test_the_attack_earns_nothing_and_its_honest_twin_passes(world: World, attack: Attack) -> None:
    outcome = world.judge(fenced(attack.attack), attack.sql, **attack.params)
    assert (outcome.status, outcome.score, outcome.passed, outcome.fault) == ("scored", 0.0, False, "policy"), outcome
    assert outcome.reason in attack.reasons, (outcome.reason, outcome.feedback)
    twin = world.judge(fenced(attack.twin), attack.sql)
    assert (twin.status, twin.score, twin.passed) == ("scored", 1.0, True), (twin.reason, twin.feedback)


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        ("", "no_answer"),
        ("Ada and Cyd", "not_a_query"),
        (f"Either `{NAMES}` or `SELECT name FROM person`", "not_a_query"),
        (f"```sql\n{NAMES}\n```\nor rather\n```sql\nSELECT name FROM person\n```", "wrong_result"),
        (f"```python\nprint({NAMES!r})\n```", "not_a_query"),
        (f"```sql\n{NAMES}", "unclosed_fence"),
        ("```sql\n```", "empty_code"),
        (f"```sql\n{NAMES}\nUNION\n{NAMES}\n```\n```sql\nDROP TABLE person\n```", "changes_schema"),
    ],
)
def test_responses_without_one_query_earn_nothing(world: World, response: str, reason: str) -> None:
    outcome = world.judge(response, NAMES)
    assert (outcome.status, outcome.score, outcome.reason) == ("scored", 0.0, reason)


@pytest.mark.parametrize("response", [NAMES, f"{NAMES};", fenced(NAMES), f"<answer>{NAMES}</answer>", f"{NAMES} -- so"])
def test_responses_with_one_query_pass(world: World, response: str) -> None:
    assert world.judge(response, NAMES).score == 1.0


@pytest.mark.parametrize(
    "query", ["SELECT name FROM person WHERE 1 = 0", "DELETE FROM person", "SELECT name FROM city"]
)
def test_against_an_empty_reference_nothing_is_decided(world: World, query: str) -> None:
    outcome = world.judge(fenced(query), "SELECT name FROM person WHERE age > 100")
    assert (outcome.status, outcome.score, outcome.reason, outcome.fault) == (
        "undecided",
        None,
        "empty_reference",
        "reference",
    )


def test_what_was_refused_leaves_nothing_behind(world: World) -> None:
    attempts = [
        "DELETE FROM person",
        "UPDATE person SET age = 1",
        "DROP TABLE person",
        "INSERT INTO city VALUES (9, 'x')",
    ]
    for attempt in attempts:
        assert world.judge(fenced(attempt), NAMES).score == 0.0
        assert world.judge(fenced(NAMES), NAMES).score == 1.0
        assert world.judge(fenced(COUNT), "SELECT 3 + count(*) FROM city WHERE id = 1").score == 1.0


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM person",
        "DROP TABLE person",
        "UPDATE person SET age = 1",
        "INSERT INTO city VALUES (9, 'x')",
        "CREATE TABLE x AS SELECT * FROM person",
        "ALTER TABLE person RENAME TO people",
        "PRAGMA journal_mode = WAL",
        "PRAGMA user_version = 7",
        "VACUUM",
        "VACUUM INTO 'copy.db'",
        "REINDEX",
        "ANALYZE",
        "ATTACH 'copy.db' AS x",
        "BEGIN EXCLUSIVE",
        "SELECT name FROM person ORDER BY age",
        "SELECT writefile('x', name) FROM person",
    ],
)
@pytest.mark.parametrize("guarded", [True, False], ids=["guarded", "by the engine alone"])
def test_a_registered_files_bytes_and_its_folder_stay_as_they_are(tmp_path: Path, query: str, guarded: bool) -> None:
    file = tmp_path / "persons.db"
    connection = apsw.Connection(str(file))
    connection.execute(SCRIPT)
    connection.close()
    before = hashlib.sha256(file.read_bytes()).hexdigest(), file.stat().st_mtime_ns
    database = Database(id="persons", engine="sqlite", version="1", file=str(file))
    try:
        if guarded:
            site, params = Databases(known={"persons": (database,)}), SqlParams()
            gold = prepare(SqlReference(database="persons", sql=NAMES), params, site, Unwatched())
            sql(fenced(query), gold, params, Unwatched())
            assert sql(fenced(NAMES), gold, params, Unwatched()).score == 1.0
        else:
            with suppress(QueryFailed), CONNECTIONS.session(database, "answer", {}) as session:
                session.query(query, SqlParams().caps, Unwatched())
    finally:
        CONNECTIONS.close()
    assert (hashlib.sha256(file.read_bytes()).hexdigest(), file.stat().st_mtime_ns) == before
    assert [path.name for path in tmp_path.iterdir()] == ["persons.db"]
