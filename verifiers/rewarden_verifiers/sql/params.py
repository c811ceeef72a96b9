"""The options of `sql`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

from rewarden_verifiers.execution.candidate import Rule
from rewarden_verifiers.preset import Preset
from rewarden_verifiers.sql.comparison.settings import Comparison
from rewarden_verifiers.sql.engines.engine import Caps
from rewarden_verifiers.sql.extract import sql_rules
from rewarden_verifiers.sql.metrics.metrics import MetricName
from rewarden_verifiers.sql.official import Benchmark

Order = Literal["auto", "yes", "no"]
Columns = Literal["position", "any", "name", "subset"]

_LAX: Mapping[str, Any] = {"abs": 0.0, "rel": 0.0, "empty": "allow", "constants": True}
_FREE = ("extraction", "prefix", "time_s", "max_rows", "max_bytes", "memory_mb", "shown_rows")


@dataclass(frozen=True, kw_only=True)
class SqlParams:
    """Options of `sql`.

    preset: `spider` or `bird`: the official execution accuracy of Spider's test-suite script (without options) or of
        BIRD's script. Statements that `sql` refuses stay refused.
    extraction: Where to find the statement. `strict`: the last fenced block, labelled as SQL or not labelled. `lax`
        (default), in this order: an answer tag, a `<sql>` tag after the last block, the block that `strict` reads, any
        `<sql>` tag, the text after `SQL:` at the beginning of a line, the whole response. Or a list of rules as in
        `code`, which can include `{"tag": "sql"}`.
    prefix: The end of the prompt that the response continues, such as `SELECT`.
    order: Whether the order of rows counts. `auto`: if the reference says so or its outermost query has an ORDER BY.
    duplicates: Whether equal rows are counted separately. `false` compares sets of rows, as BIRD's script and Spider's
        first scripts do.
    columns: How to match columns. `position`: the first with the first, and so on; `any`: in any order; `name`: by
        name; `subset`: the answer contains the reference's columns, in any order, and at most 16 others.
    abs: Absolute tolerance for numbers that are not integers.
    rel: Relative tolerance for numbers that are not integers.
    texts: `exact`, or `folded`: ignoring case and surrounding white space.
    databases: `one`, or `suite`, which also runs the queries on the registered variants and on those in the reference.
    mutations: How many databases to generate from the schema and the constants of both queries; the results must agree
        on these too. If none can be generated for the reference, any query other than the reference's own that agrees
        is undecided.
    writes: Whether to judge statements that write, by the state of the tables afterwards. Otherwise they are refused.
    empty: What to do if the reference's result is empty: `undecided` or `allow`.
    constants: Whether to accept an answer that reads nothing from the database although the reference does.
    score: `execution` (1 if the results agree, else 0), or the name of a metric.
    metrics: Metrics to compute besides the score. They appear in the evidence and as components.
    time_s: Seconds that a statement can run: CPU time on SQLite and DuckDB, the server's clock on the others.
    max_rows: Maximum number of rows in a result.
    max_bytes: Maximum size of a result.
    memory_mb: Memory for sorting, grouping and joining, if the engine can limit it.
    shown_rows: Rows of each side to show in the feedback.
    """

    presets: ClassVar[Mapping[str, Preset]] = {
        "spider": Preset(sets={**_LAX, "columns": "any"}, free=(*_FREE, "databases")),
        "bird": Preset(sets={**_LAX, "order": "no", "duplicates": False}, free=_FREE),
    }

    preset: Benchmark | None = None
    extraction: str | tuple[str | dict[str, str], ...] = "lax"
    prefix: str = ""
    order: Order = "auto"
    duplicates: bool = True
    columns: Columns = "position"
    abs: float = 1e-9
    rel: float = 1e-6
    texts: Literal["exact", "folded"] = "exact"
    databases: Literal["one", "suite"] = "one"
    mutations: int = 0
    writes: bool = False
    empty: Literal["undecided", "allow"] = "undecided"
    constants: bool = False
    score: Literal["execution", MetricName] = "execution"
    metrics: tuple[MetricName, ...] = ()
    time_s: float = 5.0
    max_rows: int = 100_000
    max_bytes: int = 64 * 1024**2
    memory_mb: int = 256
    shown_rows: int = 3

    def __post_init__(self) -> None:
        for name, least, most in _BOUNDS:
            if not least <= getattr(self, name) <= most:
                raise ValueError(f"{name} must be from {least} to {most}")
        if len(set(self.metrics)) < len(self.metrics):
            raise ValueError("metrics: each may be named once")
        self.rules  # noqa: B018 - worked out now, so that a mistake is told once and not for each sample

    @cached_property
    def rules(self) -> Sequence[Rule]:
        """`extraction` as rules."""
        return sql_rules(self.extraction)

    @cached_property
    def caps(self) -> Caps:
        """The limits of one statement."""
        return Caps(time_s=self.time_s, rows=self.max_rows, bytes=self.max_bytes, memory_mb=self.memory_mb)

    @cached_property
    def wanted(self) -> Sequence[MetricName]:
        """The metrics to compute, including the score's."""
        first = () if self.score == "execution" else (self.score,)
        return tuple(dict.fromkeys((*first, *self.metrics)))

    def comparison(self, ordered: bool, keys: tuple[int, ...] = ()) -> Comparison:
        """Returns the settings of the comparison. ordered, keys: see `Comparison`."""
        return Comparison(
            ordered=ordered,
            keys=keys,
            duplicates=self.duplicates,
            columns=self.columns,
            abs=self.abs,
            rel=self.rel,
            folded=self.texts == "folded",
        )


_BOUNDS = (
    ("abs", 0.0, 1e6),
    ("rel", 0.0, 1.0),
    ("mutations", 0, 32),
    ("time_s", 0.01, 120.0),
    ("max_rows", 1, 10_000_000),
    ("max_bytes", 1024, 1024**3),
    ("memory_mb", 8, 65_536),
    ("shown_rows", 0, 50),
)
