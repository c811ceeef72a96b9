"""Recipes next to the published code of the systems that they cover, on rows of `parity_rows`.

    python -m benchmarks.parity NAME … --code FOLDER [--count N] [--seed N] [--show N] [--python PYTHON]
    python -m benchmarks.parity all --code FOLDER
    python -m benchmarks.parity --page

NAME is a system of `parity_systems`. FOLDER has a clone of each repository, named `OWNER+NAME`, bare or not. The
published file is taken from the commit that the table names and runs in a process of its own, without our code; it is
never kept. PYTHON is an interpreter that can import what the file needs; no single one can for `all`, since some need
versions of a package that exclude each other.

A row counts if both sides return a number. Every row has a label, such as `right` or `truncated`. Rows with the label
of a listed deviation do not count as compared; every other row must have the same number on both sides. The results
are kept in `parity.json`, and `docs/parity.md` is written from it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import yaml

from benchmarks.parity_rows import Row
from benchmarks.parity_systems import SYSTEMS, Published
from rewarden.types import Batch, Outcome, Sample, Step, Use, Verdict
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.settings import EngineSettings
from rewarden_server.judges.settings import JudgeEndpoint, JudgeSettings
from rewarden_server.processes.settings import SandboxSettings
from rewarden_verifiers.contract import spec_of, verifier
from rewarden_verifiers.lean.params import LeanParams
from rewarden_verifiers.outcome import right, wrong
from rewarden_verifiers.registry import Registry
from tests.judges.scripted import Rule, ScriptedJudge

RESULTS = Path(__file__).with_suffix(".json")
PAGE = Path(__file__).parents[1] / "docs" / "parity.md"
ENOUGH = 200
"""Rows that must be compared for a recipe to be `verified`."""


@verifier(version="1", inline=True)
def lean(response: str, reference: str, *, params: LeanParams) -> Outcome:
    """A proof is right if the row's reference says `proved`; Lean does not run."""
    return right() if reference == "proved" else wrong("lean_error")


class Told(Registry):
    """The real registry, with a `lean` that is told its verdicts."""

    def __init__(self) -> None:
        super().__init__()
        del self._modules["lean"]
        spec = spec_of(lean)
        assert spec is not None
        self.add(spec)


_CHILD = Path(__file__).with_name("parity_peer.py")
_ALIKE = 1e-9
_PATIENCE_S = 900


def rows_of(system: Published, count: int, seed: int) -> list[Row]:
    """Returns the rows that a system is compared on: the same ones for the same seed."""
    rng = random.Random(seed)
    if system.groups is None:
        assert system.rows is not None
        return [system.rows(rng) for _ in range(count)]
    made: list[Row] = []
    while len(made) < count:
        members = system.groups(rng)
        shared = {
            "group": str(len(made)),
            "responses": [member.response for member in members],
            "references": [member.reference for member in members],
        }
        made += [
            replace(member, fields={**member.fields, **shared, "place": place}) for place, member in enumerate(members)
        ]
    return made


def clone(folder: Path, repository: str) -> Path:
    """Returns the clone of a repository in a folder. Raises FileNotFoundError."""
    stem = folder / repository.replace("/", "+")
    for place in (stem / "repo", stem / ".git", stem):
        if (place / "HEAD").exists():
            return place
    raise FileNotFoundError(f"no clone of {repository} at {stem}")


def theirs(system: Published, folder: Path, rows: Sequence[Row], python: str) -> list[float | None]:
    """Returns the published numbers; None for a row that the published code fails on."""
    with tempfile.TemporaryDirectory() as place:
        paths = [system.file, *system.beside]
        taken = subprocess.run(
            ["git", "-C", str(clone(folder, system.repository)), "archive", system.commit, *paths],
            check=True,
            stdout=subprocess.PIPE,
        )
        subprocess.run(["tar", "-x", "-C", place], input=taken.stdout, check=True)
        job = {
            "file": f"{place}/{system.file}",
            "roots": [f"{place}/{root}" for root in system.roots],
            "stubs": system.stubs,
            "names": system.names,
            "call": system.call,
            "rows": [{"response": row.response, "reference": row.reference, **row.fields} for row in rows],
        }
        ended = subprocess.run(
            [python, str(_CHILD)],
            input=json.dumps(job).encode(),
            check=True,
            stdout=subprocess.PIPE,
            cwd=place,
            env={"PATH": "/usr/bin:/bin", **system.env},
            timeout=_PATIENCE_S,
        )
    numbers: list[float | None] = json.loads(ended.stdout.splitlines()[-1])
    return numbers


def steps(response: str, tag: str) -> list[Step]:
    """Returns the parts of a response by whose they are: what is in the tag came from the environment."""
    made: list[Step] = []
    end = 0
    for match in re.finditer(f"<{tag}>.*?</{tag}>\\s*", response, re.DOTALL):
        made.append(Step(message=0, start=end, end=match.start(), kind="policy"))
        made.append(Step(message=0, start=match.start(), end=match.end(), kind="tool"))
        end = match.end()
    made.append(Step(message=0, start=end, end=len(response), kind="policy"))
    return [step for step in made if step.start != step.end]


async def ours(system: Published, rows: Sequence[Row]) -> list[Verdict]:
    """Returns our verdicts. Where a judge is asked, it replies with the row's opinion, one row after the other; rows of
    groups have the opinion of the first."""
    with ScriptedJudge() as judge:
        asked = JudgeSettings(named={"main": JudgeEndpoint(**judge.settings(retries=0))} if system.replies else {})
        sandbox = SandboxSettings(launcher="bwrap", rootfs="host" if system.installed else None)
        engine = Engine(
            registry=Told() if system.told else None,
            settings=EngineSettings(workers=2),
            judges=asked,
            sandbox=sandbox if system.sandbox else None,
        )
        await engine.start()
        try:
            samples = list(samples_of(system, rows))
            at_once = system.replies is None or system.groups is not None
            parts = [samples] if at_once else [[sample] for sample in samples]
            verdicts: list[Verdict] = []
            for row, part in zip(rows, parts, strict=False):
                if system.replies is not None:
                    reply = system.replies(row.fields["opinion"])
                    judge.rules = reply if isinstance(reply, list) else [Rule((), [reply])]
                verdicts += (await engine.verify(Batch(samples=part))).verdicts
            return verdicts
        finally:
            await engine.close()


def samples_of(system: Published, rows: Sequence[Row]) -> Iterator[Sample]:
    """Yields the rows as samples."""
    use = Use(name=system.recipe, params=dict(system.params))
    fields = ("finish_reason", "group", "metadata", "prompt", "signals")
    for row in rows:
        yield Sample(
            response=[{"role": "assistant", "content": row.response}] if system.results else row.response,
            reference=system.reference(row.reference),
            use=use,
            token_count=len(row.response) if system.characters else row.fields.get("token_count"),
            steps=steps(row.response, system.results) if system.results else None,
            **{name: row.fields[name] for name in fields if name in row.fields},
        )


def compared(
    system: Published, rows: Sequence[Row], published: Sequence[float | None], verdicts: Sequence[Verdict]
) -> tuple[dict[str, Any], list[int]]:
    """Returns the counts for `parity.json`, and the places of the rows that differ without being listed."""
    labels: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    odd: list[int] = []
    for place, (row, number, verdict) in enumerate(zip(rows, published, verdicts, strict=True)):
        if number is None or verdict.score is None:
            continue
        alike = abs(number - verdict.score) <= _ALIKE
        labels[row.label][0] += alike
        labels[row.label][1] += 1
        if not alike and system.deviation(row.label) is None:
            odd.append(place)
    counted = [value for label, value in labels.items() if system.deviation(label) is None]
    result = {
        "system": system.system,
        "recipe": system.recipe,
        "params": system.params,
        "repository": system.repository,
        "commit": system.commit,
        "file": system.file,
        "call": system.call,
        "rows": len(rows),
        "compared": sum(value[1] for value in counted),
        "equal": sum(value[0] for value in counted),
        "labels": {label: labels[label] for label in sorted(labels)},
        "deviations": [asdict(deviation) for deviation in system.deviations],
        "note": system.note,
    }
    return result, odd


def written(results: Mapping[str, Any]) -> str:
    """Returns the text of `parity.json`: each field of a system on a line, so that systems can be merged by lines."""
    systems = []
    for name in sorted(results):
        fields = [
            f"  {json.dumps(field)}: {json.dumps(value, ensure_ascii=False)}" for field, value in results[name].items()
        ]
        systems.append(f" {json.dumps(name)}: {{\n" + ",\n".join(fields) + "\n }")
    return "{\n" + ",\n".join(systems) + "\n}\n"


def page(results: Mapping[str, Any]) -> str:
    """Returns the page of results in Markdown."""
    lines = [
        "<!-- Generated by `python -m benchmarks.parity --page`; do not edit. -->",
        "",
        "# Parity with published code",
        "",
        "A recipe is `verified` for a system if its numbers equal those of the system's published code on at least",
        f"{ENOUGH} rows, apart from the deviations listed here. Each deviation is a known way to earn the published",
        "reward without doing the task, which Rewarden does not pay. We generate the rows from a seed: right and wrong",
        "answers, empty and truncated responses, wrong formats, and exploits. A row counts if both sides return a",
        "number. The file `benchmarks/parity.json` has the counts by kind of row. To repeat a comparison, clone the",
        "repository and run",
        "",
        "```",
        "$ git clone --bare https://github.com/OWNER/NAME CODE/OWNER+NAME",
        "$ python -m benchmarks.parity SYSTEM --code CODE",
        "```",
        "",
        "| system | recipe | published code | equal | deviations |",
        "|---|---|---|---|---|",
    ]
    for name, one in results.items():
        url = f"https://github.com/{one['repository']}/blob/{one['commit']}/{one['file']}"
        label = f"{one['repository']}, {one['file'].rsplit('/', 1)[-1]}"
        lines.append(
            f"| [`{name}`](#{name}) | `{one['recipe']}` | [{label}]({url}) | {one['equal']:,} of {one['compared']:,} "
            f"| {len(one['deviations']) or 'none'} |"
        )
    lines += ["", "## Calls and deviations", ""]
    for name, one in results.items():
        lines += [f"### `{name}`", "", "The published call:", "", "```text", one["call"], "```", ""]
        if one["params"]:
            params = yaml.safe_dump(one["params"], sort_keys=False, width=100, allow_unicode=True).rstrip()
            lines += [f"Parameters of `{one['recipe']}`:", "", "```yaml", params, "```", ""]
        if one["note"]:
            lines += [one["note"], ""]
        for deviation in one["deviations"]:
            lines.append(f"* {', '.join(f'`{label}`' for label in deviation['labels'])}: {deviation['why']}")
        if one["deviations"]:
            lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def main() -> int:
    """Compares the systems named, keeps the results and prints the differences. Returns 1 if there are any, or if
    published code could not run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="systems, or 'all'")
    parser.add_argument("--code", type=Path, help="folder with the clones")
    parser.add_argument("--python", default=sys.executable, help="an interpreter that can import the published files")
    parser.add_argument("--count", type=int, default=600)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--show", type=int, default=12, help="labels to show a row of that differs")
    parser.add_argument("--page", action="store_true", help="write docs/parity.md from parity.json")
    args = parser.parse_args()
    kept: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    differing = 0
    missing: list[str] = []
    for name in list(SYSTEMS) if args.names == ["all"] else args.names:
        system = SYSTEMS[name]
        rows = rows_of(system, args.count, args.seed)
        try:
            published = theirs(system, args.code, rows, args.python)
        except subprocess.CalledProcessError:
            print(f"{name}: not compared: the published code cannot run with {args.python}; its error is above")
            missing.append(name)
            continue
        verdicts = asyncio.run(ours(system, rows))
        result, odd = compared(system, rows, published, verdicts)
        kept[name] = {**result, "system": system.system or name, "seed": args.seed}
        differing += len(odd)
        print(f"{name}: {result['equal']} of {result['compared']} equal; {result['labels']}")
        for label, place in list({rows[place].label: place for place in odd}.items())[: args.show]:
            row, verdict = rows[place], verdicts[place]
            print(f"   {label}: published {published[place]}, ours {verdict.score} ({verdict.reason})")
            print(f"      {row.reference!r}\n      {row.response!r}")
    if args.names:
        RESULTS.write_text(written(kept), encoding="utf-8")
    if args.page:
        PAGE.write_text(page({name: kept[name] for name in sorted(kept)}), encoding="utf-8")
    if missing:
        print(f"not compared, because packages are missing: {' '.join(missing)}")
    return min(differing + len(missing), 1)


if __name__ == "__main__":
    sys.exit(main())
