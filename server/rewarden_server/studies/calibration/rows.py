"""From labelled files to labelled responses: JSON lines or Parquet, plain or packed, as in `rewarden rescore`."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rewarden.columns import ABSENT, value_of
from rewarden.types import BadSample, Sample
from rewarden_server.studies.calibration.labels import Label, LabelError, Scale, read_label, read_preference
from rewarden_server.studies.rescore.columns import Columns, choose
from rewarden_server.studies.rescore.options import RescoreError
from rewarden_server.studies.rescore.read import find_inputs, read_lines
from rewarden_server.studies.rescore.units import parse, sample_of

_HEAD = 200
"""Rows from which the columns are guessed."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """A response with its label. failing: the sample that should not pass and that attacks start from: the response if
    it is wrong, the worse one of a pair; None for a right response."""

    id: str
    sample: Sample
    label: Label
    failing: Sample | None


@dataclass(frozen=True, slots=True)
class Labels:
    """The location and meaning of a row's label. column: of the label; preferred and rival: for pairs, which of the two
    is better, and the other response; all three can be paths, such as `extra.label`. words: the user's own labels, each
    with a known word."""

    column: str = "label"
    preferred: str = "preferred"
    rival: str = "rival"
    scale: Scale = field(default_factory=Scale)
    words: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Read:
    """The contents of a file. rows: at most as many as requested; total: the number of labelled rows; unlabelled: rows
    without a label; ties: pairs in which neither is better, which teach nothing here; paired: whether the rows are
    pairs. columns: None for rows of a published set, which need none."""

    rows: Sequence[Labelled]
    columns: Columns | None
    total: int
    unlabelled: int
    ties: int
    paired: bool


def read_rows(
    path: Path, labels: Labels, columns: Mapping[str, str], *, limit: int | None = None, seed: int = 0
) -> Read:
    """The labelled responses; with a limit, that many drawn at random. Raises RescoreError naming the line."""
    values = list(_values(path))
    if not values:
        raise RescoreError(f"{str(path)!r} has no rows")
    paired = any(_has(row, labels.preferred) for _, row, _ in values)
    if not paired and all({"chosen", "rejected"} <= row.keys() for _, row, _ in values):
        values = [(file, _preference(row, labels, f"{seed} {file}:{line}"), line) for file, row, line in values]
        paired = True
    ours = {labels.preferred, labels.rival} if paired else {labels.column}
    if not any(_has(row, name) for _, row, _ in values for name in ours):
        seen = ", ".join(dict.fromkeys(name for _, row, _ in values[:_HEAD] for name in row))
        raise RescoreError(f"no row has a label: name its column with --label COLUMN. The columns are: {seen}")
    # The label must not be mistaken for the reference: that would show it to the judge.
    visible = [_without(row, ours) for _, row, _ in values]
    found = _Found(choose(columns, visible[:_HEAD]), labels, paired)
    for row, (file, labelled, line) in zip(visible, values, strict=True):
        found.add(row, labelled, file, line)
    if not found.rows:
        raise RescoreError("no row has a label that says right or wrong, or which of two is better")
    total, rows = len(found.rows), found.rows
    if limit is not None and total > limit:
        rows = [rows[place] for place in sorted(random.Random(seed).sample(range(total), limit))]
    return Read(rows, found.columns, total, found.unlabelled, found.ties, paired)


class _Found:
    def __init__(self, columns: Columns, labels: Labels, paired: bool) -> None:
        self.columns = columns
        self.rows: list[Labelled] = []
        self.unlabelled = self.ties = 0
        self._labels = labels
        self._paired = paired

    def add(self, visible: Mapping[str, Any], row: Mapping[str, Any], file: str, line: int) -> None:
        where = f"{file}:{line}"
        mapped = self.columns.map(visible, file, line)
        label = value_of(row, self._labels.preferred if self._paired else self._labels.column)
        each = label if mapped.many and isinstance(label, list) else [label] * len(mapped.samples)
        if len(each) != len(mapped.samples):
            raise RescoreError(f"{where}: {len(mapped.samples)} responses but {len(each)} labels")
        for place, one in enumerate(each):
            if one is None:
                self.unlabelled += 1
                continue
            sample = sample_of(mapped, place)
            if isinstance(sample, BadSample):
                raise RescoreError(f"{where}: {sample.message}")
            name = f"{where}#{place + 1}" if mapped.many else sample.id or where
            try:
                self._label(name, replace(sample, id=None, group=mapped.group), one, row)
            except LabelError as error:
                raise RescoreError(f"{where}: {error}") from None

    def _label(self, name: str, sample: Sample, label: Any, row: Mapping[str, Any]) -> None:
        if not self._paired:
            read = read_label(label, self._labels.scale, self._labels.words)
            self.rows.append(Labelled(name, sample, read, None if read.right else sample))
            return
        side = read_preference(label, self._labels.words)
        rival = value_of(row, self._labels.rival)
        if not isinstance(rival, str) or not isinstance(sample.response, str):
            raise LabelError(
                f"both responses of a pair must be text: the response, and the other one in {self._labels.rival!r}"
            )
        if side == "tie":
            self.ties += 1
            return
        made, turned = _against(sample, sample.response, rival), _against(sample, rival, sample.response)
        self.rows.append(Labelled(name, made, Label(side == "response"), turned if side == "response" else made))


def _has(row: Mapping[str, Any], name: str) -> bool:
    return value_of(row, name, ABSENT) is not ABSENT


def _without(row: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """A row without these columns, and without the values that their paths name in objects and lists."""
    kept = dict(row)
    for name in names:
        kept = {key: value for key, value in kept.items() if key != name} if name in kept else _pruned(kept, name)
    return kept


def _pruned(value: Any, path: str) -> Any:
    head, _, rest = path.partition(".")
    if isinstance(value, str):
        try:
            read = json.loads(value)
        except ValueError:
            return value
        return json.dumps(_pruned(read, path)) if isinstance(read, Mapping) else value
    if isinstance(value, Mapping) and head in value:
        others = {name: item for name, item in value.items() if name != head}
        return {**others, head: _pruned(value[head], rest)} if rest else others
    if isinstance(value, list):
        named = [head in ("*", str(place)) for place in range(len(value))]
        return [
            (_pruned(item, rest) if rest else None) if hit else item for item, hit in zip(value, named, strict=True)
        ]
    return value


def _against(sample: Sample, response: str, rival: str) -> Sample:
    """A sample for `pairwise`: the rival becomes its reference, and its former reference is the known right answer."""
    reference = rival if sample.reference is None else {"response": rival, "answer": sample.reference}
    return replace(sample, response=response, reference=reference)


def _preference(row: Mapping[str, Any], labels: Labels, coin: str) -> dict[str, Any]:
    """A row of preference data as a pair. A coin decides which of the two is the response, so that both kinds are
    judged."""
    first = random.Random(coin).random() < 0.5
    kept = {name: value for name, value in row.items() if name not in ("chosen", "rejected")}
    return {
        **kept,
        "response": row["chosen" if first else "rejected"],
        labels.rival: row["rejected" if first else "chosen"],
        labels.preferred: "response" if first else "rival",
    }


def _values(path: Path) -> Iterator[tuple[str, dict[str, Any], int]]:
    inputs = find_inputs(path)
    for line, _ in read_lines(inputs):
        file = inputs.names[line.file]
        row = parse(line)
        if isinstance(row, str):
            raise RescoreError(f"{file}:{line.number}: {row}")
        yield file, row, line.number
