"""`rewarden verify`: judges one response, or a file of samples."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import BinaryIO

from rewarden.commands.connection import add_connection_arguments, open_client
from rewarden.commands.terminal import Look, Styled, one_line, say
from rewarden.commands.use import HELP as USE_HELP
from rewarden.commands.use import read_json, read_use
from rewarden.errors import InvalidRequest, RewardenError
from rewarden.types import BadSample, Batch, Component, Group, Sample, Use, Verdict
from rewarden.wire.json import dumps, loads, sample_from_json, verdict_to_json

HELP = "judge one response, or a JSON-lines file of samples"

_EPILOG = """\
exit status:
  0    judged, and no verdict is of a kind that --fail-on names
  1    a row could not be read, a verdict is an error or of a kind that --fail-on names, or the server failed
  2    refused: arguments, the file, the request
  130  interrupted

examples:
  rewarden verify --use math --response 'So it is \\boxed{0.5}.' --reference 1/2
  rewarden verify samples.jsonl --use answer > verdicts.jsonl
  rewarden verify samples.jsonl --use recipe.yaml --format text --quiet --fail-on wrong,unscored
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    parser.add_argument(
        "file",
        nargs="?",
        help="JSON lines, one sample per line; - reads standard input. The index of a verdict counts rows from 0, "
        "including unreadable rows but not blank lines",
    )
    parser.add_argument("--use", help=f"the verifier: {USE_HELP}, or FILE.py:FUNCTION")
    parser.add_argument("--params", metavar="JSON", help="parameters of --use, as an object")
    parser.add_argument(
        "--response", metavar="TEXT", help="the response to judge, instead of a file; - reads standard input"
    )
    parser.add_argument("--reference", metavar="TEXT", help="the expected answer for --response")
    parser.add_argument("--reference-json", metavar="JSON", help="the same, if it is not a string")
    parser.add_argument("--prompt", metavar="TEXT", help="the prompt of --response")
    parser.add_argument(
        "--format", choices=("text", "json"), help="the output format (default: text for --response, json for a file)"
    )
    parser.add_argument(
        "--fail-on",
        action="extend",
        default=[],
        type=_conditions,
        metavar="wrong|unscored",
        help="exit with 1 if a response is scored but did not pass (wrong), or has no score (unscored); "
        "repeatable, or a list: wrong,unscored",
    )
    parser.add_argument(
        "-q", "--quiet", action="store_true", help="in text, print one line per verdict, without details and groups"
    )
    add_connection_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Returns the exit status that `--help` describes."""
    if (args.file is None) == (args.response is None):
        raise InvalidRequest("give either a file of samples or --response")
    use = _use(args.use, args.params)
    rows, faults = _rows(args)
    for fault in faults:
        say(f"rewarden: {fault}", file=sys.stderr)
    with open_client(args, [] if use is None else [use]) as client:
        result = client.verify(Batch(samples=list(rows.values())), use)
    verdicts = [replace(verdict, index=place) for place, verdict in zip(rows, result.verdicts, strict=True)]
    if (args.format or ("json" if args.response is None else "text")) == "json":
        for verdict in verdicts:
            say(dumps(verdict_to_json(verdict)).decode())
    else:
        tell(verdicts, [] if args.quiet else result.groups, details=not args.quiet)
    failing = [lambda verdict: verdict.status == "error", *(CONDITIONS[name] for name in args.fail_on)]
    return 1 if faults or any(fails(verdict) for verdict in verdicts for fails in failing) else 0


def _wrong(verdict: Verdict) -> bool:
    """Returns whether a response is scored and did not pass; if its verifier does not say, full marks pass."""
    if verdict.score is None:
        return False
    return not (verdict.passed if verdict.passed is not None else verdict.score >= verdict.range[1])


CONDITIONS: Mapping[str, Callable[[Verdict], bool]] = {
    "wrong": _wrong,
    "unscored": lambda verdict: verdict.score is None,
}


def _conditions(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in CONDITIONS:
            raise argparse.ArgumentTypeError(f"unknown value {name!r}; use {' or '.join(CONDITIONS)}")
    return names


def _use(text: str | None, params: str | None) -> Use | None:
    if text is not None:
        return read_use(text, params)
    if params is not None:
        raise InvalidRequest("--params needs --use")
    return None


def _rows(args: argparse.Namespace) -> tuple[dict[int, Sample], list[str]]:
    """Returns the samples by their place among the file's rows, and the errors of rows that cannot be read."""
    if args.response is not None:
        if args.reference is not None and args.reference_json is not None:
            raise InvalidRequest("give either --reference or --reference-json")
        reference = args.reference
        if args.reference_json is not None:
            reference = read_json("--reference-json", args.reference_json)
        response = sys.stdin.read() if args.response == "-" else args.response
        return {0: Sample(response=response, prompt=args.prompt, reference=reference)}, []
    if args.reference is not None or args.reference_json is not None or args.prompt is not None:
        raise InvalidRequest("--reference and --prompt need --response; samples in a file have their own")
    if args.file == "-":
        return _read(sys.stdin.buffer, "standard input")
    with open(args.file, "rb") as file:
        return _read(file, args.file)


def _read(file: BinaryIO | Iterable[bytes], name: str) -> tuple[dict[int, Sample], list[str]]:
    rows: dict[int, Sample] = {}
    faults: list[str] = []
    for number, line in enumerate(file, start=1):
        if not line.strip():
            continue
        try:
            row = sample_from_json(loads(line))
        except RewardenError as error:
            row = BadSample(message=error.message)
        if isinstance(row, Sample):
            # An unreadable row keeps its place, so that verdicts join the file's rows by index.
            rows[len(rows) + len(faults)] = row
        else:
            faults.append(f"{name}:{number}: {row.message}")
    return rows, faults


def tell(verdicts: Iterable[Verdict], groups: Iterable[Group], *, details: bool) -> None:
    """Prints verdicts and groups for people."""
    for verdict in verdicts:
        name = verdict.id if verdict.id is not None else str(verdict.index)
        head = _scored(verdict)
        if verdict.passed is not None:
            head += " (passed)" if verdict.passed else " (not passed)"
        say(f"{one_line(name)}: ", Styled(head, _look(verdict)))
        if details:
            for line in _details(verdict):
                say(line)
    for group in groups:
        say(Styled(f"group {one_line(group.group)}", "bold"), f": {_counts(group)}")


def _look(verdict: Verdict) -> Look:
    if verdict.score is None:
        return "red" if verdict.status == "error" else "yellow"
    return "red" if _wrong(verdict) else "green"


def _details(verdict: Verdict) -> Iterable[str]:
    details = {
        "reason": verdict.reason,
        "fault": verdict.fault,
        "extracted": verdict.extracted,
        "feedback": verdict.feedback,
        "flags": ", ".join(verdict.flags) or None,
        "exclude": (verdict.exclude_reason or "yes") if verdict.exclude else None,
        **{f"component {name}": _scored(part) for name, part in verdict.components.items()},
        **{f"evidence {name}": item for name, item in verdict.evidence.items()},
        "verifier": verdict.verifier and f"{verdict.verifier.name} {verdict.verifier.version}",
    }
    for label, item in details.items():
        if item is not None:
            text = item if isinstance(item, str) else dumps(item).decode()
            yield f"    {one_line(label)}: " + text.replace("\n", "\n        ")


def _scored(part: Verdict | Component) -> str:
    return part.status if part.score is None else f"{part.status} {part.score:g}"


def _counts(group: Group) -> str:
    mean = "none" if group.mean is None else f"{group.mean:g}"
    return f"{group.scored} of {group.size} scored, {group.passed} passed, mean {mean}"
