"""`rewarden verdicts`: records verdicts, and shows which of them another version changes."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from rewarden.commands.terminal import add_examples, one_line, say
from rewarden.errors import InvalidRequest, RewardenError
from rewarden_server.studies.verdicts import corpus
from rewarden_server.studies.verdicts.change import Difference, difference
from rewarden_server.studies.verdicts.corpus import Row
from rewarden_server.studies.verdicts.installation import HERE, Installation
from rewarden_verifiers.registry import Registry

HELP = "record verdicts, and show which of them another version changes"

_EPILOG = """\
examples:
  rewarden verdicts record before.jsonl
  git pull && pip install ./client .
  rewarden verdicts diff before.jsonl .
  rewarden verdicts diff old-venv new-venv --verifier math --corpus samples.jsonl

exit status: 0 done; 1 with --check, verdicts changed and their verifier's version did not; 2 nothing could be compared
"""

_RECORD = ".jsonl"
_PLACE = "a record (a .jsonl file), `.` for this installation, or the virtual environment or interpreter of another one"


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    does = parser.add_subparsers(dest="does", metavar="record | diff", required=True)
    record = does.add_parser("record", help="judge a corpus, and write samples and verdicts to a file")
    record.add_argument("output", type=Path, metavar="OUTPUT", help="the record to write (JSON lines)")
    record.add_argument("--by", default=HERE, metavar="PLACE", help="the installation that judges (default: this one)")
    record.add_argument("-q", "--quiet", action="store_true", help="print nothing but errors")
    diff = does.add_parser("diff", help="show which verdicts differ between two versions")
    diff.add_argument("old", metavar="OLD", help=_PLACE)
    diff.add_argument(
        "new", metavar="NEW", help="the same; if only one of them is a record, the other judges its samples"
    )
    diff.add_argument("--show", type=int, default=5, metavar="N", help="changes to print per verifier (default: 5)")
    diff.add_argument("--json", action="store_true", help="print JSON, with every change")
    diff.add_argument(
        "--check", action="store_true", help="exit with 1 if verdicts changed and their verifier's version did not"
    )
    for each in (record, diff):
        each.add_argument(
            "--corpus",
            type=Path,
            action="append",
            default=[],
            metavar="FILE",
            help="a file of samples, one per line, each with its `use` (repeatable)",
        )
        each.add_argument(
            "--verifier",
            action="append",
            default=[],
            metavar="NAME",
            help="judge the cases of this verifier or recipe (repeatable)",
        )
    add_examples(record, "rewarden verdicts record before.jsonl --verifier math")
    add_examples(diff, "rewarden verdicts diff before.jsonl . --check")


def run(args: argparse.Namespace) -> int:
    """Returns the exit status (see the epilog)."""
    try:
        return _record(args) if args.does == "record" else _diff(args)
    except (RewardenError, OSError) as error:
        say(f"rewarden verdicts: {error}", file=sys.stderr)
        return 2


def _record(args: argparse.Namespace) -> int:
    if args.output.suffix != _RECORD:
        raise InvalidRequest(f"{args.output}: the name of a record must end in {_RECORD}")
    rows = corpus.write(args.output, Installation.at(args.by).judged(_asked(args)))
    if not args.quiet:
        say(f"{args.output}: {rows:,} verdicts")
    return 0


def _diff(args: argparse.Namespace) -> int:
    places = (args.old, args.new)
    records = [[*corpus.of_file(Path(place), record=True)] if place.endswith(_RECORD) else None for place in places]
    if any(record is not None for record in records) and (args.corpus or args.verifier):
        raise InvalidRequest("a record contains its own samples; --corpus and --verifier do not apply to it")
    # If only one of the two is a record, the other one judges its samples.
    asked = next((record for record in records if record is not None), None) or [*_asked(args)]
    old, new = (
        Installation.at(place).judged(asked) if record is None else record
        for place, record in zip(places, records, strict=True)
    )
    found = difference(old, new)
    if args.json:
        say(json.dumps(found.to_json(), indent=1, ensure_ascii=False))
    else:
        say("\n".join(_told(found, args.show)))
    return int(args.check and bool(found.unannounced))


def _asked(args: argparse.Namespace) -> Iterator[Row]:
    """Yields the corpus that the command names, or else the cases of all verifiers and recipes."""
    files = chain.from_iterable(map(corpus.of_file, args.corpus))
    cases = corpus.of_cases(Registry(), args.verifier) if args.verifier or not args.corpus else iter(())
    return chain(files, cases)


def _told(found: Difference, show: int) -> Iterator[str]:
    yield f"{found.rows:,} samples, {len(found.changes):,} with another verdict"
    if found.only_old or found.only_new:
        yield f"in the old record only: {found.only_old:,}; in the new one only: {found.only_new:,}"
    for name, (old_version, new_version), changes in found.by_version():
        same = f"still version {new_version}: raise it" if changes[0].unannounced else None
        yield ""
        yield f"{name}: {len(changes):,}, {same or f'version {old_version} → {new_version}'}"
        for change in changes[:show]:
            fields = "; ".join(f"{field} {_short(old)} → {_short(new)}" for field, old, new in change.fields())
            yield f"  {one_line(change.title.removeprefix(f'{name}: '))}: {fields}"
        if len(changes) > show:
            yield f"  … and {len(changes) - show:,} more"


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:59]}…"
