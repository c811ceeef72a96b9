"""`rewarden judge bench` with reward models, which a scripted process is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rewarden.__main__ import main
from tests.judges import bench_rows as rows_of
from tests.models.scripted import NAME, ScriptedModel


@pytest.fixture
def model(scripted: ScriptedModel, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ScriptedModel:
    """The scripted process as the configured model."""
    monkeypatch.setenv("REWARDEN_MODELS_NAMED", json.dumps({NAME: scripted.settings()}))
    monkeypatch.chdir(tmp_path)
    return scripted


def measured(capsys: pytest.CaptureFixture[str], name: str, file: Path, *arguments: str) -> dict[str, Any]:
    assert main(["judge", "bench", name, str(file), *arguments, "-q", "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    found["values"] = {line["name"]: line["value"] for line in found["figures"]}
    return found


def rewards(model: ScriptedModel, **given: float) -> None:
    """Each text gets its reward wherever it stands as a response."""
    model.script(*({"task": "classify", "when": text, "reply": [reward]} for text, reward in given.items()))


def test_rewards_beyond_the_sigmoid_are_told_apart(
    model: ScriptedModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rewards(model, Teal=52.0, Rust=50.0, Plaid=44.0, Loud=-3.0)
    rows = [
        rows_of.reward_bench_2("1", "Math", ["Teal"], ["Rust", "Plaid", "Loud"]),
        # Right answers are 2 apart and 6 above the wrong one; the prompt with one right answer 8 above.
        rows_of.reward_bench_2("tied:1", "Ties", ["Teal", "Rust"], ["Plaid"]),
        rows_of.reward_bench_2("ref:1", "Ties", ["Teal"], ["Plaid"]),
    ]
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = measured(capsys, "rewardbench2", file, "--use", "rm_scalar")
    assert found["values"]["Math"] == 1.0
    assert found["values"]["margin, hard"] == 1.0
    # tanh(6 / 2 - 1) = 0.964028
    assert found["values"]["Ties"] == pytest.approx(1 + 0.01 * 0.964028)
    assert found["ties"] == 0


def test_attacks_need_a_model_that_says_what_passes(
    model: ScriptedModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rewards(model, Teal=3.0, Loud=-3.0)
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps(rows_of.reward_bench(1, "hep-go", "Teal", "Loud")) + "\n")
    assert main(["judge", "bench", "rewardbench", str(file), "--use", "rm_scalar", "--attacks", "-q"]) == 0
    assert "rm_scalar does not decide passed or failed; give it a threshold" in capsys.readouterr().out
