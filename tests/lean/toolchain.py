"""A real Lean for tests, and a library for it: `base/`, compiled in the layout that lake makes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

TOOLCHAIN = Path(__file__).parents[2] / ".venv" / "lean-toolchain"
"""The folder in which `make test` puts the toolchain, see scripts/lean-toolchain.sh."""

SOURCES = Path(__file__).with_name("base")

MODULES = ("Base", "Base.Extra")
"""In the order of their imports."""

NAME = "rewarden-tests"
"""The name of the toolchain in the library's `lean-toolchain`: a custom link of elan's."""


def toolchain() -> Path | None:
    """The folder of a toolchain; None if there is none."""
    return TOOLCHAIN if (TOOLCHAIN / "bin" / "lean").is_file() else None


needs_lean = pytest.mark.skipif(
    toolchain() is None, reason="there is no Lean for the tests: make test, or scripts/lean-toolchain.sh, where gcc is"
)
"""Marks tests, or as `pytestmark` a file of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """A built lake project in `folder`, whose toolchain is a link in the elan folder `elan`. toolchain: what it links
    to."""

    folder: Path
    elan: Path
    toolchain: Path

    @property
    def environment(self) -> Mapping[str, str]:
        """With which the toolchain is found."""
        return {**os.environ, "ELAN_HOME": str(self.elan)}

    @property
    def built(self) -> Path:
        """Returns where its compiled modules lie: what belongs into LEAN_PATH."""
        return self.folder / ".lake" / "build" / "lib" / "lean"

    def lean(self, *words: str, folder: Path) -> subprocess.CompletedProcess[str]:
        """Run `lean` with the library in its path, in that folder."""
        return subprocess.run(
            [self.toolchain / "bin" / "lean", *words],
            cwd=folder,
            env={"LEAN_PATH": str(self.built), "PATH": os.defpath},
            capture_output=True,
            text=True,
            timeout=300,
        )

    def compile(self, text: str, folder: Path, module: str = "Main") -> bytes:
        """The .olean file of a text, made in that folder. AssertionError with Lean's words where it has errors."""
        (folder / f"{module}.lean").write_text(text, encoding="utf-8")
        ended = self.lean("-o", f"{module}.olean", f"{module}.lean", folder=folder)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return (folder / f"{module}.olean").read_bytes()


def build(folder: Path, toolchain: Path) -> Library:
    """Compile the library below `folder`, which is made."""
    project, elan = folder / "base", folder / "elan"
    library = Library(folder=project, elan=elan, toolchain=toolchain)
    shutil.copytree(SOURCES, project)
    (project / "lean-toolchain").write_text(f"{NAME}\n")
    (project / "lakefile.toml").write_text('name = "base"\n\n[[lean_lib]]\nname = "Base"\n')
    manifest = {"version": "1.1.0", "packagesDir": ".lake/packages", "packages": [], "name": "base", "lakeDir": ".lake"}
    (project / "lake-manifest.json").write_text(json.dumps(manifest))
    (elan / "toolchains").mkdir(parents=True)
    (elan / "toolchains" / NAME).symlink_to(toolchain)
    for module in MODULES:
        path = module.replace(".", "/")
        (library.built / path).parent.mkdir(parents=True, exist_ok=True)
        ended = library.lean("-o", str(library.built / f"{path}.olean"), f"{path}.lean", folder=project)
        assert ended.returncode == 0, ended.stdout + ended.stderr
    return library
