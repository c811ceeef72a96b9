"""Partial credit: measures how far an answer agrees with the reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

from rewarden.errors import InvalidParams, InvalidReference, SampleError
from rewarden_verifiers.sql.comparison.comparison import difference
from rewarden_verifiers.sql.comparison.settings import Comparison
from rewarden_verifiers.sql.engines.engine import ResultSet
from rewarden_verifiers.sql.metrics import statement_metrics
from rewarden_verifiers.sql.metrics.result_metrics import Overlap, f1
from rewarden_verifiers.sql.metrics.statement_metrics import Anatomy, anatomy
from rewarden_verifiers.sql.statement import Statement

MetricName = Literal[
    "cell_precision",
    "cell_recall",
    "cell_f1",
    "row_f1",
    "column_f1",
    "soft_f1",
    "tuple_cardinality",
    "linking_tables",
    "linking_columns",
    "ngrams",
    "clauses",
    "exact_set",
    "efficiency",
]
METRICS: tuple[MetricName, ...] = get_args(MetricName)


class CostUnknown(SampleError):
    """The engine does not report the cost of a query, so `efficiency` is undefined."""

    reason = "cost_unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """An answer and the reference, run on the same database. reference: None if its result is stored."""

    expected: ResultSet
    got: ResultSet
    reference: Statement | None
    answer: Statement
    how: Comparison


def work_out(names: Sequence[MetricName], pair: Pair) -> dict[str, float]:
    """Computes the named metrics of a pair, each from 0 to 1.

    cell_precision, cell_recall, cell_f1, row_f1, column_f1, soft_f1, tuple_cardinality: see `Overlap`. ngrams,
    linking_tables, linking_columns, clauses, exact_set: see `statement_metrics`; all but the first are 0 for an answer
    that cannot be parsed. efficiency: the reference's cost divided by the answer's (`ResultSet.cost`), at most 1; 0 if
    the results differ.

    Raises InvalidParams if one needs the reference's statement and the reference is a stored result, InvalidReference
    if it cannot be parsed but must be, CostUnknown.
    """
    work = _Work(pair)
    return {name: float(_METRICS[name](work)) for name in names}


OF_TEXTS: frozenset[MetricName] = frozenset({"linking_tables", "linking_columns", "ngrams", "clauses", "exact_set"})
"""Metrics that compare statements, whatever their results."""


def of_texts(names: Sequence[MetricName], reference: Statement, answer: Statement) -> dict[str, float]:
    """Computes the metrics of `OF_TEXTS` for an answer without a result. Raises as `work_out`."""
    nothing = ResultSet((), [])
    return work_out(names, Pair(expected=nothing, got=nothing, reference=reference, answer=answer, how=Comparison()))


@dataclass
class _Work:
    """A pair, with values that several metrics share."""

    pair: Pair

    @cached_property
    def overlap(self) -> Overlap:
        return Overlap(self.pair.expected, self.pair.got, self.pair.how)

    @cached_property
    def cells(self) -> tuple[float, float]:
        return self.overlap.cells()

    @cached_property
    def anatomies(self) -> tuple[Anatomy, Anatomy | None]:
        assert self.pair.reference is not None
        reference = anatomy(self.pair.reference)
        if reference is None:
            raise InvalidReference("reference.sql: it cannot be taken apart into clauses", path="reference.sql")
        return reference, anatomy(self.pair.answer)

    def statement(self, name: MetricName) -> Statement:
        if self.pair.reference is None:
            raise InvalidParams(
                f"metrics: {name} compares statements, and the reference is a stored result", path="params.metrics"
            )
        return self.pair.reference

    def apart(self, name: MetricName, measure: Callable[[Anatomy, Anatomy], float]) -> float:
        self.statement(name)
        reference, answer = self.anatomies
        return 0.0 if answer is None else measure(reference, answer)

    def efficiency(self) -> float:
        self.statement("efficiency")
        costs = self.pair.expected.cost, self.pair.got.cost
        if difference(self.pair.expected, self.pair.got, self.pair.how) is not None:
            return 0.0
        if costs[0] is None or costs[1] is None:
            raise CostUnknown("metrics: efficiency: the engine does not tell how much it worked")
        return 1.0 if costs[1] <= costs[0] else costs[0] / costs[1]


_METRICS: Mapping[MetricName, Callable[[_Work], float]] = {
    "cell_precision": lambda work: work.cells[0],
    "cell_recall": lambda work: work.cells[1],
    "cell_f1": lambda work: f1(*work.cells),
    "row_f1": lambda work: work.overlap.rows(),
    "column_f1": lambda work: work.overlap.columns(),
    "soft_f1": lambda work: work.overlap.soft(),
    "tuple_cardinality": lambda work: work.overlap.sizes(),
    "linking_tables": lambda work: work.apart("linking_tables", statement_metrics.linked_tables),
    "linking_columns": lambda work: work.apart("linking_columns", statement_metrics.linked_columns),
    "ngrams": lambda work: statement_metrics.ngrams(work.statement("ngrams"), work.pair.answer),
    "clauses": lambda work: work.apart("clauses", statement_metrics.likeness),
    "exact_set": lambda work: work.apart("exact_set", statement_metrics.same),
    "efficiency": lambda work: work.efficiency(),
}
