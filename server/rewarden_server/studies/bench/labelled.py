"""Entries of a set as labelled responses, which calibration and attacks take."""

from __future__ import annotations

import random
from collections.abc import Sequence

from rewarden_server.studies.bench.entry import Entry, Result, Way
from rewarden_server.studies.calibration.rows import Labelled


def failing(entries: Sequence[Entry[Result]], way: Way, seed: int) -> list[Labelled]:
    """Returns one response of each entry that ought to fail, where there is one."""
    found: list[Labelled] = []
    for entry in entries:
        wrong = [one for one in entry.labelled(way, _coin(entry, seed)) if one.failing is not None]
        found += wrong[-1:]
    return found


def labelled(entries: Sequence[Entry[Result]], way: Way, seed: int) -> list[Labelled]:
    """Returns the entries as labelled responses."""
    return [one for entry in entries for one in entry.labelled(way, _coin(entry, seed))]


def _coin(entry: Entry[Result], seed: int) -> bool:
    return random.Random(f"{seed} {entry.subset} {entry.id}").random() < 0.5
