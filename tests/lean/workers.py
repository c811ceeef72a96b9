"""Scripted Lean workers, for failures that a real one rarely has."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from rewarden.errors import SandboxError
from rewarden_sandboxes.job import Clock, Program, Report
from rewarden_server.lean.framing import FrameReader, frame

DEATHS = {
    "DIE": Report(status="runtime_error", exit_code=None, signal=11),
    "HUNGRY": Report(status="memory_limit", limit="memory_mb", signal=9),
    "LOST": Report(status="internal_error", message="the slot was lost"),
}

NONSENSE = {
    "GARBAGE": b"Hello, this is not a frame\r\n\r\n" + b"x" * 300,
    "HUGE": b"Content-Length: 999999999999\r\n\r\n{",
    "NO_LENGTH": b"X: 1\r\n\r\n{}",
    "NEGATIVE": b"Content-Length: -1\r\n\r\n",
    "NO_JSON": b"Content-Length: 3\r\n\r\n{]}",
    "A_LIST": b"Content-Length: 2\r\n\r\n[]",
    "DEEP": b"Content-Length: 100000\r\n\r\n" + b'{"params":' * 10000,
    "UNASKED": frame({"id": 4711, "result": {}}),
    "FORGED_ID": frame({"id": True, "result": {}}),
    "SHAPES": frame({"method": "textDocument/publishDiagnostics", "params": {"diagnostics": [{"message": 1}]}}),
}


class Worker:
    """A session of the sandbox. It says `info` of each line of a text, and does what the words in capitals say.

    SPIN and SLEEP: it never answers, while its clock shows CPU or idle time that grows with each look. FLOOD: it never
    ends to write. FAT: it holds more memory afterwards. UNLUCKY: its host is lost, as often as the box says.
    `closed`: it was killed.
    """

    def __init__(self, box: Box) -> None:
        self.box = box
        self.report: Report | None = None
        self.closed = False
        self.host_lost = False
        self.texts: list[str] = []
        self._reader = FrameReader(1 << 24)
        self._output: asyncio.Queue[bytes] = asyncio.Queue()
        self._clock = Clock(cpu_s=0.0, idle_s=0.0, memory=0)
        self._grows = Clock(cpu_s=0.0, idle_s=0.0, memory=0)
        self._flood = b""

    async def send(self, data: bytes) -> None:
        if self.closed or self.report is not None:
            raise SandboxError("the program has ended")
        for body in self._reader.feed(data):
            self._take(json.loads(body))

    async def receive(self) -> bytes:
        if self._flood and self._output.empty():
            await asyncio.sleep(0)
            return self._flood
        if self.closed:
            raise SandboxError("the session was closed")
        data = await self._output.get()
        if not data and self.closed:
            raise SandboxError("the session was closed")
        return data

    async def clock(self) -> Clock:
        if self.closed:
            raise SandboxError("the session was closed")
        self._clock = Clock(
            cpu_s=self._clock.cpu_s + self._grows.cpu_s,
            idle_s=self._clock.idle_s + self._grows.idle_s,
            memory=self._clock.memory,
        )
        return self._clock

    async def close(self) -> None:
        self.closed = True
        self._output.put_nowait(b"")
        await asyncio.sleep(0)
        self.box.living.discard(self)

    def _take(self, message: dict[str, Any]) -> None:
        params = message.get("params", {})
        match message["method"]:
            case "textDocument/didOpen":
                self._about(params["textDocument"]["version"], params["textDocument"]["text"])
            case "textDocument/didChange":
                self._about(params["textDocument"]["version"], params["contentChanges"][0]["text"])
            case "textDocument/waitForDiagnostics":
                self._answer(message["id"])

    def _about(self, version: int, text: str) -> None:
        self.texts.append(text)
        if "NO_SUCH" in text:
            stretch = {"processing": [{"kind": 2, "range": _range(0)}]}
            self._say({"method": "$/lean/fileProgress", "params": stretch})
        lines = list(enumerate(text.split("\n")))
        told = [{"message": line, "range": _range(number), "severity": 3} for number, line in lines if line]
        self._publish(version - 1, [{"message": "of the text before", "range": _range(0), "severity": 1}], False)
        self._publish(version, [], False)
        for each in told:
            self._publish(version, [each], True)

    def _publish(self, version: int, diagnostics: list[Any], more: bool) -> None:
        params = {"version": version, "diagnostics": diagnostics, "isIncremental": more}
        self._say({"method": "textDocument/publishDiagnostics", "params": params})

    def _answer(self, number: int) -> None:
        text = self.texts[-1]
        words = set(text.replace("\n", " ").split())
        if "POISONED" in words and len(self.texts) > 2:
            words.add("DIE")
        if "UNLUCKY" in words and self.box.hosts_to_lose:
            self.box.hosts_to_lose -= 1
            self.host_lost = self.closed = True
            self._output.put_nowait(b"")
            return
        for word in words & set(DEATHS):
            self.report = DEATHS[word]
            self._output.put_nowait(b"")
            return
        for word in words & set(NONSENSE):
            self._output.put_nowait(NONSENSE[word])
            return
        self._clock = Clock(cpu_s=self._clock.cpu_s + 0.25, idle_s=self._clock.idle_s, memory=self._clock.memory)
        if "FAT" in words:
            self._clock = Clock(cpu_s=self._clock.cpu_s, idle_s=self._clock.idle_s, memory=1 << 40)
        if "SPIN" in words:
            self._grows = Clock(cpu_s=5.0, idle_s=0.0)
        elif "SLEEP" in words:
            self._grows = Clock(cpu_s=0.0, idle_s=5.0)
        elif "FLOOD" in words:
            params = {"version": len(self.texts) - 1, "diagnostics": [], "isIncremental": True, "x": "y" * 10_000}
            self._flood = frame({"method": "textDocument/publishDiagnostics", "params": params})
        elif "GATE" in words:
            self.box.entered.set()
            self.box.waiting.append(lambda: self._say({"id": number, "result": {}}))
        else:
            self._say({"id": number, "result": {}})

    def _say(self, message: dict[str, Any]) -> None:
        self._output.put_nowait(frame(message))


class Box:
    """A sandbox lane's face. started: all workers that ever were; most: how many lived at once; hosts_to_lose: how
    many are lost yet.
    """

    def __init__(self) -> None:
        self.started: list[Worker] = []
        self.living: set[Worker] = set()
        self.most = 0
        self.hosts_to_lose = 0
        self.entered = asyncio.Event()
        self.waiting: list[Any] = []

    async def session(self, program: Program) -> Worker:
        await asyncio.sleep(0)
        worker = Worker(self)
        self.started.append(worker)
        self.living.add(worker)
        self.most = max(self.most, len(self.living))
        return worker

    def open(self) -> None:
        """Let texts with GATE end."""
        for answer in self.waiting:
            answer()
        self.waiting.clear()


def _range(line: int) -> dict[str, Any]:
    return {"start": {"line": line, "character": 0}, "end": {"line": line, "character": 1}}
