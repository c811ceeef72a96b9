"""Judges a corpus and writes a record: `python judging.py CORPUS RECORD`.

It runs in the installation that is asked about, which may be older than this file, so it needs no more of it than the
client's own interface. Rows of one group are judged together; they follow each other.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from rewarden import Client
from rewarden.types import Batch
from rewarden.wire.json import sample_from_json, verdict_to_json

AT_ONCE = 500


def batches(rows: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Rows, some hundreds at a time, no group torn apart."""
    ready: list[dict[str, Any]] = []
    last = None
    for row in rows:
        sample = row["sample"]
        group = sample.get("group") if isinstance(sample, dict) else None
        if len(ready) >= AT_ONCE and (group is None or group != last):
            yield ready
            ready = []
        ready.append(row)
        last = group
    if ready:
        yield ready


def main(corpus: str, record: str) -> None:
    """See the module."""
    with open(corpus, encoding="utf-8") as lines, open(record, "w", encoding="utf-8") as out, Client("local") as client:
        for rows in batches(map(json.loads, lines)):
            result = client.verify(Batch(samples=[sample_from_json(row["sample"]) for row in rows]))
            for row, verdict in zip(rows, result.verdicts, strict=True):
                out.write(json.dumps({**row, "verdict": verdict_to_json(verdict)}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
