"""`rewarden task`: checks task folders before they judge anybody."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rewarden.commands.terminal import add_examples, say
from rewarden.errors import SampleError, SandboxError
from rewarden_server.config import ConfigError, load_config
from rewarden_server.engine.lanes.boxes import BoxLane
from rewarden_server.engine.lanes.sandbox import SandboxLane
from rewarden_server.engine.observer import Observer
from rewarden_verifiers.tasks.checking import check, checked
from rewarden_verifiers.tasks.folder import find_folders, read_folder
from rewarden_verifiers.tasks.memory import Checked, Memory

HELP = "check task folders: the solution must get the full reward, and an untouched box must not"

GOOD, BAD, REFUSED = 0, 1, 2

_EPILOG = """\
exit status:
  0  every task passed the check
  1  a task cannot be read, or failed its check
  2  refused: arguments, or no sandbox could check any task

examples:
  rewarden task check tasks/
  rewarden task check tasks/hello --again --json
"""


@dataclass(frozen=True, slots=True)
class _Told:
    """The result of one folder. problem: why its task cannot judge, or None."""

    name: str
    found: Checked | None
    problem: str | None


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    add_examples(parser, "rewarden task check tasks/")
    commands = parser.add_subparsers(dest="what", required=True, metavar="COMMAND")
    one = commands.add_parser(
        "check",
        help="run each task's solution, and its tests on an untouched box",
        description="Run each task's solution, and its tests on an untouched box. The results are cached for servers.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = one.add_argument
    add("folders", nargs="+", type=Path, metavar="DIR", help="a task folder, or a folder of task folders")
    add("--again", action="store_true", help="check again even if the result is cached")
    add("--json", action="store_true", help="print JSON")
    add("--config", type=Path, metavar="FILE", help="the configuration file (default: ./rewarden.toml)")


def run(args: argparse.Namespace) -> int:
    """Returns the exit status that `--help` describes."""
    try:
        return asyncio.run(_check_all(args))
    except (ConfigError, SampleError) as error:
        say(f"rewarden task: {error.message}", file=sys.stderr)
        return REFUSED


async def _check_all(args: argparse.Namespace) -> int:
    config = load_config(args.config, environ=os.environ)
    places = [folder.resolve() for given in args.folders for folder in find_folders(given)]
    sandbox = SandboxLane(config.sandbox, Observer())
    boxes, memory, size = BoxLane(sandbox), Memory(config.tasks.shelf), config.tasks.size
    told: list[_Told] = []
    lost: list[SandboxError] = []
    try:
        for place in places:
            found: Checked | None = None
            try:
                found = await (check if args.again else checked)(boxes, read_folder(place), size, memory)
                problem = found.fault
            except SandboxError as error:
                lost.append(error)
                problem = f"could not be checked: {error.message}"
            except SampleError as error:
                problem = error.message
            told.append(_Told(place.name, found, problem))
            if len(lost) == len(places):
                raise lost[0]  # no task is at fault
            if not args.json:
                say(_line(told[-1]))
    finally:
        await sandbox.close()
    if args.json:
        say(json.dumps([_to_json(each) for each in told], indent=1, ensure_ascii=False))
    else:
        bad = sum(each.problem is not None for each in told)
        tasks = f"{len(told)} task{'' if len(told) == 1 else 's'}"
        say(f"{tasks}, {bad} of which failed the check" if bad else f"{tasks} passed the check")
    return BAD if any(each.problem is not None for each in told) else GOOD


def _line(told: _Told) -> str:
    if told.problem is not None or told.found is None:
        return f"✗ {told.name}: {told.problem}"
    return f"✓ {told.name}: {'; '.join(_rewards(told.found))}"


def _rewards(found: Checked) -> Sequence[str]:
    made = []
    for step in found.steps:
        untouched = "none" if step.untouched is None else f"{step.untouched:g}"
        solved = f"solution {step.solved:g}" if step.solved is not None else "no solution"
        made.append(f"{f'{step.step}: ' if step.step else ''}{solved}, untouched {untouched}, {step.seconds:.1f} s")
    return made


def _to_json(told: _Told) -> dict[str, object]:
    found = {} if told.found is None else asdict(told.found)
    found.pop("task", None)
    found.pop("problem", None)  # the step's, where that has one
    return {"task": told.name, "ok": told.problem is None, "problem": told.problem, **found}
