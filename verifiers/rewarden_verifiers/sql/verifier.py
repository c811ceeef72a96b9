"""The verifier `sql`: compares the result of the response's query with that of the reference's query."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

from rewarden.errors import MissingDependency, SampleError
from rewarden.types import Component, Outcome
from rewarden_verifiers.contract import Watch, verifier
from rewarden_verifiers.execution.candidate import Candidate
from rewarden_verifiers.extraction import encodable
from rewarden_verifiers.outcome import no_answer, scored, undecided, wrong
from rewarden_verifiers.sql import feedback, guard
from rewarden_verifiers.sql.comparison.comparison import Difference, difference
from rewarden_verifiers.sql.comparison.settings import Comparison
from rewarden_verifiers.sql.databases import Database, Databases, EngineName
from rewarden_verifiers.sql.dependence import constant, time_dependent
from rewarden_verifiers.sql.engines import engine_named
from rewarden_verifiers.sql.engines.engine import QueryFailed, ResultSet
from rewarden_verifiers.sql.extract import continued, find_statement
from rewarden_verifiers.sql.gold import CONNECTIONS, Gold, prepare
from rewarden_verifiers.sql.metrics import metrics
from rewarden_verifiers.sql.mutation.mutated import mutated
from rewarden_verifiers.sql.official import amended, told_apart
from rewarden_verifiers.sql.params import SqlParams
from rewarden_verifiers.sql.statement import Statement, read_statement, sorted_by
from rewarden_verifiers.sql.tokens import Unreadable
from rewarden_verifiers.sql.writing import differs, written


def warm() -> None:
    """Loads the installed engines, and each dialect's parser, before workers are forked."""
    for name in get_args(EngineName):
        with contextlib.suppress(MissingDependency):
            engine_named(name)
            read_statement("SELECT 1", name)


_LIMITS = ("time_limit", "memory_limit", "rows_limit", "bytes_limit")


@verifier(
    version="2",
    graded=True,
    requires=("sql",),
    blocking=True,
    resources=Databases,
    prepare=prepare,
    warm=warm,
)
def sql(response: str, prepared: Gold, params: SqlParams, watch: Watch) -> Outcome:
    """The response's query returns the same result as the reference's query, on a real database.

    The response must be a single read-only statement; everything else is refused. So is a query that only selects
    constants, unless the reference's query does too. Both queries run on separate connections with enforced limits.
    Rows are compared with duplicates, and in order if the reference's query specifies an order. Metrics give partial
    credit (`score`, `metrics`).
    """
    try:
        return _Judgement(prepared, params, watch).outcome(response)
    except SampleError:
        raise
    except BaseException:
        # An interruption may have left the connections in any state.
        CONNECTIONS.close()
        raise


@dataclass
class _Judgement:
    """The judgement of one response."""

    gold: Gold
    params: SqlParams
    watch: Watch
    evidence: dict[str, Any] = field(default_factory=dict)
    extracted: str | None = None
    timed: bool = False

    def outcome(self, response: str) -> Outcome:
        found = find_statement(continued(self.params.prefix, response), self.params.rules)
        if not isinstance(found, Candidate):
            return self._zero(found.reason, flags=found.flags)
        self.evidence["rule"] = found.rule
        self.extracted = found.code.strip()
        database = self.gold.databases[0]
        self.evidence["database"] = {
            "id": database.id,
            "engine": database.engine,
            "version": database.version,
        }
        try:
            statement = read_statement(amended(found.code, self.params.preset, self.gold.dialect), self.gold.dialect)
            guard.check(statement, writes=self.params.writes)
        except (Unreadable, guard.Forbidden) as refused:
            return self._zero(refused.reason, refused.message)
        if not self.params.constants and not self.gold.writes and self.gold.reads_rows and constant(statement):
            return self._zero("constant_answer", "its result does not depend on the database's rows")
        self.timed = self.gold.timed or time_dependent(statement)
        try:
            return self._judged(statement, database)
        except QueryFailed as failed:
            # The engine's message may quote the statement, so the reason decides.
            flags = ("too_expensive",) if failed.reason in _LIMITS else ()
            return self._zero(failed.reason, failed.message, flags=flags, statement=statement)

    def _judged_write(self, statement: Statement) -> Outcome:
        if statement.kind != "write":
            return self._zero("not_a_write", "it only reads, but the task asks for a change")
        for database in self.gold.databases:
            expected = self.gold.written(database, self.params.caps, self.watch)
            got = written(database, statement, self.gold.servers, self.params.caps, self.watch)
            how = self.params.comparison(False)
            found = differs(expected, got, how)
            if found is not None:
                self.evidence["differs_in"] = {"database": database.id, "table": found.table}
                none: dict[str, float] = dict.fromkeys(self.params.wanted, 0.0)
                return self._differs(found.how, found.expected, found.got, none, how, reason="wrong_state")
        return self._outcome(True, dict.fromkeys(self.params.wanted, 1.0))

    def _judged(self, statement: Statement, database: Database) -> Outcome:
        if self.gold.writes:
            return self._judged_write(statement)
        if statement.kind == "write":
            return self._zero("writes", "it writes, but the task asks for a result")
        expected = list(self.gold.expected(database, self.params.caps, self.watch))
        got = self._answer(statement, database)
        differences = self._differences(expected, got, database)
        place = differences.index(None) if None in differences else 0
        values = self._metrics(statement, place, expected[place], got)
        self.evidence["rows"] = {"expected": len(expected[place].rows), "got": len(got.rows)}
        apart = None not in differences
        if apart and not self.gold.rowless:
            return self._differs(differences[0], expected[0], got, values, self._how(0))
        # An answer must match the same reference on all databases: matching a different one on each does not count.
        left = [place for place, found in enumerate(differences) if found is None or self.gold.rowless]
        for number, other in enumerate(self._others(statement), start=2):
            theirs = list(self.gold.expected(other, self.params.caps, self.watch))
            ours = self._answer(statement, other)
            told = self._differences(theirs, ours, other)
            place, left = left[0], [place for place in left if told[place] is None]
            if not left:
                self.evidence["differs_on"] = {"database": other.id, "place": number}
                # Partial credit is the lower of both databases' values: a lucky match must not pay.
                least = self._metrics(statement, place, theirs[place], ours)
                values = {name: min(value, least[name]) for name, value in values.items()}
                why = "differs_on_another_database"
                return self._differs(told[place], theirs[place], ours, values, self._how(place), reason=why)
        if self._untested(statement):
            if apart:
                return self._differs(differences[0], expected[0], got, values, self._how(0))
            return undecided("not_mutated", extracted=self.extracted, evidence=self.evidence)
        return self._outcome(True, values)

    def _untested(self, statement: Statement) -> bool:
        """Returns whether mutation was requested but could not make any database, for a query other than the
        references'.

        That is never the response's doing: if only its query is in the way, it is judged on the databases made for the
        reference.
        """
        made = len(self.gold.databases) > 1 or self.evidence.get("mutations") != 0
        return not made and all(statement.normal != reference.normal for reference in self.gold.statements)

    def _others(self, statement: Statement) -> Iterator[Database]:
        """The databases on which answers must agree as well: the suite's, then mutated ones."""
        yield from self.gold.databases[1:]
        if self.params.mutations:
            made = mutated(self.gold, statement, self.params, self.watch)
            self.evidence["mutations"] = len(made.databases)
            if made.why is not None:
                self.evidence["mutations_why"] = encodable(made.why)
            yield from made.databases

    def _answer(self, statement: Statement, database: Database) -> ResultSet:
        with CONNECTIONS.session(database, "answer", self.gold.servers, self.watch) as session:
            return session.query(statement.text, self.params.caps, self.watch)

    def _differences(self, expected: list[ResultSet], got: ResultSet, database: Database) -> list[Difference | None]:
        """Returns the difference between an answer and each expected result. If the reference's order has ties, the
        permitted result that matches the answer replaces the one that the engine happened to return.
        """
        preset = self.params.preset
        if preset is not None:
            return [told_apart(result, got, self._how(place), preset) for place, result in enumerate(expected)]
        found = [difference(result, got, self._how(place)) for place, result in enumerate(expected)]
        for place, what in enumerate(found):
            if what not in ("values", "order", "duplicates"):
                continue
            tied = self.gold.tied(place, database, got, self.params.caps, self.watch)
            if tied is not None and difference(tied, got, self._how(place)) is None:
                expected[place], found[place] = tied, None
                self.evidence["tied"] = True
        return found

    def _how(self, place: int) -> Comparison:
        """Returns the comparison settings for the reference's query at this position."""
        keys = sorted_by(self.gold.statements[place]) if self.gold.statements else ()
        return self.params.comparison(self.gold.ordered(place, self.params), keys)

    def _metrics(self, statement: Statement, place: int, expected: ResultSet, got: ResultSet) -> dict[str, float]:
        if not self.params.wanted:
            return {}
        pair = metrics.Pair(
            expected=expected,
            got=got,
            reference=self.gold.statements[place] if self.gold.statements else None,
            answer=statement,
            how=self._how(place),
        )
        return metrics.work_out(self.params.wanted, pair)

    def _differs(
        self,
        how: Difference | None,
        expected: ResultSet,
        got: ResultSet,
        values: dict[str, float],
        comparison: Comparison,
        reason: str = "wrong_result",
    ) -> Outcome:
        self.evidence["difference"] = how
        shown = feedback.difference(how, expected, got, self.params.shown_rows, comparison)
        return self._outcome(False, values, reason, shown)

    def _outcome(
        self, passed: bool, values: dict[str, float], reason: str | None = None, shown: str | None = None
    ) -> Outcome:
        score = values[self.params.score] if self.params.score != "execution" else float(passed)
        if values:
            self.evidence["metrics"] = values
        return scored(
            score,
            passed=passed,
            reason=reason,
            components={name: Component(status="scored", score=value) for name, value in values.items()},
            feedback=shown,
            extracted=self.extracted,
            evidence=self.evidence,
            flags=("time_dependent",) if self.timed else (),
        )

    def _zero(
        self,
        reason: str,
        message: str | None = None,
        flags: Sequence[str] = (),
        statement: Statement | None = None,
    ) -> Outcome:
        """The outcome without a result to compare. If a permitted statement failed, the metrics of its text are still
        reported as parts (Reasoning-SQL pays for these even if a query fails); the score is 0 whatever the option
        `score` says.
        """
        values: dict[str, float] = dict.fromkeys(self.params.wanted, 0.0)
        if statement is not None and self.gold.statements and not self.gold.writes:
            texts = [name for name in self.params.wanted if name in metrics.OF_TEXTS]
            values |= metrics.of_texts(texts, self.gold.statements[0], statement)
        if values:
            self.evidence["metrics"] = values
        make = no_answer if self.extracted is None else wrong
        return make(
            reason,
            components={name: Component(status="scored", score=value) for name, value in values.items()},
            feedback=None if message is None else encodable(message),
            extracted=self.extracted,
            evidence=self.evidence,
            flags=flags,
        )
