"""Task folders that tests make."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rewarden_verifiers.tasks.folder import read_task
from rewarden_verifiers.tasks.task import File, Task

EXAMPLES = Path(__file__).parents[2] / "examples" / "tasks"

TOML = """
schema_version = "1.4"
[environment]
docker_image = "python"
workdir = "/app"
[agent]
timeout_sec = 20
[verifier]
timeout_sec = 20
"""

DONE = 'if [ "$(cat /app/done)" = yes ]; then echo 1; else echo 0; fi >/logs/verifier/reward.txt\n'
SOLVE = "echo yes >/app/done\n"

PARTS: Mapping[str, str] = {
    "task.toml": TOML,
    "instruction.md": "Write `yes` into /app/done.\n",
    "tests/test.sh": DONE,
    "solution/solve.sh": SOLVE,
}
"""The files of a good task."""


def parts(**changed: str | None) -> dict[str, str]:
    """Returns the files of a task: those of `PARTS`, some changed or, with None, left out. In names `__` is a slash and
    the last `_` the dot: `tests__test_sh`."""
    found = dict(PARTS)
    for name, text in changed.items():
        path, _, suffix = name.replace("__", "/").rpartition("_")
        found.pop(f"{path}.{suffix}", None)
        if text is not None:
            found[f"{path}.{suffix}"] = text
    return found


def task_of(files: Mapping[str, str], id: str = "made") -> Task:
    """Returns the task of these files."""
    return read_task(id, {name: File(text.encode(), name.endswith(".sh")) for name, text in files.items()})


def made(folder: Path, files: Mapping[str, str]) -> Path:
    """Writes files into a folder, which is returned."""
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder
