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

    preset: `spider` or `bird`: the official execution accuracy of Spider's test-suite script, without options, or of
        BIRD's. What `sql` refuses to run stays refused.
    extraction: where the statement stands: `strict` reads the last fenced block, labelled as SQL or not at all; `lax`
        (default) an answer tag, a tag `<sql>` behind the last block, then such a block, then `SQL:` at the beginning of
        a line, then the whole response; or a list of rules as `code` has them,
        `{"tag": "sql"}` among them.
    prefix: what the prompt ends with and the response goes on from, such as `SELECT`.
    order: whether the order of rows counts: `auto` where the reference says so, or its outermost query is ordered.
    duplicates: whether equal rows are counted, or make one (as BIRD's and Spider's first scripts have it).
    columns: `position`: the first column is compared with the first; `any`: in whatever order they stand; `name`: by
        name; `subset`: the reference's columns are among the answer's, in any order, beside 16 more at most.
    abs, rel: tolerances of numbers that are not whole.
    texts: `exact`, or `folded`: without case and white space at the ends.
    databases: `one`, or `suite`: the registered variants, and those of the reference, as well.
    mutations: how many databases are made from the schema and the constants of both queries, on which the answers must
        agree too; where none can be made for the reference, another query that agrees is undecided.
    writes: whether statements that write are judged, by the state of the tables after them; else they are refused.
    empty: what becomes of a reference whose result is empty: `undecided`, or `allow`.
    constants: whether an answer may hold nothing of the database while the reference's does.
    score: `execution`: 1 where the results agree, else 0; or the name of a metric.
    metrics: metrics that are worked out beside the score, in the evidence and as components.
    time_s, max_rows, max_bytes, memory_mb: what one statement may take; see `Caps`.
    shown_rows: rows of each side in the feedback.
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
        """Returns what one statement may take."""
        return Caps(time_s=self.time_s, rows=self.max_rows, bytes=self.max_bytes, memory_mb=self.memory_mb)

    @cached_property
    def wanted(self) -> Sequence[MetricName]:
        """The metrics to work out, the score's among them."""
        first = () if self.score == "execution" else (self.score,)
        return tuple(dict.fromkeys((*first, *self.metrics)))

    def comparison(self, ordered: bool, keys: tuple[int, ...] = ()) -> Comparison:
        """Returns how results are compared. ordered, keys: see `Comparison`."""
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
