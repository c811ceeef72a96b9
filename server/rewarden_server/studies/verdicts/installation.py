"""A version of Rewarden that is installed somewhere: this one, or one in another virtual environment."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from rewarden.errors import InvalidRequest
from rewarden_server.studies.verdicts import corpus
from rewarden_server.studies.verdicts.corpus import Row

HERE = "."
_JUDGING = Path(__file__).with_name("judging.py")


@dataclass(frozen=True, slots=True)
class Installation:
    """The interpreter of an environment that has `rewarden-server`."""

    python: Path

    @classmethod
    def at(cls, place: str) -> Installation:
        """The installation that a command names: `.` is this one, else an interpreter or a virtual environment.

        Raises InvalidRequest for what is neither.
        """
        if place == HERE:
            return cls(Path(sys.executable))
        path = Path(place)
        for python in (path / "bin" / "python", path):
            if python.is_file():
                return cls(python.absolute())  # not resolved: an environment's interpreter is a link
        raise InvalidRequest(f"{place}: neither a record, nor an interpreter, nor a virtual environment")

    def judged(self, rows: Iterable[Row]) -> list[Row]:
        """The rows with the verdicts of this installation. Raises InvalidRequest if it cannot judge them."""
        with tempfile.TemporaryDirectory(prefix="rewarden-verdicts-") as folder:
            asked, answered = Path(folder, "corpus.jsonl"), Path(folder, "record.jsonl")
            corpus.write(asked, rows)
            # -P: a folder named `rewarden` where the command is run must not stand in for the package.
            program = _JUDGING.read_text(encoding="utf-8")
            command = [str(self.python), "-P", "-c", program, str(asked), str(answered)]
            # Another environment's packages are its own, whatever this one adds to its path.
            here = self.python == Path(sys.executable)
            variables = {name: value for name, value in os.environ.items() if here or name != "PYTHONPATH"}
            done = subprocess.run(command, env=variables, capture_output=True, text=True)
            if done.returncode != 0:
                said = done.stderr.strip().rpartition("\n")[2] or f"exit status {done.returncode}"
                raise InvalidRequest(f"{self.python} cannot judge: {said}")
            return [*corpus.of_file(answered, record=True)]
