"""`python -m rewarden_server.studies.farm`: the farmability of verifiers, and the seeds that replay each find."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rewarden.commands.terminal import Parser, say
from rewarden_server.config import load_config
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.settings import EngineSettings
from rewarden_server.studies.farm.figures import Figures, read_figures
from rewarden_server.studies.farm.grounds import grounds_of
from rewarden_server.studies.farm.search import Find, Tally, farm, replay


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 1 where anything was farmed of a verifier that is held to it, or where a replayed seed still is."""
    parser = Parser(prog="farm", description=__doc__)
    parser.add_argument("names", nargs="*", help="verifiers and recipes; default: all")
    parser.add_argument("--tries", type=int, default=10_000, help="candidates for each (default: 10,000)")
    parser.add_argument("--seed", default="1", help="another search by another seed")
    parser.add_argument("--show", type=int, default=3, help="finds that are shown of each")
    parser.add_argument("--launcher", default="auto", choices=("auto", "docker", "bwrap"), help="of the sandbox")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here, with those of other names")
    parser.add_argument("--replay", metavar="SEED", help="judge the one candidate of a find's seed, and show it whole")
    args = parser.parse_args(arguments)
    if args.replay is not None:
        return asyncio.run(_replay(args.replay, args.launcher))
    return asyncio.run(_farm(args.names, args.tries, args.seed, args.show, args.launcher, args.json))


def _engine(launcher: str) -> Engine:
    config = load_config(environ=os.environ)
    return Engine(
        settings=EngineSettings(cache=False),
        sandbox=replace(config.sandbox, launcher=launcher),  # type: ignore[arg-type]  # argparse has checked it
        lean=config.lean,
        judges=config.judges,
        models=config.models,
    )


async def _replay(seed: str, launcher: str) -> int:
    engine = _engine(launcher)
    await engine.start()
    try:
        find = await replay(engine, seed)
    finally:
        await engine.close()
    say(f"{find.text}\n\n{_told(find)}\n{find.verdict.feedback or ''}".rstrip())
    return int(bool(find.kind))


async def _farm(names: Sequence[str], tries: int, seed: str, show: int, launcher: str, file: Path | None) -> int:
    engine = _engine(launcher)
    await engine.start()
    farmed = False
    say(HEAD)
    try:
        for name in names or list(engine.registry):
            tally = await farm(engine, name, grounds_of(engine.registry.get(name)), tries, f"{seed}:{name}")
            say(line(tally), flush=True)
            for find in tally.finds[:show]:
                say(f"    {_told(find)}: {find.text[:100]!r}", flush=True)
            farmed = farmed or bool(tally.finds and not tally.learned)
            if file is not None:
                figures = read_figures(file) if file.exists() else Figures({})
                figures.add(tally, seed=seed)
                figures.write(file)
    finally:
        await engine.close()
    return int(farmed)


HEAD = (
    f"{'verifier':24} {'tries':>7} {'unscored':>9} {'paid':>6} {'per 10,000':>11} {'flagged':>8} {'free text':>10} "
    f"{'seconds':>8}"
)


def line(tally: Tally) -> str:
    """A tally as a line of the table."""
    if tally.untried is not None:
        return f"{tally.verifier:24} not searched: {tally.untried}"
    found = f"{tally.tries:7,} {tally.unscored:9,} {tally.paid:6,} {tally.per_ten_thousand:11.1f}"
    told = f"{tally.verifier:24} {found} {tally.flagged:8,} {tally.free_text:10,} {tally.seconds:8.0f}"
    return told + ("  learned, held to nothing" if tally.learned else "")


def _told(find: Find) -> str:
    verdict = find.verdict
    return f"{find.kind or 'nothing'} {find.seed} [{find.title}] {verdict.status} {verdict.reason} {verdict.score}"


if __name__ == "__main__":
    sys.exit(main())
