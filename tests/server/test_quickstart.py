"""docs/quickstart.md does what it says: its commands are run as they stand, and print what it shows.

Blocks marked `console` are run (`$ ` begins a command, what follows is its output, `…` any text); `python` blocks that
begin with `# name.py` are the files that they use. Blocks marked `sh` install and start, and are run by hand.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.programs import no_sandbox
from tests.server.process import ServerProcess

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/quickstart.md").read_text(encoding="utf-8")

pytestmark = [pytest.mark.needs_server, pytest.mark.slow]


@dataclass(frozen=True)
class Step:
    """A command and what the page shows of its output."""

    command: str
    output: str


def blocks(kind: str) -> list[str]:
    """Returns what stands in the page's blocks of a kind."""
    return re.findall(rf"^```{kind}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def steps() -> Iterator[Step]:
    """The page's commands, in order. A command goes on while a quotation is open or its line ends with a backslash."""
    for block in blocks("console"):
        command, output = "", ""
        for line in block.splitlines(keepends=True):
            if line.startswith("$ ") and not unfinished(command):
                if command:
                    yield Step(command, output)
                command, output = line[2:], ""
            elif unfinished(command):
                command += line
            else:
                output += line
        yield Step(command, output)


def unfinished(command: str) -> bool:
    """Returns whether a shell would ask for another line."""
    if command.endswith("\\\n"):
        return True
    try:
        shlex.split(command)
    except ValueError:
        return True
    return False


def pattern(output: str) -> str:
    """Returns what the page shows, as a regular expression: `…` stands for any text, and a long line may be broken."""
    shown = ".*?".join(re.escape(part) for part in output.split("…"))
    return re.sub(r"(?:\\\s)+", r"\\s+", shown)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the folder in which a reader stands: the examples, and the page's own files."""
    place = tmp_path_factory.mktemp("reader")
    (place / "examples").symlink_to(ROOT / "examples")
    for block in blocks("python"):
        if named := re.match(r"# (\w+\.py)\n", block):
            (place / named[1]).write_text(block, encoding="utf-8")
    return place


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[ServerProcess]:
    with ServerProcess(folder, "--set", "sandbox.launcher=auto") as started:
        yield started


@pytest.mark.parametrize("step", list(steps()), ids=lambda step: step.command.split("\n")[0][:60])
def test_the_page_shows_what_comes_out(step: Step, folder: Path, server: ServerProcess) -> None:
    if re.search(r"use\W+code", step.command) and (reason := no_sandbox()) is not None:
        pytest.skip(reason)
    port = server.http.rpartition(":")[2]
    for script in folder.glob("*.py"):
        script.write_text(script.read_text(encoding="utf-8").replace("127.0.0.1:8080", f"127.0.0.1:{port}"))
    command = step.command.replace("localhost:8080", f"localhost:{port}")
    scripts = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=folder,
        env={**os.environ, "PATH": scripts},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout
    assert re.fullmatch(pattern(step.output.strip()), done.stdout.strip(), re.DOTALL), done.stdout


def test_the_page_has_its_commands() -> None:
    """The code that reads the page finds its commands; else the test above would pass over an empty list."""
    assert len(list(steps())) >= 6
    assert len([block for block in blocks("python") if block.startswith("# ")]) == 2
