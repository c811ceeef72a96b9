"""Lines to units of work: a row, or all rows of a group where the verifiers judge groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rewarden.errors import RequestError
from rewarden.types import BadSample, Sample
from rewarden.wire.json import loads, sample_from_json
from rewarden_server.studies.rescore.columns import Columns, Mapped, RowFault
from rewarden_server.studies.rescore.groups import Cookie
from rewarden_server.studies.rescore.options import RescoreError, RescoreOptions
from rewarden_server.studies.rescore.read import Line
from rewarden_server.studies.rescore.render import Judged, Renderer


@dataclass(slots=True, eq=False)
class Row:
    """A line on its way. `samples[i]` is to be judged, or None where `verdicts[i]` is there already.

    `theirs` are the scores that the row has for its responses already. `fault` sets the line aside. `copied` rows pass
    through as they are. `replaces`: the row has columns of our names.
    """

    line: Line
    fault: str | None = None
    group: str | None = None
    source: str | None = None
    many: bool = False
    copied: bool = False
    replaces: bool = False
    samples: list[Sample | BadSample | None] = field(default_factory=list)
    verdicts: list[Judged | None] = field(default_factory=list)
    theirs: Sequence[float | None] = ()

    def theirs_of(self, index: int) -> float | None:
        """The score that the row itself gives a response; None if it gives none."""
        return self.theirs[index] if index < len(self.theirs) else None


@dataclass(slots=True, eq=False)
class Unit:
    """The rows that are scored and written as one. `cookie` is where reading goes on after them."""

    number: int
    rows: list[Row]
    cookie: Cookie
    left: int = 0

    @property
    def size(self) -> int:
        """About how many bytes it holds on to."""
        return sum(512 + 2 * len(row.line.data) for row in self.rows)


def parse(line: Line) -> dict[str, Any] | str:
    """A line's object, or why it has none."""
    if line.fault is not None:
        return line.fault
    try:
        value = loads(line.data)
    except RequestError as error:
        return error.message.replace("line 1, ", "")
    if type(value) is not dict:
        return f"not a JSON object, but {_KINDS.get(type(value), 'a number')}"
    return value


_KINDS = {list: "a list", str: "a string", bool: "true or false", type(None): "null"}


@dataclass(eq=False)
class UnitMaker:
    """Makes units of lines. `names`: of the input's files. `whole`: a unit is a group."""

    options: RescoreOptions
    columns: Columns
    names: Sequence[str]
    whole: bool

    def __post_init__(self) -> None:
        self._renderer = Renderer.of(self.options)
        # A single use for everything travels once, in the header.
        self.default_use = self.options.routing.single

    def group_of(self, line: Line) -> str | None:
        """The name of a line's group; None also for a line that cannot be read."""
        values = parse(line)
        return None if isinstance(values, str) else self.columns.group_of(values, self.names[line.file], line.number)

    def units(self, lines: Iterator[tuple[Line, Cookie]], first: int) -> Iterator[Unit]:
        """Units, numbered from `first`. Raises RescoreError for a group without end."""
        number = first
        open_unit: Unit | None = None
        for line, cookie in lines:
            row = self._row(line)
            if self.whole and open_unit is not None:
                together = row.fault is not None or (row.group is not None and row.group == open_unit.rows[0].group)
                if together:
                    open_unit.rows.append(row)
                    open_unit.cookie = cookie
                    if len(open_unit.rows) > self.options.group_rows:
                        raise RescoreError(
                            f"group {row.group!r} has more than {self.options.group_rows} rows; check the column "
                            "of --group, or raise the limit with --max-group"
                        )
                    continue
                yield self._closed(open_unit)
            open_unit = Unit(number, [row], cookie)
            number += 1
            if not self.whole:
                yield self._closed(open_unit)
        if self.whole and open_unit is not None:
            yield self._closed(open_unit)

    def _closed(self, unit: Unit) -> Unit:
        if self.whole:
            if any(sample is not None for row in unit.rows for sample in row.samples):
                # A part of a group cannot be judged by itself: all of it is scored again.
                unit.rows = [self._row(row.line, again=True) if row.fault is None else row for row in unit.rows]
            self._join(unit)
        unit.left = sum(sample is not None for row in unit.rows for sample in row.samples)
        return unit

    @staticmethod
    def _join(unit: Unit) -> None:
        """Tell the members of a whole group of each other."""
        head = next((row for row in unit.rows if row.fault is None), None)
        if head is None:
            return
        group = head.group
        if group is None:
            if not head.many:
                return
            group = f"@row:{head.line.row}"
        size = sum(isinstance(sample, Sample) for row in unit.rows for sample in row.samples)
        for row in unit.rows:
            row.samples = [
                replace(sample, group=group, group_size=size) if isinstance(sample, Sample) else sample
                for sample in row.samples
            ]

    def _row(self, line: Line, *, again: bool = False) -> Row:
        values = parse(line)
        if isinstance(values, str):
            return Row(line, fault=values)
        mapped = self.columns.map(values, self.names[line.file], line.number)
        taken = self._renderer.taken(values, mapped.many)
        if taken is not None:
            return Row(line, fault=f"already has a column {taken!r}; --overwrite replaces it")
        many = mapped.many
        row = Row(line, group=mapped.group, source=mapped.data_source, many=many, theirs=mapped.theirs)
        row.replaces = any(name in values for name in self._renderer.names(many))
        count = len(mapped.samples)
        earlier = self._renderer.earlier(values) if self.options.only else None
        if earlier is not None and len(earlier) != count:
            earlier = None
        if self.options.only and not again and not self._wanted(earlier):
            row.copied = True
            row.verdicts = [Judged.of(verdict) for verdict in earlier or ()]
            return row
        row.verdicts = [None] * count
        for index in range(count):
            known = earlier[index] if earlier is not None else None
            if known is not None and not again and known["status"] not in self.options.only:
                row.verdicts[index] = Judged.of(known)
                row.samples.append(None)
            else:
                row.samples.append(self._sample(mapped, index))
        return row

    def _wanted(self, earlier: Sequence[Mapping[str, Any]] | None) -> bool:
        only = self.options.only
        if earlier is None:
            return "missing" in only
        return any(verdict["status"] in only for verdict in earlier)

    def _sample(self, mapped: Mapped, index: int) -> Sample | BadSample:
        sample = sample_of(mapped, index)
        if isinstance(sample, BadSample) or self.default_use is not None:
            return sample
        return self.options.routing.apply(sample)


def sample_of(mapped: Mapped, index: int) -> Sample | BadSample:
    """A response of a row as its columns have it, before anything is routed."""
    value = mapped.samples[index]
    if isinstance(value, RowFault):
        return BadSample(message=value.message, path=value.path)
    if mapped.data_source is not None:
        value = {**value, "data_source": mapped.data_source}
    return sample_from_json(value)
