"""Lean started once for many compilations: each is a fork of a process in which Lean is initialised, and takes a third
of the time that a start takes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.lean.toolchain import Library

_FORKS = """
import ctypes, os, sys
library = ctypes.CDLL(sys.argv[1])
library.lean_initialize()
for line in sys.stdin:
    child = os.fork()
    if not child:
        os.chdir(line.rstrip())
        said = os.open("said", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(said, 1)
        os.dup2(said, 2)
        words = (b"lean", b"-o", b"Main.olean", b"Main.lean")
        code = library.lean_main(len(words), (ctypes.c_char_p * 5)(*words, None))
        ctypes.CDLL(None).fflush(None)
        os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Compiler:
    """Compiles texts as the module `Main`, in a folder, against a library."""

    def __init__(self, library: Library, folder: Path) -> None:
        self._folder = folder
        self._process = subprocess.Popen(
            [sys.executable, "-c", _FORKS, str(library.toolchain / "lib" / "lean" / "libleanshared.so")],
            env={"LEAN_PATH": str(library.built)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def compile(self, text: str) -> bytes:
        """The .olean file. AssertionError with Lean's words where the text has errors."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        (self._folder / "Main.lean").write_text(text, encoding="utf-8")
        self._process.stdin.write(f"{self._folder}\n")
        self._process.stdin.flush()
        code = self._process.stdout.readline().strip()
        assert code == "0", (self._folder / "said").read_text("utf-8", "replace")
        return (self._folder / "Main.olean").read_bytes()

    def close(self) -> None:
        """End the process."""
        self._process.communicate()
