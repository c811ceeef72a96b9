"""Load for the sandbox's benchmark, from a separate process: keep-alive HTTP/1.1 on plain sockets, so that it costs
less CPU than the server that it measures.

`python -m benchmarks.sandbox_load` reads a `Load` as JSON from the first line of standard input, connects, prints a
line, and starts at the next line; it prints a `Result` as JSON. Each request is unique: `@@` in a template becomes a
number that no other request has, so no cache helps.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

MARK = "@@"
_LONGEST_S = 60.0


@dataclass(frozen=True, slots=True)
class Template:
    """The JSON body of a request, texts that its reply must contain, and its share of the requests."""

    body: str
    expect: tuple[str, ...]
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class Load:
    """So many clients, each of which sends its next request when it has its reply. Requests that end in the first
    `warm_s` seconds do not count, nor do those that end `seconds` later.
    """

    host: str
    port: int
    path: str
    templates: tuple[Template, ...]
    clients: int = 16
    seconds: float = 4.0
    warm_s: float = 1.0
    seed: int = 1


@dataclass(slots=True)
class Result:
    """`latencies`: of the counted requests, seconds, sorted. `total`: all requests. `wrong`: replies without the
    expected texts, the first few in full. `cpu_s`: the generator's own.
    """

    rate: float
    latencies: list[float]
    total: int
    cpu_s: float
    failures: int
    wrong: list[str] = field(default_factory=list)

    def at(self, share: float) -> float:
        """Returns the latency that this share of requests does not exceed, in seconds."""
        if not self.latencies:
            return float("inf")
        return self.latencies[min(len(self.latencies) - 1, int(share * len(self.latencies)))]


class Generator:
    """Runs one load."""

    def __init__(self, load: Load) -> None:
        self.load = load
        # Far from the numbers of other loads, whose requests the server may have cached.
        self._numbers = itertools.count(load.seed * 10_000_000)
        self._random = random.Random(load.seed)
        self._shares = [template.share for template in load.templates]
        self.begin = self.end = 0.0
        self.latencies: list[float] = []
        self.total = self.failures = 0
        self.wrong: list[str] = []

    def next(self) -> tuple[bytes, list[bytes]] | None:
        """Returns the next request's bytes and its expected texts; None at the end."""
        if time.perf_counter() >= self.end:
            return None
        template = self._random.choices(self.load.templates, self._shares)[0]
        number = str(next(self._numbers))
        body = template.body.replace(MARK, number).encode()
        head = (
            f"POST {self.load.path} HTTP/1.1\r\nhost: {self.load.host}\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body, [text.replace(MARK, number).encode() for text in template.expect]

    def ended(self, began: float, reply: bytes, expect: list[bytes]) -> None:
        """Counts a reply."""
        now = time.perf_counter()
        self.total += 1
        if not all(text in reply for text in expect):
            self.failures += 1
            if len(self.wrong) < 3:
                self.wrong.append(reply.decode("utf-8", "replace")[:2000])
        elif self.begin <= now < self.end:
            self.latencies.append(now - began)


class Client(asyncio.Protocol):
    """One connection."""

    def __init__(self, generator: Generator) -> None:
        self._generator = generator
        self._loop = asyncio.get_running_loop()
        self.done: asyncio.Future[None] = self._loop.create_future()
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._expect: list[bytes] = []
        self._began = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See asyncio.Protocol."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def send(self) -> None:
        """Sends the next request, or ends."""
        assert self._transport is not None
        asked = self._generator.next()
        if asked is None:
            self._transport.close()
            return
        request, self._expect = asked
        self._began = time.perf_counter()
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        """See asyncio.Protocol."""
        self._buffer += data
        head = self._buffer.find(b"\r\n\r\n")
        if head < 0:
            return
        length = 0
        for line in bytes(self._buffer[:head]).lower().split(b"\r\n"):
            if line.startswith(b"content-length:"):
                length = int(line[15:])
        if len(self._buffer) < head + 4 + length:
            return
        reply = bytes(self._buffer[: head + 4 + length])
        del self._buffer[: head + 4 + length]
        self._generator.ended(self._began, reply, self._expect)
        self.send()

    def connection_lost(self, error: Exception | None) -> None:
        """See asyncio.Protocol."""
        if not self.done.done():
            self.done.set_result(None)


async def generate(load: Load, started: Callable[[], None]) -> Result:
    """Connects, calls `started`, and runs the load."""
    generator = Generator(load)
    loop = asyncio.get_running_loop()
    clients: list[Client] = []
    for _ in range(load.clients):
        _, client = await loop.create_connection(lambda: Client(generator), load.host, load.port)
        clients.append(client)
    started()
    cpu = time.process_time()
    generator.begin = time.perf_counter() + load.warm_s
    generator.end = generator.begin + load.seconds
    for client in clients:
        client.send()
    await asyncio.wait([client.done for client in clients], timeout=load.warm_s + load.seconds + _LONGEST_S)
    return Result(
        rate=len(generator.latencies) / load.seconds,
        latencies=sorted(generator.latencies),
        total=generator.total,
        cpu_s=time.process_time() - cpu,
        failures=generator.failures,
        wrong=generator.wrong,
    )


@contextmanager
def generating(load: Load) -> Iterator[Callable[[], Result]]:
    """Starts a generator and connects it. The yielded function runs the load and returns its result."""
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.sandbox_load"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(json.dumps(asdict(load)) + "\n")
        process.stdin.flush()
        if not process.stdout.readline():
            raise RuntimeError("the load generator did not start; its messages are on stderr")

        def go() -> Result:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write("go\n")
            process.stdin.flush()
            return Result(**json.loads(process.stdout.readline()))

        yield go
    finally:
        process.kill()
        process.communicate()


def main() -> None:
    """Runs the load that standard input describes."""
    told: dict[str, Any] = json.loads(sys.stdin.readline())
    templates = tuple(Template(**{**each, "expect": tuple(each["expect"])}) for each in told.pop("templates"))

    def started() -> None:
        print("connected", flush=True)
        sys.stdin.readline()

    result = asyncio.run(generate(Load(**told, templates=templates), started))
    print(json.dumps(asdict(result)), flush=True)


if __name__ == "__main__":
    main()
