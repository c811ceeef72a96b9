"""Labelled data of others: rows of any file with a response, a reference and a label, judged beside Math-Verify.

A row whose `options` are filled is a question of choice: its reference is given with them. Right or wrong is what the
label says; an unscored verdict is never right, and counted apart.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rewarden.types import BadSample, Batch, Sample, Use, Verdict
from rewarden_server.engine.engine import Engine
from rewarden_server.studies.calibration.labels import LabelError, Scale, read_label
from rewarden_server.studies.rescore.columns import choose
from rewarden_server.studies.rescore.options import RescoreError
from rewarden_server.studies.rescore.read import find_inputs, read_lines
from rewarden_server.studies.rescore.units import parse, sample_of
from rewarden_server.studies.scorecard.cards import AT_ONCE, Counts
from rewarden_server.studies.scorecard.kinds import kind_of

LABELS = ("label", "correct", "is_correct", "right", "passed")
"""The usual columns of labels, the likeliest first."""

BESIDE = "math_verify"
"""The judge that is next to the measured one where its library is installed."""

ALL = "(all)"
_PEEKED = 200
_BATCH = 256
_LINE_BYTES = 64 * 1024**2


@dataclass(frozen=True, slots=True)
class LabelledRow:
    """A response with its label. place: the file and line; group: what the row is counted under."""

    place: str
    file: str
    group: str
    sample: Sample
    right: bool


@dataclass(slots=True)
class Measured:
    """A judge's counts: of all rows, by file and by group. misses: rows that were judged otherwise than labelled."""

    judge: str
    total: Counts = field(default_factory=Counts)
    files: dict[str, Counts] = field(default_factory=dict)
    groups: dict[str, Counts] = field(default_factory=dict)
    misses: list[tuple[LabelledRow, Verdict]] = field(default_factory=list)

    def judge_row(self, row: LabelledRow, verdict: Verdict) -> None:
        """Count one verdict."""
        self.files.setdefault(row.file, Counts()).count(row.right, verdict)
        self.groups.setdefault(row.group, Counts()).count(row.right, verdict)
        if not self.total.count(row.right, verdict):
            self.misses.append((row, verdict))


def read_labelled(
    paths: Sequence[Path], columns: Mapping[str, str], *, label: str | None = None, by: str = "kind"
) -> list[LabelledRow]:
    """The labelled rows of files and folders. label: the column of the label; by: the column of the group, where rows
    have it; otherwise the group is what the reference looks like. Raises RescoreError, naming the line.
    """
    inputs = find_inputs(paths)
    read = []
    for line, _ in read_lines(inputs, limit=_LINE_BYTES):
        row = parse(line)
        place = f"{inputs.names[line.file]}:{line.number}"
        if isinstance(row, str):
            raise RescoreError(f"{place}: {row}")
        read.append((place, inputs.names[line.file], line.number, row))
    if not read:
        raise RescoreError("there are no rows")
    seen = dict.fromkeys(name for *_, row in read for name in row)
    label = label or next((name for name in LABELS if name in seen), None)
    if label is None or label not in seen:
        raise RescoreError(
            f"no row has a label: name its column with --label COLUMN. The columns are: {', '.join(seen)}"
        )
    # A label that is taken for the reference would be judged by itself.
    visible = [{name: value for name, value in row.items() if name != label} for *_, row in read]
    found = choose(columns, visible[:_PEEKED])
    rows = []
    for (place, file, number, whole), row in zip(read, visible, strict=True):
        mapped = found.map(row, file, number)
        for index in range(len(mapped.samples)):
            sample = sample_of(mapped, index)
            if isinstance(sample, BadSample):
                raise RescoreError(f"{place}: {sample.message}")
            try:
                right = read_label(_own(whole.get(label), index, mapped.many), Scale()).right
            except LabelError as error:
                raise RescoreError(f"{place}: {error}") from None
            group = str(row[by]) if row.get(by) is not None else kind_of(sample.reference)
            rows.append(LabelledRow(place, file, group, _with_options(sample, row.get("options")), right))
    return rows


def _own(label: Any, index: int, many: bool) -> Any:
    return label[index] if many and isinstance(label, list) and index < len(label) else label


def _with_options(sample: Sample, options: Any) -> Sample:
    """The sample, its reference with the options that its row has."""
    sample = replace(sample, id=None, group=None)
    if not options or isinstance(sample.reference, Mapping):
        return sample
    return replace(sample, reference={"answer": sample.reference, "options": options})


async def measure(
    engine: Engine, use: Use, rows: Sequence[LabelledRow], advance: Callable[[int], None] = lambda rows: None
) -> Measured:
    """The verdicts on labelled rows, counted. `math_verify` knows no options, and is given the answer alone.

    advance: told how many more rows have been judged.
    """
    name = use.name or "recipe"
    measured = Measured(f"{name} {engine.planner.bind(use).ref.version}")
    for start in range(0, len(rows), _BATCH * AT_ONCE):
        some = rows[start : start + _BATCH * AT_ONCE]
        samples = [_bare(row.sample) if name == BESIDE else row.sample for row in some]
        # Side by side: Math-Verify's slowest pairs would keep the others of their batch waiting.
        batches = [Batch(samples=samples[at : at + _BATCH], use=use) for at in range(0, len(samples), _BATCH)]
        results = await asyncio.gather(*(engine.verify(batch, source="scorecard") for batch in batches))
        verdicts = [verdict for result in results for verdict in result.verdicts]
        for row, verdict in zip(some, verdicts, strict=True):
            measured.judge_row(row, verdict)
        advance(len(some))
    return measured


def _bare(sample: Sample) -> Sample:
    reference = sample.reference
    return replace(sample, reference=reference["answer"]) if isinstance(reference, Mapping) else sample


# --- figures in a file -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """The figures of an outside set, kept so that the page can be made without its rows. judges: each judge's counts by
    group, the measured one first.
    """

    source: str
    date: str
    judges: Mapping[str, Mapping[str, Counts]]


def read_outside(file: Path) -> dict[str, Outside]:
    """The figures of a file, by the set's name. Raises ValueError for what is of another form."""
    try:
        return {
            name: Outside(
                source=of["source"],
                date=of["date"],
                judges={
                    judge: {group: Counts(**cells) for group, cells in groups.items()}
                    for judge, groups in of["judges"].items()
                },
            )
            for name, of in json.loads(file.read_text(encoding="utf-8")).items()
        }
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"{file}: no figures of outside sets: {error}") from None


def keep(file: Path, name: str, source: str, measured: Sequence[Measured]) -> None:
    """Put figures of today into a file, in place of what stood there under the name."""
    sets = read_outside(file) if file.exists() else {}
    judges = {one.judge: dict(sorted(one.groups.items())) for one in measured}
    sets[name] = Outside(source=source, date=datetime.now(UTC).date().isoformat(), judges=judges)
    told = {
        name: {
            "source": of.source,
            "date": of.date,
            "judges": {
                judge: {
                    group: {cell: count for cell, count in asdict(counts).items() if count}
                    for group, counts in groups.items()
                }
                for judge, groups in of.judges.items()
            },
        }
        for name, of in sorted(sets.items())
    }
    file.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def together(groups: Mapping[str, Counts]) -> Counts:
    """All groups together."""
    total = Counts()
    for counts in groups.values():
        for cell in fields(Counts):
            setattr(total, cell.name, getattr(total, cell.name) + getattr(counts, cell.name))
    return total
