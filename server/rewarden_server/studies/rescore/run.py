"""A rescore from beginning to end: what is there, what will be done, doing it, and the finish."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from rewarden.routing import Routing
from rewarden.types import BadSample
from rewarden_server.studies.rescore.attempts import Attempts
from rewarden_server.studies.rescore.columns import FILE, LINE, NONE, ROW, Columns, choose
from rewarden_server.studies.rescore.destinations import beside, destinations
from rewarden_server.studies.rescore.groups import AsItStands, Order, Sorted, check_contiguous
from rewarden_server.studies.rescore.journal import Journal, Verdicts, hold
from rewarden_server.studies.rescore.judges import Judge, find_judges
from rewarden_server.studies.rescore.options import THEIRS_STAYS, RescoreError, RescoreOptions
from rewarden_server.studies.rescore.parquet_output import ParquetPacker, is_parquet_target
from rewarden_server.studies.rescore.progress import Watcher
from rewarden_server.studies.rescore.read import (
    WORK_SUFFIX,
    Inputs,
    Place,
    find_inputs,
    read_lines,
)
from rewarden_server.studies.rescore.render import Renderer
from rewarden_server.studies.rescore.resuming import is_finished, open_journal
from rewarden_server.studies.rescore.scoring import Scoring
from rewarden_server.studies.rescore.stage import Outputs, PlainStage, SortedStage, Stage, Tail
from rewarden_server.studies.rescore.summary import Summary
from rewarden_server.studies.rescore.tally import Tally
from rewarden_server.studies.rescore.target import Target
from rewarden_server.studies.rescore.threads import in_thread
from rewarden_server.studies.rescore.units import UnitMaker, parse, sample_of

FORMAT = 1
"""The version of the journal, which other versions may not be able to resume."""

_PEEK_ROWS = 200
_PEEK_LINES = 10_000
_PEEK_FILES = 20


async def rescore(options: RescoreOptions, client: Target, watcher: Watcher | None = None) -> Summary | None:
    """Rescore a file or directory; None when `resume` finds that all is finished already.

    Raises RescoreError when it is refused or cannot be gone on with, RequestError when the target is lost, OSError for
    the disk. After either of the last two, and after cancellation, the run can be resumed.
    """
    watcher = watcher or Watcher()
    inputs = find_inputs(options.paths)
    targets = destinations(options.paths, options.output, inputs)
    one = len(targets) == 1
    for index, target in enumerate(targets):
        if is_parquet_target(target):
            ParquetPacker(options, inputs, one=one).check(index)
    rows = peek(inputs, options.columns, options.line_mb)
    columns = choose(options.columns, rows, options.routing.metadata, baseline=options.baseline)
    options = _beside_theirs(options, columns)
    _check_rows(options, columns, rows)
    needed, unmatched = _routes_of(options.routing, columns, rows)
    judges = await find_judges(options.routing, client, None if options.routing.flag else needed)
    whole = any(judge.group for judge in judges)
    if whole and "group" not in columns.whole and not any(columns.map(row, "", 0).many for row in rows) and rows:
        judge = next(judge for judge in judges if judge.group)
        raise RescoreError(f"verifier {judge.name!r} judges groups: name their column with --group COLUMN")
    header = {
        "format": FORMAT,
        "input": inputs.identity(),
        "options": {**options.identity(), **_compared(options, columns)},
        "columns": columns.identity(),
        "verifiers": {judge.route.describe(): judge.fingerprint for judge in judges},
        "groups": whole,
    }
    work = beside(options.output, WORK_SUFFIX)
    if is_finished(options, header, work):
        shutil.rmtree(work, ignore_errors=True)  # what a kill in the very last moment left
        return None
    if options.routing.flag is None:
        judges = [judge for judge in judges if options.routing.routes.index(judge.route) in needed]
    outputs = Outputs(work, targets, ParquetPacker(options, inputs, one=one))
    run = _Run(options, client, watcher, inputs, columns, judges, whole, outputs)
    watcher.plan(run.plan(unmatched))
    work.mkdir(parents=True, exist_ok=True)
    lock = hold(work)
    try:
        return await run.go(work, header)
    finally:
        os.close(lock)


@dataclass(frozen=True, slots=True)
class _Run:
    options: RescoreOptions
    client: Target
    watcher: Watcher
    inputs: Inputs
    columns: Columns
    judges: Sequence[Judge]
    whole: bool
    outputs: Outputs

    def plan(self, unmatched: set[str | None]) -> list[str]:
        """Returns the plan, to be shown before it begins. `unmatched`: data sources that no route matches."""
        options = self.options
        count = len(self.inputs.files)
        size = sum(self.inputs.sizes())
        named = ", ".join(map(str, options.paths[:3])) + (", …" if len(options.paths) > 3 else "")
        lines = [f"input    {named} ({count} file{'s' if count > 1 else ''}, {size / 1e6:,.1f} MB)"]
        lines += [f"{'columns' if index == 0 else '':<8} {line}" for index, line in enumerate(self.columns.describe())]
        lines += [f"{'use' if index == 0 else '':<8} {judge.describe()}" for index, judge in enumerate(self.judges)]
        if self.whole:
            how = "sorted on disk" if options.sort else "the rows of a group must be adjacent (checked first)"
            lines.append(f"groups   {how}")
        if options.only:
            lines.append(f"only     rows with a verdict that is {' or '.join(sorted(options.only))}")
        lines.append(f"output   {options.output}")
        if options.score_column == THEIRS_STAYS:
            lines.append(f"scores   {THEIRS_STAYS}, because the column {self.columns.baseline} holds the rows' own")
        if options.routing.flag is None:
            rest = len(options.routing.routes) - len(self.judges)
            lines.append(f"routing  {options.routing.source} ({rest} more routes, which the first rows do not need)")
        if unmatched:
            named = ", ".join(sorted(map(repr, unmatched)))
            what = options.routing.flag or f"route of {options.routing.source}"
            lines.append(f"warning  no {what} matches the data source {named}: such rows get errors with fault caller")
        needing = [judge.name for judge in self.judges if judge.needs_reference]
        if needing and not self.columns.has_reference:
            lines.append(
                f"warning  no reference found, and {needing[0]} needs one: name its column with --column "
                f"reference=COLUMN. The columns are: {', '.join(self.columns.seen) or 'none'}"
            )
        return lines

    async def go(self, work: Path, header: Mapping[str, Any]) -> Summary:
        """Begin, or go on, and finish."""
        journal, recovered = open_journal(work, header, self.options)
        state = recovered.checkpoint
        try:
            if recovered.finished and state is not None:
                tally, seconds, advice = self._tally(state), state["seconds"], list[str]()
            else:
                tally, seconds, advice = await self._score(work, journal, state, recovered.verdicts)
                state = None
            attempts = Attempts(work, (work / "attempts").stat().st_size)
            each, total = await in_thread(attempts.join, len(tally.sources), self.options.sort_mb)
            attempts.close()
            summary = Summary(tally=tally, pass_at=each, pass_at_all=total, seconds=seconds, advice=advice)
            if not recovered.finished:
                journal.finished()
        finally:
            journal.close()
        await in_thread(self._publish, work, header, summary)
        return summary

    async def _score(
        self, work: Path, journal: Journal, state: Mapping[str, Any] | None, known: dict[int, Verdicts]
    ) -> tuple[Tally, float, list[str]]:
        options = self.options
        maker = UnitMaker(options, self.columns, self.inputs.names, self.whole)
        try:
            order = await in_thread(self._order, work, maker)
        except RescoreError:
            shutil.rmtree(work)  # nothing was scored: nothing to resume
            raise
        sorting = isinstance(order, Sorted)
        staged = state["stage"] if state is not None else None
        stage: Stage = (
            SortedStage(self.outputs, work, options.sort_mb, staged) if sorting else PlainStage(self.outputs, staged)
        )
        rejected = Tail(work / "rejected", state["rejected"] if state is not None else 0)
        attempts = Attempts(work, state["attempts"] if state is not None else 0)
        scoring = Scoring(
            options=options,
            maker=maker,
            order=order,
            client=self.client,
            expect=self._expect(state),
            journal=journal,
            outputs=self.outputs,
            stage=stage,
            rejected=rejected,
            attempts=attempts,
            tally=self._tally(state),
            state=state,
            known=known,
            watcher=self.watcher,
        )
        try:
            await scoring.run()
            await in_thread(stage.complete)
        finally:
            for one in (stage, rejected, attempts):
                one.close()
        return scoring.tally, scoring.seconds, await scoring.advice()

    def _tally(self, state: Mapping[str, Any] | None) -> Tally:
        column = self.columns.baseline
        baseline = None if column is None else (column, self.options.baseline_passes)
        return Tally(None if state is None else state["tally"], baseline)

    def _order(self, work: Path, maker: UnitMaker) -> Order:
        options = self.options
        plain = AsItStands(self.inputs, options.line_mb * 1024**2)
        if not self.whole or "group" not in self.columns.whole:
            return plain
        if options.sort:
            self.watcher.note("sorting by group …")
            order = Sorted(work / "sort", options.sort_mb)
            order.prepare(plain.lines(None), maker.group_of)
            return order
        checked = work / "contiguous"
        if not checked.exists():
            self.watcher.note("checking that the rows of each group are adjacent …")
            folder = work / "starts"
            shutil.rmtree(folder, ignore_errors=True)
            check_contiguous(plain.lines(None), maker.group_of, self.inputs.names, folder, options.sort_mb)
            shutil.rmtree(folder)
            checked.touch()
        return plain

    def _expect(self, state: Mapping[str, Any] | None) -> dict[str, str]:
        """The fingerprints that the rest of the run must have too: those of its first sitting.

        A name that judged under several (with other parameters, say) cannot be demanded of the target.
        """
        found: dict[str, set[str]] = {}
        for _, counts in state["tally"]["sources"] if state is not None else ():
            for verifier in counts["verifiers"]:
                name, _, fingerprint = verifier.rsplit(" ", 2)
                found.setdefault(name, set()).add(fingerprint)
        if self.options.only:
            return {}  # verdicts that were copied may be of an earlier version, and rightly so
        return {name: next(iter(known)) for name, known in found.items() if len(known) == 1}

    def _publish(self, work: Path, header: Mapping[str, Any], summary: Summary) -> None:
        options = self.options
        self.outputs.publish()
        rejected, aside = work / "rejected", beside(options.output, ".rejected.jsonl")
        if rejected.exists():
            if rejected.stat().st_size:
                rejected.replace(aside)
            else:
                aside.unlink(missing_ok=True)
        path = beside(options.output, ".summary.json")
        fresh = work / "summary"
        fresh.write_text(
            json.dumps({**summary.to_json(), "run": header}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
        )
        fresh.replace(path)
        # From here on there is nothing to resume; until here, `--resume` does these steps again.
        (work / "journal").unlink()
        shutil.rmtree(work)


def _beside_theirs(options: RescoreOptions, columns: Columns) -> RescoreOptions:
    """The options with another column for our scores, where the one for them holds the rows' own."""
    root = None if columns.baseline is None else columns.baseline.partition(".")[0]
    if options.overwrite or root not in (options.score_column, options.score_column + "s"):
        return options
    return replace(options, score_column=THEIRS_STAYS)


def _compared(options: RescoreOptions, columns: Columns) -> dict[str, Any]:
    if columns.baseline is None:
        return {}
    return {"--baseline": columns.baseline, "--baseline-passes": options.baseline_passes}


def peek(inputs: Inputs, columns: Mapping[str, str], line_mb: int) -> list[dict[str, Any]]:
    """The first rows of the input, of several files where there are several; more where a column that was named begins
    late. Raises RescoreError if none is one.
    """
    found: list[dict[str, Any]] = []
    first_fault = ""
    # A column that was named may begin late, where rows of several kinds stand one kind after the other.
    missing = {part.split(".")[0] for column in columns.values() for part in column.split(",")}
    missing -= {NONE, FILE, LINE, ROW}
    each = max(10, _PEEK_ROWS // min(len(inputs.files), _PEEK_FILES))
    for index, name in enumerate(inputs.names[:_PEEK_FILES]):
        here = 0
        lines = read_lines(Inputs(inputs.root, inputs.files[: index + 1]), Place(index), line_mb * 1024**2)
        for line, _ in islice(lines, _PEEK_LINES):
            row = parse(line)
            if isinstance(row, str):
                first_fault = first_fault or f"{name}:{line.number}: {row}"
                continue
            if here < each or not missing.isdisjoint(row):
                found.append(row)
                missing.difference_update(row)
                here += 1
            if here >= each and not missing:
                break
    if not found and first_fault:
        raise RescoreError(f"the input has no readable rows; the first error: {first_fault}")
    return found


def _check_rows(options: RescoreOptions, columns: Columns, rows: Sequence[Mapping[str, Any]]) -> None:
    renderer = Renderer.of(options)
    wants_earlier = bool(options.only) and "missing" not in options.only
    if wants_earlier and rows and all(renderer.earlier(row) is None for row in rows):
        raise RescoreError(
            f"--only needs the output of an earlier rescore, but no row has verdicts in the column "
            f"{options.verdict_column!r} (name it with --verdict-column)"
        )
    for row in rows:
        taken = renderer.taken(row, columns.map(row, "", 0).many)
        if taken is not None:
            raise RescoreError(
                f"the input already has a column {taken!r}; choose another name (--score-column, "
                "--verdict-column), replace it with --overwrite, or compare with it (--baseline COLUMN)"
            )


def _routes_of(
    routing: Routing, columns: Columns, rows: Sequence[Mapping[str, Any]]
) -> tuple[set[int], set[str | None]]:
    """Places of the routes that the first rows need, and the data sources among them that no route matches."""
    needed: set[int] = set()
    unmatched: set[str | None] = set()
    for row in rows:
        mapped = columns.map(row, "", 0)
        for index in range(min(1, len(mapped.samples))):
            sample = sample_of(mapped, index)
            if isinstance(sample, BadSample) or sample.use is not None:
                continue
            route = routing.find(sample)
            if route is None:
                unmatched.add(sample.data_source)
            else:
                needed.add(routing.routes.index(route))
    return needed, unmatched
