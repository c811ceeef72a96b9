"""The lines that a notebook's drivers read and write. It runs in the box, with a driver, and imports little.

`rewarden_sandboxes.notebook` is at the other end of a driver's stdin and stdout. A driver has no time limits of its
own: interrupts and restarts are ordered.

Orders, each a JSON object:
    {"do": "run", "id", "code", "most"}         run a cell; `most`: the limit of its output
    {"do": "variables", "id", "most"}           list the variables
    {"do": "interrupt"}
    {"do": "restart"}

Lines:
    {"ev": "ready"}
    {"ev": "output", "output"}                  in the format of nbformat 4
    {"ev": "clear", "wait"}
    {"ev": "update", "id", "data", "metadata"}
    {"ev": "full"}                              the output exceeds `most`; the rest is dropped
    {"ev": "done", "id", "status", "count", "exit_code", "signal"}
                                                `ok`, `error`, or `died`: then a new kernel runs
    {"ev": "restarting"}                        the order to restart has arrived
    {"ev": "missing", "message"}                the image has no such kernel
    {"ev": "failed", "message"}                 the kernel does not start
"""

from __future__ import annotations

import ctypes
import json
import os
from typing import Any

PER_VALUE, FREE_VALUES = 64, 16
"""Bytes that a JSON value counts beyond its text, and the values of a line that count nothing. The reader of the lines
counts in the same way, and never more."""


def close_to_others() -> None:
    """Closes the descriptors of this process to others. Attack: a program of the same box opens /proc/PID/fd/1 and
    writes another cell's output there."""
    ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE


class Orders:
    """The orders on stdin."""

    def __init__(self) -> None:
        self._begun = bytearray()
        self._whole: list[bytes] = []

    def ready(self) -> bool:
        """Returns whether an order has been read that nobody has taken."""
        return bool(self._whole)

    def take(self) -> dict[str, Any]:
        """Returns the next order; waits for it. Ends the program at the end of stdin."""
        while not self._whole:
            self.read()
        made: dict[str, Any] = json.loads(self._whole.pop(0))
        return made

    def read(self) -> None:
        """Reads once, and waits for that. Ends the program at the end of stdin."""
        data = os.read(0, 1 << 16)
        if not data:
            raise SystemExit
        *lines, last = data.split(b"\n")
        for line in lines:
            self._whole.append(bytes(self._begun) + line)
            self._begun.clear()
        self._begun += last


class Outputs:
    """The outputs of one cell. most: the bytes that they may have."""

    def __init__(self, most: int) -> None:
        self._left = most
        self._full = False

    def pass_on(self, **line: Any) -> None:
        """Writes a line that counts towards the limit. Text beyond it is cut, and any other output is dropped."""
        if self._full:
            return
        data = packed(line)
        size = len(data) + PER_VALUE * max(0, values(line) - FREE_VALUES)
        if size > self._left:
            self._full = True
            output = line.get("output") or {}
            if output.get("output_type") == "stream" and (text := fitting(line, output, self._left)):
                output["text"] = text
                write(packed(line))
            tell(ev="full")
            return
        self._left -= size
        write(data)

    def show(self, kind: str, **output: Any) -> None:
        """Writes an output in the format of nbformat 4."""
        self.pass_on(ev="output", output={"output_type": kind, **output})


def failure(error: Exception) -> dict[str, Any]:
    """Returns an exception as an output."""
    return {"output_type": "error", "ename": type(error).__name__, "evalue": str(error), "traceback": [str(error)]}


def values(value: Any) -> int:
    """Returns the number of JSON values in a value, with the keys of objects."""
    if type(value) is dict:
        return 1 + len(value) + sum(map(values, value.values())) if value else 2
    if type(value) is list:
        return 1 + sum(map(values, value)) if value else 2
    return 1


def fitting(line: dict[str, Any], output: dict[str, Any], most: int) -> str:
    """Returns the longest beginning of an output's text with which its line has at most that many bytes."""
    text = output["text"]
    shortest, longest = 0, min(len(text), max(0, most))
    while shortest < longest:
        middle = (shortest + longest + 1) // 2
        if len(packed({**line, "output": {**output, "text": text[:middle]}})) <= most:
            shortest = middle
        else:
            longest = middle - 1
    return str(text[:shortest])


def packed(line: dict[str, Any]) -> bytes:
    """Returns a line's bytes."""
    return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"


def write(data: bytes) -> None:
    """Writes bytes to stdout, all of them."""
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


def tell(**line: Any) -> None:
    """Writes a line."""
    write(packed(line))
