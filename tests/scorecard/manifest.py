"""The labelled sets are append-only: `manifest.json` holds a hash of every row, and the test next to it holds them.

`python -m tests.scorecard.manifest` adds the hashes of new rows; it refuses when an old row changed or is gone.
A label that proves wrong is mended by appending a corrected row under a new id and naming the old one in `retired`.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
MANIFEST = FOLDER / "manifest.json"


def hashes(path: Path) -> list[str]:
    """One hash for each row, in order."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [hashlib.sha256(line.encode()).hexdigest()[:16] for line in lines if line.strip()]


def moved(old: dict[str, list[str]], new: dict[str, list[str]]) -> list[str]:
    """The files whose old rows are no longer the beginning of what is there."""
    return [name for name, rows in old.items() if new.get(name, [])[: len(rows)] != rows]


def current() -> dict[str, list[str]]:
    """The hashes of what lies in the folder now."""
    return {path.name: hashes(path) for path in sorted(FOLDER.glob("*.jsonl"))}


def main() -> int:
    """Add what is new; 1 when something old moved."""
    old = json.loads(MANIFEST.read_text(encoding="utf-8")) if MANIFEST.exists() else {}
    new = current()
    if broken := moved(old, new):
        print(f"rows changed or went missing in {', '.join(broken)}; the sets are append-only", file=sys.stderr)
        return 1
    MANIFEST.write_text(json.dumps(new, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
