"""Runs of tests as a box has them, without one: the supervisor and the reporter beside a folder of files."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Collection, Mapping
from importlib.resources import files as resource
from pathlib import Path

from rewarden_sandboxes.job import Report
from rewarden_verifiers.repositories.reports import Results, read_supervised

COMMANDS: Mapping[str, str] = {
    "pytest": f"PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 {sys.executable} -B -m pytest -q -p no:cacheprovider test_calc.py",
    "unittest": f"{sys.executable} -B -m unittest test_calc",
}


def run(folder: Path, framework: str, files: Mapping[str, str], ids: Collection[str], command: str = "") -> Results:
    """Returns what is reported of the tests in files."""
    inside = resource("rewarden_verifiers.repositories.inside")
    ours = {"python/sitecustomize.py": "sitecustomize.py", "supervisor.py": "supervisor.py"}
    texts = {**{place: inside.joinpath(name).read_text() for place, name in ours.items()}}
    texts |= {f"repository/{name}": text for name, text in files.items()}
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    plan = {
        "command": command or COMMANDS[framework],
        "framework": framework,
        "cwd": str(folder / "repository"),
        "python": str(folder / "python"),
    }
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-B", str(folder / "supervisor.py"), json.dumps(plan)], capture_output=True
    )
    return read_supervised(Report(status="ok", stdout=done.stdout, stderr=done.stderr, exit_code=done.returncode), ids)


def shown(run_: Results, control: Results) -> list[str]:
    """Returns what a run shows and its control does not."""
    made = [*(set(run_.alarms) - set(control.alarms)), *(set(run_.states) - set(control.states))]
    made += set(run_.changed) - set(control.changed)
    made += [id for id, mark in run_.prints.items() if control.prints.get(id, mark) != mark]
    return sorted(made)
