"""A notebook's driver without a box: its orders are written, and its lines read, by the test."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from rewarden_sandboxes.notebook import VARIABLES
from rewarden_sandboxes.notebook_kernels import command


class DriverProcess:
    """A driver that runs on this machine. first: its first line."""

    def __init__(self, kernel: str, env: Mapping[str, str] | None = None) -> None:
        argv = [sys.executable, *command(kernel)[1:]]
        self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
        self._cells = 0
        self.first = self.line()

    def __enter__(self) -> DriverProcess:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def kill(self) -> None:
        """Kills it."""
        self._process.kill()
        self._process.wait()

    def line(self) -> dict[str, Any]:
        """Returns the next line. Raises ValueError if there is none."""
        assert self._process.stdout is not None
        line: dict[str, Any] = json.loads(self._process.stdout.readline())
        return line

    def order(self, **order: Any) -> None:
        """Writes an order."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order).encode() + b"\n")
        self._process.stdin.flush()

    def begin(self, code: str, *, most: int = 100_000, do: str = "run") -> None:
        """Begins a cell."""
        self._cells += 1
        self.order(do=do, id=self._cells, code=code, most=most)

    def end(self) -> DrivenCell:
        """Returns the end of the cell. One that writes too much is interrupted, as the server does."""
        cell = DrivenCell()
        while True:
            line = self.line()
            match line["ev"]:
                case "done":
                    assert line["id"] == self._cells
                    cell.done = line
                    return cell
                case "full":
                    cell.full = True
                    self.order(do="interrupt")
                case "output":
                    cell.outputs.append(line["output"])

    def run(self, code: str, *, most: int = 100_000) -> DrivenCell:
        """Runs a cell."""
        self.begin(code, most=most)
        return self.end()

    def interrupted(self, code: str) -> DrivenCell:
        """Runs a cell that writes a line, and then goes on until it is interrupted."""
        self.begin(code)
        first = self.line()
        assert first["ev"] == "output", first
        self.order(do="interrupt")
        cell = self.end()
        cell.outputs.insert(0, first["output"])
        return cell

    def variables(self) -> dict[str, tuple[str, int | None, Any, str]]:
        """Returns type, size, shape and text of each variable."""
        self.begin("", do="variables")
        (shown,) = self.end().outputs
        rows = shown["data"][VARIABLES]
        return {row["name"]: (row["type"], row["size"], row["shape"], row["text"]) for row in rows}


class DrivenCell:
    """A cell that has ended. done: its last line. full: it wrote too much."""

    def __init__(self) -> None:
        self.outputs: list[dict[str, Any]] = []
        self.done: dict[str, Any] = {}
        self.full = False

    @property
    def status(self) -> str:
        """Returns how it ended."""
        return str(self.done["status"])

    def text(self, name: str = "stdout") -> str:
        """Returns what was written to a stream."""
        return "".join(each["text"] for each in self.outputs if each.get("name") == name)

    @property
    def value(self) -> str:
        """Returns the value of the last expression."""
        (shown,) = [each for each in self.outputs if each["output_type"] == "execute_result"]
        return str(shown["data"]["text/plain"])

    @property
    def error(self) -> tuple[str, str, str]:
        """Returns name, value and traceback of its error."""
        (shown,) = [each for each in self.outputs if each["output_type"] == "error"]
        return shown["ename"], shown["evalue"], "\n".join(shown["traceback"])
