"""The prepared reference: its databases, its parsed and checked queries, and their cached results."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TypeVar

from rewarden.errors import InvalidReference, InvalidSample
from rewarden_verifiers.canonical import canonical
from rewarden_verifiers.contract import Watch
from rewarden_verifiers.sql import guard
from rewarden_verifiers.sql.connections import Connections
from rewarden_verifiers.sql.databases import CarriedDatabase, Database, Databases
from rewarden_verifiers.sql.dependence import constant, time_dependent
from rewarden_verifiers.sql.engines import engine_named
from rewarden_verifiers.sql.engines.engine import Caps, QueryFailed, ResultSet
from rewarden_verifiers.sql.kept import Kept
from rewarden_verifiers.sql.make import quoted
from rewarden_verifiers.sql.official import amended, orders
from rewarden_verifiers.sql.params import SqlParams
from rewarden_verifiers.sql.reference import SqlReference
from rewarden_verifiers.sql.statement import Statement, read_statement
from rewarden_verifiers.sql.ties import OpenOrder, open_order
from rewarden_verifiers.sql.tokens import Unreadable
from rewarden_verifiers.sql.writing import Written, differs, written

T = TypeVar("T")

CONNECTIONS = Connections()
"""This process's sessions."""


class EmptyReference(InvalidReference):
    """The reference's result has no rows, or only NULLs, which is what an aggregate over no rows returns: any query
    that finds nothing would agree with it.
    """

    reason = "empty_reference"


class ReferenceFailed(InvalidReference):
    """The reference's own query fails."""

    reason = "reference_failed"


def _bytes(result: ResultSet) -> int:
    """The approximate size of a result."""
    cells = sum(len(cell) for row in result.rows for cell in row if isinstance(cell, (str, bytes)))
    return 256 + 64 * sum(map(len, result.rows)) + cells


# The reference's results, by database and statement.
RESULTS: Kept[ResultSet] = Kept(128 * 1024**2, _bytes, largest=32 * 1024**2)
WRITTEN: Kept[Written] = Kept(200_000, lambda done: done.size, largest=50_000)


@dataclass(frozen=True, eq=False)
class Gold:
    """A reference, ready for judging.

    databases: the one that it names, then those on which answers must agree as well. statements: its queries, any of
    which an answer may match; empty if `stored` has the result. rowless: whether the first database is only a schema,
    whose rows are made by mutation: over no rows, equivalent queries differ in NULL and 0.
    """

    databases: tuple[Database, ...]
    statements: tuple[Statement, ...]
    stored: ResultSet | None
    order_told: bool | None
    servers: Mapping[str, str]
    rowless: bool = False

    @property
    def dialect(self) -> str:
        """sqlglot's name of the dialect."""
        return self.databases[0].engine

    @cached_property
    def reads_rows(self) -> bool:
        """Returns whether the reference's result depends on the database's rows."""
        return self.stored is not None or not any(constant(statement) for statement in self.statements)

    @cached_property
    def timed(self) -> bool:
        """Returns whether the results of its queries depend on the time at which they run."""
        return any(time_dependent(statement) for statement in self.statements)

    @property
    def writes(self) -> bool:
        """Returns whether the task is to change the database, and not to query it."""
        return any(statement.kind == "write" for statement in self.statements)

    @cached_property
    def _orders(self) -> tuple[OpenOrder | None, ...]:
        """The open order of each query, without its LIMIT; computed when the first answer differs."""
        return tuple(map(open_order, self.statements))

    def ordered(self, place: int, params: SqlParams) -> bool:
        """Returns whether the order of rows counts for the query at this position."""
        if params.order != "auto":
            return params.order == "yes"
        if params.preset == "spider" and self.stored is None:
            return orders(self.statements[place].text)
        if self.order_told is not None:
            return self.order_told
        return self.stored is None and self.statements[place].ordered

    def expected(self, database: Database, caps: Caps, watch: Watch) -> Sequence[ResultSet]:
        """The results of all queries on a database. Raises ReferenceFailed, SampleError, Expired."""
        if self.stored is not None:
            return (self.stored,)

        def ask(statement: Statement) -> ResultSet:
            with CONNECTIONS.session(database, "reference", self.servers, watch) as session:
                return session.query(statement.text, caps, watch)

        return [_known(RESULTS, database, statement, ask, watch) for statement in self.statements]

    def tied(self, place: int, database: Database, got: ResultSet, caps: Caps, watch: Watch) -> ResultSet | None:
        """The result closest to an answer's among those that the order of this query permits; None if the order leaves
        nothing open, or that cannot be determined.
        """
        order = self._orders[place] if self.statements else None
        if order is None:
            return None
        rows = RESULTS.get((database.key, order.text))
        try:
            if rows is None:
                with watch.preparing(), CONNECTIONS.session(database, "reference", self.servers, watch) as session:
                    rows = session.query(order.text, caps, watch)
                if not self.timed:
                    RESULTS.put((database.key, order.text), rows)
            return order.fitted(rows, got)
        except (QueryFailed, ArithmeticError, TypeError):
            return None

    def written(self, database: Database, caps: Caps, watch: Watch) -> Sequence[Written]:
        """Returns the effect of each statement on a database. Raises ReferenceFailed, SampleError, Expired."""

        def ask(statement: Statement) -> Written:
            return written(database, statement, self.servers, caps, watch)

        return [_known(WRITTEN, database, statement, ask, watch) for statement in self.statements]


def _known(kept: Kept[T], database: Database, statement: Statement, ask: Callable[[Statement], T], watch: Watch) -> T:
    """Returns the result of a reference's statement on a database, cached unless it depends on the time."""
    key = (database.key, statement.text)
    found = kept.get(key)
    if found is None:
        try:
            with watch.preparing():
                found = ask(statement)
        except QueryFailed as failed:
            raise ReferenceFailed(f"reference.sql: {failed.reason}: {failed.message}", path="reference.sql") from None
        if not time_dependent(statement):
            kept.put(key, found)
    return found


def _says(result: ResultSet) -> bool:
    return any(cell is not None for row in result.rows for cell in row)


def prepare(reference: SqlReference, params: SqlParams, resources: Databases, watch: Watch) -> Gold:
    """Reads and checks a reference, and runs it on the first database.

    Raises InvalidReference (including empty_reference and reference_failed), InvalidSample for an unknown database.
    """
    databases = _databases(reference, params, resources)
    engine_named(databases[0].engine)  # report a missing package before any other error
    statements = tuple(_read(text, databases[0].engine, params) for text in reference.queries)
    stored = None
    if reference.result is not None:
        width = len(reference.result.rows[0]) if reference.result.rows else len(reference.result.columns or ())
        columns = reference.result.columns or tuple(f"c{place}" for place in range(width))
        if not columns and (reference.result.rows or params.empty == "allow"):
            raise InvalidReference("reference.result: it has no columns; give columns", path="reference.result.columns")
        if any(len(row) != len(columns) for row in reference.result.rows):
            raise InvalidReference("reference.result: rows and columns differ in number", path="reference.result.rows")
        stored = ResultSet(columns, list(reference.result.rows))
        if len(databases) > 1 or params.mutations:
            raise InvalidReference(
                "reference: a stored result holds for one database; give sql", path="reference.result"
            )
    gold = Gold(databases, statements, stored, reference.ordered, resources.servers)
    if gold.writes:
        if any(statement.kind != "write" for statement in statements):
            raise InvalidReference("reference.sql: either all of them write, or none", path="reference.sql")
        done = gold.written(databases[0], params.caps, watch)
        untouched = written(databases[0], None, resources.servers, params.caps, watch)
        if params.empty != "allow" and any(
            differs([untouched], item, params.comparison(False)) is None for item in done
        ):
            raise EmptyReference(
                "reference: it changes nothing, so every statement that changes nothing would be right"
            )
    elif params.mutations and _rowless(gold, watch):
        gold = replace(gold, rowless=True)
    elif params.empty != "allow":
        results = gold.expected(databases[0], params.caps, watch)
        if not all(_says(result) for result in results):
            # One empty result is enough: any of the queries may be matched.
            raise EmptyReference("reference: its result is empty, so every query that finds nothing would be right")
    return gold


def _rowless(gold: Gold, watch: Watch) -> bool:
    """Returns whether the first database is only a schema."""
    database = gold.databases[0]
    caps = Caps()
    with CONNECTIONS.session(database, "reference", gold.servers, watch) as session:
        tables = (quoted(name, database.engine) for name in session.schema())
        return not any(session.query(f"SELECT 1 FROM {table} LIMIT 1", caps, watch).rows for table in tables)


def _read(text: str, dialect: str, params: SqlParams) -> Statement:
    try:
        statement = read_statement(amended(text, params.preset, dialect), dialect)
        guard.check(statement, writes=params.writes)
    except (Unreadable, guard.Forbidden) as error:
        hint = _INSTEAD.get(error.reason, "")
        raise InvalidReference(f"reference.sql: {error.message}{hint}", path="reference.sql") from None
    return statement


_INSTEAD = {
    "forbidden_function": "; give its rows as reference.result instead",
    "writes": "; params.writes lets statements write",
}
"""Hints on how to fix a rejected reference."""


def _databases(reference: SqlReference, params: SqlParams, resources: Databases) -> tuple[Database, ...]:
    first = _found(reference.database, resources)
    if params.databases == "one":
        return first[:1]
    more = [item for named in reference.suite for item in _found(named, resources)[:1]]
    found = (*first, *more)
    if any(item.engine != found[0].engine for item in found):
        raise InvalidReference("reference.suite: the databases of a suite are of one engine", path="reference.suite")
    if len(found) == 1:
        raise InvalidReference(
            "reference: databases='suite', but there is one database only: give reference.suite, or register variants",
            path="reference.suite",
        )
    return found


def _found(named: str | CarriedDatabase, resources: Databases) -> tuple[Database, ...]:
    return resources.find(named) if isinstance(named, str) else (carried(named),)


def carried(sent: CarriedDatabase) -> Database:
    """Converts a database from a request. Raises InvalidSample."""
    version = hashlib.blake2b(canonical(asdict(sent)).encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
    image = None
    if sent.base64 is not None:
        if sent.engine != "sqlite" or sent.script or sent.tables:
            raise InvalidSample(
                "reference.database: base64 is a whole SQLite file, alone", path="reference.database.base64"
            )
        try:
            image = base64.b64decode(sent.base64, validate=True)
        except ValueError as error:
            raise InvalidSample(f"reference.database.base64: {error}", path="reference.database.base64") from None
    elif not sent.script and not sent.tables:
        raise InvalidSample("reference.database: give script, tables or base64", path="reference.database")
    return Database(
        id=f"carried-{version[:8]}",
        engine=sent.engine,
        version=version,
        script=sent.script or None,
        tables=sent.tables,
        image=image,
    )
