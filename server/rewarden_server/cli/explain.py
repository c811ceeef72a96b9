"""`rewarden explain`: judges recorded samples again and shows what changed."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rewarden.commands.terminal import add_examples, one_line, say
from rewarden.commands.use import HELP as USE_HELP
from rewarden.commands.use import functions_of, read_use
from rewarden.errors import InvalidRequest
from rewarden.types import Use
from rewarden.wire.json import verdict_to_json
from rewarden_server.config import ConfigError
from rewarden_server.configured import configured_engine
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.settings import EngineSettings
from rewarden_server.observe.record import Record, read_records
from rewarden_verifiers.registry import Registry

HELP = "judge recorded samples again and show what changed"

_COMPARED = ("status", "score", "passed", "reason", "fault", "extracted", "flags")


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.add_argument("record", type=Path, help="a file of records, written by `rewarden serve --record DIR`")
    parser.add_argument("--line", type=int, metavar="N", help="judge only the record on line N (from 1)")
    parser.add_argument("--use", metavar="USE", help=f"judge with this instead: {USE_HELP}, or FILE.py:FUNCTION")
    parser.add_argument("--all", action="store_true", help="also print samples whose verdict did not change")
    parser.add_argument("--json", action="store_true", help="print JSON, one object per record shown")
    parser.add_argument("-q", "--quiet", action="store_true", help="omit the last line, which counts the records")
    add_examples(
        parser,
        "rewarden explain records/unscored.jsonl",
        "rewarden explain records/unscored.jsonl --line 3",
        "rewarden explain records/unscored.jsonl --use math --all",
    )


def run(args: argparse.Namespace) -> int:
    """Returns 0 if nothing changed, 1 if a verdict changed, and 2 if the file does not hold records."""
    try:
        records = list(read_records(args.record))
        if args.line is not None:
            if not 1 <= args.line <= len(records):
                raise InvalidRequest(f"{args.record} has {len(records)} records; there is no line {args.line}")
            records = [records[args.line - 1]]
        use = None if args.use is None else read_use(args.use)
        engine = configured_engine(Registry(functions_of([] if use is None else [use])), EngineSettings())
    except (OSError, ValueError, InvalidRequest, ConfigError) as error:
        say(f"rewarden explain: {error}", file=sys.stderr)
        return 2
    return asyncio.run(_explain(engine, records, use, args))


async def _explain(engine: Engine, records: Sequence[Record], use: Use | None, args: argparse.Namespace) -> int:
    show_all = args.all or args.line is not None
    await engine.start()
    differing = 0
    try:
        for number, record in enumerate(records, start=1):
            sample = record.sample
            # A member of a group is judged with the recorded members of its group.
            mates = [record] if sample.group is None else [r for r in records if r.sample.group == sample.group]
            place = next(at for at, mate in enumerate(mates) if mate is record)
            batch = [replace(mate.sample, use=use or mate.sample.use, group_size=None) for mate in mates]
            result = await engine.verify(replace(record.header, samples=batch), source="explain")
            now = verdict_to_json(result.verdicts[place])
            changed = {name: (record.verdict.get(name), now.get(name)) for name in _COMPARED}
            changed = {name: pair for name, pair in changed.items() if pair[0] != pair[1]}
            differing += bool(changed)
            if changed or show_all:
                (_print_json if args.json else _print)(number, record, now, changed)
    finally:
        await engine.close()
    if not args.quiet and not args.json:
        say(f"{len(records)} records, {differing} with another verdict")
    return int(differing > 0)


def _print_json(number: int, record: Record, now: dict[str, Any], changed: dict[str, tuple[Any, Any]]) -> None:
    told = {"record": number, "changed": sorted(changed), "before": dict(record.verdict), "now": now}
    say(json.dumps(told, ensure_ascii=False))


def _print(number: int, record: Record, now: dict[str, Any], changed: dict[str, tuple[Any, Any]]) -> None:
    before, after = record.verdict.get("verifier") or {}, now.get("verifier") or {}
    same = before.get("fingerprint") == after.get("fingerprint")
    name, moved = one_line(now.get("id") or ""), "(same fingerprint)" if same else "(fingerprint changed)"
    say(f"record {number}  {name}  {after.get('name')} {moved}")
    for field, (old, new) in changed.items():
        say(f"   {field}: {old!r} → {new!r}")
    if not changed:
        say(f"   unchanged: {now['status']} {now.get('score')} {now.get('reason') or ''}")
    for field in ("feedback", "evidence"):
        if now.get(field):
            say(f"   {field}: " + str(now[field]).replace("\n", "\n      "))
