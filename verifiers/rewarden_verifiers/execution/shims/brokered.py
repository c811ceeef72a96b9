"""Programs in languages whose interpreters have neither JSON nor sockets. Python, which every room has, speaks the
protocol for them (`sources/broker/broker.py`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from rewarden_sandboxes.job import source
from rewarden_verifiers.execution.shims.written import Entry, Written, read


@dataclass(frozen=True, slots=True)
class Interpreter:
    """An interpreter, and our scripts that run in it.

    folder: of its sources. ending: the extension of its scripts. command: starts a script. start: the program that
    starts the broker, with `{}` for the command line, whose words need no quotes. framework: a script besides `values`
    that test code uses. names: the pattern of a function's name.
    """

    folder: str
    ending: str
    command: str
    start: str
    framework: str | None = None
    names: str = r"[A-Za-z_]\w*"

    def unfit(self, entry: Entry) -> str | None:
        """Returns why test code cannot run in a separate room, or None."""
        if not re.fullmatch(self.names, entry.name or "", re.ASCII):
            return "entry_point is not a function's name, so no function can be declared for the test code"
        return None

    def calling(self, code: str) -> Written:
        """Returns the program that makes one call."""
        return self._written("call", "candidate", {"solution": code})

    def serving(self, code: str) -> Written:
        """Returns the program that answers calls from the tests' room."""
        return self._written("serve", "candidate", {"solution": code})

    def testing(self, tests: str) -> Written:
        """Returns the program of the tests' room."""
        return self._written("tests", "tests", {"tests_code": tests})

    def sharing(self, code: str, tests: str) -> Written:
        """Returns the candidate and the test code as one program."""
        return self._written("shared", "tests", {"solution": code, "tests_code": tests})

    def _written(self, mode: str, script: str, texts: Mapping[str, str]) -> Written:
        files = {"rewarden/broker.py": source(read("broker/broker.py"))}
        for part in ("values", script, self.framework if script == "tests" else None):
            if part is None:
                continue
            files[f"rewarden/{part}.{self.ending}"] = source(read(f"{self.folder}/{part}.{self.ending}"))
        for name, text in texts.items():
            files[f"{name}.{self.ending}"] = source(text)
        broker = f"python3 -I -S -B rewarden/broker.py {mode} {self.command} rewarden/{script}.{self.ending}"
        return Written(self.start.format(broker), files)
