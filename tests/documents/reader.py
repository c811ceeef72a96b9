"""A reader of the documentation: Rewarden installed from its wheels, in folders that are not a clone of the
repository."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path

import pytest

from tests.documents.blocks import PAGES, ROOT, Block, Step, blocks

FILES = Path(__file__).parent / "files"
"""`common` has the files that commands name; a folder named like a page, those of this page."""
PARQUET = {"train-1.parquet": "rollouts.jsonl", "ratings.parquet": "ratings.jsonl"}
"""Files that are made from others."""

PACKAGES = {"pytest"}
EVERYTHING = {"judge", "otel", "parquet", "sql", *PACKAGES}
"""The extras and packages that pages install and a test machine has; not `all` and `ray`, which weigh gigabytes."""

_UNREACHABLE = re.compile("No module named uv|error sending request|no versions of|Failed to fetch|client error")
_CONVERT = (
    "import sys, pyarrow.json, pyarrow.parquet; "
    "pyarrow.parquet.write_table(pyarrow.json.read_json(sys.argv[1]), sys.argv[2])"
)


@dataclass(frozen=True)
class Installed:
    """A virtual environment: the folder of its scripts, and the variables of a shell in which it is active."""

    scripts: Path
    variables: dict[str, str]

    @property
    def rewarden(self) -> Path:
        """The script."""
        return self.scripts / "rewarden"


class Machine:
    """Builds both wheels in a folder, and installs them into environments."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        for source in (ROOT / "client", ROOT):
            uv("build", "--wheel", "--out-dir", folder / "dist", source)
        # pip refuses the lock's hashes for packages that it may choose itself.
        lock = (ROOT / "locks/setup.lock").read_text(encoding="utf-8")
        self._pins = folder / "pins.txt"
        self._pins.write_text("\n".join(re.findall(r"^[\w.-]+==[^\s\\]+", lock, re.MULTILINE)))

    def of(self, page: str) -> Installed:
        """The environment for a page: the quick start's, or one with what the page installs beyond that."""
        return self.with_extras if EVERYTHING & set(more_of(page)) else self.quick_start

    @cached_property
    def quick_start(self) -> Installed:
        """`pip install ./client .`"""
        return self.fresh()

    @cached_property
    def with_extras(self) -> Installed:
        """The same with what any page installs: one for all pages, as each environment compiles what it imports."""
        more = {name for page in PAGES for name in more_of(page)} & EVERYTHING
        extras = sorted(more - PACKAGES)
        return self.fresh(",".join(extras), *sorted(more & PACKAGES))

    def fresh(self, extras: str = "", *more: str) -> Installed:
        """A new environment."""
        home = self._folder / f"venv-{len(list(self._folder.iterdir()))}"
        uv("venv", "--seed", "--python", sys.executable, home)
        (server,) = (self._folder / "dist").glob("rewarden_server-*.whl")
        (client,) = (self._folder / "dist").glob("rewarden-*.whl")
        uv("pip", "install", "--python", home, "-c", self._pins, client, f"{server}[{extras}]", *more)
        variables = {
            name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST_", "REWARDEN_"))
        }
        path = os.pathsep.join([str(home / "bin"), os.environ["PATH"]])
        variables |= {"PATH": path, "VIRTUAL_ENV": str(home), "PIP_CONSTRAINT": str(self._pins)}
        return Installed(home / "bin", variables)


def more_of(page: str) -> list[str]:
    """The extras and packages that the first installation of a page adds to the quick start's."""
    for block in blocks():
        if block.page == page:
            for step in block.steps():
                if (wanted := installation(step)) is not None:
                    return [*filter(None, wanted[0].split(",")), *wanted[1:]]
    return []


def uv(*words: str | Path) -> None:
    """Run uv; where no package index answers, the test is skipped."""
    done = subprocess.run([sys.executable, "-m", "uv", *words, "--quiet"], capture_output=True, text=True)
    if done.returncode and _UNREACHABLE.search(done.stderr):
        pytest.skip("the package index cannot be reached")
    assert done.returncode == 0, done.stderr


def installation(step: Step) -> tuple[str, ...] | None:
    """The extras, and the other packages, of a step that installs Rewarden from a clone; None for others.

    The client alone counts as the whole: its commands are among those of the whole.
    """
    for words in step.simple():
        if words[:3] == ["pip", "install", "./client"]:
            server, *more = words[3:] or ["."]
            return (server.removeprefix(".").strip("[]"), *more)
    return None


def lay_out(block: Block, folder: Path, installed: Installed) -> None:
    """Put into the folder what the block's commands read: files of that name, the examples, the page's own programs.

    What the commands write is not there beforehand.
    """
    text = "".join(step.command for step in block.steps())
    written = set(re.findall(r"(?:-o|--report|--out|>)\s+([\w.-]+)", text))
    for source in (FILES / "common", FILES / block.page.removesuffix(".md")):
        for path in sorted(source.glob("*")):
            if path.name not in written:
                copy = shutil.copytree if path.is_dir() else shutil.copy
                copy(path, folder / path.name)
    shutil.copytree(ROOT / "examples", folder / "examples")
    for name, of in PARQUET.items():
        if any(fnmatch(name, word) for word in text.split() if word.endswith(".parquet")):
            convert = [installed.scripts / "python", "-c", _CONVERT, of, name]
            subprocess.run(convert, cwd=folder, check=True, timeout=60)
    for other in blocks():
        named = re.match(r"# (\w+\.py)\n", other.text) if other.page == block.page and other.mark == "python" else None
        if named is not None:
            (folder / named[1]).write_text(other.text, encoding="utf-8")


def pointed_at(port: str, text: str) -> str:
    """A text with the server's port instead of the one that the pages name."""
    return re.sub(r"\b(localhost|127\.0\.0\.1):8080", rf"\1:{port}", text)


def pattern(output: str) -> str:
    """The output that a page shows, as a regular expression: `…` is any text, and a long line may be broken.

    Digits that a `…` ends are one of a kind (an id, a fingerprint): any of them, in a group of its own.
    """
    shown = re.split(r"(\b[0-9a-f]{4,}…|…)", output)
    parts = [".*?" if part == "…" else "([0-9a-f-]+)" if part.endswith("…") else re.escape(part) for part in shown]
    return re.sub(r"(?:\\\s)+", r"\\s+", "".join(parts))


def names(shown: str, printed: str) -> dict[str, str]:
    """The shortened ids of what is shown, and what was printed in their places. Raises AssertionError on a mismatch."""
    match = re.fullmatch(pattern(shown.strip()), printed.strip(), re.DOTALL)
    assert match is not None, printed
    return dict(zip(re.findall(r"\b[0-9a-f]{4,}…", shown), match.groups(), strict=True))
