"""Agreement with NeMo Gym's own rewards: `python -m benchmarks.gym rollouts.jsonl`, for a running server.

The file is what `gym eval run` writes: a row for each rollout, with Gym's `reward` and the agent's name. Every row goes
to `/compat/gym` as Gym's agents send it. Prints for each of Gym's servers how many rewards agree, and the rows that
differ, by Gym's reward, ours, and our reason. `--write FILE` keeps the counts, as docs/trainers/nemo-gym-servers.md
shows them. Rows of which Gym itself says that its judge failed are left out.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from rewarden_server.compat.gym_servers import server_named, server_of

URL = "http://127.0.0.1:8080"
WITHIN = 0.02 + 1e-9
"""The difference of rewards up to which they agree: Gym gives 0.98 to some answers that it finds right."""


@dataclass(slots=True)
class Agreement:
    """The counts of a server; `differing`: Gym's reward, ours and the reason, to the rows and an example."""

    rows: int = 0
    agreeing: int = 0
    masked: int = 0
    differing: Counter[tuple[float, float | None, str]] = field(default_factory=Counter)
    examples: dict[tuple[float, float | None, str], str] = field(default_factory=dict)

    def add(self, gyms: float, reply: Mapping[str, Any], text: str) -> None:
        """Count a row."""
        self.rows += 1
        ours = None if reply["mask_sample"] else float(reply["reward"])
        self.masked += ours is None
        if ours is not None and abs(gyms - ours) <= WITHIN:
            self.agreeing += 1
            return
        reason = str(reply.get("failure_reason") or reply.get("verdict_reason") or "right")[:120]
        key = (round(gyms, 2), None if ours is None else round(ours, 2), reason)
        self.differing[key] += 1
        self.examples.setdefault(key, " ".join(text.split())[:100])

    def counts(self) -> dict[str, Any]:
        """Returns the counts as JSON."""
        differing = [
            {"gym": gyms, "here": ours, "reason": reason, "rows": rows, "example": self.examples[gyms, ours, reason]}
            for (gyms, ours, reason), rows in self.differing.most_common()
        ]
        return {"rows": self.rows, "agree": self.agreeing, "differing": differing}


def rollouts(file: Path) -> Iterator[dict[str, Any]]:
    """The rows of a file of rollouts that have a reward."""
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line) if line.strip() else {}
            if isinstance(row.get("reward"), (int, float)) and "_ng_failure_class" not in row:
                yield row


async def compare(
    rows: Iterable[dict[str, Any]], client: httpx.AsyncClient, server: str | None
) -> dict[str, Agreement]:
    """Returns the agreement for each of Gym's servers. `server`: of all rows; None: that of the row's agent."""
    found: dict[str, Agreement] = defaultdict(Agreement)
    slots = asyncio.Semaphore(32)

    async def one(row: dict[str, Any]) -> None:
        agent = (row.get("agent_ref") or {}).get("name")
        known = server_of(agent) if server is None else server_named(server)
        if known is None:
            raise SystemExit(f"{agent!r} is the agent of none of Gym's servers: add --server NAME")
        async with slots:
            answer = await client.post(f"/compat/gym/{known.name}/verify?explain=true", json=row, timeout=300)
        if answer.status_code != 200:
            told = answer.json().get("error", {}).get("message", answer.text)
            reply = {"mask_sample": True, "reward": 0.0, "failure_reason": told}
        else:
            reply = answer.json()
        found[known.name].add(float(row["reward"]), reply, _text(row))

    await asyncio.gather(*map(one, rows))
    return dict(sorted(found.items()))


def _text(row: Mapping[str, Any]) -> str:
    items = (row.get("response") or {}).get("output") or []
    parts = [part.get("text", "") for item in items for part in item.get("content") or () if isinstance(part, dict)]
    calls = [f"{item.get('name')}({item.get('arguments')})" for item in items if item.get("type") == "function_call"]
    return " ".join([*parts, *calls])


def report(found: Mapping[str, Agreement]) -> str:
    """The table, and the rows that differ, the most frequent first."""
    lines = [f"{'server':46} {'rows':>6} {'agree':>6} {'masked':>6}"]
    for name, one in found.items():
        lines.append(f"{name:46} {one.rows:6} {one.agreeing:6} {one.masked:6}")
    for name, one in found.items():
        for (gyms, ours, reason), count in one.differing.most_common():
            shown = "masked" if ours is None else f"{ours:g}"
            lines.append(f"\n{name}: {count} with {gyms:g} by Gym, {shown} here: {reason}")
            lines.append(f"    e.g. {one.examples[gyms, ours, reason]!r}")
    return "\n".join(lines)


async def _main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="the rollouts, as JSON lines")
    parser.add_argument("--url", default=URL, help=f"the server's address; default: {URL}")
    parser.add_argument("--server", help="one of Gym's servers, for rows that do not name their agent")
    parser.add_argument("--write", type=Path, help="also write the counts to this file")
    given = parser.parse_args()
    async with httpx.AsyncClient(base_url=given.url) as client:
        found = await compare(rollouts(given.file), client, given.server)
    print(report(found))
    if given.write is not None:
        counts = {name: one.counts() for name, one in found.items()}
        given.write.write_text(json.dumps(counts, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(_main()))
