"""`rewarden check-trainer`: checks a trainer's settings, and scores rows of its data as training would."""

from __future__ import annotations

import argparse
import asyncio
import importlib
import itertools
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from rewarden.adapters.__main__ import adapters
from rewarden.adapters.preflight import examine, shown
from rewarden.adapters.rows import plain
from rewarden.adapters.scoring import Scorer
from rewarden.adapters.settings import Settings
from rewarden.commands.data_file import read_rows
from rewarden.commands.terminal import Styled, one_line, say
from rewarden.commands.use import HELP as USE_HELP
from rewarden.commands.verify import tell
from rewarden.errors import InvalidRequest, RequestError, near
from rewarden.transports.authority import CA_HELP
from rewarden.types import Sample, Verdict
from rewarden.wire.json import verdict_to_json

HELP = "check a trainer's settings, and score rows of its data as training would"

_EPILOG = """\
exit status:
  0    the server can judge, and of the first row the reference passes and a wrong answer does not
  1    it does not, a row cannot be mapped, or the server or its verifier has a problem
  2    refused: arguments, the file
  130  interrupted

examples:
  rewarden check-trainer trl --use math --target http://127.0.0.1:8080
  rewarden check-trainer verl --use math --file train.parquet
  rewarden check-trainer slime --routing starter --file prompts.jsonl --reference label --json
"""

_WRONG = "I do not know the answer."
_FORMS = ("{}", "\\boxed{{{}}}", "<answer>{}</answer>")
"""The forms in which a reference is given as the response: as it is, and as the usual prompts ask for it."""
_SAME_AS = {"verl_manager": "verl"}
_COLUMNS = ("prompt", "reference", "data_source", "group", "id")
_NAMED = 3
_PATIENCE_S = 10.0
"""Seconds to retry transient failures: somebody is waiting."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    parser.add_argument("trainer", help=f"the adapter: {', '.join(sorted(adapters()))}")
    parser.add_argument(
        "--file",
        type=Path,
        help="the trainer's own rows: JSON lines, a JSON list, CSV, Parquet, or a folder of datasets (save_to_disk); "
        "without it, only the settings are checked",
    )
    parser.add_argument("--use", help=f"the verifier: {USE_HELP} (default: REWARDEN_USE)")
    parser.add_argument(
        "--routing", metavar="FILE", help="the verifier for each data source (default: REWARDEN_ROUTING)"
    )
    parser.add_argument("--reference", metavar="COLUMN", help="the column of the expected answer, or of the label")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        type=_setting,
        dest="settings",
        metavar="NAME=VALUE",
        help="any other setting of the adapter, such as metadata=level; repeatable",
    )
    parser.add_argument(
        "--samples",
        type=_count,
        default=256,
        metavar="N",
        help="the samples that measure the throughput (default: 256)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--target", metavar="URL", help="the server (default: REWARDEN_TARGET, or the adapter's default)"
    )
    parser.add_argument("--api-key", metavar="KEY", help="the API key (default: REWARDEN_API_KEY)")
    parser.add_argument("--ca", metavar="FILE", help=CA_HELP)


def run(args: argparse.Namespace) -> int:
    """Returns the exit status that `--help` describes."""
    names = sorted(adapters())
    if args.trainer not in names:
        raise InvalidRequest(f"unknown adapter {args.trainer!r}{near(args.trainer, names)}")
    given = {name: getattr(args, name) for name in ("target", "use", "routing", "reference", "api_key", "ca")}
    settings = Settings.read(
        **dict(args.settings), **{name: value for name, value in given.items() if value is not None}
    )
    # Nothing of this belongs to a training run.
    settings = replace(settings, log=None, run=None, patience_s=min(settings.patience_s, _PATIENCE_S))
    rows = [] if args.file is None else read_rows(args.file, args.samples)
    found = _Findings(args.trainer, shown(settings.target))
    try:
        found.problems += asyncio.run(examine(settings))
    except RequestError as error:
        found.problems.append(error.message)
    if rows and not found.problems:
        try:
            asyncio.run(_score(found, settings, rows, args.samples))
        except RequestError as error:
            found.problems.append(error.message)
    if args.json:
        say(json.dumps(found.to_json(), indent=2, ensure_ascii=False))
    else:
        found.tell()
    return 1 if found.problems else 0


@dataclass
class _Findings:
    """All that the command found out."""

    trainer: str
    target: str
    problems: list[str] = field(default_factory=list)
    columns: dict[str, str] = field(default_factory=dict)
    judged: dict[str, tuple[str, Verdict]] = field(default_factory=dict)
    rows: int = 0
    passed: int = 0
    failing: list[str] = field(default_factory=list)
    per_second: dict[str, float] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Returns everything, ready for JSON."""
        return {
            "trainer": self.trainer,
            "target": self.target,
            "ok": not self.problems,
            "problems": self.problems,
            "columns": self.columns,
            "verdicts": {
                name: {"response": response, "verdict": verdict_to_json(verdict)}
                for name, (response, verdict) in self.judged.items()
            },
            "rows": {"count": self.rows, "passed": self.passed, "failing": self.failing},
            "samples_per_second": self.per_second,
        }

    def tell(self) -> None:
        """Prints everything for people."""
        if self.columns:
            say("columns: ", ", ".join(f"{name} from {column}" for name, column in self.columns.items()))
        for name, (response, verdict) in self.judged.items():
            say(Styled(f"{name}: ", "bold"), repr(response[:200]))
            tell([verdict], [], details=True)
        if self.rows:
            say(f"{self.passed} of {self.rows} rows pass with their own reference")
        for text in self.failing:
            say(f"  {one_line(text)}")
        for name, rate in self.per_second.items():
            say(f"{rate:,.0f} samples a second, {name}")
        for problem in self.problems:
            say(Styled("problem: ", "red"), problem)
        if not self.problems:
            say(Styled("ok", "green"), f": {self.trainer} can use {self.target}")


async def _score(found: _Findings, settings: Settings, rows: Sequence[Mapping[str, Any]], most: int) -> None:
    make = _mapping_of(found.trainer)
    scorer = Scorer(settings)
    try:
        first = make(rows[0], "", settings)
        found.columns = _columns_of(first, rows[0])
        found.judged = await _judge_first(scorer, make, rows[0], first)
        _compare(found, first)
        await _judge_all(found, scorer, make, rows)
        await _measure(found, scorer, make, rows, most)
    finally:
        await scorer.close()


def _mapping_of(trainer: str) -> Any:
    """Returns the adapter's `row_sample`; adapters without one read rows as `plain` does."""
    name = _SAME_AS.get(trainer, trainer)
    module = importlib.import_module(f"rewarden.adapters.{name}")
    return getattr(module, "row_sample", None) or importlib.import_module("rewarden.adapters.plain").row_sample


async def _judge_first(
    scorer: Scorer, make: Any, row: Mapping[str, Any], first: Sample
) -> dict[str, tuple[str, Verdict]]:
    """Returns the verdicts on the reference, in the first form that passes, and on a wrong answer."""
    answer = _answer(first.reference)
    said = [] if answer is None else [form.format(answer) for form in _FORMS]
    *right, wrong = await scorer.verdicts([_alone(make(row, text, scorer.settings)) for text in (*said, _WRONG)])
    passing = next((pair for pair in zip(said, right, strict=True) if _passed(pair[1])), None)
    judged = {} if answer is None else {"reference": passing or (said[0], right[0])}
    return {**judged, "wrong": (_WRONG, wrong)}


def _compare(found: _Findings, first: Sample) -> None:
    """Notes what is wrong with the verdicts on the first row."""
    reference, (_, wrong) = found.judged.get("reference"), found.judged["wrong"]
    if first.reference is None:
        found.problems.append(
            "the first row has no expected answer: no column has a usual name; give --reference COLUMN"
        )
    elif reference is not None and not _passed(reference[1]):
        found.problems.append("the first row's own reference does not pass, in none of the usual forms")
    if _passed(wrong):
        found.problems.append("a wrong answer passes")
    elif wrong.status != "scored" and first.reference is not None:
        found.problems.append(f"a wrong answer has no score ({wrong.reason}, fault {wrong.fault})")


async def _judge_all(found: _Findings, scorer: Scorer, make: Any, rows: Sequence[Mapping[str, Any]]) -> None:
    """Judges each row with its own reference, in the form that passed for the first."""
    if "reference" not in found.judged:
        return
    samples = [make(row, "", scorer.settings) for row in rows]
    said, answer = found.judged["reference"][0], _answer(samples[0].reference)
    form = next(form for form in _FORMS if form.format(answer) == said)
    texts = [form.format(answer) if (answer := _answer(sample.reference)) is not None else "" for sample in samples]
    verdicts = await scorer.verdicts(
        [_alone(make(row, text, scorer.settings)) for row, text in zip(rows, texts, strict=True)]
    )
    found.rows, found.passed = len(rows), sum(map(_passed, verdicts))
    failing = [
        f"row {place}: {verdict.status}, {verdict.reason or verdict.score}"
        for place, verdict in enumerate(verdicts)
        if not _passed(verdict)
    ]
    found.failing = failing[:_NAMED] + ([f"and {len(failing) - _NAMED} more"] if len(failing) > _NAMED else [])


async def _measure(found: _Findings, scorer: Scorer, make: Any, rows: Sequence[Mapping[str, Any]], most: int) -> None:
    """Measures the rate of responses that no cache knows."""
    attempts = itertools.count()

    def samples() -> Iterator[Sample]:
        for row in itertools.islice(itertools.cycle(rows), most):
            yield _alone(make(row, f"Attempt {time.time_ns()}-{next(attempts)}: {_WRONG}", scorer.settings))

    batch = list(samples())
    start = time.perf_counter()
    await scorer.verdicts(batch)
    found.per_second[f"{most} in one call"] = most / (time.perf_counter() - start)
    batch = list(samples())
    start = time.perf_counter()
    await asyncio.gather(*map(scorer.verdict, batch))
    found.per_second[f"{most} calls at once"] = most / (time.perf_counter() - start)


def _columns_of(sample: Sample, row: Mapping[str, Any]) -> dict[str, str]:
    """Returns the column that each field of the sample came from, by its value."""
    known = {repr(plain(value)): name for name, value in reversed(list(_flat(row)))}
    values = {name: getattr(sample, name) for name in _COLUMNS}
    return {name: known[repr(value)] for name, value in values.items() if value is not None and repr(value) in known}


def _flat(row: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in row.items():
        yield prefix + str(name), value
    for name, value in row.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")


def _answer(reference: Any) -> str | None:
    """Returns a reference as the text of a response, or None for objects, such as the tests of a program."""
    one = reference[0] if isinstance(reference, list) and reference else reference
    return str(one) if isinstance(one, (str, int, float)) and not isinstance(one, bool) else None


def _alone(sample: Sample) -> Sample:
    return sample if sample.group is None else replace(sample, group=None, group_size=None)


def _passed(verdict: Verdict) -> bool:
    if verdict.score is None:
        return False
    return verdict.passed if verdict.passed is not None else verdict.score >= verdict.range[1]


def _setting(text: str) -> tuple[str, Any]:
    name, mark, value = text.partition("=")
    if not mark or name not in {item.name for item in fields(Settings)}:
        raise argparse.ArgumentTypeError(f"must be NAME=VALUE with a setting's name, not {text!r}")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _count(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, not {text!r}")
    return int(text)
