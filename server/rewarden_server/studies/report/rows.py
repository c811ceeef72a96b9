"""Scored files to what the report shows: figures over all of them, and the responses themselves, bounded in number."""

from __future__ import annotations

import heapq
import math
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rewarden_server.studies.report.excerpt import CALL, Excerpt, excerpt, find_answer, messages, shown
from rewarden_server.studies.rescore.attempts import Attempts
from rewarden_server.studies.rescore.baseline import PASSES, Kind
from rewarden_server.studies.rescore.columns import Columns, Mapped, RowFault, choose
from rewarden_server.studies.rescore.groups import digest
from rewarden_server.studies.rescore.options import RescoreError, RescoreOptions
from rewarden_server.studies.rescore.read import find_inputs, read_lines
from rewarden_server.studies.rescore.render import Renderer
from rewarden_server.studies.rescore.run import peek
from rewarden_server.studies.rescore.summary import Summary
from rewarden_server.studies.rescore.tally import Tally
from rewarden_server.studies.rescore.units import parse

_UNSCORED_SHARE = 0.1
"""The share of the shown responses that may be unscored ones that were not drawn at random."""
_SORT_MB = 32
_MOST_DETAILS = 40
_DETAIL_CHARS = 600
_REFERENCE_CHARS = 1500
_MOST_PROMPT_MESSAGES = 60

_FEEDBACK_CHARS = 2000
_MOST_TESTS = 40
_TOLD_CHARS = 300

_MISSING: dict[str, Any] = {"status": "missing"}
"""Stands for the verdict of a response that has none."""

_IN_DETAILS = ("feedback", "raw", "evidence", "effective", "exclude_reason")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions:
    """The options of a report.

    input: scored files, as `rescore` writes them. output: the page. title: its title (default: the files' names).
    columns, baseline, baseline_passes: as for the rescore. rows: the most responses that the page holds; figures of the
    table count all. chars: the most characters of a response that it holds; half as many of a prompt's message.
    unjudged: show responses without a verdict too.
    """

    input: Path | Sequence[Path]
    output: Path
    title: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    score_column: str = "score"
    verdict_column: str = "verdict"
    baseline: str | None = None
    baseline_passes: float = PASSES
    rows: int = 20_000
    chars: int = 4_000
    unjudged: bool = False
    line_mb: int = 64

    def reading(self) -> RescoreOptions:
        """The same, as reading and columns want it."""
        return RescoreOptions(
            input=self.input,
            output=self.output,
            columns=self.columns,
            score_column=self.score_column,
            verdict_column=self.verdict_column,
            line_mb=self.line_mb,
        )


Message = tuple[str, Excerpt]
"""Role ("" for a plain text) and content."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """The messages that were asked, and a key that is the same for the same messages."""

    messages: tuple[Message, ...]
    key: bytes


@dataclass(frozen=True, slots=True)
class Tests:
    """The tests of a program. `listed`: id, how it ended, CPU seconds, bytes of memory, and what was told of it."""

    passed: int
    total: int
    listed: tuple[tuple[str, str, float | None, int | None, str], ...]

    def to_json(self) -> dict[str, Any]:
        """Returns the tests as the page reads them."""
        return {"passed": self.passed, "total": self.total, "listed": self.listed}


@dataclass(frozen=True, slots=True)
class Shown:
    """A response as the page shows it. `details` are pairs of a name and a text. `theirs` is the score that the row had
    already, and `versus` how it compares with ours."""

    id: str
    source: str
    group: str | None
    prompt: Prompt
    response: tuple[Message, ...]
    reference: Excerpt | None
    extracted: str | None
    verdict: Mapping[str, Any]
    details: tuple[tuple[str, str], ...]
    tests: Tests | None
    theirs: float | None = None
    versus: Kind | None = None


@dataclass(frozen=True, slots=True)
class Collected:
    """All that a report shows. `unjudged`: responses in the files that have no verdict; `unread`: lines that are none.

    `total` responses have verdicts, of which `rows` are shown.
    """

    names: tuple[str, ...]
    columns: Columns
    rows: tuple[Shown, ...]
    total: int
    unjudged: int
    unread: int
    summary: Summary


def collect(options: ReportOptions) -> Collected:
    """Read scored files. Raises RescoreError when no row of them has a verdict, OSError for the disk.

    Where there are more responses than are to be shown, whole groups are drawn by chance (by a hash, so that the same
    files make the same report), and unscored responses before others.
    """
    reading = options.reading()
    inputs = find_inputs(reading.paths)
    first = peek(inputs, reading.columns, reading.line_mb)
    columns = choose(options.columns, first, baseline=options.baseline)
    renderer = Renderer.of(reading)
    tally = Tally(None, None if columns.baseline is None else (columns.baseline, options.baseline_passes))
    unjudged = unread = 0
    names = inputs.names
    prompts = Prompts(options.chars // 2)
    keeper = _Keeper(options.rows)
    with tempfile.TemporaryDirectory(prefix="rewarden-report-") as folder:
        attempts = Attempts(Path(folder), 0)
        for line, _ in read_lines(inputs, limit=options.line_mb * 1024**2):
            row = parse(line)
            if isinstance(row, str):
                unread += 1
                continue
            mapped = columns.map(row, names[line.file], line.number)
            verdicts = renderer.earlier(row)
            group = mapped.group if mapped.group is not None else f"@row:{line.row}" if mapped.many else None
            together = group if group is not None else f"@row:{line.row}"
            if verdicts is None:
                unjudged += len(mapped.samples)
                if not options.unjudged:
                    continue
                verdicts = [_MISSING] * len(mapped.samples)
            else:
                name, counts = tally.of(mapped.data_source)
                counts.rows += 1
            for index, verdict in enumerate(verdicts):
                place = f"{names[line.file]}:{line.number}" + (f" #{index + 1}" if mapped.many else "")
                theirs = mapped.theirs[index] if index < len(mapped.theirs) else None
                versus: Kind | None = None
                if verdict is not _MISSING:
                    counts.add(verdict, together)
                    versus = None if tally.baseline is None else tally.baseline.add(theirs, verdict, place)
                if group is not None and verdict["status"] == "scored" and verdict.get("passed") is not None:
                    attempts.count(name, tally.places[name], group, bool(verdict["passed"]))
                if keeper.wants(together, verdict):
                    shown_row = show(options.chars, prompts, mapped, index, verdict, place, group)
                    keeper.keep(replace(shown_row, theirs=theirs, versus=versus))
        pass_at, pass_at_all = attempts.join(len(tally.sources), _SORT_MB)
        attempts.close()
    total = tally.total().responses
    if options.unjudged and not total + unjudged:
        raise RescoreError("the input has no rows, so there is nothing to show")
    if not total and not options.unjudged:
        raise RescoreError(
            f"no row has a verdict in the column {options.verdict_column!r}, so there is nothing to report: score the "
            "file first (--use NAME -o OUT), or name the column with --verdict-column"
        )
    summary = Summary(tally=tally, pass_at=pass_at, pass_at_all=pass_at_all, seconds=0.0)
    return Collected(names, columns, tuple(keeper), total, unjudged, unread, summary)


class _Keeper:
    """Keeps the responses whose groups have the smallest hashes, in the order in which they came."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._unscored = int(most * _UNSCORED_SHARE)
        self._held: list[tuple[bytes, int, Shown]] = []  # a heap with the largest hash first
        self._key = b""
        self._count = 0

    def wants(self, group: str, verdict: Mapping[str, Any]) -> bool:
        """Returns whether the response will be kept if it is given to `keep` next."""
        self._count += 1
        key = digest(group)
        if verdict["status"] in ("undecided", "error") and self._unscored > 0:
            self._unscored -= 1
            key = bytes(len(key))
        self._key = bytes(255 - byte for byte in key)
        return len(self._held) < self._most or self._key > self._held[0][0]

    def keep(self, response: Shown) -> None:
        """Keep it, in the place of another one where there are enough."""
        heapq.heappush(self._held, (self._key, -self._count, response))
        if len(self._held) > self._most:
            heapq.heappop(self._held)

    def __iter__(self) -> Iterator[Shown]:
        for _, _, one in sorted(self._held, key=lambda item: -item[1]):
            yield one


class Prompts:
    """Prompts cut to size; the one that came last is known, because siblings mostly stand together."""

    def __init__(self, chars: int) -> None:
        self._chars = chars
        self._last: Any = None
        self._made = Prompt((), b"")

    def made(self, prompt: Any) -> Prompt:
        """A prompt's messages, the last ones where there are very many."""
        if prompt != self._last:
            each = messages(prompt)
            left_out = len(each) - _MOST_PROMPT_MESSAGES
            kept: list[Message] = [("", [f"({left_out} earlier messages omitted)"])] if left_out > 0 else []
            kept += [(role, excerpt(text, self._chars)) for role, text in each[-_MOST_PROMPT_MESSAGES:]]
            self._last, self._made = prompt, Prompt(tuple(kept), digest(repr(kept)))
        return self._made


def show(
    chars: int,
    prompts: Prompts,
    mapped: Mapped,
    index: int,
    verdict: Mapping[str, Any],
    place: str,
    group: str | None,
) -> Shown:
    """One of a row's samples as the page shows it. place: its id, where it has none; chars: see `ReportOptions`."""
    sample = mapped.samples[index] if index < len(mapped.samples) else {}
    values: Mapping[str, Any] = {} if isinstance(sample, RowFault) else sample
    evidence = verdict.get("evidence") or {}
    extracted = verdict.get("extracted")
    response = messages(values.get("response"))
    made: list[Message] = []
    last = max((at for at, (role, _) in enumerate(response) if role != CALL), default=0)
    for at, (role, text) in enumerate(response):
        marks = find_answer(text, extracted, evidence.get("rule")) if at == last else []
        made.append((role, excerpt(text, chars, marks)))
    reference = values.get("reference")
    return Shown(
        id=str(values["id"]) if values.get("id") is not None and not mapped.many else place,
        source=mapped.data_source or "",
        group=group,
        prompt=prompts.made(values.get("prompt")),
        response=tuple(made),
        reference=None if reference is None else excerpt(shown(reference), _REFERENCE_CHARS),
        extracted=None if extracted is None else _cut(shown(extracted)),
        verdict=verdict,
        details=tuple(_details(verdict, sample)),
        tests=_tests(evidence),
    )


def _tests(evidence: Mapping[str, Any]) -> Tests | None:
    """The tests that the evidence of `code` lists; None for other evidence."""
    tests = evidence.get("tests")
    if not isinstance(tests, list) or not tests:
        return None
    if not all(isinstance(one, dict) and isinstance(one.get("verdict"), str) and "id" in one for one in tests):
        return None
    total, passed = evidence.get("total"), evidence.get("passed")
    failed = [one for one in tests[_MOST_TESTS - 1 :] if one["verdict"] not in ("AC", "SK")][:1]
    listed = [*tests[: _MOST_TESTS - 1], *(failed or tests[_MOST_TESTS - 1 : _MOST_TESTS])]
    return Tests(
        passed if isinstance(passed, int) else sum(one["verdict"] == "AC" for one in tests),
        total if isinstance(total, int) else len(tests),
        tuple(_test(one) for one in listed),
    )


def _test(test: Mapping[str, Any]) -> tuple[str, str, float | None, int | None, str]:
    time, memory = test.get("cpu_time"), test.get("peak_memory")
    told = [f"{name} {test[name]}" for name in ("group", "exit_code", "signal", "limit") if test.get(name)]
    told += [str(test[name]) for name in ("error", "message", "stderr") if test.get(name)]
    text = " · ".join([*told, *(str(flag) for flag in test.get("flags") or ())])
    return (
        str(test["id"])[:_TOLD_CHARS],
        test["verdict"],
        time if isinstance(time, (int, float)) and math.isfinite(time) else None,
        memory if isinstance(memory, int) else None,
        text if len(text) <= _TOLD_CHARS else text[:_TOLD_CHARS] + " …",
    )


def _details(verdict: Mapping[str, Any], sample: Mapping[str, Any] | RowFault) -> Iterator[tuple[str, str]]:
    """Yields what else the verdict says, one line each."""
    found: list[tuple[str, str]] = []
    if isinstance(sample, RowFault):
        found.append(("fault of the row", sample.message))
    for name in _IN_DETAILS:
        value = verdict.get(name)
        if isinstance(value, dict):
            listed = name == "evidence" and _tests(value) is not None  # they have a table of their own
            found += [(f"{name}.{key}", shown(item)) for key, item in value.items() if not (listed and key == "tests")]
        elif value is not None:
            found.append((name, shown(value)))
    for name, part in (verdict.get("components") or {}).items():
        found.append((f"component {name}", _summed(part)))
    for step in verdict.get("steps") or ():
        found.append((f"step {step.get('index')}" if isinstance(step, dict) else "step", _summed(step)))
    for name, text in found[:_MOST_DETAILS]:
        yield name, _cut(text, _FEEDBACK_CHARS if name == "feedback" else _DETAIL_CHARS)
    if len(found) > _MOST_DETAILS:
        yield "…", f"{len(found) - _MOST_DETAILS} more"


def _summed(part: Any) -> str:
    if not isinstance(part, dict):
        return shown(part)
    told = [shown(part[key]) for key in ("score", "label", "reason", "feedback") if part.get(key) is not None]
    if part.get("status") not in (None, "scored"):
        told.insert(0, str(part["status"]))
    return " · ".join(told)


def _cut(text: str, most: int = _DETAIL_CHARS) -> str:
    return text if len(text) <= most else f"{text[:most]} … ({len(text)} characters)"
