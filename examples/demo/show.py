"""Prints one verdict of every kind that a rescored file holds: `python examples/demo/show.py scored.jsonl`."""

from __future__ import annotations

import json
import sys
from typing import Any

WIDTH = 58


def tail(text: str) -> str:
    """The end of a response, on one line."""
    flat = " ".join(text.split())
    return flat if len(flat) <= WIDTH else "…" + flat[-WIDTH + 1 :]


def main(path: str) -> None:
    """Print the first row of each kind: data source, status and reason."""
    kinds: dict[tuple[str, ...], dict[str, Any]] = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            verdict = row["verdict"]
            kind = (row["data_source"], verdict["status"], verdict["reason"] or "right", *verdict.get("flags", ()))
            kinds.setdefault(kind, row)
    print("\none verdict of each kind")
    print(f"{'score':>5}  {'reason':22} {'extracted':18} {'reference':14} end of the response")
    for kind, row in sorted(kinds.items()):
        verdict = row["verdict"]
        score = "–" if verdict["score"] is None else f"{verdict['score']:g}"
        flags = " ".join(flag for flag in verdict.get("flags", ()) if flag not in kind[2])
        reason = f"{kind[2]} {flags}".strip()
        found = str(verdict.get("extracted") or "")[:17]
        reference = str(row["reference"])[:13]
        print(f"{score:>5}  {reason:22} {found:18} {reference:14} {tail(row['response'][-1]['content'])}")


if __name__ == "__main__":
    main(sys.argv[1])
