"""Real PostgreSQL and MariaDB servers: their results, their rejections, and that nothing of a query outlives it."""

from __future__ import annotations

import contextlib
import datetime
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import psycopg
import pymysql
import pytest

from rewarden.errors import InvalidSample
from rewarden_verifiers.contract import Expired, Unwatched
from rewarden_verifiers.sql.connections import MOST_SERVED, Connections, DatabaseUnavailable, open_session
from rewarden_verifiers.sql.databases import Database, EngineName, Table
from rewarden_verifiers.sql.engines import mysql_wire, postgres_wire, scratch, served
from rewarden_verifiers.sql.engines.engine import Caps, DatabaseFailed, QueryFailed, Session
from rewarden_verifiers.sql.engines.mysql_wire import Wire, connect_arguments
from rewarden_verifiers.sql.engines.served import Late
from tests.stopped import stop
from tests.verifiers.sql.servers import Server
from tests.verifiers.sql.world import SCRIPT, World

pytestmark = [pytest.mark.needs_server, pytest.mark.slow]

POSTGRES, MYSQL = "postgres", "mysql"


class Hosted(World):
    """A world on a server, and the server as its owner sees it."""

    def __init__(self, engine: EngineName, server: Server) -> None:
        super().__init__(engine, {engine: server.dsn})
        self.server = server

    def admin(self, text: str) -> list[tuple[Any, ...]]:
        """Returns what the server's owner is answered."""
        if self.engine == POSTGRES:
            with psycopg.connect(self.server.admin, autocommit=True) as connection:
                cursor = connection.execute(text)
                return cursor.fetchall() if cursor.description else []
        with pymysql.connect(**connect_arguments(self.server.admin)) as connection, connection.cursor() as cursor:
            cursor.execute(text)
            return list(cursor.fetchall())

    def running(self, mark: str) -> list[int]:
        """The server's processes or threads that work on a statement with this in it."""
        if self.engine == POSTGRES:
            # What a cursor works on is told as its FETCH.
            of = (
                "SELECT pid FROM pg_stat_activity WHERE state = 'active' AND usename = 'rewarden' "
                "AND query ~ '^(FETCH|DECLARE)' OR pid <> pg_backend_pid() AND state = 'active' AND query LIKE"
            )
        else:
            of = "SELECT id FROM information_schema.processlist WHERE id <> CONNECTION_ID() AND info LIKE"
        return [row[0] for row in self.admin(f"{of} '%{mark}%'")]

    def sessions(self) -> list[int]:
        """The server's processes or threads for our role."""
        if self.engine == POSTGRES:
            return [row[0] for row in self.admin("SELECT pid FROM pg_stat_activity WHERE usename = 'rewarden'")]
        return [row[0] for row in self.admin("SELECT id FROM information_schema.processlist WHERE user = 'rewarden'")]

    def end(self, session: int) -> None:
        """End one of them."""
        self.admin(f"SELECT pg_terminate_backend({session})" if self.engine == POSTGRES else f"KILL {session}")

    def names(self) -> set[str]:
        """The databases that were made."""
        text = "SELECT datname FROM pg_database" if self.engine == POSTGRES else "SHOW DATABASES"
        return {row[0] for row in self.admin(text) if row[0].startswith("rewarden_")}

    def wait(self, done: Callable[[], bool]) -> bool:
        """Returns whether something comes about, within a time that is long for any machine."""
        until = time.monotonic() + 20
        while not done():
            if time.monotonic() > until:
                return False
        return True


@pytest.fixture(params=[POSTGRES, MYSQL])
def hosted(request: pytest.FixtureRequest) -> Iterator[Hosted]:
    engine: EngineName = request.param
    world = Hosted(engine, request.getfixturevalue(f"{engine}_server"))
    yield world
    world.close()


@pytest.fixture
def postgres(postgres_server: Server) -> Iterator[Hosted]:
    world = Hosted("postgres", postgres_server)
    yield world
    world.close()


@pytest.fixture
def mysql(mysql_server: Server) -> Iterator[Hosted]:
    world = Hosted("mysql", mysql_server)
    yield world
    world.close()


class Quick(Unwatched):
    quick_s = 0.2


def ask(session: Session, text: str, caps: Caps | None = None) -> list[tuple[Any, ...]]:
    return session.query(text, caps or Caps(), Unwatched()).rows


def refused(session: Session, text: str, caps: Caps | None = None) -> str:
    with pytest.raises(QueryFailed) as failed:
        session.query(text, caps or Caps(), Unwatched())
    return failed.value.reason


def endless(engine: str, mark: str) -> str:
    if engine == POSTGRES:
        return f"SELECT count(*) /* {mark} */ FROM generate_series(1, 1000000000) a, generate_series(1, 1000) b"
    return f"SELECT COUNT(DISTINCT a.seq * b.seq) /* {mark} */ FROM seq_1_to_1000000 a, seq_1_to_1000000 b"


# Results


def test_a_query_answers_with_its_columns_and_rows(hosted: Hosted) -> None:
    found = hosted.session().query("SELECT id, name AS n, age FROM person ORDER BY id", Caps(), Unwatched())
    assert found.columns == ("id", "n", "age")
    assert found.rows == [(1, "Ada", 36), (2, "Bob", 41), (3, "Cyd", 36), (4, "Dan", None)]
    assert found.cost is not None
    assert found.cost > 0


@pytest.mark.parametrize("text", ["SELECT 1", "(SELECT 1)", "VALUES (1)", "WITH a AS (SELECT 1) SELECT * FROM a"])
def test_each_form_of_a_query_is_answered(hosted: Hosted, text: str) -> None:
    assert ask(hosted.session(), text) == [(1,)]


def test_percent_signs_and_comments_at_the_end_are_the_statements_own(hosted: Hosted) -> None:
    session = hosted.session()
    assert ask(session, "SELECT name FROM city WHERE name LIKE '%o%s%' OR name LIKE '%%me' -- 100%") == [("Rome",)] or (
        ask(session, "SELECT name FROM city WHERE name LIKE '%o%' ORDER BY name") == [("Oslo",), ("Rome",)]
    )
    assert ask(session, "SELECT '%s %(a)s %%'") == [("%s %(a)s %%",)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.50", Decimal("1.50")),
        ("'NaN'::numeric::text", "NaN"),
        ("1e0::float8", 1.0),
        ("true", True),
        ("date '2024-02-29'", datetime.date(2024, 2, 29)),
        ("date '0044-03-15 BC'", "0044-03-15 BC"),
        ("'infinity'::timestamp", "infinity"),
        ("timestamp '2024-01-01 12:00'", datetime.datetime(2024, 1, 1, 12)),
        ("'2024-01-01 12:00+02'::timestamptz", datetime.datetime(2024, 1, 1, 10, tzinfo=datetime.timezone.utc)),
        ("time '24:00'", "24:00:00"),
        ("interval '1 day 2 hours'", datetime.timedelta(days=1, hours=2)),
        ("interval '1 mon'", "1 mon"),
        ("interval '14 mons'", "1 year 2 mons"),
        ("'1234.5'::money", "$1,234.50"),
        ("ARRAY[1, 2, NULL]", [1, 2, None]),
        ("ARRAY[date '2024-01-01']", [datetime.date(2024, 1, 1)]),
        ("int4range(1, 3)", "[1,3)"),
        ("'{\"a\": [1, null]}'::jsonb", {"a": [1, None]}),
        ("'\\x00ff'::bytea", b"\x00\xff"),
        ("inet '10.0.0.1'", "10.0.0.1"),
        ("ROW(1, 'a')", "(1,a)"),
        ("B'101'", "101"),
        ("city", "(1,Rome)"),
        ("NULL", None),
        ("repeat('é', 2)", "éé"),
    ],
)
def test_postgres_values_come_as_python_has_them(postgres: Hosted, text: str, value: object) -> None:
    assert ask(postgres.session(), f"SELECT {text} FROM city WHERE id = 1") == [(value,)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.50", Decimal("1.50")),
        ("1e0", 1.0),
        ("TRUE", 1),
        ("DATE '2024-02-29'", datetime.date(2024, 2, 29)),
        ("z", "0000-00-00"),
        ("TIMESTAMP '2024-01-01 12:00:00'", datetime.datetime(2024, 1, 1, 12)),
        ("TIME '25:00:00'", datetime.timedelta(hours=25)),
        ("y", 2024),
        ("b", 5),
        ("x", b"\x00\xff"),
        ("t", "é'\\"),
        ("e", "two"),
        ("NULL", None),
    ],
)
def test_mysql_values_come_as_python_has_them(mysql: Hosted, text: str, value: object) -> None:
    script = r"""
    CREATE TABLE v (z DATE, y YEAR, b BIT(3), x BLOB, t TEXT, e ENUM('one', 'two'));
    INSERT INTO v VALUES ('0000-00-00', 2024, b'101', X'00ff', 'é''\\', 'two');
    """
    assert ask(mysql.session(script), f"SELECT {text} FROM v") == [(value,)]


def test_the_schema_tells_keys_and_where_they_point(hosted: Hosted) -> None:
    schema = hosted.session(SCRIPT + "CREATE VIEW adult AS SELECT name FROM person WHERE age > 17;").schema()
    assert set(schema) == {"city", "person", "adult"}
    columns = {column.name: column for column in schema["person"]}
    assert list(columns) == ["id", "name", "age", "city_id"]
    assert columns["id"].primary_key
    assert columns["id"].not_null
    assert not columns["age"].not_null
    assert columns["city_id"].references == ("city", "id")


def test_a_query_that_does_more_costs_more(hosted: Hosted) -> None:
    session = hosted.session()
    few = session.query("SELECT name FROM person WHERE id = 1", Caps(), Unwatched()).cost
    many = session.query("SELECT a.name FROM person a, person b, person c", Caps(), Unwatched()).cost
    assert few is not None
    assert many is not None
    assert few < many


# Limits


@pytest.mark.alone
@pytest.mark.parametrize(
    ("caps", "postgres_text", "mysql_text", "reason"),
    [
        (Caps(rows=10), "SELECT * FROM generate_series(1, 11)", "SELECT * FROM seq_1_to_11", "rows_limit"),
        (Caps(rows=10), "SELECT * FROM generate_series(1, 9999999)", "SELECT * FROM seq_1_to_9999999", "rows_limit"),
        (Caps(bytes=1024), "SELECT repeat('x', 1025)", "SELECT REPEAT('x', 1025)", "bytes_limit"),
        (Caps(time_s=0.2), "SELECT pg_sleep(60)", "SELECT SLEEP(60)", "time_limit"),
        (Caps(time_s=0.2), endless(POSTGRES, ""), endless(MYSQL, ""), "time_limit"),
    ],
)
def test_a_query_beyond_a_limit_is_ended_for_its_reason(
    hosted: Hosted, caps: Caps, postgres_text: str, mysql_text: str, reason: str
) -> None:
    session = hosted.session()
    assert refused(session, postgres_text if hosted.engine == POSTGRES else mysql_text, caps) == reason
    session.close()
    assert hosted.wait(lambda: not hosted.running("generate_series(1, 9999999)") and not hosted.running("seq_1_to_99"))


def test_as_many_rows_as_are_permitted_are_given(hosted: Hosted) -> None:
    text = "SELECT * FROM generate_series(1, 300)" if hosted.engine == POSTGRES else "SELECT * FROM seq_1_to_300"
    assert len(ask(hosted.session(), text, Caps(rows=300))) == 300


def test_a_runaway_is_gone_from_the_server_when_its_limit_is_told(hosted: Hosted) -> None:
    assert refused(hosted.session(), endless(hosted.engine, "runaway"), Caps(time_s=0.3)) == "time_limit"
    assert hosted.wait(lambda: not hosted.running("runaway"))


def test_a_backend_that_does_not_react_is_given_up_and_ended(postgres: Hosted) -> None:
    session = postgres.session()
    (backend,) = ask(session, "SELECT pg_backend_pid()")[0]
    stop(backend)
    try:
        with pytest.raises((QueryFailed, DatabaseFailed)):
            session.query(endless(POSTGRES, "stopped"), Caps(time_s=0.2), Unwatched())
        session.close()
    finally:
        os.kill(backend, signal.SIGCONT)
    assert postgres.wait(lambda: backend not in postgres.sessions())


def test_the_quick_limit_asks_for_another_place_and_is_no_verdict(hosted: Hosted) -> None:
    with pytest.raises(Expired):
        hosted.session().query(endless(hosted.engine, "quick"), Caps(time_s=30), Quick())
    with pytest.raises(QueryFailed, match=r"more than 0\.1 s"):
        hosted.session().query(endless(hosted.engine, "quick"), Caps(time_s=0.1), Quick())
    assert hosted.wait(lambda: not hosted.running("quick"))


def test_what_a_killed_process_asked_for_ends(hosted: Hosted, tmp_path: Path) -> None:
    with child(
        hosted, tmp_path, f"session.query({endless(hosted.engine, 'orphan')!r}, Caps(time_s=3), Unwatched())"
    ) as it:
        assert hosted.wait(lambda: bool(hosted.running("orphan")))
        it.kill()
        it.wait()
    assert hosted.wait(lambda: not hosted.running("orphan"))


def test_sessions_leave_no_connections_behind(hosted: Hosted) -> None:
    before = set(hosted.sessions())
    for text in ("SELECT 1", "SELECT nope", endless(hosted.engine, "leak")):
        session = hosted.session()
        with contextlib.suppress(QueryFailed):
            session.query(text, Caps(time_s=0.1), Unwatched())
        session.close()
    assert hosted.wait(lambda: set(hosted.sessions()) <= before)


# Harm, the guard left out


HARM = [
    ("both", "INSERT INTO city VALUES (9, 'x')", {"forbidden"}),
    ("both", "UPDATE city SET name = 'x'", {"forbidden"}),
    ("both", "DELETE FROM city", {"forbidden"}),
    ("both", "/* a */ -- b\n DROP TABLE person", {"forbidden"}),
    ("both", "CREATE TABLE x (a int)", {"forbidden"}),
    ("both", "SET TRANSACTION READ WRITE", {"forbidden"}),
    ("both", "COMMIT", {"forbidden"}),
    ("both", "SELECT 1; DELETE FROM city", {"syntax_error"}),
    ("both", "SELECT 1; SELECT 2", {"syntax_error"}),
    ("both", "SELEC 1", {"syntax_error"}),
    ("both", "SELECT * FROM nope", {"runtime_error"}),
    ("both", "SELECT 1 \0; DELETE FROM city", {"syntax_error"}),
    ("both", "SELECT '\ud800'", {"syntax_error"}),
    (POSTGRES, "COPY city TO PROGRAM 'id'", {"forbidden"}),
    (POSTGRES, "COPY city TO '/tmp/rewarden-out'", {"forbidden"}),
    (POSTGRES, "EXPLAIN ANALYZE DELETE FROM city", {"forbidden"}),
    (POSTGRES, "WITH x AS (DELETE FROM city RETURNING *) SELECT * FROM x", {"runtime_error"}),
    (POSTGRES, "SELECT * INTO x FROM city", {"syntax_error"}),
    (POSTGRES, "SELECT pg_read_file('/etc/passwd')", {"forbidden"}),
    (POSTGRES, "SELECT lo_import('/etc/passwd')", {"forbidden"}),
    (POSTGRES, "SELECT nextval('s')", {"forbidden"}),
    (POSTGRES, "SELECT set_config('transaction_read_only', 'off', false)", {"runtime_error"}),
    (POSTGRES, "SELECT * FROM pg_authid", {"forbidden"}),
    (POSTGRES, "SELECT query_to_xml('DELETE FROM city', true, true, '')", {"forbidden", "runtime_error"}),
    (MYSQL, "/*!50000 DELETE FROM city */", {"forbidden"}),
    (MYSQL, "SELECT * FROM city INTO OUTFILE '/tmp/rewarden-out'", {"forbidden"}),
    (MYSQL, "LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE city", {"forbidden"}),
    (MYSQL, "PREPARE s FROM 'DELETE FROM city'", {"forbidden"}),
    (MYSQL, "SELECT * FROM mysql.global_priv", {"forbidden"}),
    (MYSQL, "SELECT * FROM rewarden_0.made", {"forbidden"}),
    (MYSQL, "SELECT * FROM `rewarden_0`.made", {"forbidden"}),
    (MYSQL, "USE rewarden_0", {"forbidden"}),
]


@pytest.mark.parametrize(("engine", "text", "reasons"), HARM)
def test_what_is_no_harmless_query_is_refused_and_changes_nothing(
    request: pytest.FixtureRequest, engine: str, text: str, reasons: set[str]
) -> None:
    for name in (POSTGRES, MYSQL) if engine == "both" else (engine,):
        world: Hosted = request.getfixturevalue(name)
        script = SCRIPT + ("CREATE SEQUENCE s;" if name == POSTGRES else "")
        session = world.session(script)
        assert refused(session, text) in reasons
        assert ask(session, "SELECT count(*) FROM city") == [(3,)]
        assert ask(world.session(script), "SELECT count(*) FROM person") == [(4,)]


def test_files_are_not_read_by_mysql(mysql: Hosted) -> None:
    assert ask(mysql.session(), "SELECT LOAD_FILE('/etc/passwd')") == [(None,)]


def test_nothing_of_one_statement_is_there_for_the_next(postgres: Hosted, mysql: Hosted) -> None:
    session = postgres.session()
    ask(session, "SELECT set_config('search_path', 'pg_catalog', false), pg_advisory_lock(7)")
    assert (
        ask(session, "SHOW search_path")
        if False
        else ask(session, "SELECT current_setting('search_path')") == [("public",)]
    )
    assert ask(postgres.session(), "SELECT pg_try_advisory_lock(7)") == [(True,)]
    session = mysql.session()
    ask(session, "SELECT @a := 1, GET_LOCK('seven', 0)")
    assert ask(session, "SELECT @a") == [(None,)]
    assert ask(session, "SELECT IS_FREE_LOCK('seven')") == [(1,)]


# Copies


def test_a_copy_is_written_and_thrown_away(hosted: Hosted) -> None:
    before = hosted.names()
    copy = hosted.session(copy=True)
    assert copy.write("DELETE FROM person WHERE age = 36", Caps(), Unwatched()) == 2
    assert ask(copy, "SELECT count(*) FROM person") == [(2,)]
    assert ask(hosted.session(), "SELECT count(*) FROM person") == [(4,)]
    assert ask(hosted.session(copy=True), "SELECT count(*) FROM person") == [(4,)]
    hosted.close()
    assert not {name for name in hosted.names() - before if "copy" in name}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("DELETE FROM nope", "runtime_error"),
        ("DELETE FROM city; DELETE FROM person", "syntax_error"),
        ("DROP TABLE person", "forbidden"),
        ("UPDATE person SET id = 1", "runtime_error"),
    ],
)
def test_a_write_that_fails_leaves_the_copy_as_it_was(hosted: Hosted, text: str, reason: str) -> None:
    copy = hosted.session(copy=True)
    with pytest.raises(QueryFailed) as failed:
        copy.write(text, Caps(), Unwatched())
    assert failed.value.reason == reason
    assert ask(copy, "SELECT count(*) FROM person") == [(4,)]


def test_a_write_on_a_session_that_only_reads_is_refused(hosted: Hosted) -> None:
    with pytest.raises(QueryFailed):
        hosted.session().write("DELETE FROM person", Caps(), Unwatched())


def test_a_write_does_not_reach_other_databases(mysql: Hosted) -> None:
    mysql.session()
    with pytest.raises(QueryFailed, match="other"):
        mysql.session(copy=True).write("DELETE FROM rewarden_0.made", Caps(), Unwatched())


# Databases that are made


def test_tables_that_come_as_data_are_made(hosted: Hosted) -> None:
    table = Table(columns=("a", "b", "c"), rows=((1, "x", 1.5), (2, None, None)))
    assert ask(hosted.session("", tables={"t": table}), "SELECT * FROM t ORDER BY a") == [
        (1, "x", 1.5),
        (2, None, None),
    ]


def test_a_database_is_made_once_however_many_ask_for_it(hosted: Hosted) -> None:
    script = "CREATE TABLE once (a INTEGER); INSERT INTO once VALUES (1);"
    before = hosted.names()
    with ThreadPoolExecutor(6) as pool:
        sessions = list(pool.map(lambda _: hosted.session(script), range(6)))
    assert [ask(session, "SELECT * FROM once") for session in sessions] == [[(1,)]] * 6
    assert hosted.names() - before - {"rewarden_0"} == {scratch.name_of(hosted.database(script))}


@pytest.mark.parametrize(
    ("engine", "script", "message"),
    [
        ("both", "CREATE TABLE t (a INTEGER); INSERT INTO t VALUES ('x')", "cannot be made"),
        ("both", "CREATE TABLE t (a INTEGER); SELECT 1", "no statement such as 'SELECT 1'"),
        ("both", "CALL p()", "no statement such as"),
        (POSTGRES, "COPY t FROM '/etc/passwd'", "no statement such as"),
        (POSTGRES, "CREATE EXTENSION dblink", "no statement such as"),
        (POSTGRES, "DO $$ BEGIN END $$", "no statement such as"),
        (POSTGRES, "ALTER SYSTEM SET fsync = off", "no statement such as"),
        (POSTGRES, "CREATE TABLE t AS SELECT pg_terminate_backend(1)", "has no 'pg_terminate_backend"),
        (POSTGRES, 'CREATE TABLE t AS SELECT "pg_terminate_backend"(1)', "has no"),
        (POSTGRES, 'CREATE TABLE t AS SELECT U&"pg\\005fsleep"(1)', "has no"),
        (POSTGRES, "CREATE TABLE t (a int); COPY t FROM stdin;\n1\n", "has no end"),
        (MYSQL, "DELIMITER //\nCREATE TABLE t (a INT)//", "DELIMITER"),
        (MYSQL, "CREATE TABLE rewarden_0.t (a INT)", "has no 'rewarden_0'"),
        (MYSQL, "CREATE TABLE t (a INT) DATA DIRECTORY = '/tmp'", "has no 'DATA DIRECTORY'"),
        (MYSQL, "CREATE TABLE t (a INT) ENGINE=FEDERATED CONNECTION='mysql://a@b/c'", "has no 'ENGINE=FEDERATED'"),
        (MYSQL, "CREATE TRIGGER r BEFORE INSERT ON t FOR EACH ROW SET @a = 1", "no statement such as"),
        (MYSQL, "LOAD DATA INFILE '/etc/passwd' INTO TABLE t", "no statement such as"),
    ],
)
def test_a_script_that_does_not_make_tables_is_the_senders_mistake(
    request: pytest.FixtureRequest, engine: str, script: str, message: str
) -> None:
    for name in (POSTGRES, MYSQL) if engine == "both" else (engine,):
        world: Hosted = request.getfixturevalue(name)
        before = world.names() | {"rewarden_0"}
        with pytest.raises(InvalidSample, match=message):
            world.session(script)
        assert world.names() <= before


def test_a_script_has_a_time_limit(hosted: Hosted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch, "MAKE_S", 0.3)
    rows = "generate_series(1, 1000000000)" if hosted.engine == POSTGRES else "seq_1_to_1000000000 a, seq_1_to_9999 b"
    with pytest.raises(InvalidSample, match="ran for more than"):
        hosted.session(f"CREATE TABLE t AS SELECT count(*) AS slow_script FROM {rows} WHERE 1 + 1 = 2")
    assert hosted.wait(lambda: not hosted.running("slow_script"))


def test_a_script_has_a_size_limit(hosted: Hosted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch, "MAKE_BYTES", 16 * 1024)
    with pytest.raises(InvalidSample, match="holds more than"):
        hosted.session("CREATE TABLE t (a VARCHAR(9000)); INSERT INTO t VALUES ('" + "ab" * 4000 + "');" + FILL)


FILL = "INSERT INTO t SELECT a FROM t;" * 7

DUMPS: dict[str, str] = {
    POSTGRES: r"""
--
-- PostgreSQL database dump; with a semicolon
--
\restrict abc
SET statement_timeout = 0;
SELECT pg_catalog.set_config('search_path', '', false);
DROP DATABASE IF EXISTS shop;
CREATE DATABASE shop WITH TEMPLATE = template0 ENCODING = 'UTF8';
ALTER DATABASE shop OWNER TO postgres;
\connect shop
COMMENT ON SCHEMA public IS 'standard; public';
CREATE TYPE public.mood AS ENUM ('sad', 'happy');
ALTER TYPE public.mood OWNER TO postgres;
CREATE TABLE public."It; em" (id integer NOT NULL, name text DEFAULT 'a;b', mood public.mood);
ALTER TABLE public."It; em" OWNER TO somebody;
CREATE SEQUENCE public.item_id START WITH 1;
/* a comment /* in a comment; */ ; */
COPY public."It; em" (id, name, mood) FROM stdin;
1	two\nlines; $$	happy
2	\N	sad
\.
SELECT pg_catalog.setval('public.item_id', 2, true);
INSERT INTO public."It; em" VALUES (3, E'it\'s; "so"', 'sad'), (4, 'it''s; --', NULL);
ALTER TABLE ONLY public."It; em" ADD CONSTRAINT item_pkey PRIMARY KEY (id);
GRANT SELECT ON TABLE public."It; em" TO somebody;
ALTER DEFAULT PRIVILEGES FOR ROLE postgres GRANT SELECT ON TABLES TO somebody;
\unrestrict abc
""",
    MYSQL: r"""
/*M!999999\- enable the sandbox mode */
-- MariaDB dump; with a semicolon
/*!40101 SET @OLD_CHARACTER_SET_CLIENT=@@CHARACTER_SET_CLIENT */;
/*!40014 SET @OLD_FOREIGN_KEY_CHECKS=@@FOREIGN_KEY_CHECKS, FOREIGN_KEY_CHECKS=0 */;
CREATE DATABASE /*!32312 IF NOT EXISTS*/ `shop` /*!40100 DEFAULT CHARACTER SET latin1 */;
USE `shop`;
DROP TABLE IF EXISTS `It; em`;
CREATE TABLE `It; em` (
  `id` int(11) NOT NULL, # a comment; of the other kind
  `name` text DEFAULT 'a;b',
  `mood` enum('sad','happy') DEFAULT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COMMENT='rewarden_0; a literal';
LOCK TABLES `It; em` WRITE;
/*!40000 ALTER TABLE `It; em` DISABLE KEYS */;
INSERT INTO `It; em` VALUES (1,'two\nlines; $$','happy'),(2,NULL,'sad');
INSERT INTO `It; em` VALUES (3,'it\'s; "so"','sad'),(4,'it''s; --',NULL);
UNLOCK TABLES;
/*!50001 CREATE ALGORITHM=UNDEFINED */
/*!50013 DEFINER=`root`@`localhost` SQL SECURITY DEFINER */
/*!50001 VIEW `v` AS SELECT ';' AS `a` */;
""",
}


def test_a_dump_is_restored(hosted: Hosted) -> None:
    table = '"It; em"' if hosted.engine == POSTGRES else "`It; em`"
    assert ask(hosted.session(DUMPS[hosted.engine]), f"SELECT * FROM {table} ORDER BY id") == [
        (1, "two\nlines; $$", "happy"),
        (2, None, "sad"),
        (3, 'it\'s; "so"', "sad"),
        (4, "it's; --", None),
    ]


def test_a_dump_in_a_file_is_the_servers_own_and_may_have_functions(postgres: Hosted, tmp_path: Path) -> None:
    dump = tmp_path / "dump.sql"
    dump.write_text("CREATE FUNCTION f() RETURNS int LANGUAGE sql AS $$ SELECT 41 + 1; $$; CREATE TABLE t (a int);")
    database = Database(id="file", engine="postgres", version=str(tmp_path), script_file=str(dump))
    session = open_session(database, postgres.resources.servers)
    assert ask(session, "SELECT f()") == [(42,)]
    session.close()
    dump.write_text("CREATE TABLE")
    broken = Database(id="file", engine="postgres", version="broken", script_file=str(dump))
    with pytest.raises(DatabaseUnavailable, match="syntax error"):
        open_session(broken, postgres.resources.servers)


def test_the_least_recently_used_are_dropped_but_none_that_is_in_use(
    hosted: Hosted, monkeypatch: pytest.MonkeyPatch
) -> None:
    def script(number: int) -> str:
        return f"CREATE TABLE kept (a INTEGER); INSERT INTO kept VALUES ({number});"

    def there(number: int) -> bool:
        return scratch.name_of(hosted.database(script(number))) in hosted.names()

    in_use = hosted.session(script(0))
    hosted.session(script(1)).close()
    hosted.wait(lambda: len(hosted.sessions()) == 1)
    monkeypatch.setattr(scratch, "KEPT", 2)
    hosted.session(script(2)).close()
    hosted.session(script(3)).close()
    assert there(0)
    assert not there(1)
    assert there(3)
    assert ask(in_use, "SELECT a FROM kept") == [(0,)]


def test_what_killed_processes_left_is_dropped_by_the_next_who_makes_one(hosted: Hosted, tmp_path: Path) -> None:
    with child(
        hosted, tmp_path, f"session.write({endless_write(hosted.engine)!r}, Caps(time_s=3), Unwatched())", True
    ) as it:
        assert hosted.wait(lambda: bool(hosted.running("half_written")))
        it.kill()
        it.wait()
    assert any("copy" in name for name in hosted.names())

    def clean() -> bool:
        # The server has to notice first that the holder of the name is gone.
        hosted.session(f"CREATE TABLE fresh (a INTEGER); INSERT INTO fresh VALUES ({time.monotonic_ns() % 2**31});")
        return not any("copy" in name for name in hosted.names())

    assert hosted.wait(clean)


def test_what_was_half_made_is_made_anew(hosted: Hosted, tmp_path: Path) -> None:
    rows = "generate_series(1, 3000000) AS s (seq)" if hosted.engine == POSTGRES else "seq_1_to_1000000"
    script = f"CREATE TABLE half (a INTEGER); INSERT INTO half SELECT seq FROM {rows};"
    with child(hosted, tmp_path, "", script=script) as it:
        assert hosted.wait(lambda: bool(hosted.running("INSERT INTO half")))
        it.kill()
        it.wait()
    assert ask(hosted.session(script), "SELECT count(*) FROM half") == [
        (3000000 if hosted.engine == POSTGRES else 1000000,)
    ]
    assert not any("making" in name for name in hosted.names())


# Servers


def test_a_registered_database_is_read_and_nothing_else(hosted: Hosted) -> None:
    dsn = registered(hosted)
    session = open_session(Database(id="shop", engine=hosted.engine, version="1", dsn=dsn), {})
    assert ask(session, "SELECT a FROM item") == [(1,)]
    assert refused(session, "DELETE FROM item") == "forbidden"
    assert list(session.schema()) == ["item"]
    session.close()
    with pytest.raises(DatabaseUnavailable, match="script"):
        open_session(Database(id="shop", engine=hosted.engine, version="1", dsn=dsn), {}, copy=True)


def test_a_role_that_may_do_more_is_refused_with_the_words_that_mend_it(hosted: Hosted) -> None:
    with pytest.raises(DatabaseUnavailable, match="GRANT"):
        open_session(Database(id="all", engine=hosted.engine, version="1", dsn=hosted.server.admin), {})


def test_without_a_server_the_message_names_the_setting(hosted: Hosted) -> None:
    with pytest.raises(DatabaseUnavailable, match=rf"\[sql\] {hosted.engine}"):
        open_session(hosted.database(), {})


@pytest.mark.parametrize("dsn", ["postgresql://a:secret@127.0.0.1:1/x", "mysql://a:secret@127.0.0.1:1/x"])
def test_a_server_that_does_not_answer_is_our_failure_and_tells_no_password(dsn: str) -> None:
    engine: EngineName = "mysql" if dsn.startswith("mysql") else "postgres"
    with pytest.raises(DatabaseUnavailable) as failed:
        open_session(Database(id="gone", engine=engine, version="1", dsn=dsn), {})
    assert failed.value.retryable
    assert "secret" not in failed.value.message


def test_a_connection_that_was_lost_while_idle_is_made_anew(hosted: Hosted) -> None:
    session = hosted.session()
    ask(session, "SELECT 1")
    for number in hosted.sessions():
        hosted.end(number)
    assert hosted.wait(lambda: not hosted.sessions())
    assert ask(session, "SELECT count(*) FROM person") == [(4,)]


def test_a_server_that_is_lost_in_mid_query_is_our_failure_and_no_zero(hosted: Hosted) -> None:
    connections = Connections()
    database = hosted.database()

    def answer() -> None:
        with connections.session(database, "answer", hosted.resources.servers) as session:
            session.query(endless(hosted.engine, "lost"), Caps(time_s=30), Unwatched())

    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(answer)
        assert hosted.wait(lambda: bool(hosted.running("lost")))
        for number in hosted.running("lost"):
            hosted.end(number)
        with pytest.raises(DatabaseUnavailable):
            done.result()


# Judging


def test_answers_are_judged(hosted: Hosted) -> None:
    gold = "SELECT name FROM person WHERE age = 36 ORDER BY id"
    assert hosted.judge("```sql\n" + gold + "\n```", gold).score == 1.0
    assert hosted.judge("SELECT name FROM person ORDER BY id", gold).score == 0.0
    failed = hosted.judge("SELECT nope FROM person", gold)
    assert (failed.score, failed.reason) == (0.0, "runtime_error")


def registered(hosted: Hosted) -> str:
    """The address of a database of the server's own, for a role that reads it."""
    if hosted.engine == POSTGRES:
        if not hosted.admin("SELECT 1 FROM pg_database WHERE datname = 'shop'"):
            hosted.admin("CREATE DATABASE shop")
        own = hosted.server.admin.replace("/postgres?", "/shop?")
        with psycopg.connect(own, autocommit=True) as connection:
            connection.execute("DROP TABLE IF EXISTS item")
            connection.execute("CREATE TABLE item AS SELECT 1 AS a")
            connection.execute("GRANT ALL ON item TO rewarden")
        return hosted.server.dsn.replace("/postgres?", "/shop?")
    for text in (
        "CREATE DATABASE IF NOT EXISTS shop",
        "CREATE OR REPLACE TABLE shop.item AS SELECT 1 AS a",
        "GRANT ALL PRIVILEGES ON shop.* TO rewarden@localhost",
    ):
        hosted.admin(text)
    return hosted.server.dsn.replace("/?", "/shop?")


def endless_write(engine: str) -> str:
    return "UPDATE person SET name = (" + endless(engine, "half_written").replace("count(*)", "'x' || count(*)") + ")"


CHILD = """
import sys
from rewarden_verifiers.contract import Unwatched
from rewarden_verifiers.sql.connections import open_session
from rewarden_verifiers.sql.databases import Database
from rewarden_verifiers.sql.engines.engine import Caps

engine, server, script, copy = sys.argv[1:]
database = Database(id="test", engine=engine, version="child" + script, script=script)
session = open_session(database, {engine: server}, copy=copy == "True")
"""


def child(hosted: Hosted, folder: Path, does: str, copy: bool = False, script: str = SCRIPT) -> subprocess.Popen[bytes]:
    """Another process that opens a session, and does something in it."""
    program = folder / "child.py"
    program.write_text(CHILD + does)
    return subprocess.Popen([sys.executable, program, hosted.engine, hosted.server.dsn, script, str(copy)])


@pytest.mark.parametrize("dsn", ["postgresql://a@127.0.0.1/x?secret", "mysql://a:se/cret@127.0.0.1/x"])
def test_an_address_that_cannot_be_read_is_not_repeated(dsn: str) -> None:
    engine: EngineName = "mysql" if dsn.startswith("mysql") else "postgres"
    with pytest.raises(DatabaseUnavailable, match="USER:PASSWORD") as failed:
        open_session(Database(id="odd", engine=engine, version="1", dsn=dsn), {})
    assert "cret" not in failed.value.message
    assert "'se'" not in failed.value.message


@contextlib.contextmanager
def frozen(server: Server) -> Iterator[None]:
    """A server none of whose processes runs: it holds its connections, and answers nothing."""
    folder = re.search(r"/tmp/rewarden-(pg|my)-\w+", unquote(server.dsn))
    assert folder is not None
    file = Path(folder.group(), "data", "postmaster.pid") if folder[1] == "pg" else Path(folder.group(), "pid")
    first = int(file.read_text().split()[0])
    children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
    processes = [first, *map(int, children)]
    try:
        for process in processes:
            stop(process)
        yield
    finally:
        for process in processes:
            os.kill(process, signal.SIGCONT)


@pytest.mark.alone
def test_a_server_that_stops_answering_is_our_failure_and_no_late_statement(
    hosted: Hosted, monkeypatch: pytest.MonkeyPatch
) -> None:
    for wire in (mysql_wire, postgres_wire):
        monkeypatch.setattr(wire, "OWN_S", 0.5)
    session = hosted.session()
    with frozen(hosted.server), pytest.raises(DatabaseFailed) as failed:
        session.query("SELECT name FROM person", Caps(time_s=0.1), Unwatched())
    assert failed.value.ours
    assert ask(hosted.session(), "SELECT count(*) FROM person") == [(4,)]


def lost(*_: object) -> None:
    """Raises what PyMySQL does where a server does not answer in time."""
    raise pymysql.OperationalError(2013, "Lost connection to MySQL server during query (timed out)")


def test_what_a_statement_gave_stands_however_late_its_session_is_reset(
    mysql: Hosted, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = mysql.session()
    ask(session, "SELECT COUNT(*) FROM person")
    (before,) = mysql.sessions()
    with monkeypatch.context() as slow:
        slow.setattr(Wire, "reset", lost)
        assert ask(session, "SELECT COUNT(*), @mark := 7 FROM person") == [(4, 7)]
        assert refused(session, "SELECT nothing FROM person") == "runtime_error"
    # And nothing of it is there for the next, which has a session of its own.
    assert ask(session, "SELECT @mark") == [(None,)]
    assert mysql.wait(lambda: before not in mysql.sessions())


def test_a_write_stands_however_late_its_session_is_reset(mysql: Hosted, monkeypatch: pytest.MonkeyPatch) -> None:
    session = mysql.session(copy=True)
    with monkeypatch.context() as slow:
        slow.setattr(Wire, "reset", lost)
        session.write("DELETE FROM person WHERE id = 1", Caps(), Unwatched())
    assert ask(session, "SELECT COUNT(*) FROM person") == [(3,)]


@pytest.mark.parametrize("step", ["SET ", "START TRANSACTION", "SHOW SESSION STATUS", "COMMIT"])
def test_a_statement_is_not_late_because_one_of_ours_is(
    mysql: Hosted, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    session = mysql.session(copy=True)
    stream = Wire.stream

    def slow(wire: Wire, text: str, until: float | None = None) -> Any:
        if text.startswith(step):
            raise Late
        return stream(wire, text, until)

    monkeypatch.setattr(Wire, "stream", slow)
    asked, text = (session.write, "DELETE FROM person") if step == "COMMIT" else (session.query, "SELECT 1")
    with pytest.raises(DatabaseFailed, match="too slow") as failed:
        asked(text, Caps(), Unwatched())
    assert failed.value.ours


def test_a_statement_is_watched_and_what_is_ours_is_not(mysql: Hosted, monkeypatch: pytest.MonkeyPatch) -> None:
    """The watch ends the process, and what it ends is the response's: the server's slowness must not fall into it."""
    session = mysql.session(copy=True)
    session.query("SELECT 1", Caps(), Unwatched())
    within: list[bool] = []
    seen: dict[bool, list[str]] = {True: [], False: []}
    stream, end, reset = Wire.stream, Wire.end, Wire.reset

    class Watching(Unwatched):
        @contextlib.contextmanager
        def limit(self, *, cpu_s: float | None = None, wall_s: float | None = None) -> Iterator[None]:
            within.append(True)
            yield
            within.pop()

    def noted(wire: Wire, text: str, until: float | None = None) -> Any:
        seen[bool(within)].append(text.split()[0])
        return stream(wire, text, until)

    def told(name: str, call: Callable[[Wire], None]) -> Callable[[Wire], None]:
        return lambda wire: (seen[bool(within)].append(name), call(wire))[1]

    monkeypatch.setattr(Wire, "stream", noted)
    monkeypatch.setattr(Wire, "end", told("end", end))
    monkeypatch.setattr(Wire, "reset", told("reset", reset))
    session.query("SELECT name FROM person", Caps(), Watching())
    session.write("DELETE FROM person WHERE id = 1", Caps(), Watching())
    assert seen[True] == ["SELECT", "DELETE"]
    assert {"SET", "START", "SHOW", "COMMIT", "reset"} <= set(seen[False])
    with pytest.raises(QueryFailed, match="more than"):
        session.query(endless(MYSQL, "watched"), Caps(time_s=0.1), Watching())
    assert "end" not in seen[True]


def test_a_late_statement_that_cannot_be_ended_is_our_failure(mysql: Hosted, monkeypatch: pytest.MonkeyPatch) -> None:
    session = mysql.session()

    def late(*_: object) -> Any:
        raise Late

    for kill, expected in ((lost, DatabaseFailed), (lambda wire: None, QueryFailed)):
        with monkeypatch.context() as slow:
            slow.setattr(type(session), "_fetch", late)
            slow.setattr(Wire, "end", kill)
            with pytest.raises(expected) as failed:
                session.query("SELECT name FROM person", Caps(), Unwatched())
        assert getattr(failed.value, "ours", True)
        assert getattr(failed.value, "reason", "time_limit") == "time_limit"


def test_what_came_in_time_is_read_however_late_this_process_is(mysql: Hosted, monkeypatch: pytest.MonkeyPatch) -> None:
    """Flake: a process that a busy host does not run finds its rows there, and its time over."""
    session = mysql.session()
    session.query("SELECT 1", Caps(), Unwatched())
    monkeypatch.setattr(served.Run, "begin", lambda run: setattr(run, "until", time.monotonic() - 60))
    assert ask(session, "SELECT COUNT(*) FROM person") == [(4,)]
    assert len(ask(session, "SELECT seq FROM seq_1_to_5000")) == 5000


def slowed(monkeypatch: pytest.MonkeyPatch, *steps: str) -> None:
    """A PostgreSQL server that takes too long for statements that begin so."""
    simple, stream = postgres_wire.Wire.simple, postgres_wire.Wire.stream

    def slow_simple(wire: postgres_wire.Wire, text: str, least_s: float = 0.0) -> None:
        if text.startswith(steps):
            raise Late
        simple(wire, text, least_s)

    def slow_stream(wire: postgres_wire.Wire, text: str, until: float) -> Any:
        if text.startswith(steps):
            raise Late
        return stream(wire, text, until)

    monkeypatch.setattr(postgres_wire.Wire, "simple", slow_simple)
    monkeypatch.setattr(postgres_wire.Wire, "stream", slow_stream)


@pytest.mark.parametrize("step", ["EXPLAIN", "ROLLBACK", "DISCARD"])
def test_what_postgres_gave_stands_however_late_what_comes_behind_it_is(
    postgres: Hosted, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    session = postgres.session()
    with monkeypatch.context() as slow:
        slowed(slow, step)
        rows = ask(session, "SELECT count(*), set_config('search_path', 'pg_catalog', false) FROM person")
        assert rows == [(4, "pg_catalog")]
        assert refused(session, "SELECT nothing FROM person") == "runtime_error"
    assert ask(session, "SELECT current_setting('search_path')") == [("public",)]


@pytest.mark.parametrize("step", ["BEGIN", "COMMIT"])
def test_a_statement_is_not_late_because_postgres_is_with_ours(
    postgres: Hosted, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    session = postgres.session(copy=True)
    slowed(monkeypatch, step)
    with pytest.raises(DatabaseFailed, match="too slow") as failed:
        session.write("DELETE FROM person WHERE id = 1", Caps(), Unwatched())
    assert failed.value.ours


def test_what_a_statement_deferred_to_its_end_is_its_own_failure(postgres: Hosted) -> None:
    session = postgres.session("CREATE TABLE once (id INTEGER UNIQUE DEFERRABLE INITIALLY DEFERRED)", copy=True)
    with pytest.raises(QueryFailed) as failed:
        session.write("INSERT INTO once VALUES (1), (1)", Caps(), Unwatched())
    assert failed.value.reason == "runtime_error"
    assert session.write("INSERT INTO once VALUES (1), (2)", Caps(), Unwatched()) == 2
    assert ask(session, "SELECT count(*) FROM once") == [(2,)]


def test_a_worker_keeps_few_sessions_to_servers(hosted: Hosted) -> None:
    kept = Connections()
    try:
        for number in range(6):
            database = hosted.database(f"{SCRIPT}INSERT INTO city VALUES ({number + 10}, 'x');")
            for side in ("reference", "answer"):
                with kept.session(database, side, hosted.resources.servers) as session:
                    ask(session, "SELECT count(*) FROM city")
        assert hosted.wait(lambda: len(hosted.sessions()) <= MOST_SERVED), hosted.sessions()
    finally:
        kept.close()
