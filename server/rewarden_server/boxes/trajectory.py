"""A box's trajectory: the programs that its callers ran in it, in Harbor's Agent Trajectory Interchange Format (ATIF).

The server records what it was asked to run and what came out, so that a task's tests can judge how a state came about.
Nothing that runs in the box can change the record.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from importlib.metadata import version
from typing import Any

from rewarden.boxes.types import ExecOutput, ExecRequest, ExecResult

SCHEMA = "ATIF-v1.4"
MOST_BYTES = 1 << 20
"""The size limit of a box's trajectory. Attack: filling the server's memory with output or long commands."""

_OUTPUT_BYTES = 16 * 1024
"""The part of a program's output that is kept, from its beginning."""

_CALL_BYTES = 512
"""The size of a program's record without its command and output."""


@dataclass(eq=False, slots=True, kw_only=True)
class Call:
    """A program. at: seconds since the epoch. room: called with the number of bytes of new output; returns how many of
    them may be kept."""

    id: str
    at: float
    arguments: dict[str, Any]
    room: Callable[[int], int]
    output: bytearray = field(default_factory=bytearray)
    size: int = 0
    result: ExecResult | None = None

    def add(self, item: ExecOutput) -> None:
        """Adds output of either stream."""
        self.size += len(item.data)
        wanted = min(len(item.data), _OUTPUT_BYTES - len(self.output))
        self.output += item.data[: self.room(wanted)]

    def end(self, result: ExecResult) -> None:
        """Records how it ended."""
        self.result = result


class Trajectory:
    """The programs of a box, in the order in which they began. wall: seconds since the epoch."""

    def __init__(self, wall: Callable[[], float]) -> None:
        self._wall = wall
        self._calls: list[Call] = []
        self._left = MOST_BYTES
        self._omitted = 0

    def begin(self, number: int, asked: ExecRequest) -> Call | None:
        """Returns the record of a program that is starting; None if there is no room for more."""
        arguments = _arguments(asked)
        size = len(json.dumps(arguments)) + _CALL_BYTES
        if self._omitted or size > self._left:
            self._omitted += 1  # whatever follows a gap would look as if it had directly followed what precedes it
            return None
        self._left -= size
        call = Call(id=f"exec-{number}", at=self._wall(), arguments=arguments, room=self._room)
        self._calls.append(call)
        return call

    def _room(self, wanted: int) -> int:
        given = min(wanted, self._left)
        self._left -= given
        return given

    def copied(self) -> Trajectory:
        """Returns the trajectory so far, for a copy of the box, in which the running programs do not run."""
        made = Trajectory(self._wall)
        made._calls = [replace(call, output=bytearray(call.output), room=made._room) for call in self._calls]
        made._left, made._omitted = self._left, self._omitted
        return made

    def to_json(self, box: str, instruction: str) -> bytes:
        """Returns the trajectory as a file. instruction: that of the judged step."""
        steps: list[dict[str, Any]] = [{"step_id": 1, "source": "user", "message": instruction}]
        steps += [_step(number, call) for number, call in enumerate(self._calls, 2)]
        told: dict[str, Any] = {
            "schema_version": SCHEMA,
            "session_id": box,
            "agent": {"name": "rewarden-box", "version": version("rewarden-server")},
            "steps": steps,
        }
        if self._omitted:
            told["extra"] = {"omitted": self._omitted}
        return json.dumps(told, ensure_ascii=True, indent=1).encode()


def _arguments(asked: ExecRequest) -> dict[str, Any]:
    given = {name: getattr(asked, name) for name in ("shell", "language", "code", "cwd")}
    made: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if asked.argv is not None:
        made["argv"] = list(asked.argv)
    if asked.background:
        made["background"] = True
    return made


def _step(number: int, call: Call) -> dict[str, Any]:
    extra: dict[str, Any] = {"status": "running"}
    if call.result is not None:
        extra = {"status": call.result.status, "exit_code": call.result.exit_code}
    if call.size > len(call.output):
        extra["output_bytes"] = call.size
    return {
        "step_id": number,
        "timestamp": datetime.fromtimestamp(call.at, timezone.utc).isoformat(),
        "source": "agent",
        "message": "",
        "tool_calls": [{"tool_call_id": call.id, "function_name": "exec", "arguments": call.arguments}],
        "observation": {
            "results": [{"source_call_id": call.id, "content": bytes(call.output).decode("utf-8", "replace")}]
        },
        "extra": extra,
    }
