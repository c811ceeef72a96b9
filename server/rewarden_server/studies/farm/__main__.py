"""`python -m rewarden_server.studies.farm`: the farmability of verifiers, and the seeds that replay each find."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence

from rewarden.commands.terminal import Parser, say
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.settings import EngineSettings
from rewarden_server.studies.farm.grounds import grounds_of
from rewarden_server.studies.farm.search import Tally, farm


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 1 where anything was farmed."""
    parser = Parser(prog="farm", description=__doc__)
    parser.add_argument("names", nargs="*", help="verifiers and recipes; default: all")
    parser.add_argument("--tries", type=int, default=10_000, help="candidates for each (default: 10,000)")
    parser.add_argument("--seed", default="1", help="another search by another seed")
    parser.add_argument("--show", type=int, default=3, help="finds that are shown of each")
    args = parser.parse_args(arguments)
    return asyncio.run(_farm(args.names, args.tries, args.seed, args.show))


async def _farm(names: Sequence[str], tries: int, seed: str, show: int) -> int:
    engine = Engine(settings=EngineSettings(cache_bytes=0))
    await engine.start()
    farmed = False
    say(f"{'verifier':34} {'tries':>7} {'unscored':>9} {'paid':>6} {'flagged':>8} {'per 10,000':>11}")
    try:
        for name in names or engine.registry.names():
            tally = await farm(engine, name, grounds_of(engine.registry.get(name)), tries, f"{seed}:{name}")
            say(line(tally), flush=True)
            for find in tally.finds[:show]:
                said = f"{find.verdict.status} {find.verdict.reason} {find.verdict.score}"
                say(f"    {find.kind} {find.seed} [{find.title}] {said}: {find.text[:100]!r}", flush=True)
            farmed = farmed or bool(tally.finds)
    finally:
        await engine.close()
    return int(farmed)


def line(tally: Tally) -> str:
    """A tally as a line of the table."""
    if tally.untried is not None:
        return f"{tally.verifier:34} not tried: {tally.untried}"
    counts = f"{tally.tries:7,} {tally.unscored:9,} {tally.paid:6,} {tally.flagged:8,}"
    return f"{tally.verifier:34} {counts} {tally.per_ten_thousand:11.1f}"


if __name__ == "__main__":
    sys.exit(main())
