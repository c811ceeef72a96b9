"""The options of a rescore, and the error by which it refuses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

from rewarden.errors import RewardenError
from rewarden.routing import Routing
from rewarden.types import Progress
from rewarden.wire.json import VERDICT_FIELDS
from rewarden_server.studies.rescore.baseline import PASSES

_HELD_BY_THE_ROW = ("index", "id", "group", "data_source", "metadata")
_OF_ONE_RUN = ("cached", "queue_s", "run_s")

VERDICT_FIELDS_KEPT = tuple(name for name in VERDICT_FIELDS if name not in (*_HELD_BY_THE_ROW, *_OF_ONE_RUN))
"""The fields of a verdict that are written when nothing else is asked for: all but what the row holds already (id,
group, data source, metadata) and what differs from run to run (times, cache hits)."""

THEIRS_STAYS = "rewarden_score"
"""The column of our scores where the usual one holds scores that the rows have already."""

Only = Literal["scored", "undecided", "error", "missing"]


class RescoreError(RewardenError):
    """The rescore is refused before any work, or its journal cannot be gone on with; the message names the fix."""

    code: ClassVar[str] = "rescore"


@dataclass(frozen=True, slots=True, kw_only=True)
class RescoreOptions:
    """One rescore. Sizes in the unit of the name, times in seconds.

    input: a file of rollouts, a directory of them, or several of either. output: a file, or for more than one input
    file a directory that mirrors them. columns: field to column, as given; what is not given is known from the rows'
    shape, or guessed. routing: who judges what. sort: bring the members of a group together on disk first. only:
    statuses of earlier verdicts that are scored again. unscored: what stands as the score of an unscored response:
    None (null), "skip" (the row is left out) or a number. overwrite: columns of the input named like ours may be
    replaced. baseline: the column of the scores that the rows have already, to be compared with ours; None: as known
    from the rows' shape, "-": none. baseline_passes: their score from which a response passes. force: an output or an
    unfinished run that stands there may be replaced. checkpoint_s: between durable checkpoints. sort_mb: memory for
    sorting. window_rows, window_mb: rows that may be between the oldest unfinished one and the newest. group_rows: the
    most rows of one group. progress: that of training, for scheduled values; the same for all rows.
    """

    input: Path | Sequence[Path]
    output: Path
    routing: Routing = field(default_factory=lambda: Routing.by_source(()))
    columns: Mapping[str, str] = field(default_factory=dict)
    sort: bool = False
    only: frozenset[str] = frozenset()
    unscored: float | Literal["skip"] | None = None
    score_column: str = "score"
    verdict_column: str = "verdict"
    fields: tuple[str, ...] = VERDICT_FIELDS_KEPT
    overwrite: bool = False
    baseline: str | None = None
    baseline_passes: float = PASSES
    resume: bool = False
    force: bool = False
    checkpoint_s: float = 2.0
    sort_mb: int = 64
    line_mb: int = 64
    window_rows: int = 16_384
    window_mb: int = 128
    group_rows: int = 100_000
    progress: Progress | None = None

    @property
    def paths(self) -> tuple[Path, ...]:
        """Returns the paths that were given as input."""
        return (self.input,) if isinstance(self.input, Path) else tuple(self.input)

    def identity(self) -> dict[str, Any]:
        """Returns the options that determine the output's bytes, ready for JSON. A resumed run must have the same."""
        return {
            self.routing.flag or "--routing": self.routing.identity(),
            "--sort": self.sort,
            "--only": sorted(self.only),
            "--unscored": self.unscored,
            "--score-column": self.score_column,
            "--verdict-column": self.verdict_column,
            "--fields": list(self.fields),
            "--overwrite": self.overwrite,
            "--max-line-mb": self.line_mb,
            **({} if self.progress is None else {"--step": asdict(self.progress)}),
        }
