"""`rewarden recipes`: lists, shows and checks."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from rewarden_server.cli import recipes

GOOD = "name: mine\nversion: '1'\nuses: {answer: math}\nscore: answer.score\n"


def called(*arguments: str) -> int:
    parser = argparse.ArgumentParser()
    recipes.configure(parser)
    return recipes.run(parser.parse_args(arguments))


def test_it_lists_every_recipe_with_its_summary(capsys: pytest.CaptureFixture[str]) -> None:
    assert called() == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(
        line.split(maxsplit=1) == ["logic_rl", "Logic-RL: format +1 or -1, answer +2, -1.5 or -2."] for line in lines
    )


def test_it_shows_a_recipes_parameters_and_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert called("soft_overlong") == 0
    shown = capsys.readouterr().out
    assert "# max_tokens = 20480  The limit: L_max." in shown
    assert "kind: soft_overlong" in shown


def test_a_name_that_is_none_is_refused_with_near_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert called("logic_lr") == 2
    assert "logic_lr" in capsys.readouterr().err


def test_it_checks_files_and_names_the_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text(GOOD)
    bad.write_text(GOOD.replace("answer.score", "answer.scroe"))
    assert called("--check", str(good)) == 0
    assert "ok: mine 1, scores from 0 to 1" in capsys.readouterr().out
    assert called("--check", str(good), str(bad)) == 1
    assert f"{bad}:4: score: 'answer' has no field 'scroe'; did you mean 'score'?" in capsys.readouterr().err
    assert called("--check", str(tmp_path / "gone.yaml")) == 1
    assert "cannot be read" in capsys.readouterr().err
