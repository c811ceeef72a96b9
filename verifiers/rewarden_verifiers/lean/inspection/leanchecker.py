"""The toolchain's own `leanchecker`, for Lean versions whose kernel cannot be called in this process.

It also gives a module's declarations to the kernel, after the module's imports, but maps the file's bytes as Lean's
objects. Therefore it only receives bytes that `olean.read` has found to be as Lean writes them. It skips unsafe and
partial constants, which no safe one may use.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

_MODULE = "Submission"
_SAID = 2000


def check(data: bytes, *, toolchain: Path, path: Sequence[str]) -> tuple[bool | None, str]:
    """Returns whether it accepts the module, with its message if not; None if it gave no result. toolchain: its folder,
    with `bin/leanchecker`. path: as LEAN_PATH."""
    with tempfile.TemporaryDirectory() as folder:
        # No other file of the submission may be in a folder that is searched for modules.
        (Path(folder) / f"{_MODULE}.olean").write_bytes(data)
        ended = subprocess.run(
            [toolchain / "bin" / "leanchecker", _MODULE],
            cwd=folder,
            env={
                "LEAN_PATH": os.pathsep.join((folder, *path)),
                "LEAN_SYSROOT": str(toolchain),
                "PATH": str(toolchain / "bin"),
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
    words = ended.stderr.decode("utf-8", "replace").strip()[-_SAID:]
    if ended.returncode == 0:
        return True, ""
    if ended.returncode > 0 and f"found a problem in {_MODULE}" in words:
        return False, words
    return None, f"leanchecker ended with {ended.returncode}: {words}"
