"""`rewarden check-trainer`: a trainer's own rows, scored as its adapter scores them, before training."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rewarden.__main__ import main
from rewarden.commands.data_file import read_rows
from rewarden.errors import InvalidRequest
from tests.server.process import ServerProcess

pytestmark = pytest.mark.needs_server

CHAT = [{"role": "user", "content": "What is 3+4?"}]
VERL = {
    "data_source": "openai/gsm8k",
    "prompt": CHAT,
    "reward_model": {"style": "rule", "ground_truth": "7"},
    "extra_info": {"index": 0},
}
SKYRL = {"data_source": "openai/gsm8k", "prompt": CHAT, "reward_spec": {"method": "rule", "ground_truth": "7"}}
TEXT = {"input": "What is 3+4?", "label": "7"}

ROWS: dict[str, tuple[dict[str, Any], str]] = {
    "areal": ({"messages": CHAT, "answer": "Three and four.\n#### 7"}, "answer"),
    "easyr1": ({"problem": "What is 3+4?", "answer": "7"}, "answer"),
    "openrlhf": (TEXT, "label"),
    "plain": ({"question": "What is 3+4?", "answer": "#### 7"}, "answer"),
    "skyrl": (SKYRL, "reward_spec.ground_truth"),
    "slime": (TEXT, "label"),
    "swift": ({"messages": [*CHAT, {"role": "assistant", "content": "7"}], "solution": "7"}, "solution"),
    "trl": ({"prompt": CHAT, "solution": "\\boxed{7}"}, "solution"),
    "verifiers": ({"prompt": CHAT, "answer": "7"}, "answer"),
    "verl": (VERL, "reward_model.ground_truth"),
    "verl_manager": (VERL, "reward_model.ground_truth"),
}


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server."""
    with ServerProcess(tmp_path_factory.mktemp("server")) as server:
        yield server.http


def checked(capsys: pytest.CaptureFixture[str], *words: Any) -> tuple[int, dict[str, Any]]:
    """Returns the exit status of a check, and what it prints as JSON."""
    status = main(["check-trainer", *map(str, words), "--json"])
    return status, json.loads(capsys.readouterr().out)


def written(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("trainer", ROWS)
def test_a_row_of_each_trainer_is_mapped_as_in_training_and_judged(
    target: str, trainer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row, column = ROWS[trainer]
    file = written(tmp_path / "rows.jsonl", row, row)
    status, found = checked(capsys, trainer, "--use", "math", "--target", target, "--file", file, "--samples", 4)
    assert (status, found["problems"]) == (0, [])
    assert found["columns"]["reference"] == column
    verdicts = {name: item["verdict"] for name, item in found["verdicts"].items()}
    assert (verdicts["reference"]["score"], verdicts["wrong"]["score"]) == (1.0, 0.0)
    assert found["rows"] == {"count": 2, "passed": 2, "failing": []}
    assert set(found["samples_per_second"]) == {"4 in one call", "4 calls at once"}


def test_rows_that_no_response_can_satisfy_are_named(
    target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{"prompt": "", "answer": answer} for answer in ("7", "\\frac{", "9")]
    file = written(tmp_path / "rows.jsonl", *rows)
    _, found = checked(capsys, "plain", "--use", "math", "--target", target, "--file", file, "--samples", 4)
    assert found["rows"]["count"] == 3
    assert found["rows"]["passed"] == 2
    assert [text.partition(":")[0] for text in found["rows"]["failing"]] == ["row 1"]


def test_a_form_that_the_verifier_demands_is_found(
    target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    use = json.dumps({"name": "math", "params": {"extraction": "explicit"}})
    file = written(tmp_path / "rows.jsonl", {"prompt": "", "answer": "7"})
    status, found = checked(capsys, "plain", "--use", use, "--target", target, "--file", file, "--samples", 1)
    assert status == 0
    assert found["verdicts"]["reference"]["response"] == "\\boxed{7}"


@pytest.mark.parametrize(
    ("words", "rows", "problem"),
    [
        (["trl", "--use", "mth"], [], "did you mean 'math'"),
        (["trl", "--use", "math"], [{"question": "?", "answer": "7"}], "TRL needs a column 'prompt'"),
        (["verl", "--use", "math"], [TEXT], "verl needs the columns data_source and reward_model.ground_truth"),
        (["plain", "--use", "math"], [{"text": "?"}], "no expected answer"),
        (["plain", "--use", "math", "--reference", "gold"], [TEXT], "no column 'gold'"),
        (["plain", "--use", '{"name": "length", "params": {"min": 1}}'], [TEXT], "a wrong answer passes"),
    ],
)
def test_a_problem_is_an_exit_status(
    target: str, words: list[str], rows: list[Any], problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = ["--file", written(tmp_path / "rows.jsonl", *rows)] if rows else []
    status, found = checked(capsys, *words, "--target", target, *file, "--samples", 1)
    assert status == 1
    assert any(problem in text for text in found["problems"]), found["problems"]


def test_for_people_it_prints_one_verdict_in_full(
    target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path / "rows.jsonl", ROWS["trl"][0])
    words = ["check-trainer", "trl", "--use", "math", "--target", target, "--file", str(file), "--samples", "2"]
    assert main(words) == 0
    told = capsys.readouterr().out
    for part in ("prompt from prompt, reference from solution", "extracted: 7", "reason: no_answer", "ok: trl can use"):
        assert part in told


def test_a_server_that_is_not_there_is_a_problem(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-trainer", "trl", "--use", "math", "--target", "http://127.0.0.1:9"]) == 1
    assert "nothing listens there" in capsys.readouterr().out


def test_an_unknown_trainer_is_told_with_near_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-trainer", "tlr"]) == 2
    assert "did you mean 'trl'" in capsys.readouterr().err


# --- files -------------------------------------------------------------------------------------------------------


def test_a_data_set_is_read_in_the_forms_that_trainers_have(tmp_path: Path) -> None:
    rows = [{"prompt": "a", "answer": "1"}, {"prompt": "b", "answer": "2"}]
    (tmp_path / "list.json").write_text(" " + json.dumps(rows))
    written(tmp_path / "lines.jsonl", *rows)
    with (tmp_path / "table.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ["prompt", "answer"])
        writer.writeheader()
        writer.writerows(rows)
    for name in ("list.json", "lines.jsonl", "table.csv"):
        assert read_rows(tmp_path / name, 9) == rows
        assert read_rows(tmp_path / name, 1) == rows[:1]


def test_parquet_and_folders_of_datasets_are_read(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    rows = [{"prompt": [{"role": "user", "content": "?"}], "reward_model": {"ground_truth": "1"}}]
    table = pa.Table.from_pylist(rows)
    parquet.write_table(table, tmp_path / "train.parquet")
    (tmp_path / "saved" / "train").mkdir(parents=True)
    with pa.ipc.new_stream(str(tmp_path / "saved" / "train" / "data-00000-of-00001.arrow"), table.schema) as writer:
        writer.write_table(table)
    for name in ("train.parquet", "saved", "saved/train"):
        assert read_rows(tmp_path / name, 9) == rows


@pytest.mark.parametrize(
    ("text", "why"), [("", "has no rows"), ("{", "line 1 is not valid JSON"), ("7\n", "a row must be an object")]
)
def test_a_file_without_rows_is_refused(tmp_path: Path, text: str, why: str) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text(text)
    with pytest.raises(InvalidRequest, match=why):
        read_rows(file, 9)
