"""A model process that speaks the wire as badly as a test wants."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

ABOUT = {"model": "m", "version": "v1", "kinds": ["classify"], "context": 100}

Say = Callable[["Rough", dict[str, Any]], AsyncIterator[bytes]]


class Rough:
    """Listens at `address`. `say(self, body)`: the bytes that a request of work is answered with; the connection is cut
    when it ends, and `left` is set where the caller cuts it first. `asked`: bodies of work, `cancelled`: of
    cancellations. An asynchronous context manager."""

    def __init__(self, folder: Path, say: Say) -> None:
        self.path = folder / "s"
        self.address = f"unix:{self.path}"
        self.say = say
        self.asked: list[dict[str, Any]] = []
        self.cancelled: list[dict[str, Any]] = []
        self.left = asyncio.Event()
        self.told = asyncio.Event()
        self.about: dict[str, Any] = {"state": "ready", "about": ABOUT}
        self._talks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Rough:
        self._server = await asyncio.start_unix_server(self._talk, str(self.path))
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._talks:
            task.cancel()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._talks.add(task)
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            size = next(
                (int(line[15:]) for line in head.split("\r\n") if line.lower().startswith("content-length:")), 0
            )
            body = json.loads(await reader.readexactly(size)) if size else {}
            path = head.split(" ")[1]
            writer.write(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n")
            if path == "/v1/work":
                self.asked.append(body)
                await self._answer(body, reader, writer)
            elif path == "/v1/cancel":
                self.cancelled.append(body)
                self.told.set()
                writer.write(b"{}")
            else:
                writer.write(json.dumps({"models": {"m": self.about}}).encode())
        finally:
            writer.close()

    async def _answer(self, body: dict[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async def speak() -> None:
            async for said in self.say(self, body):
                writer.write(said)
                await writer.drain()

        speaking = asyncio.create_task(speak())
        leaving = asyncio.create_task(reader.read(1))
        done, _ = await asyncio.wait({speaking, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if leaving in done:
            self.left.set()
        for task in (speaking, leaving):
            task.cancel()


def line(number: int, text: str = "", **more: Any) -> bytes:
    """An honest answer to `Classify`: the logit is the text's length."""
    result = {"values": [float(len(text))], "labels": ["x"], "facts": {"model": "m", "version": "v1"}, **more}
    return json.dumps({"id": number, "result": result}).encode() + b"\n"


def error(number: int, kind: str, **details: Any) -> bytes:
    """A failure's line."""
    return (
        json.dumps({"id": number, "error": {"kind": kind, "message": "said so", "details": details}}).encode() + b"\n"
    )


async def honest(rough: Rough, body: dict[str, Any]) -> AsyncIterator[bytes]:
    """Answers all, the last first."""
    for item in reversed(body["items"]):
        yield line(item["id"], item["task"]["input"]["text"])
