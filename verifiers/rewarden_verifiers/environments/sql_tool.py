"""A database as a tool: the policy queries it, and answers a question (extra `sql`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from rewarden.errors import InvalidReference, InvalidSample, SampleError
from rewarden_verifiers.contract import Unwatched
from rewarden_verifiers.environments.calculator import number_of
from rewarden_verifiers.environments.contract import (
    BadOptions,
    Corpora,
    Environment,
    Illegal,
    NotAMove,
    Observation,
    Tool,
    Turn,
    read_action,
)
from rewarden_verifiers.environments.search import words_of
from rewarden_verifiers.sql import guard
from rewarden_verifiers.sql.databases import CarriedDatabase, Databases
from rewarden_verifiers.sql.dependence import time_dependent
from rewarden_verifiers.sql.engines import engine_named
from rewarden_verifiers.sql.engines.engine import Cell, QueryFailed, ResultSet
from rewarden_verifiers.sql.gold import CONNECTIONS, Gold, carried, prepare
from rewarden_verifiers.sql.params import SqlParams
from rewarden_verifiers.sql.reference import SqlReference
from rewarden_verifiers.sql.statement import Statement, read_statement
from rewarden_verifiers.sql.tokens import Unreadable
from rewarden_verifiers.sql.verifier import sql

_LOOK = (
    Tool(name="schema", meaning="See the tables and their columns."),
    Tool(name="query", argument="sql", meaning="Ask the database by a query that only reads."),
)
_ANSWER = Tool(name="answer", argument="answer", meaning="Answer the question, which ends the episode.")
_SUBMIT = Tool(name="submit", argument="sql", meaning="Give the query that answers it, which ends the episode.")
_PARAMS = SqlParams(extraction="whole", time_s=1.0, max_rows=10_000, max_bytes=4 * 1024**2, memory_mb=64)
_SHOWN_ROWS, _SHOWN_CELL = 50, 200


@dataclass(frozen=True, kw_only=True)
class SqlOptions:
    """Options of `sql`.

    question: the question. database: as for the verifier `sql`, in SQLite or DuckDB. answer: the expected answer, or a
    list of acceptable ones; numbers are compared as numbers, other answers by their words. sql: instead, a query; the
    submitted query must have the same result, compared as by the verifier `sql`. suite: further databases on which the
    two must agree. budget: the number of queries; further ones are illegal.
    """

    question: str
    database: CarriedDatabase
    answer: str | tuple[str, ...] = ()
    sql: str | None = None
    suite: tuple[CarriedDatabase, ...] = ()
    budget: int = 20

    def __post_init__(self) -> None:
        if bool(self.answer) == (self.sql is not None):
            raise ValueError("give answer or sql")
        if self.suite and self.sql is None:
            raise ValueError("a suite needs sql")
        if not 0 <= self.budget <= 1000:
            raise ValueError("budget must be 0 to 1000")

    def gold(self) -> Gold | None:
        """The expected query and its result; None for an answer in words. Raises BadOptions, MissingDependency."""
        for option, one in (("database", self.database), *(("suite", other) for other in self.suite)):
            if one.engine not in ("sqlite", "duckdb"):
                raise BadOptions("must be in SQLite or DuckDB", f"{option}.engine")
        engine_named(self.database.engine)
        try:
            if self.sql is None:
                carried(self.database)
                return None
            reference = SqlReference(database=self.database, sql=self.sql, suite=self.suite)
            params = replace(_PARAMS, databases="suite" if self.suite else "one")
            return prepare(reference, params, Databases(), Unwatched())
        except (InvalidReference, InvalidSample) as error:
            path = str(error.details.get("path", "")).removeprefix("reference").lstrip(".")
            raise BadOptions(error.message, path) from None


class Sql(Environment):
    """A question about a database that the policy can query."""

    options = SqlOptions
    tools = (*_LOOK, _ANSWER, _SUBMIT)
    max_steps = 50

    @classmethod
    def load(cls, options: SqlOptions, corpora: Corpora) -> None:
        """Imports the engine and creates the database. Raises MissingDependency, BadOptions."""
        with _kept_whole():
            options.gold()

    def reset(self, seed: int, options: SqlOptions) -> Observation:
        """See `Environment`. It does not depend on the seed."""
        answers = [options.answer] if isinstance(options.answer, str) else options.answer
        if not all(words_of(answer) for answer in answers):
            raise BadOptions("must have words", "answer")
        self._answers, self._left, self._database = answers, options.budget, carried(options.database)
        with _kept_whole():
            self._gold = options.gold()
            self._schema()
        self._tools = (*_LOOK, _ANSWER if self._gold is None else _SUBMIT)
        return Observation(f"{options.question}\nActions: {', '.join(tool.form() for tool in self._tools)}.")

    def step(self, action: str) -> Turn:
        """See `Environment`. An error of the engine is an observation; a forbidden statement is illegal."""
        name, arguments = read_action(self._tools, action)
        with _kept_whole():
            if name == "schema":
                return Turn(observation=Observation(self._schema()))
            if name == "answer":
                return _ended(self._right(arguments[0]), "wrong")
            statement = self._read(arguments[0])
            if self._gold is not None and name == "submit":
                outcome = sql(statement.text, self._gold, _PARAMS, Unwatched())
                return _ended(outcome.passed is True, outcome.reason)
            if not self._left:
                raise Illegal("the budget of queries is used up")
            self._left -= 1
            return Turn(observation=Observation(self._asked(statement)))

    def _read(self, text: str) -> Statement:
        try:
            statement = read_statement(text, self._database.engine)
            guard.check(statement, writes=False)
        except Unreadable as refused:
            raise NotAMove(refused.message) from None
        except guard.Forbidden as refused:
            raise Illegal(refused.message) from None
        if time_dependent(statement):
            # Such a result would differ in a replay.
            raise Illegal("its result depends on the time")
        return statement

    def _asked(self, statement: Statement) -> str:
        try:
            with CONNECTIONS.session(self._database, "answer", {}) as session:
                return _table(session.query(statement.text, _PARAMS.caps, Unwatched()))
        except QueryFailed as failed:
            return f"{failed.reason}: {failed.message}"

    def _schema(self) -> str:
        try:
            with CONNECTIONS.session(self._database, "answer", {}) as session:
                tables = session.schema()
        except InvalidSample as error:
            raise BadOptions(error.message, "database") from None
        return "\n".join(
            f"{name}({', '.join(f'{column.name} {column.type}'.strip() for column in columns)})"
            for name, columns in tables.items()
        )

    def _right(self, text: str) -> bool:
        given = number_of(text)
        for answer in self._answers:
            wanted = number_of(answer)
            if wanted is not None and given == wanted:
                return True
            if wanted is None and words_of(text) == words_of(answer):
                return True
        return False


@contextmanager
def _kept_whole() -> Iterator[None]:
    """Closes interrupted connections, because their state is unknown."""
    try:
        yield
    except (SampleError, BadOptions, NotAMove, Illegal):
        raise
    except BaseException:
        CONNECTIONS.close()
        raise


def _ended(success: bool, why: str | None) -> Turn:
    return Turn(
        observation=Observation("Answered."),
        reward=float(success),
        done=True,
        success=success,
        why=None if success else why,
        cost=0.0,
    )


def _table(result: ResultSet) -> str:
    more = len(result.rows) - _SHOWN_ROWS
    rows = [" | ".join(map(_cell, row)) for row in result.rows[:_SHOWN_ROWS]]
    return "\n".join([" | ".join(map(_cell, result.columns)), *rows, *([f"({more} more rows)"] if more > 0 else [])])


def _cell(cell: Cell) -> str:
    """A cell on one line, so that its text cannot forge a row."""
    if cell is None:
        return "NULL"
    try:
        text = cell if isinstance(cell, str) else str(cell)
    except (ValueError, RecursionError):  # an integer with thousands of digits, or a list nested too deeply
        return f"<{type(cell).__name__}>"
    text = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text[: _SHOWN_CELL + 1])
    return text if len(text) <= _SHOWN_CELL else text[: _SHOWN_CELL - 1] + "…"
