"""The commands that come with the server: examples in every help, JSON for programs, and `--quiet`."""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rewarden.__main__ import known_commands, main

GOOD = "name: mine\nversion: '1'\nuses: {answer: math}\nscore: answer.score\n"


def parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """A parser and those of its subcommands."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for child in action.choices.values():
                yield from parsers(child)


def test_the_help_of_every_command_has_an_example() -> None:
    lacking = set()
    for name, module in known_commands().items():
        if not module.startswith(("rewarden.", "rewarden_server.")):
            continue
        command = importlib.import_module(module)
        top = argparse.ArgumentParser(prog=f"rewarden {name}")
        command.configure(top)
        for parser in parsers(top):
            if "\n  rewarden " not in (parser.epilog or "").split("example")[-1]:
                lacking.add(parser.prog)
    assert lacking == set()


def test_a_verdict_that_needs_no_worker_leaves_nothing_on_the_screen() -> None:
    """Workers begin to start before the parameters are read."""
    words = ["verify", "--use", "math", "--params", '{"form": "exactly"}', "--response", "x", "--reference", "1"]
    done = subprocess.run([sys.executable, "-m", "rewarden", *words], capture_output=True, text=True)
    assert done.returncode == 1
    assert "params.form must be one of simplified, lowest_terms, factored, expanded, as_written (" in done.stdout
    assert done.stderr == ""


def test_recipes_are_listed_and_described_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["recipes", "--json"]) == 0
    listed = {each["name"]: each for each in json.loads(capsys.readouterr().out)}
    assert listed["logic_rl"] == {
        "name": "logic_rl",
        "summary": "Logic-RL: format +1 or -1, answer +2, -1.5 or -2.",
        "problem": None,
    }
    assert main(["recipes", "soft_overlong", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert "max_tokens" in {each["name"] for each in told["params"]}
    assert told["text"] == Path(told["file"]).read_text(encoding="utf-8")


def test_checked_recipe_files_are_reported_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text(GOOD)
    bad.write_text(GOOD.replace("answer.score", "answer.scroe"))
    assert main(["recipes", "--json", "--check", str(good), str(bad)]) == 1
    right, wrong = json.loads(capsys.readouterr().out)
    told = {"file": str(good), "name": "mine", "version": "1", "range": [0.0, 1.0], "problem": None, "weaknesses": []}
    assert right == told
    assert wrong["problem"].startswith(f"{bad}:4: score: 'answer' has no field 'scroe'")


@pytest.mark.needs_server
def test_cases_are_counted_for_people_and_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scorecard", "--cases", "format"]) == 0
    assert capsys.readouterr().out.endswith("cases passed\n")
    assert main(["scorecard", "--cases", "format", "--quiet"]) == 0
    assert capsys.readouterr().out == ""
    assert main(["scorecard", "--cases", "format", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["cases"] > 0
    assert told["failed"] == []


def test_a_quiet_command_prints_only_what_was_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "recipe", "mine", "--folder", str(tmp_path / "mine"), "--quiet"]) == 0
    assert any((tmp_path / "mine").iterdir())
    assert capsys.readouterr().out == ""
