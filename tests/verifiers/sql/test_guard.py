"""Permitted and forbidden statements, by reason; and the dependence of an answer on rows and time."""

from __future__ import annotations

import pytest

from rewarden_verifiers.sql import guard
from rewarden_verifiers.sql.dependence import constant, time_dependent
from rewarden_verifiers.sql.statement import read_statement
from rewarden_verifiers.sql.tokens import Unreadable

DIALECTS = ("sqlite", "duckdb", "postgres", "mysql")


def reason(dialect: str, text: str, *, writes: bool = False) -> str | None:
    """Returns why a text may not run; None if it may."""
    try:
        guard.check(read_statement(text, dialect), writes=writes)
    except (guard.Forbidden, Unreadable) as refused:
        return refused.reason
    return None


EVERYWHERE = [
    ("DELETE FROM t", "writes"),
    ("UPDATE t SET a = 1", "writes"),
    ("INSERT INTO t VALUES (1)", "writes"),
    ("REPLACE INTO t VALUES (1)", "writes"),
    ("WITH x AS (SELECT 1) DELETE FROM t", "writes"),
    ("SELECT a INTO u FROM t", "writes"),
    ("DROP TABLE t", "changes_schema"),
    ("CREATE TABLE u (a INT)", "changes_schema"),
    ("CREATE TEMP TABLE u AS SELECT * FROM t", "changes_schema"),
    ("ALTER TABLE t ADD COLUMN b INT", "changes_schema"),
    ("TRUNCATE TABLE t", "changes_schema"),
    ("VACUUM", "changes_schema"),
    ("ATTACH DATABASE 'x.db' AS x", "attach"),
    ("DETACH x", "attach"),
    ("PRAGMA table_info(t)", "pragma"),
    ("PRAGMA query_only = OFF", "pragma"),
    ("SET statement_timeout = 0", "setting"),
    ("RESET ALL", "setting"),
    ("USE other", "setting"),
    ("GRANT ALL ON t TO x", "setting"),
    ("COPY t TO '/tmp/x.csv'", "outside"),
    ("COPY (SELECT a FROM t) TO '/tmp/x.csv'", "outside"),
    ("COPY t FROM '/tmp/x.csv'", "outside"),
    ("EXPORT DATABASE 'x'", "outside"),
    ("LOAD DATA INFILE '/etc/passwd' INTO TABLE t", "outside"),
    ("INSTALL httpfs", "outside"),
    ("BEGIN", "transaction"),
    ("COMMIT", "transaction"),
    ("ROLLBACK", "transaction"),
    ("LOCK TABLES t WRITE", "transaction"),
    ("CALL p()", "procedure"),
    ("DO SLEEP(5)", "procedure"),
    ("EXECUTE q", "procedure"),
    ("PREPARE q AS SELECT 1", "procedure"),
    ("EXPLAIN SELECT a FROM t", "not_a_query"),
    ("EXPLAIN ANALYZE DELETE FROM t", "not_a_query"),
    ("SHOW TABLES", "not_a_query"),
    ("DESCRIBE t", "not_a_query"),
    ("KILL 1", "not_a_query"),
    ("The answer is 5", "not_a_query"),
    ("SELECT 1; SELECT 2", "several_statements"),
    ("SELECT 1; DROP TABLE t", "several_statements"),
    ("SELECT load_extension('x')", "forbidden_function"),
    ("SELECT readfile('/etc/passwd')", "forbidden_function"),
    ("SELECT random()", "forbidden_function"),
    ("SELECT a FROM t WHERE random() < 1", "forbidden_function"),
    ("SELECT a FROM t ORDER BY random()", "forbidden_function"),
    ("SELECT count(*) + f_of_nobody(1) FROM t", "forbidden_function"),
    ("WITH x AS (SELECT pg_sleep(5)) SELECT * FROM x", "forbidden_function"),
    ("WITH pg_sleep(a) AS (SELECT 1) SELECT pg_sleep(5) FROM pg_sleep", "forbidden_function"),
    ("SELECT sleep /* a comment */ (5)", "forbidden_function"),
    ("SELECT sleep\n(5)", "forbidden_function"),
    ("SELECT SLEEP(5)", "forbidden_function"),
    ("SELECT \uff53leep(5)", "forbidden_function"),
    ("SELECT ab\u0455(5)", "forbidden_function"),
    ("SELECT version()", "forbidden_function"),
]

BY_ENGINE = [
    ("postgres", "COPY t TO STDOUT", "outside"),
    ("postgres", "COPY t FROM STDIN", "outside"),
    *(
        (dialect, f"SELECT {call}", "forbidden_function")
        for dialect, calls in {
            "sqlite": (
                "randomblob(8)",
                "writefile('x', 'y')",
                "edit('x')",
                "last_insert_rowid()",
                "changes()",
                "sqlite_version()",
                "fts3_tokenizer('x')",
                "sqlite_compileoption_get(1)",
                "[load_extension]('x')",
                "`load_extension`('x')",
            ),
            "duckdb": (
                "current_setting('threads')",
                "getvariable('x')",
                "uuid()",
                "gen_random_uuid()",
                "nextval('s')",
                "setseed(0.5)",
                "sleep_ms(5000)",
                "pg_sleep(5)",
                "version()",
                "current_query()",
                "write_log('x')",
                "'x'.getenv()",
                "'x'.read_text()",
                "json_serialize_plan('x')",
                "current_user",
            ),
            "postgres": (
                "pg_sleep(5)",
                "pg_sleep_for('5 s')",
                "pg_catalog.pg_sleep(5)",
                '"pg_sleep"(5)',
                "PG_SLEEP (5)",
                'U&"pg\\005fsleep"(5)',
                "pg_read_file('/etc/passwd')",
                "pg_read_binary_file('x')",
                "pg_ls_dir('.')",
                "pg_stat_file('x')",
                "lo_import('/etc/passwd')",
                "lo_export(1, 'x')",
                "dblink('x', 'y')",
                "query_to_xml('DELETE FROM t', true, true, '')",
                "table_to_xml('t', true, true, '')",
                "database_to_xml(true, true, '')",
                "cursor_to_xml('x', 1, true, true, '')",
                "set_config('statement_timeout', '0', false)",
                "current_setting('data_directory')",
                "pg_advisory_lock(1)",
                "pg_try_advisory_lock(1)",
                "nextval('s')",
                "setval('s', 1)",
                "currval('s')",
                "pg_terminate_backend(1)",
                "pg_cancel_backend(1)",
                "pg_reload_conf()",
                "pg_notify('x', 'y')",
                "gen_random_uuid()",
                "random()",
                "setseed(0.5)",
                "inet_server_addr()",
                "pg_backend_pid()",
                "txid_current()",
                "current_user",
                "session_user",
                "user",
                "has_table_privilege('t', 'select')",
                "public.abs(5)",
                "pg_get_viewdef('v')",
                "ts_stat('SELECT 1')",
                "xpath('x', 'y')",
            ),
            "mysql": (
                "SLEEP(5)",
                "`sleep`(5)",
                "BENCHMARK(1000000000, MD5('x'))",
                "LOAD_FILE('/etc/passwd')",
                "GET_LOCK('x', 100)",
                "RELEASE_LOCK('x')",
                "IS_USED_LOCK('x')",
                "UUID()",
                "UUID_SHORT()",
                "RAND()",
                "RANDOM_BYTES(8)",
                "VERSION()",
                "USER()",
                "CURRENT_USER()",
                "CURRENT_USER",
                "DATABASE()",
                "SCHEMA()",
                "CONNECTION_ID()",
                "LAST_INSERT_ID()",
                "FOUND_ROWS()",
                "ROW_COUNT()",
                "MASTER_POS_WAIT('x', 1)",
                "SYS_EVAL('id')",
                "a --sleep(5)\n FROM t",
                "other.abs(5)",
                "NAME_CONST('a', SLEEP(5))",
                "EXTRACTVALUE(1, 2)",
                "AES_DECRYPT('a', 'b')",
                "LASTVAL(s)",
            ),
        }.items()
        for call in calls
    ),
    *(
        ("duckdb", f"SELECT * FROM {source}", "forbidden_function")
        for source in (
            "read_csv('/etc/passwd')",
            "read_csv_auto('/etc/passwd')",
            "read_parquet('x')",
            "parquet_scan('x')",
            "read_json('x')",
            "read_text('/etc/passwd')",
            "read_blob('/etc/passwd')",
            "glob('/*')",
            "sniff_csv('x')",
            "query('DELETE FROM t')",
            "query_table('t')",
            "duckdb_settings()",
            "duckdb_secrets()",
            "duckdb_tables()",
            "json_execute_serialized_sql('x')",
            "sqlite_scan('x', 't')",
            "postgres_query('x', 'y')",
            "test_all_types()",
            "t TABLESAMPLE 10%",
            "t USING SAMPLE 1 ROWS",
        )
    ),
    ("postgres", "SELECT * FROM dblink('x', 'SELECT 1') AS y(a int)", "forbidden_function"),
    ("postgres", "SELECT DISTINCT ON (a) pg_sleep(b) FROM t", "forbidden_function"),
    ("postgres", "SELECT * FROM t TABLESAMPLE BERNOULLI (10)", "forbidden_function"),
    ("postgres", "SELECT * FROM ROWS FROM (pg_ls_dir('.')) AS x", "forbidden_function"),
    ("postgres", "WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x", "writes"),
    ("postgres", "WITH x AS (SELECT 1), y AS (UPDATE t SET a = 1 RETURNING *) SELECT * FROM x", "writes"),
    ("postgres", "SELECT * FROM t FOR UPDATE", "writes"),
    ("postgres", "SELECT * FROM t FOR NO KEY UPDATE", "writes"),
    ("postgres", "SELECT * FROM t FOR SHARE", "writes"),
    ("mysql", "SELECT * FROM t FOR UPDATE", "writes"),
    ("mysql", "SELECT * FROM t LOCK IN SHARE MODE", "writes"),
    ("mysql", "SELECT NEXT VALUE FOR s", "writes"),
    ("mysql", "SELECT a FROM t INTO OUTFILE '/tmp/x'", "outside"),
    ("mysql", "SELECT a INTO DUMPFILE '/tmp/x' FROM t", "outside"),
    ("mysql", "SELECT a INTO @x FROM t", "writes"),
    ("duckdb", "SELECT * FROM 'x.csv'", "outside"),
    ("duckdb", "SELECT * FROM '/etc/passwd'", "outside"),
    ("duckdb", 'SELECT * FROM "x.parquet"', "outside"),
    ("duckdb", "FROM 's3://bucket/x'", "outside"),
    ("duckdb", "SELECT * FROM 'data/*.json' JOIN t USING (a)", "outside"),
    ("mysql", "SELECT @x", "variables"),
    ("mysql", "SELECT @@version", "variables"),
    ("mysql", "SELECT @@global.secure_file_priv", "variables"),
    ("mysql", "SELECT @x := 5", "variables"),
    ("mysql", "SELECT @'x'", "variables"),
    ("mysql", "SELECT ?", "variables"),
    ("sqlite", "SELECT ?", "variables"),
    ("sqlite", "SELECT ?1", "variables"),
    ("sqlite", "SELECT :a", "variables"),
    ("sqlite", "SELECT @a", "variables"),
    ("sqlite", "SELECT $a", "variables"),
    ("duckdb", "SELECT $a", "variables"),
    ("duckdb", "SELECT ?", "variables"),
    ("postgres", "SELECT $1", "variables"),
    ("postgres", "SELECT * FROM information_schema.tables", "system_tables"),
    ("postgres", "SELECT * FROM pg_catalog.pg_authid", "system_tables"),
    ("postgres", "SELECT * FROM pg_stat_activity", "system_tables"),
    ("postgres", "SELECT passwd FROM t, pg_shadow", "system_tables"),
    ("postgres", "SELECT 'pg_authid'::regclass", "system_tables"),
    ("postgres", "TABLE pg_settings", "system_tables"),
    ("mysql", "SELECT * FROM information_schema.processlist", "system_tables"),
    ("mysql", "SELECT * FROM mysql.user", "system_tables"),
    ("mysql", "SELECT * FROM `mysql`.`user`", "system_tables"),
    ("mysql", "SELECT * FROM performance_schema.threads", "system_tables"),
    ("mysql", "SELECT a FROM t WHERE a IN (SELECT user FROM mysql.user)", "system_tables"),
    ("mysql", "SELECT * FROM other.t", "other_database"),
    ("duckdb", "SELECT * FROM information_schema.tables", "system_tables"),
    ("duckdb", "SELECT * FROM duckdb_settings", "system_tables"),
    ("duckdb", "SELECT * FROM sqlite_master", "system_tables"),
    ("duckdb", "SELECT * FROM system.main.duckdb_tables", "system_tables"),
    ("sqlite", "SELECT * FROM sqlite_temp_master", "system_tables"),
    ("sqlite", "SELECT * FROM sqlite_dbpage", "system_tables"),
    ("sqlite", "SELECT * FROM dbstat", "system_tables"),
    ("sqlite", "SELECT * FROM other.t", "other_database"),
    ("sqlite", "SELECT * FROM temp.t", "other_database"),
    ("sqlite", "SELECT * FROM pragma_database_list", "pragma"),
    ("sqlite", "SELECT * FROM pragma_table_info('t')", "pragma"),
    ("mysql", "SELECT /*!50000 SLEEP(5) */", "executable_comment"),
    ("postgres", "SELECT a FROM t WHERE ((", "not_understood"),
    ("mysql", "SELECT a FROM t PROCEDURE ANALYSE()", "forbidden_function"),
    ("mysql", "SELECT a a a FROM t", "not_understood"),
    ("sqlite", "SELECT \"load_extension\"('x')", "forbidden_function"),
    ("postgres", "SELECT \"load_extension\"('x')", "forbidden_function"),
]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(("text", "expected"), EVERYWHERE)
def test_what_may_run_nowhere(text: str, expected: str, dialect: str) -> None:
    assert reason(dialect, text) == expected


@pytest.mark.parametrize(("dialect", "text", "expected"), BY_ENGINE)
def test_what_may_not_run_on_an_engine(dialect: str, text: str, expected: str) -> None:
    assert reason(dialect, text) == expected


def test_a_refusal_names_the_function() -> None:
    with pytest.raises(guard.Forbidden, match="pg_sleep"):
        guard.check(read_statement("SELECT a, pg_sleep(5) FROM t", "postgres"), writes=False)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO t VALUES (1, 'a')",
        "INSERT INTO t (a, b) VALUES (1, 'a')",
        "INSERT INTO t (a) SELECT b FROM u",
        "REPLACE INTO t (a, b) VALUES (1, 'a')",
        "UPDATE t SET a = a + 1 WHERE b = 'x'",
        "DELETE FROM t WHERE a IN (SELECT a FROM u)",
    ],
)
def test_writes_may_run_where_they_are_asked_for(text: str, dialect: str) -> None:
    assert reason(dialect, text) == "writes"
    assert reason(dialect, text, writes=True) is None


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("DROP TABLE t", "changes_schema"),
        ("ATTACH 'x' AS y", "attach"),
        ("UPDATE t SET a = load_extension('x')", "forbidden_function"),
        ("INSERT INTO t SELECT pg_sleep(5)", "forbidden_function"),
        ("DELETE FROM t; DELETE FROM u", "several_statements"),
        ("SELECT a INTO u FROM t", "writes"),
    ],
)
def test_what_writes_do_not_bring_along(text: str, expected: str, dialect: str) -> None:
    assert reason(dialect, text, writes=True) == expected


def test_what_sqlglot_cannot_read_runs_where_the_engine_has_locks_of_its_own() -> None:
    text = "SELECT a FROM t WHERE a IS IS NOT b"
    assert [reason(dialect, text) for dialect in DIALECTS] == [None, None, "not_understood", "not_understood"]


HONEST = [
    *(
        ("sqlite", f"SELECT {call} FROM t")
        for call in (
            "STRFTIME('%Y', d) = '2010'",
            "IIF(a > 1, 'YES', 'NO')",
            "INSTR(a, 'b')",
            "GROUP_CONCAT(DISTINCT a)",
            "CAST(SUM(a) AS REAL) * 100 / COUNT(b)",
            "SUBSTR(a, 1, INSTR(a, '-') - 1)",
            "JULIANDAY('now') - JULIANDAY(d)",
            "ROUND(AVG(a), 2)",
            "date(d, '+1 day')",
            "COALESCE(NULLIF(a, ''), 0)",
            "printf('%.2f', a)",
            "REPLACE(a, ',', '')",
            "RANK() OVER (PARTITION BY a ORDER BY b DESC)",
            "LAG(a, 1) OVER (ORDER BY b ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)",
            "json_extract(j, '$.a')",
            "j ->> '$.a'",
            "TOTAL(a), MAX(a, b), typeof(a), abs(a), upper(a), trim(a)",
            "a GLOB ('x*') OR a LIKE ('%x') AND NOT (b > 1) AND c IN (1, 2)",
            "min(a) FILTER (WHERE b > 1)",
            "CURRENT_TIMESTAMP",
            '"a b", [c d], `e`',
        )
    ),
    ("sqlite", "SELECT e.value FROM t, json_each(t.j) AS e"),
    ("sqlite", "SELECT name FROM sqlite_master WHERE type = 'table'"),
    ("sqlite", "SELECT a FROM main.t"),
    ("sqlite", "SELECT a FROM t WHERE b = 'DROP TABLE t; random() @x ? :y /* no */ -- no'"),
    (
        "sqlite",
        "WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 5) SELECT x FROM c JOIN t ON x = a",
    ),
    *(
        ("duckdb", f"SELECT {call} FROM t")
        for call in (
            "date_trunc('month', d), strftime(d, '%Y'), year(d), EXTRACT(year FROM d), epoch(d)",
            "list(a), array_agg(a ORDER BY b), string_agg(a, ','), unnest([1, 2])",
            "regexp_extract(a, 'x'), regexp_matches(a, '^x'), a.upper(), a.replace('x', 'y').lower()",
            "list_filter([1, 2], x -> x > 1), list_transform(l, lambda x: x + 1), [x * 2 FOR x IN l IF x > 1]",
            "struct_pack(a := 1), {'a': 1}, MAP {'x': 1}, l[1:2]",
            "median(a), quantile_cont(a, 0.5), mode(a), arg_max(a, b), count(*) FILTER (WHERE a > 1)",
            "max(a) OVER (PARTITION BY b ORDER BY c)",
            "a::DECIMAL(10, 2), TRY_CAST(a AS INT), CAST(a AS VARCHAR(20))",
            "COLUMNS('a.*')",
            "* EXCLUDE (a) REPLACE (b + 1 AS b)",
            "date_diff('day', d, e), d + INTERVAL 1 DAY, d - INTERVAL (a) DAY",
            "IF(a > 1, 2, 3), ifnull(a, 0), coalesce(a, 0), greatest(a, b)",
        )
    ),
    ("duckdb", "FROM t"),
    ("duckdb", "FROM t SELECT a ORDER BY ALL"),
    ("duckdb", "SELECT a FROM t QUALIFY row_number() OVER (ORDER BY a) = 1"),
    ("duckdb", "PIVOT t ON a USING sum(b)"),
    ("duckdb", "SELECT * FROM generate_series(1, 5) AS g(n), range(3) r(i)"),
    ("duckdb", "SELECT a FROM sales.orders"),
    ("duckdb", "SELECT `a` FROM t"),
    *(
        ("postgres", f"SELECT {call} FROM t")
        for call in (
            "EXTRACT(YEAR FROM d), DATE_TRUNC('month', d), DATE_PART('year', d), AGE(d, e), TO_CHAR(d, 'YYYY')",
            "STRING_AGG(a, ',' ORDER BY a), ARRAY_AGG(DISTINCT a), a::numeric(10, 2), '5'::varchar(3)",
            "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY a), SUM(a) FILTER (WHERE b)",
            "a ->> 'x', a #>> '{x,y}', a @> '{}', a ? 'x', jsonb_array_elements(a), jsonb_build_object('a', 1)",
            "a ~ '^x', regexp_replace(a, 'x', 'y', 'g'), split_part(a, '-', 1), initcap(a), a ILIKE ('%x')",
            "substring(a from 1 for 2), position('x' in a), trim(both 'x' from a), overlay(a placing 'b' from 1)",
            "now() - interval '1 day', current_date, make_date(2020, 1, 1), timestamp(3) '2020-01-01'",
            "b = ANY (ARRAY[1, 2]), ARRAY(SELECT 1), unnest(l), cardinality(l), ROW(1, 2)",
            "GREATEST(a, b), COALESCE(a, 0), NULLIF(a, 0), ROUND(a::numeric, 2), WIDTH_BUCKET(a, 1, 2, 3)",
            "RANK() OVER w, NTILE(4) OVER (ORDER BY a)",
        )[:-1]
    ),
    ("postgres", "SELECT RANK() OVER w, NTILE(4) OVER (ORDER BY a) FROM t WINDOW w AS (PARTITION BY a)"),
    ("postgres", "SELECT n FROM generate_series(1, 10) g(n)"),
    ("postgres", "SELECT x FROM (VALUES (1, 'a')) v(x, y)"),
    ("postgres", "SELECT x FROM (VALUES (1, 'a')) AS v (x, y)"),
    ("postgres", "WITH c(x, y) AS (SELECT 1, 2), d (z) AS MATERIALIZED (SELECT 3) SELECT * FROM c, d"),
    ("postgres", "SELECT DISTINCT ON (a) a, b FROM t ORDER BY a, b DESC"),
    ("postgres", "SELECT u.user, t.a FROM public.t AS t JOIN sales.u USING (id)"),
    ("postgres", "SELECT x.b FROM t, LATERAL (SELECT * FROM u WHERE u.a = t.a LIMIT 1) x"),
    ("postgres", "SELECT a FROM json_to_recordset('[]') AS x(a int, b text)"),
    ("postgres", "SELECT a, count(*) FROM t GROUP BY GROUPING SETS ((a), (b)), ROLLUP (a, b), CUBE (a)"),
    ("postgres", "SELECT a FROM t FETCH FIRST (5) ROWS ONLY"),
    *(
        ("mysql", f"SELECT {call} FROM t")
        for call in (
            "DATE_FORMAT(d, '%Y'), YEAR(d), MONTH(d), DATEDIFF(d, e), TIMESTAMPDIFF(YEAR, d, NOW()), CURDATE()",
            "DATE_SUB(NOW(), INTERVAL 1 DAY), STR_TO_DATE(a, '%Y'), d + INTERVAL (1) DAY",
            "IF(a > 1, 2, 3), IFNULL(a, 0), CONCAT(a, b), SUBSTRING_INDEX(a, ',', 1), LEFT(a, 1), RIGHT(a, 1)",
            "GROUP_CONCAT(DISTINCT a ORDER BY b SEPARATOR ',')",
            "CAST(a AS DECIMAL(10, 2)), CONVERT(a, CHAR(10)), CAST(a AS UNSIGNED)",
            "a REGEXP ('^x'), a RLIKE 'x', a DIV (2), MOD(a, 2), a MOD (2), TRUNCATE(a, 2), CHAR(65)",
            "`left`, `key`, `user`, user",
            "5--1",
            "JSON_EXTRACT(j, '$.a'), j ->> '$.a', JSON_UNQUOTE(j), FIND_IN_SET('a', b), LPAD(a, 3, '0')",
            "ROW_NUMBER() OVER (PARTITION BY a ORDER BY b)",
            "MATCH (a) AGAINST ('x' IN BOOLEAN MODE)",
        )
    ),
    ("mysql", "SELECT `t`.`a` FROM `t` LIMIT 2, 3"),
    ("mysql", "SELECT a FROM t USE INDEX (x) WHERE EXISTS (SELECT 1 FROM u)"),
]


@pytest.mark.parametrize(("dialect", "text"), HONEST)
def test_honest_queries_may_run(dialect: str, text: str) -> None:
    assert reason(dialect, text) is None


CONSTANT = [
    "SELECT 5",
    "SELECT 1 + 2, upper('x')",
    "VALUES (1, 2)",
    "SELECT 5 FROM t LIMIT 1",
    "SELECT DISTINCT 'x' FROM t",
    "SELECT 5 FROM t JOIN u ON t.a = u.a",
    "SELECT 'yes' FROM t WHERE a > 3",
    "SELECT 'yes' WHERE EXISTS (SELECT 1 FROM t)",
    "SELECT 'x' FROM t WHERE 1 = 0 UNION SELECT 'y'",
    "SELECT a FROM t WHERE 1 = 0 UNION SELECT 5",
    "SELECT a FROM t WHERE a > 1 AND 1 = 0 UNION ALL SELECT 5",
    "SELECT a FROM t LIMIT 0",
    "SELECT 5 FROM (SELECT 1 AS b) AS q",
    "SELECT x FROM (SELECT 5 AS x FROM t) AS q",
    "SELECT x FROM (SELECT 5 AS x, a FROM t) AS q",
    "WITH c AS (SELECT 5 AS x, a FROM t) SELECT x FROM c LIMIT 1",
    "WITH c (x, y) AS (SELECT 5, a FROM t) SELECT x FROM c LIMIT 1",
    "SELECT x FROM (SELECT 5 AS x) AS q, t",
    "SELECT v FROM (VALUES (5)) AS q (v)",
    "SELECT (SELECT 5 FROM t LIMIT 1)",
    "SELECT CASE WHEN 1 = 1 THEN 5 ELSE a END FROM t",
    "SELECT CASE WHEN a > 3 THEN 5 ELSE 5 END FROM t",
    "SELECT COALESCE(5, a) FROM t",
    "SELECT MAX(5), MIN('x') FROM t",
    "SELECT sum(x) FROM (SELECT 1 AS x UNION SELECT 2) AS q",
    "WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 5) SELECT x FROM c",
    "SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7",
]

DEPENDENT = [
    "SELECT a FROM t",
    "SELECT * FROM t",
    "SELECT t.* FROM t",
    "SELECT count(*) FROM t",
    "SELECT 'total', count(*) FROM t",
    "SELECT a, 'x' FROM t",
    "SELECT EXISTS (SELECT 1 FROM t WHERE a > 1)",
    "SELECT NOT EXISTS (SELECT 1 FROM t WHERE a > 1)",
    "SELECT (SELECT count(*) FROM t)",
    "SELECT (SELECT max(a) FROM t) - (SELECT min(a) FROM t)",
    "SELECT CASE WHEN count(*) > 3 THEN 'yes' ELSE 'no' END FROM t",
    "SELECT CASE WHEN (SELECT max(a) FROM t) > 1 THEN 'a' ELSE 'b' END",
    "SELECT CASE WHEN EXISTS (SELECT 1 FROM t) THEN 'a' ELSE 'b' END",
    "SELECT CASE a WHEN 1 THEN 'x' ELSE 'y' END FROM t",
    "SELECT 'yes' WHERE EXISTS (SELECT 1 FROM t) UNION SELECT 'no' WHERE NOT EXISTS (SELECT 1 FROM t)",
    "SELECT count(*) FROM (SELECT 5 AS x FROM t) AS q",
    "SELECT sum(1) FROM t",
    "SELECT 5 IN (SELECT a FROM t)",
    "SELECT 5 IN (SELECT 5 FROM t)",
    "WITH c AS (SELECT a FROM t) SELECT * FROM c",
    "WITH c (x, y) AS (SELECT 5, a FROM t) SELECT y FROM c",
    "SELECT b FROM (SELECT a AS b FROM t) AS q",
    "SELECT n FROM (SELECT count(*) AS n FROM t) AS x, (SELECT 3 AS m) AS y",
    "SELECT row_number() OVER (ORDER BY a) FROM t",
    "SELECT COALESCE(max(a), 0) FROM t",
    "(SELECT a FROM t) UNION (SELECT 4)",
    "SELECT a FROM t EXCEPT SELECT 5",
    "SELECT 'a', (SELECT max(a) FROM t WHERE b = o.b) FROM o",
    "SELECT name FROM (SELECT name FROM t ORDER BY age LIMIT 1) AS q",
    "SELECT COALESCE((SELECT 'yes' FROM t WHERE a > 1), 'no')",
    "SELECT (SELECT 1 FROM t WHERE a > 1) IS NULL",
    "SELECT k FROM (SELECT 'a' AS k, count(*) AS n FROM t UNION SELECT 'b', count(*) FROM o) AS q ORDER BY n LIMIT 1",
    "SELECT v FROM (SELECT 1 AS v UNION SELECT 2) AS q WHERE v IN (SELECT a FROM t)",
    "WITH y (v) AS (SELECT 1 UNION ALL SELECT 2) SELECT v FROM y JOIN t ON t.a = y.v",
]


@pytest.mark.parametrize(
    ("text", "dialect"),
    [(text, dialect) for dialect in DIALECTS for text in CONSTANT if (dialect, text[:6]) != ("mysql", "VALUES")],
)
def test_an_answer_of_constants_is_found(text: str, dialect: str) -> None:
    assert constant(read_statement(text, dialect))


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("text", DEPENDENT)
def test_an_answer_out_of_rows_is_not_constant(text: str, dialect: str) -> None:
    assert not constant(read_statement(text, dialect))


def test_what_cannot_be_read_is_constant_where_it_names_no_table() -> None:
    assert constant(read_statement("SELECT 5 IS IS 5", "sqlite"))
    assert not constant(read_statement("SELECT a IS IS NOT 5 FROM t", "sqlite"))


@pytest.mark.parametrize(
    ("dialect", "text", "expected"),
    [
        ("sqlite", "SELECT date('now')", True),
        ("sqlite", "SELECT strftime('%Y', 'NOW') - a FROM t", True),
        ("sqlite", "SELECT date()", True),
        ("sqlite", "SELECT strftime('%Y')", True),
        ("sqlite", "SELECT CURRENT_DATE", True),
        ("sqlite", "SELECT date(d) FROM t", False),
        ("sqlite", "SELECT strftime('%Y', d) FROM t", False),
        ("sqlite", "SELECT 'it is now' FROM t", False),
        ("sqlite", "SELECT t.current_date FROM t", False),
        ("duckdb", "SELECT today()", True),
        ("duckdb", "SELECT age(d) FROM t", True),
        ("duckdb", "SELECT age(d, e) FROM t", False),
        ("postgres", "SELECT now()", True),
        ("postgres", "SELECT 'today'::date", True),
        ("postgres", "SELECT age(d) FROM t", True),
        ("postgres", "SELECT age(f(d, 1), e) FROM t", False),
        ("postgres", "SELECT LOCALTIMESTAMP", True),
        ("mysql", "SELECT NOW()", True),
        ("mysql", "SELECT CURDATE()", True),
        ("mysql", "SELECT UNIX_TIMESTAMP()", True),
        ("mysql", "SELECT UNIX_TIMESTAMP(d) FROM t", False),
        ("mysql", "SELECT YEAR(d) FROM t", False),
    ],
)
def test_what_asks_the_clock_is_known(dialect: str, text: str, expected: bool) -> None:
    assert time_dependent(read_statement(text, dialect)) is expected
