"""Records: what was unscored or flagged is kept, and can be judged again."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from rewarden_server.cli import explain
from rewarden_server.record import read_records
from tests.server.conftest import Start

SAMPLES = [
    {"response": "Answer: A", "reference": "A", "id": "dull"},
    {"response": "no idea", "reference": "A", "id": "silent"},
    {"response": "Answer: A", "reference": None, "id": "unscored"},
    {"response": "Answer: A", "reference_key": "k", "id": "cut", "finish_reason": "length"},
]


async def record(start: Start, folder: Path, share: float) -> Path:
    server = await start({"records.dir": str(folder), "records.share": share})
    await server.http.post("/v1/verify", json={"samples": SAMPLES, "use": "choice", "shared": {"k": "A", "other": "B"}})
    await server.serving.drain(0)
    (path,) = folder.iterdir()
    return path


async def test_everything_unscored_or_flagged_is_kept_with_what_it_needs(start: Start, tmp_path: Path) -> None:
    records = list(read_records(await record(start, tmp_path / "records", 0.0)))
    assert [one.sample.id for one in records] == ["silent", "unscored", "cut"]
    assert dict(records[2].header.shared) == {"k": "A"}
    everything = list(read_records(await record(start, tmp_path / "all", 1.0)))
    assert len(everything) == 4


async def test_records_are_judged_again(start: Start, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = await record(start, tmp_path / "records", 1.0)

    def explained(*words: str) -> int:
        parser = argparse.ArgumentParser()
        explain.configure(parser)
        return explain.run(parser.parse_args([str(path), *words]))

    import asyncio

    assert await asyncio.to_thread(explained) == 0
    assert "4 records, 0 judged otherwise" in capsys.readouterr().out
    assert await asyncio.to_thread(explained, "--use", "math") == 1
    assert "moved" in capsys.readouterr().out
    assert await asyncio.to_thread(explained, "--line", "9") == 2
