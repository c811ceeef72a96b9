"""A check from beginning to end: the plan, the rows, many at once, and the files that are written at the end."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from rewarden.commands.use import functions_of
from rewarden.routing import Routing
from rewarden.wire.json import dumps
from rewarden_server.studies.data_check.checked import Checked
from rewarden_server.studies.data_check.exchange import Exchange
from rewarden_server.studies.data_check.figures import Figures
from rewarden_server.studies.data_check.published import dataset_of, reference_column, stores_solutions
from rewarden_server.studies.data_check.row_check import Effort, RowCheck
from rewarden_server.studies.data_check.solutions import SolutionColumn, find_solutions
from rewarden_server.studies.lint.examination import Examiner
from rewarden_server.studies.rescore.columns import Columns, choose
from rewarden_server.studies.rescore.destinations import beside, destinations
from rewarden_server.studies.rescore.groups import AsItStands, Cookie
from rewarden_server.studies.rescore.journal import Journal, hold
from rewarden_server.studies.rescore.judges import Judge, find_judges
from rewarden_server.studies.rescore.options import RescoreError
from rewarden_server.studies.rescore.parquet_output import ParquetPacker, is_parquet_target, place_of
from rewarden_server.studies.rescore.progress import Watcher
from rewarden_server.studies.rescore.read import WORK_SUFFIX, Inputs, Line, find_inputs
from rewarden_server.studies.rescore.resuming import is_finished, open_journal
from rewarden_server.studies.rescore.run import peek
from rewarden_server.studies.rescore.stage import Outputs, PlainStage
from rewarden_server.studies.rescore.target import Target
from rewarden_server.studies.rescore.threads import in_thread

FORMAT = 1
"""The version of the journal, which other versions may not be able to resume."""

_WINDOW = 64
"""Rows that are checked at once: enough for all cores, although each waits for its solution before its mutants."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOptions:
    """One check. paths: the input. output: of good rows; None: nothing is written, and nothing can be resumed.
    columns: field to column, as given. solutions: the column of stored solutions; None: guessed."""

    paths: Sequence[Path]
    output: Path | None = None
    routing: Routing
    columns: Mapping[str, str] = field(default_factory=dict)
    solutions: str | None = None
    effort: Effort = field(default_factory=Effort)
    resume: bool = False
    force: bool = False
    line_mb: int = 64
    window: int = _WINDOW

    def with_window(self, in_hand: int) -> CheckOptions:
        """Returns the options for a target that has so many samples in hand at once."""
        return replace(
            self, window=max(self.window, in_hand // self.effort.mutants if self.effort.mutants else in_hand)
        )

    def identity(self) -> dict[str, Any]:
        """Returns the options that determine the result, ready for JSON. A resumed run must have the same."""
        return {
            self.routing.flag or "--routing": self.routing.identity(),
            "--solutions": self.solutions,
            "--max-line-mb": self.line_mb,
            **{f"--{name.replace('_', '-')}": value for name, value in asdict(self.effort).items()},
        }


@dataclass(frozen=True, slots=True)
class _Written:
    """The options of a check that writes an output, for the runs that may be there already."""

    output: Path
    resume: bool
    force: bool


async def check_data(options: CheckOptions, client: Target, watcher: Watcher | None = None) -> Figures | None:
    """Check the rows of files; None when `resume` finds that all is finished already.

    Raises RescoreError when it is refused, RequestError when the target is lost, OSError for the disk. After either of
    the last two, and after cancellation, the run can be resumed.
    """
    watcher = watcher or Watcher()
    inputs = find_inputs(options.paths)
    rows = peek(inputs, options.columns, options.line_mb)
    given = reference_column(options.columns, options.routing, rows)
    columns = choose(given, rows, options.routing.metadata, responses=False)
    if not columns.has_reference:
        raise RescoreError(
            "no column contains the expected answer or the tests; name it with --column reference=COLUMN. The columns "
            f"are: {', '.join(columns.seen) or 'none'}"
        )
    solutions = find_solutions(options.solutions, columns, rows)
    read = None if solutions.name is None else solutions.name.partition(".")[0]
    columns = replace(columns, unused=tuple(name for name in columns.unused if name != read))
    judges = await find_judges(options.routing, client, None if options.routing.flag else ())
    group = next((judge.name for judge in judges if judge.group), None)
    if group is not None:
        raise RescoreError(f"{group!r} judges the members of a group against each other; check with the verifier in it")
    run = _Run(options, client, watcher, inputs, columns, solutions, judges)
    if options.output is None:
        watcher.plan(run.plan())
        return await run.go(None, {})
    header = {
        "format": FORMAT,
        "input": inputs.identity(),
        "options": options.identity(),
        "columns": {**columns.identity(), "solutions": solutions.name},
        "verifiers": {judge.route.describe(): judge.fingerprint for judge in judges},
    }
    written = _Written(options.output, options.resume, options.force)
    work = beside(options.output, WORK_SUFFIX)
    outputs = run.outputs(work)
    if is_finished(written, header, work):
        shutil.rmtree(work, ignore_errors=True)  # what a kill in the very last moment left
        return None
    watcher.plan(run.plan())
    work.mkdir(parents=True, exist_ok=True)
    lock = hold(work)
    try:
        journal, recovered = open_journal(work, header, written)
        known = {row: Checked.from_json(found[0]) for row, found in recovered.verdicts.items()}
        try:
            found = await run.go(journal, known)
        finally:
            journal.close()
        await in_thread(run.publish, work, outputs, header, found)
        return found
    finally:
        os.close(lock)


@dataclass(frozen=True, slots=True)
class _Run:
    options: CheckOptions
    client: Target
    watcher: Watcher
    inputs: Inputs
    columns: Columns
    solutions: SolutionColumn
    judges: Sequence[Judge]

    def plan(self) -> list[str]:
        """Returns the plan, to be shown before it begins."""
        options, effort = self.options, self.options.effort
        size = sum(self.inputs.sizes())
        named = ", ".join(map(str, options.paths[:3])) + (", …" if len(options.paths) > 3 else "")
        lines = [f"input      {named} ({size / 1e6:,.1f} MB)"]
        lines += [f"{'columns' if at == 0 else '':<10} {line}" for at, line in enumerate(self.columns.describe())]
        lines.append(f"solutions  {self._solutions()}")
        lines += [f"{'use' if at == 0 else '':<10} {judge.describe()}" for at, judge in enumerate(self.judges)]
        lines.append(
            f"per row    {effort.solutions} solutions at most, {effort.runs} runs of each where verdicts can differ, "
            f"{effort.mutants} mutants at most"
        )
        if options.output is not None:
            lines.append(f"output     {options.output}")
        return lines

    def _solutions(self) -> str:
        name, guessed = self.solutions.name, self.solutions.guessed
        if not guessed:
            return name or "none"
        found = "no column; of references that hold a solution, that" if name is None else f"{name}  (guessed)"
        sets = dict.fromkeys(dataset_of(route.use) for route in self.options.routing.routes)
        known = [one for one in sets if one is not None and stores_solutions(one)]
        if not known:
            return found
        own = f"those that rows of {', '.join(known)} store"
        return own if len(known) == len(sets) else f"{own}; of others, {found}"

    def outputs(self, work: Path) -> Outputs:
        """The files of good rows. Raises RescoreError when they cannot be written from this input."""
        assert self.options.output is not None
        targets = destinations(self.options.paths, self.options.output, self.inputs)
        packer = ParquetPacker(None, self.inputs, one=len(targets) == 1)
        for index, target in enumerate(targets):
            if is_parquet_target(target):
                packer.check(index)
        return Outputs(work, targets, packer)

    async def go(self, journal: Journal | None, known: Mapping[int, Checked]) -> Figures:
        """Checks all rows that are not known."""
        began = time.monotonic()
        exchange = Exchange(self.client)
        functions = functions_of(route.use for route in self.options.routing.routes)
        examiner = Examiner(self.columns, self.options.routing, functions)
        checks = RowCheck(examiner, self.solutions, exchange, self.inputs.names, self.options.effort)
        found = dict(known)
        order = AsItStands(self.inputs, self.options.line_mb * 1024**2)
        self.watcher.advance(0, 0.0)
        pump = asyncio.create_task(exchange.run())
        under_way: dict[asyncio.Task[Checked], Cookie] = {}
        try:
            for line, place in order.lines(None):
                if line.row in found:
                    continue
                under_way[asyncio.create_task(checks.check(line))] = place
                if len(under_way) >= self.options.window:
                    await self._take(under_way, pump, found, journal, order, len(known))
            while under_way:
                await self._take(under_way, pump, found, journal, order, len(known))
            exchange.finish()
            await pump
        finally:
            for task in (*under_way, pump):
                task.cancel()
            await asyncio.gather(*under_way, pump, return_exceptions=True)
            self.watcher.end()
        rows = [found[row] for row in sorted(found)]
        output = None if self.options.output is None else str(self.options.output)
        return Figures(rows, exchange.asked, time.monotonic() - began, output)

    async def _take(
        self,
        under_way: dict[asyncio.Task[Checked], Cookie],
        pump: asyncio.Task[None],
        found: dict[int, Checked],
        journal: Journal | None,
        order: AsItStands,
        before: int,
    ) -> None:
        """Waits for the next rows that are done. Raises the error by which the target was lost."""
        done, _ = await asyncio.wait((*under_way, pump), return_when=asyncio.FIRST_COMPLETED)
        if pump in done:
            await pump
            raise AssertionError("the stream ended before its samples")
        for task in done:
            place = under_way.pop(task)  # type: ignore[arg-type]
            row = task.result()
            assert row is not None
            found[row.row] = row
            # What could not be judged is judged again when the run is resumed.
            if journal is not None and all(one.name != "not_judged" for one in row.findings):
                journal.verdicts(row.row, {0: dumps(row.to_json())})
                journal.flush()
            self.watcher.advance(len(found) - before, order.share(place))

    def publish(self, work: Path, outputs: Outputs, header: Mapping[str, Any], found: Figures) -> None:
        """Writes the good rows, every row's findings, and the summary."""
        assert self.options.output is not None
        good = {row.row for row in found.rows if row.good}
        for path in work.glob("rows-*"):
            path.unlink()
        stage = PlainStage(outputs, None)
        try:
            for line, _ in AsItStands(self.inputs, self.options.line_mb * 1024**2).lines(None):
                if line.row in good:
                    stage.write(line.file, line.row, _copied(outputs, line) + b"\n")
            stage.complete()
        finally:
            stage.close()
        outputs.publish()
        with _fresh(beside(self.options.output, ".check.jsonl"), work) as path, path.open("wb") as file:
            for row in found.rows:
                file.write(dumps(row.to_json()) + b"\n")
        with _fresh(beside(self.options.output, ".summary.json"), work) as path:
            told = {**found.to_json(), "run": header}
            path.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        (work / "journal").unlink()
        shutil.rmtree(work)


def _copied(outputs: Outputs, line: Line) -> bytes:
    return place_of(line.file, line.number - 1) if outputs.by_place(line.file) else line.data


@contextmanager
def _fresh(path: Path, work: Path) -> Iterator[Path]:
    """A file that takes its place once it is whole."""
    fresh = work / "fresh"
    yield fresh
    fresh.replace(path)
