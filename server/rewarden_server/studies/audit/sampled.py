"""A sample of prompts with references, drawn from files by chance and the same for the same seed."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rewarden.columns import GUESSES, value_of
from rewarden.routing import Routing
from rewarden.types import BadSample, Sample
from rewarden.wire.json import sample_from_json
from rewarden_server.studies.rescore.columns import Columns
from rewarden_server.studies.rescore.groups import digest
from rewarden_server.studies.rescore.read import Inputs, Line, read_lines
from rewarden_server.studies.rescore.units import parse, sample_of
from rewarden_verifiers.answer.worked import answer_in
from rewarden_verifiers.view import transcript

_MOST_OF_A_GROUP = 64
"""Rows of one group that are kept: the rest says little more of it."""

_STATED = ("answer", "value", "target", "expected", "gold", "text", "solution", "code", "sql", "query")
"""The keys of a reference in several parts under which the right answer stands, the likeliest first."""


@dataclass(frozen=True, slots=True)
class Row:
    """A prompt with its reference. place: file and line. sample: routed, without a response. prompt, reference: as
    text; None for a reference that states no answer as text. responses: those of a model, as samples to judge."""

    place: str
    sample: Sample
    prompt: str
    reference: str | None
    whole: str | None = None
    right: str | None = None
    responses: tuple[Sample, ...] = ()

    @property
    def source(self) -> str:
        """Returns the data source, or a dash."""
        return self.sample.data_source or "-"


@dataclass(slots=True)
class Drawn:
    """The sample. faults: of rows that cannot be judged, each with its place. total: rows in the files.
    prompt_as_reference: the column of the references, if it is one that usually holds prompts and no other does."""

    rows: list[Row] = field(default_factory=list)
    faults: list[tuple[str, str]] = field(default_factory=list)
    total: int = 0
    prompt_as_reference: str | None = None


def draw(
    inputs: Inputs, columns: Columns, routing: Routing, most: int, seed: str, limit: int, right: str | None
) -> Drawn:
    """Draws `most` rows, or groups where the rows have them, by a hash of the seed: all are equally likely.

    limit: bytes of the longest line. right: the column of a right response.
    """
    held: dict[str, list[Line]] = {}
    heap: list[tuple[bytes, str]] = []  # the largest hash first
    total = 0
    for line, _ in read_lines(inputs, limit=limit):
        total += 1
        key = _key(line, columns, inputs.names[line.file])
        if key in held:
            if len(held[key]) < _MOST_OF_A_GROUP:
                held[key].append(line)
            continue
        order = bytes(255 - byte for byte in digest(f"{seed}:{key}"))
        if len(heap) < most:
            heapq.heappush(heap, (order, key))
        elif order > heap[0][0]:
            del held[heapq.heapreplace(heap, (order, key))[1]]
        else:
            continue
        held[key] = [line]
    column = columns.whole.get("reference")
    asked = column if column in GUESSES["prompt"] and "prompt" not in columns.whole else None
    drawn = Drawn(total=total, prompt_as_reference=asked)
    for lines in sorted(held.values(), key=lambda lines: lines[0].row):
        _read(drawn, lines, inputs, columns, routing, right)
    return drawn


def _key(line: Line, columns: Columns, file: str) -> str:
    group = None
    if "group" in columns.whole:
        values = parse(line)
        group = None if isinstance(values, str) else columns.group_of(values, file, line.number)
    return f"@row:{line.row}" if group is None else group


def _read(
    drawn: Drawn, lines: list[Line], inputs: Inputs, columns: Columns, routing: Routing, right: str | None
) -> None:
    """Reads the rows of one group: one prompt, and the responses of all of them."""
    head: Row | None = None
    responses: list[Sample] = []
    for line in lines:
        file = inputs.names[line.file]
        place = f"{file}:{line.number}"
        values = parse(line)
        if isinstance(values, str):
            drawn.faults.append((place, values))
            continue
        if head is None:
            made = _row(place, values, columns, routing, file, line.number, right)
            if isinstance(made, str):
                drawn.faults.append((place, made))
                continue
            head = made
        if columns.whole.keys() & {"response", "messages"}:
            mapped = columns.map(values, file, line.number)
            for index in range(len(mapped.samples)):
                sample = sample_of(mapped, index)
                if isinstance(sample, Sample):
                    routed = routing.apply(sample) if routing.routes else sample
                    if isinstance(routed, Sample):
                        responses.append(replace(routed, id=None, group=None, group_size=None))
    if head is not None:
        drawn.rows.append(replace(head, responses=tuple(responses)))


def _row(
    place: str, values: Mapping[str, Any], columns: Columns, routing: Routing, file: str, line: int, right: str | None
) -> Row | str:
    fields = {**columns.common(values, file, line), "response": ""}
    if "messages" in columns.whole:
        mapped = columns.map(values, file, line)
        first = mapped.samples[0] if mapped.samples else None
        if isinstance(first, Mapping) and first.get("prompt") is not None:
            fields["prompt"] = first["prompt"]
    source = columns.source_of(values, file, line)
    if source is not None:
        fields["data_source"] = source
    sample: Sample | BadSample = sample_from_json(fields)
    if isinstance(sample, Sample) and routing.routes:
        sample = routing.apply(sample)
    if isinstance(sample, BadSample):
        return sample.message
    if sample.use is None:
        return "no verifier is set for it"
    whole = stated(sample.reference)
    own = None if right is None else value_of(values, right, None)
    return Row(
        place=place,
        sample=replace(sample, id=None, group=None, group_size=None),
        prompt="" if sample.prompt is None else transcript(sample.prompt),
        reference=None if whole is None else answer_in(whole).strip(),
        whole=whole,
        right=own if isinstance(own, str) else None,
    )


def stated(reference: Any) -> str | None:
    """The right answer that a reference states, as text; None if it states none, such as tests of programs."""
    if isinstance(reference, bool):
        return "yes" if reference else "no"
    if isinstance(reference, (int, float)):
        return str(reference)
    if isinstance(reference, str):
        return reference if reference.strip() else None
    if isinstance(reference, Mapping):
        return next((text for key in _STATED if (text := stated(reference.get(key))) is not None), None)
    if isinstance(reference, (list, tuple)):
        return next(_texts(reference), None)
    return None


def _texts(values: list[Any] | tuple[Any, ...]) -> Iterator[str]:
    for value in values:
        text = stated(value)
        if text is not None:
            yield text
