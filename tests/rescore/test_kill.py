"""kill -9 of a real process, again and again, at random points: `--resume` loses nothing and repeats nothing."""

from __future__ import annotations

import math
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.rescore.conftest import Desk, read_rows

ROOT = Path(__file__).parents[2]
KILLS = 6
IN_HAND = 8
"""Verdicts that a kill may find told, but not yet handed to the kernel."""


def start(desk: Desk, log: Path, seed: int, use: str, sort: str, halt: float = math.inf) -> subprocess.Popen[bytes]:
    words = [str(desk.input), str(desk.output), str(log), str(seed), use, sort, str(halt)]
    return subprocess.Popen([sys.executable, "-m", "tests.rescore.child", *words], cwd=ROOT)


def told(log: Path) -> int:
    return log.read_bytes().count(b"\n") if log.exists() else 0


@pytest.mark.parametrize(("use", "sort"), [("yes", "as it stands"), ("siblings", "as it stands"), ("siblings", "sort")])
@pytest.mark.slow
async def test_a_killed_run_ends_as_if_it_had_never_been_killed(
    desk: Desk, rollouts: Callable[..., list[dict[str, Any]]], use: str, sort: str
) -> None:
    chance = random.Random(f"{use} {sort}")
    rows: list[Any] = rollouts(400)
    if sort == "sort":
        chance.shuffle(rows)
    rows[100:100] = ["{broken"]
    desk.write(rows)
    log = desk.folder / "log"
    for seed in range(KILLS):
        more = chance.randrange(1, len(rows) // (2 * KILLS))
        goal = told(log) + more
        # Flake: a child that nobody stops may have ended before a busy machine comes to kill it.
        child = start(desk, log, seed, use, sort, halt=more + 30)
        while child.poll() is None and told(log) < goal:
            time.sleep(0.001)  # only spares the core; the kill comes wherever the child then is
        child.send_signal(signal.SIGKILL)
        assert child.wait(timeout=120) == -signal.SIGKILL
    assert start(desk, log, KILLS, use, sort).wait(timeout=120) == 0

    again = Desk(desk.folder / "whole")
    again.folder.mkdir()
    again.input = desk.input
    other = start(again, again.folder / "log", 0, use, sort)
    assert other.wait(timeout=120) == 0
    assert desk.output.read_bytes() == again.output.read_bytes()
    assert desk.rejected() == read_rows(again.folder / "out.jsonl.rejected.jsonl")
    assert not desk.work.exists()
    judged = Counter(log.read_text().splitlines())
    assert set(judged) == {row["response"] for row in rows if isinstance(row, dict)}
    if use == "yes":
        assert sum(judged.values()) - len(judged) <= KILLS * IN_HAND
