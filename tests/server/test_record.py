"""Records: what was unscored or flagged is kept, and can be judged again."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from rewarden.types import Batch, Sample, Use, Verdict
from rewarden_server.cli import explain
from rewarden_server.observe import record as record_module
from rewarden_server.observe.record import Recorder, read_records
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
    assert "4 records, 0 with another verdict" in capsys.readouterr().out
    assert await asyncio.to_thread(explained, "--use", "number") == 1
    assert "fingerprint changed" in capsys.readouterr().out
    assert await asyncio.to_thread(explained, "--quiet") == 0
    assert capsys.readouterr().out == ""
    assert await asyncio.to_thread(explained, "--use", "number", "--json") == 1
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert told
    for each in told:
        assert all(each["before"].get(name) != each["now"].get(name) for name in each["changed"])
    assert await asyncio.to_thread(explained, "--line", "9") == 2


def kept(recorder: Recorder, *names: str) -> None:
    """Record a flagged verdict for each name."""
    for name in names:
        verdict = Verdict(id=name, index=0, status="scored", score=1.0, flags=("odd",))
        recorder.add(Batch(use=Use(name="same"), samples=()), Sample(response="A" * 100, id=name), verdict)


def test_the_oldest_records_make_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_module, "ROTATE_BYTES", 500)
    recorder = Recorder(tmp_path, max_bytes=2000)
    kept(recorder, *(f"s{number}" for number in range(40)))
    recorder.close()
    files = sorted(tmp_path.iterdir())
    assert sum(path.stat().st_size for path in files) <= 2500
    assert [one.sample.id for one in read_records(files[-1])][-1] == "s39"
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}


def test_a_disk_that_is_full_costs_records_and_no_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder(tmp_path)
    with monkeypatch.context() as patched:

        def full(*_: object) -> int:
            raise OSError(28, "No space left on device")

        patched.setattr("os.open", full)
        kept(recorder, "lost")
    kept(recorder, "kept")
    recorder.close()
    (path,) = tmp_path.iterdir()
    assert [one.sample.id for one in read_records(path)] == ["kept"]
