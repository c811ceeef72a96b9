"""The progress of commands that take a while: on a terminal alone, and not when they are told to be quiet."""

from __future__ import annotations

import io
import itertools
import json
import sys
from pathlib import Path

import pytest

from rewarden.__main__ import main
from rewarden_server.studies.rescore import progress

pytestmark = pytest.mark.needs_server


class Screen(io.StringIO):
    def __init__(self, *, terminal: bool) -> None:
        super().__init__()
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


@pytest.mark.parametrize(
    "command", ["lint", "scorecard", "compare --on", "compare", "compare --key", "judge calibrate"]
)
def test_a_command_shows_its_progress_on_a_terminal_alone(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "rows.jsonl"
    row = {"response": r"\boxed{4}", "reference": "4", "label": True, "score": 1.0}
    file.write_text("".join(json.dumps({**row, "id": str(number)}) + "\n" for number in range(200)))
    words = {
        "lint": ["lint", str(file), "--use", "math"],
        "scorecard": ["scorecard", "--data", str(file), "--use", "number", "--alone"],
        "compare --on": ["compare", "math", "number", "--on", str(file)],
        "compare": ["compare", str(file), str(file)],
        "compare --key": ["compare", str(file), str(file), "--key", "id"],
        "judge calibrate": ["judge", "calibrate", str(file), "--use", "math", "--no-attacks"],
    }[command]
    clock = itertools.count(0.0, 60.0)  # every look at the clock is a minute after the one before
    monkeypatch.setattr(progress.Bar.__init__, "__defaults__", (None, lambda: next(clock)))
    assert "rows/s" in shown_by(words, monkeypatch, terminal=True)
    assert "rows/s" not in shown_by([*words, "-q"], monkeypatch, terminal=True)
    assert "rows/s" not in shown_by(words, monkeypatch, terminal=False)


def shown_by(words: list[str], monkeypatch: pytest.MonkeyPatch, *, terminal: bool) -> str:
    """Run the script, and return what it writes to standard error."""
    with monkeypatch.context() as patch:
        screen = Screen(terminal=terminal)
        patch.setattr(sys, "stderr", screen)
        assert main(words) == 0
    return screen.getvalue()
