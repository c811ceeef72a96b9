"""Reports in the trackers themselves, read back by their own means. Each needs its tracker's package."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from rewarden.logging import RewardLog, Sink, to_mlflow, to_tensorboard, to_trackio, to_wandb
from rewarden.types import Sample, Verdict

SAID = "so <b>it</b> is | 7"


def report_twice(log: RewardLog) -> None:
    """Two steps, of one right and one wrong answer, then of a right one."""
    for scores in ((0.0, 1.0), (1.0,)):
        verdicts = [
            Verdict(status="scored", score=score, passed=score == 1.0, id=f"row {score}", data_source="gsm8k")
            for score in scores
        ]
        log.add(verdicts, [Sample(response=SAID)] * len(verdicts))
        log.step()


def test_tensorboard_shows_curves_and_the_table(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="tensorboard reads what was written")
    if not pytest.importorskip("rewarden.logging.packages").there("torch"):
        pytest.importorskip("tensorboardX", reason="tensorboardX, or torch, writes")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    log = RewardLog(to_tensorboard(tmp_path / "{rank}"))
    report_twice(log)
    log.close()
    found = EventAccumulator(str(tmp_path / "0"))
    found.Reload()
    assert [(event.step, event.value) for event in found.Scalars("rewarden/gsm8k/mean")] == [(0, 0.5), (1, 1.0)]
    (table,) = found.Tensors("rewarden/worst/text_summary")
    text = table.tensor_proto.string_val[0].decode()
    assert "row 0.0" in text
    assert "<b>" not in text, "what a model wrote is not markup"
    assert {line.count("|") for line in text.splitlines()} == {11}, "nor does it break the table"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The trainer's own run, of the real package, offline."""
    wandb = pytest.importorskip("wandb", reason="wandb writes a run offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    return wandb.init(mode="offline", dir=str(tmp_path), project="p")


def written(tmp_path: Path) -> list[dict[str, Any]]:
    """The rows of the only run, after W&B's service has ended."""
    import_module("wandb").teardown()
    (path,) = {file.resolve() for file in tmp_path.rglob("*.wandb")}
    return list(history(path, "_step", "loss", "rewarden/step", "rewarden/gsm8k/count"))


def test_wandb_rows_join_the_trainers_and_none_is_lost(run: Any, tmp_path: Path) -> None:
    log = RewardLog(to_wandb())
    for step in range(3):
        log.add([Verdict(status="scored", score=step / 2, data_source="gsm8k")])
        log.step()
        run.log({"loss": step}, step=10 * step)  # as trainers do that number their steps
    run.finish()
    rows = written(tmp_path)
    assert [(row["_step"], row["loss"]) for row in rows if "loss" in row] == [(0, 0), (10, 1), (20, 2)]
    # A row stays open until the next step begins, so the second report took the first one's place in it. The first one
    # went out at the end.
    assert [row["rewarden/step"] for row in rows if "rewarden/step" in row] == [1, 2, 0]


@pytest.mark.parametrize("every", [2, None])
def test_wandb_has_every_verdict_when_the_trainer_finishes_its_run(run: Any, tmp_path: Path, every: int | None) -> None:
    wandb = pytest.importorskip("wandb")
    log = RewardLog(to_wandb(), every=every)
    for _ in range(5):
        log.add([Verdict(status="scored", score=1.0, data_source="gsm8k")])
    run.log({"loss": 1.0}, step=7)
    wandb.finish()
    log.close()
    rows = written(tmp_path)
    assert sum(row.get("rewarden/gsm8k/count", 0) for row in rows) == 5
    assert [row["_step"] for row in rows if "loss" in row] == [7]


def test_wandb_has_every_verdict_when_the_process_ends(tmp_path: Path) -> None:
    """In a function, as in a script's `main`: when the process ends, nobody holds the log any more."""
    pytest.importorskip("wandb", reason="wandb writes a run offline")
    program = f"""
import wandb
from rewarden.logging import RewardLog, to_wandb
from rewarden.types import Verdict

def main():
    wandb.init(mode="offline", dir={str(tmp_path)!r}, project="p")
    log = RewardLog(to_wandb())
    log.add([Verdict(status="scored", score=1.0, data_source="gsm8k")] * 3)

main()
"""
    subprocess.run([sys.executable, "-c", program], check=True, env={**os.environ, "WANDB_SILENT": "true"})
    assert [row["rewarden/gsm8k/count"] for row in written(tmp_path) if "rewarden/step" in row] == [3]


def history(path: Path, *names: str) -> Iterator[dict[str, Any]]:
    """Rows of a run's file: records in LevelDB's log format, blocks of 32 KiB after a header of 7 bytes."""
    from wandb.proto import wandb_internal_pb2 as pb

    data, place, record = path.read_bytes(), 7, b""
    while place + 7 <= len(data):
        if 32768 - place % 32768 < 7:
            place += 32768 - place % 32768
            continue
        _, length, kind = struct.unpack_from("<IHB", data, place)
        record += data[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):  # whole, or its last part
            message: Any = pb.Record.FromString(record)  # type: ignore[attr-defined, unused-ignore]
            record = b""
            if message.WhichOneof("record_type") == "history":
                row = {item.key or "/".join(item.nested_key): item.value_json for item in message.history.item}
                yield {name: json.loads(row[name]) for name in names if name in row}


def test_trackio_finds_the_run_of_whoever_adds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path))
    trackio = pytest.importorskip("trackio", reason="trackio writes a run")
    from trackio.sqlite_storage import SQLiteStorage

    run = trackio.init(project="trainer", embed=False, auto_log_cpu=False)
    log = RewardLog(to_trackio(), every=1)
    log.add([Verdict(status="scored", score=0.5, data_source="gsm8k")], [Sample(response=SAID)])
    log.close()
    trackio.finish()
    rows = SQLiteStorage.get_logs("trainer", run.name)
    assert [row["rewarden/gsm8k/mean"] for row in rows] == [0.5]
    assert SAID in json.dumps(rows[0]["rewarden/worst"])


def test_mlflow_finds_the_run_of_another_thread(tmp_path: Path) -> None:
    mlflow = pytest.importorskip("mlflow", reason="mlflow writes a run")
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/runs.db")
    experiment = mlflow.create_experiment("trainer", artifact_location=(tmp_path / "artifacts").as_uri())
    with mlflow.start_run(experiment_id=experiment) as run:
        thread = threading.Thread(target=report_twice, args=(RewardLog(to_mlflow()),))
        thread.start()
        thread.join()
    history = mlflow.MlflowClient().get_metric_history(run.info.run_id, "rewarden/gsm8k/mean")
    assert [(point.step, point.value) for point in history] == [(0, 0.5), (1, 1.0)]
    table = mlflow.artifacts.load_dict(f"{run.info.artifact_uri}/rewarden/worst/00000000.json")
    assert table["data"][0][table["columns"].index("response")] == SAID


@pytest.mark.parametrize("make", [to_wandb, to_trackio])
def test_a_given_run_goes_to_no_other_process(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rewarden.logging.packages.find_spec", lambda name: object())
    sink: Sink = make(object())
    with pytest.raises(TypeError, match="another process"):
        sink.__reduce__()
