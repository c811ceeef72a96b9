"""Entries of a set as labelled responses, the form that calibration and attacks take."""

from __future__ import annotations

import random
from collections.abc import Sequence

from rewarden_server.studies.bench.entry import Entry, Result, Way
from rewarden_server.studies.calibration.rows import Labelled


def failing(entries: Sequence[Entry[Result]], way: Way, seed: int) -> list[Labelled]:
    """One response of each entry that should fail, if it has one."""
    found: list[Labelled] = []
    for entry in entries:
        wrong = [one for one in entry.labelled(way, _coin(entry, seed)) if one.failing is not None]
        found += wrong[-1:]
    return found


def labelled(entries: Sequence[Entry[Result]], way: Way, seed: int) -> list[Labelled]:
    """The entries as labelled responses."""
    return [one for entry in entries for one in entry.labelled(way, _coin(entry, seed))]


def _coin(entry: Entry[Result], seed: int) -> bool:
    return random.Random(f"{seed} {entry.subset} {entry.id}").random() < 0.5
