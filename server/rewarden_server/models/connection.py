"""A connection to a model process: HTTP over a Unix socket or TCP."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import httpx
import msgspec

from rewarden.errors import ModelError, SampleError
from rewarden_models.wire import error_from_wire

_CONNECT_S = 10.0
_KEPT = 32
_MOST_LINE = 256 * 1024**2


_GONE = (httpx.RequestError, RuntimeError)
"""RuntimeError: raised by httpx if the client was closed in the meantime, which happens when the process has ended."""


class ProcessLost(Exception):
    """The process cannot be reached, or ended before it answered."""


class Connection:
    """address: `unix:PATH` or `http://HOST:PORT`. key: sent with each request.

    heard: when the last task result arrived on it, by the monotonic clock; all models of a device share this value. A
    refusal or the answer to a health check does not count: a process still gives those while its device hangs.
    """

    def __init__(self, address: str, key: str | None = None) -> None:
        unix = address.startswith("unix:")
        # Each batch holds a stream of its own while it runs; the sender decides how many there are.
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=_KEPT)
        self.address = address
        self.heard = 0.0
        self._client = httpx.AsyncClient(
            base_url="http://model" if unix else address,
            transport=httpx.AsyncHTTPTransport(
                uds=address.removeprefix("unix:") if unix else None,
                limits=limits,
                trust_env=False,
                verify=address.startswith("https:"),  # otherwise loading unused certificates takes a tenth of a second
            ),
            headers={b"authorization": f"Bearer {key.strip()}".encode()} if key else {},
            timeout=httpx.Timeout(None, connect=_CONNECT_S),
            trust_env=False,
        )

    async def get(self, path: str) -> Any:
        """The JSON answer. Raises ProcessLost, and SampleError if the request is refused."""
        return await self._ask("GET", path, None)

    async def post(self, path: str, value: Any) -> Any:
        """The JSON answer. Raises ProcessLost, and SampleError if the request is refused."""
        return await self._ask("POST", path, msgspec.json.encode(value))

    async def lines(self, path: str, body: bytes) -> AsyncGenerator[list[bytes], None]:
        """The lines of an NDJSON answer, in the groups in which they arrive. A last line that was cut off is dropped.
        Raises ProcessLost, and SampleError if the request is refused."""
        try:
            async with self._client.stream("POST", path, content=body) as reply:
                if reply.status_code != 200:
                    raise _refusal(reply.status_code, await reply.aread())
                rest = b""
                async for chunk in reply.aiter_raw():
                    *lines, rest = (rest + chunk).split(b"\n")
                    if lines:
                        yield lines
                    if len(rest) > _MOST_LINE:
                        raise ModelError("the model's process sends more than was requested", kind="garbage")
        except _GONE as error:
            raise ProcessLost(_words(error)) from None

    async def close(self) -> None:
        """Close it; calls in progress raise ProcessLost."""
        await self._client.aclose()

    async def _ask(self, method: str, path: str, body: bytes | None) -> Any:
        try:
            reply = await self._client.request(method, path, content=body)
        except _GONE as error:
            raise ProcessLost(_words(error)) from None
        if reply.status_code != 200:
            raise _refusal(reply.status_code, reply.content)
        try:
            return msgspec.json.decode(reply.content)
        except msgspec.DecodeError:
            raise ModelError("the model's process sent invalid JSON", kind="garbage") from None


def _words(error: Exception) -> str:
    if isinstance(error, httpx.LocalProtocolError):  # it quotes the key
        return "the key contains characters that are not allowed in an HTTP header"
    return str(error) or type(error).__name__


def _refusal(status: int, content: bytes) -> SampleError:
    try:
        body = msgspec.json.decode(content)
    except msgspec.DecodeError:
        body = None
    if isinstance(body, dict) and isinstance(body.get("error"), dict):
        return error_from_wire(body["error"])
    return ModelError(f"the model's process answered with status {status}", kind="refused")
