"""A server of OpenAI's chat protocol that always gives the same reply, after the delay that its address states.

`/after/SECONDS/v1` is a judge's `base_url`; `/counts` returns the number of all chats and the most at the same time. As
a program, it prints its port and serves until it is terminated.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import uvicorn

from benchmarks.judges_load import MODEL, REPLY, TOKENS

_BODY = json.dumps(
    {
        "id": "same",
        "object": "chat.completion",
        "created": 0,
        "model": MODEL,
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": REPLY}}],
        "usage": {"prompt_tokens": TOKENS - 10, "completion_tokens": 10, "total_tokens": TOKENS},
    }
).encode()


class App:
    """Bare ASGI, because a framework would take most of the time."""

    def __init__(self) -> None:
        self.came = self.here = self.most = 0

    async def __call__(self, scope, receive, send) -> None:  # type: ignore[no-untyped-def]
        while (await receive()).get("more_body"):
            pass
        body = _BODY
        if scope["path"] == "/counts":
            body = json.dumps({"came": self.came, "most": self.most}).encode()
        else:
            self.came += 1
            self.here += 1
            self.most = max(self.most, self.here)
            try:
                await asyncio.sleep(float(scope["path"].split("/")[2]))
            finally:
                self.here -= 1
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})


@dataclass(frozen=True, slots=True)
class Slow:
    """The server, in a process of its own."""

    address: str

    def url(self, seconds: float) -> str:
        """Returns the base URL of an endpoint that replies after so many seconds."""
        return f"{self.address}/after/{seconds}/v1"

    def counts(self) -> Mapping[str, int]:
        """Returns the counts `came` and `most`."""
        with urllib.request.urlopen(f"{self.address}/counts", timeout=10) as answer:
            return json.loads(answer.read())  # type: ignore[no-any-return]


@contextlib.contextmanager
def slow() -> Iterator[Slow]:
    """Starts a new server, which ends with the block."""
    process = subprocess.Popen([sys.executable, "-m", "benchmarks.judges_server"], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield Slow(f"http://127.0.0.1:{int(process.stdout.readline())}")
    finally:
        process.kill()
        process.communicate()


def main() -> None:
    """Serves until the process is terminated."""
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listening:
        print(listening.getsockname()[1], flush=True)
        config = uvicorn.Config(App(), log_level="error", access_log=False, lifespan="off", timeout_keep_alive=60)
        uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main()
