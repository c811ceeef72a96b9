"""`rewarden task`: checks task folders before they judge anybody."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rewarden.commands.terminal import add_examples, say
from rewarden.errors import SampleError
from rewarden_server.config import ConfigError, load_config
from rewarden_server.engine.lanes.boxes import BoxLane
from rewarden_server.engine.lanes.sandbox import SandboxLane
from rewarden_server.engine.observer import Observer
from rewarden_verifiers.tasks.checking import check, checked
from rewarden_verifiers.tasks.folder import find_folders, read_folder
from rewarden_verifiers.tasks.memory import Checked, Memory
from rewarden_verifiers.tasks.task import TaskFault

HELP = "check task folders: the solution must get the full reward, and an untouched box must not"

GOOD, BAD, REFUSED = 0, 1, 2

_EPILOG = """\
exit status:
  0  every task can judge
  1  a task cannot be read, or failed its check
  2  refused before any check: arguments, no sandbox

examples:
  rewarden task check tasks/
  rewarden task check tasks/hello --again --json
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    add_examples(parser, "rewarden task check tasks/")
    commands = parser.add_subparsers(dest="what", required=True, metavar="COMMAND")
    one = commands.add_parser(
        "check",
        help="run each task's solution, and its tests on an untouched box",
        description="Run each task's solution, and its tests on an untouched box. Servers remember the results.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = one.add_argument
    add("folders", nargs="+", type=Path, metavar="DIR", help="a task folder, or a folder of task folders")
    add("--again", action="store_true", help="check also what is remembered")
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
    places = [folder for given in args.folders for folder in find_folders(given)]
    sandbox = SandboxLane(config.sandbox, Observer())
    boxes, memory, size = BoxLane(sandbox), Memory(config.tasks.folder), config.tasks.size
    told: list[tuple[str, Checked | None, str | None]] = []
    try:
        for place in places:
            found: Checked | None = None
            problem: str | None
            try:
                task = read_folder(place)
            except TaskFault as fault:
                problem = fault.message
            else:
                found = await (check if args.again else checked)(boxes, task, size, memory)
                problem = found.fault
            told.append((place.name, found, problem))
            if not args.json:
                say(_line(place.name, found, problem))
    finally:
        await sandbox.close()
    if args.json:
        say(json.dumps([_to_json(*each) for each in told], indent=1, ensure_ascii=False))
    else:
        bad = sum(problem is not None for _, _, problem in told)
        tasks = f"{len(told)} task{'' if len(told) == 1 else 's'}"
        say(f"{tasks}, {bad} of which cannot judge" if bad else f"{tasks} can judge")
    return BAD if any(problem is not None for _, _, problem in told) else GOOD


def _line(name: str, found: Checked | None, problem: str | None) -> str:
    if problem is not None:
        return f"✗ {name}: {problem}"
    assert found is not None
    return f"✓ {name}: {'; '.join(_rewards(found))}"


def _rewards(found: Checked) -> Sequence[str]:
    made = []
    for step in found.steps:
        untouched = "none" if step.untouched is None else f"{step.untouched:g}"
        solved = f"solution {step.solved:g}" if step.solved is not None else "no solution"
        made.append(f"{f'{step.step}: ' if step.step else ''}{solved}, untouched {untouched}, {step.seconds:.1f} s")
    return made


def _to_json(name: str, found: Checked | None, problem: str | None) -> dict[str, object]:
    return {"task": name, "ok": problem is None, "problem": problem, **({} if found is None else asdict(found))}
