"""The middle of a run: units out to the judges, verdicts in, rows written in order, checkpoints now and then."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import InitVar, dataclass
from typing import Any

from rewarden.early_answers import FIRST, EarlyAnswers, Unread
from rewarden.errors import RequestError
from rewarden.types import BadSample, Sample, Verdict
from rewarden.wire.json import dumps, outcome_to_json
from rewarden_server.engine import failures
from rewarden_server.studies.rescore.attempts import Attempts
from rewarden_server.studies.rescore.groups import Cookie, Order
from rewarden_server.studies.rescore.journal import Journal, Verdicts
from rewarden_server.studies.rescore.options import RescoreOptions
from rewarden_server.studies.rescore.parquet_output import place_of
from rewarden_server.studies.rescore.progress import Watcher
from rewarden_server.studies.rescore.render import Judged, Renderer
from rewarden_server.studies.rescore.stage import Outputs, Stage, Tail
from rewarden_server.studies.rescore.tally import Tally
from rewarden_server.studies.rescore.target import Target
from rewarden_server.studies.rescore.threads import in_thread
from rewarden_server.studies.rescore.units import Row, Unit, UnitMaker

_PIECE_ROWS = 256
_PIECE_BYTES = 4 * 1024**2
_NOTED = 5
"""Lines set aside that are told one by one; the rest is counted."""


@dataclass(kw_only=True, eq=False)
class Scoring:
    """Scores all units that an earlier sitting has not written. Run `run` once, then look at `tally`.

    `state` is that of the last checkpoint. `known` are the verdicts that the journal holds of units that are not
    written yet.
    """

    options: RescoreOptions
    maker: UnitMaker
    order: Order
    client: Target
    expect: Mapping[str, str]
    journal: Journal
    outputs: Outputs
    stage: Stage
    rejected: Tail
    attempts: Attempts
    tally: Tally
    state: InitVar[Mapping[str, Any] | None]
    known: dict[int, Verdicts]
    watcher: Watcher

    def __post_init__(self, state: Mapping[str, Any] | None) -> None:
        self._renderer = Renderer.of(self.options)
        self._units: int = state["units"] if state is not None else 0
        self._cookie: Cookie | None = tuple(state["cookie"]) if state is not None and state["cookie"] else None
        self._seconds: float = state["seconds"] if state is not None else 0.0
        self._begun = time.monotonic()
        self._written = 0
        self._checkpointed = self._units
        self._pending: deque[Unit] = deque()
        self._pending_rows = 0
        self._pending_bytes = 0
        self._room = asyncio.Event()
        self._sent: dict[int, tuple[Unit, int, Row, int]] = {}
        self._flush_due = False
        self._early = EarlyAnswers()
        self._first: dict[int, Sample] = {}
        self._counted: Counter[int] = Counter()
        self._unread: list[Unread] = []

    @property
    def seconds(self) -> float:
        """The seconds of all sittings so far."""
        return self._seconds + time.monotonic() - self._begun

    async def run(self) -> None:
        """Score what is left. Whatever is raised or cancels, what was done is kept for the next sitting."""
        checkpoints = asyncio.create_task(self._checkpoints())
        try:
            stream = self.client.stream(
                self._samples(), self.maker.default_use, progress=self.options.progress, expect=self.expect or None
            )
            async with aclosing(stream) as items:
                async for item in items:
                    if isinstance(item, Verdict):
                        self._take(item)
                    if checkpoints.done():
                        break
        finally:
            checkpoints.cancel()
            ended = await asyncio.gather(checkpoints, return_exceptions=True)
            self.watcher.end()
            if isinstance(ended[0], Exception):
                raise ended[0]
            # Also when broken off: the next sitting then begins here.
            self.stage.flush()
            self._sync()
            self.journal.checkpoint(self._state())
            self.journal.sync()
        assert not self._pending

    # --- out ----------------------------------------------------------------------------------------------------

    async def _samples(self) -> AsyncIterator[Sample]:
        """Yields what is to be judged, in order; waits while too much lies behind the oldest unfinished row."""
        units = self.maker.units(self.order.lines(self._cookie), self._units)
        sent = 0
        reading = asyncio.ensure_future(asyncio.to_thread(_take_piece, units))
        try:
            while piece := await reading:
                # The next piece is read while this one is judged.
                reading = asyncio.ensure_future(asyncio.to_thread(_take_piece, units))
                for unit in piece:
                    await self._wait_for_room()
                    for index, row, place, sample in self._enter(unit):
                        self._sent[sent] = (unit, index, row, place)
                        self._keep_early(sent, sample)
                        sent += 1
                        yield sample
                    if unit.left == 0:
                        self._write_ready()
        finally:
            # A thread cannot be cancelled: what it reads must not outlive the files.
            await asyncio.gather(reading, return_exceptions=True)

    async def advice(self) -> list[str]:
        """Advice on uses that read no answer in most of their first responses; see `rewarden.early_answers`. Asks the
        target.
        """
        found = []
        for unread in (*self._unread, *self._early.rest()):
            try:
                told = await unread.advice(self._asked)
            except RequestError:
                continue  # all is scored; this is only advice
            if told is not None:
                found.append(told)
        return sorted(found)

    async def _asked(self, samples: Sequence[Sample]) -> list[Verdict]:
        async def given() -> AsyncIterator[Sample]:
            for sample in samples:
                yield sample

        async with aclosing(self.client.stream(given(), progress=self.options.progress)) as items:
            return [item async for item in items if isinstance(item, Verdict)]

    def _keep_early(self, place: int, sample: Sample) -> None:
        """Hold on to the first samples of each use until their verdicts are there."""
        use = id(sample.use)
        if self._counted[use] < FIRST and len(self._counted) <= FIRST:
            self._counted[use] += 1
            self._first[place] = sample

    async def _wait_for_room(self) -> None:
        rows, size = self.options.window_rows, self.options.window_mb * 1024**2
        while self._pending and (self._pending_rows >= rows or self._pending_bytes >= size):
            self._room.clear()
            await self._room.wait()

    def _enter(self, unit: Unit) -> list[tuple[int, Row, int, Sample]]:
        """Take a unit up; what of it a judge has to see: place in the unit, row, place in the row, sample."""
        self._pending.append(unit)
        self._pending_rows += len(unit.rows)
        self._pending_bytes += unit.size
        known = {index: Judged.of(value) for index, value in self.known.pop(unit.number, {}).items()}
        wanted = [
            (index, row, place, sample)
            for index, (row, place, sample) in enumerate(
                (row, place, sample) for row in unit.rows for place, sample in enumerate(row.samples)
            )
            if sample is not None
        ]
        if self.maker.whole and not all(index in known for index, *_ in wanted):
            known = {}  # a group is judged as a whole or not at all
        asked = []
        for index, row, place, sample in wanted:
            row.samples[place] = None  # the row must not hold on to it
            verdict = known.get(index)
            if verdict is None and isinstance(sample, BadSample):
                verdict = Judged.of({**outcome_to_json(failures.bad_sample(sample)), "verifier": None})
            if verdict is not None:
                row.verdicts[place] = verdict
                unit.left -= 1
            elif isinstance(sample, Sample):
                asked.append((index, row, place, sample))
        return asked

    # --- in -----------------------------------------------------------------------------------------------------

    def _take(self, verdict: Verdict) -> None:
        unit, index, row, place = self._sent.pop(verdict.index)
        sample = self._first.pop(verdict.index, None)
        use = None if sample is None else sample.use or self.maker.default_use
        if sample is not None and use is not None and self._early.watches(verdict):
            unread = self._early.add(use, sample, verdict)
            if unread is not None:
                self._unread.append(unread)
        judged = self._renderer.judged(verdict)
        row.verdicts[place] = judged
        unit.left -= 1
        if not self.maker.whole:
            self._note(unit.number, {index: judged.data})
        elif unit.left == 0:
            self._note(unit.number, _verdicts_of(unit))
        if unit.left == 0:
            self._write_ready()

    def _note(self, unit: int, verdicts: Mapping[int, bytes]) -> None:
        self.journal.verdicts(unit, verdicts)
        if not self._flush_due:
            self._flush_due = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        self._flush_due = False
        self.journal.flush()

    # --- written ------------------------------------------------------------------------------------------------

    def _write_ready(self) -> None:
        """Write the units that are done, up to the oldest that is not."""
        if not self._pending or self._pending[0].left:
            return
        while self._pending and self._pending[0].left == 0:
            unit = self._pending.popleft()
            self._pending_rows -= len(unit.rows)
            self._pending_bytes -= unit.size
            for row in unit.rows:
                self._write(row)
            self._units = unit.number + 1
            self._cookie = unit.cookie
            self._written += len(unit.rows)
        self.watcher.advance(self._written, self.order.share(unit.cookie))
        self._room.set()

    def _write(self, row: Row) -> None:
        line = row.line
        if row.fault is not None:
            self._set_aside(row.fault, row)
            return
        verdicts = [verdict for verdict in row.verdicts if verdict is not None]
        name, counts = self.tally.of(row.source)
        counts.rows += 1
        group = row.group if row.group is not None else f"@row:{line.row}" if row.many else None
        for index, judged in enumerate(verdicts):
            value = judged.value
            if self.tally.baseline is not None:
                self.tally.baseline.add(row.theirs_of(index), value, self._place(row, index))
            counts.add(value, group if group is not None else f"@row:{line.row}")
            if group is not None and value["status"] == "scored" and value.get("passed") is not None:
                self.attempts.count(name, self.tally.places[name], group, value["passed"])
        by_place = self.outputs.by_place(line.file)
        data = place_of(line.file, line.number - 1) if by_place else line.data
        if row.copied:
            counts.copied += 1
            if by_place and verdicts:
                data = self._renderer.columns(data, verdicts, row.many)
            self.stage.write(line.file, line.row, data + b"\n")
            return
        made = self._renderer.line(data, verdicts, row.many, replaces=row.replaces and not by_place)
        if made is None:
            counts.left_out += 1
        else:
            self.stage.write(line.file, line.row, made)

    def _place(self, row: Row, index: int) -> str:
        place = f"{self.maker.names[row.line.file]}:{row.line.number}"
        return f"{place} #{index + 1}" if row.many else place

    def _set_aside(self, fault: str, row: Row) -> None:
        line = row.line
        name = self.maker.names[line.file]
        text = line.data.decode("utf-8", "backslashreplace")
        record = {"file": name, "line": line.number, "error": fault, "text": text}
        self.rejected.write(dumps(record) + b"\n")
        self.tally.rejected += 1
        if self.tally.rejected <= _NOTED:
            self.watcher.note(f"{name}:{line.number}: set aside: {fault}")

    # --- checkpoints --------------------------------------------------------------------------------------------

    async def _checkpoints(self) -> None:
        while True:
            await asyncio.sleep(self.options.checkpoint_s)
            if self._units == self._checkpointed:
                continue
            if self.journal.grown:
                # On the loop, so that nothing is written in between: what is outstanding belongs to this very state.
                state = self._state()
                self._sync()
                self.journal.compact(state, ((unit.number, _verdicts_of(unit)) for unit in self._pending))
            else:
                state = self._state()
                await in_thread(self._sync)
                self.journal.checkpoint(state)
                await in_thread(self.journal.sync)
            self._checkpointed = state["units"]

    def _state(self) -> dict[str, Any]:
        """All that the next sitting needs; the files it speaks of are flushed, not yet synced."""
        return {
            "units": self._units,
            "cookie": list(self._cookie) if self._cookie is not None else None,
            "stage": self.stage.flush(),
            "rejected": self.rejected.flush(),
            "attempts": self.attempts.flush(),
            "tally": self.tally.state(),
            "seconds": self.seconds,
        }

    def _sync(self) -> None:
        self.stage.sync()
        self.rejected.sync()
        self.attempts.sync()


def _verdicts_of(unit: Unit) -> dict[int, bytes]:
    """The verdicts that a unit has by now, as JSON texts, by the sample's place in it."""
    places = ((row, place) for row in unit.rows if not row.copied for place in range(len(row.verdicts)))
    found = ((index, row.verdicts[place]) for index, (row, place) in enumerate(places))
    return {index: judged.data for index, judged in found if judged is not None}


def _take_piece(units: Iterator[Unit]) -> list[Unit]:
    """Some units, read on another thread than the loop's."""
    piece: list[Unit] = []
    rows = size = 0
    for unit in units:
        piece.append(unit)
        rows += len(unit.rows)
        size += unit.size
        if rows >= _PIECE_ROWS or size >= _PIECE_BYTES:
            break
    return piece
