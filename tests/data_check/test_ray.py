"""`data check --engine ray` on a real cluster of this machine: the findings are the local engine's."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rewarden.errors import Unavailable
from tests.data_check.command import asserting, ran, stdio, written
from tests.data_check.test_run import BROKEN, ROWS, check, options
from tests.programs import no_sandbox
from tests.ray_cluster import running_cluster

RAY = ("--engine", "ray", "--shards", "2", "--shard-cores", "1")
SQUARE = "n = int(input())\nprint(n * n)\n"
PROGRAMS = [
    {"reference": stdio(("2", "4"), ("-3", "9")), "solution": SQUARE},
    {"reference": stdio(("2", "4"), ("3", "6")), "solution": SQUARE},
    {"reference": asserting("assert 1 + 1 == 2"), "solution": "def f(n):\n    return n\n"},
]


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    with running_cluster() as address:
        yield address


def told(folder: Path) -> list[dict[str, Any]]:
    """Each row's findings, without the time that it took."""
    rows = [json.loads(line) for line in (folder / "good.jsonl.check.jsonl").read_text(encoding="utf-8").splitlines()]
    return [{name: value for name, value in row.items() if name != "measured"} for row in rows]


@pytest.mark.alone  # Flake: Ray gives up when its node is not up within 30 s, too short on a crowded machine.
@pytest.mark.needs_server
@pytest.mark.usefixtures("cluster")
class TestOnACluster:
    @pytest.mark.skipif(no_sandbox() is not None, reason=no_sandbox() or "")
    def test_the_findings_are_the_local_engines(self, tmp_path: Path) -> None:
        source = written(tmp_path, PROGRAMS)
        here, there = tmp_path / "here", tmp_path / "there"
        for folder, engine in ((here, ()), (there, RAY)):
            folder.mkdir()
            words = ["--runs", "1", "--mutants", "2", "-q", "-o", folder / "good.jsonl"]
            assert ran(source, *words, *engine) == 1
        assert (there / "good.jsonl").read_bytes() == (here / "good.jsonl").read_bytes()
        rows = told(there)
        assert rows == told(here)
        assert [[one["name"] for one in row["findings"] if one["kind"] == "error"] for row in rows] == [
            [],
            ["solution_fails"],
            ["never_called"],
        ]

    def test_a_run_that_was_broken_off_goes_on_on_ray(self, tmp_path: Path) -> None:
        source = written(tmp_path, [*ROWS, BROKEN])
        with pytest.raises(Unavailable):
            asyncio.run(check(options(source), leaves_after=100))
        assert ran(source, "--use", "math", "--resume", "-q", "-o", tmp_path / "good.jsonl", *RAY) == 1
        assert [row["good"] for row in told(tmp_path)] == [True] * len(ROWS) + [False]
