"""HTTP: `POST /v1/verify` through httpx, `POST /v1/verify/stream` in lines of JSON, both ways at once."""

from __future__ import annotations

import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from email.utils import parsedate_to_datetime
from typing import Any, Protocol
from urllib.parse import quote, urlencode

from rewarden.boxes.call import BoxCall
from rewarden.errors import (
    REQUEST_ERRORS,
    DeadlineExceeded,
    InternalError,
    InvalidRequest,
    RequestError,
    RewardenError,
    Unavailable,
)
from rewarden.transports.authority import PathLike, authority, distrust
from rewarden.transports.base import understood
from rewarden.transports.duplex import converse
from rewarden.transports.exchange import Exchange, open_exchange
from rewarden.types import Batch, BatchResult, Group, Run, RunResult, Sample, Verdict
from rewarden.wire import json as wire

CONNECT_S = 10.0

_BY_STATUS = {error.http_status: error for error in REQUEST_ERRORS.values()} | {502: Unavailable}


_BOX = "/v1/sessions/{id}"
_BOX_ROUTES = {
    "open": ("POST", "/v1/sessions"),
    "list": ("GET", "/v1/sessions"),
    "get": ("GET", _BOX),
    "close": ("DELETE", _BOX),
    "exec": ("POST", f"{_BOX}/exec"),
    "progress": ("GET", f"{_BOX}/exec/{{number}}"),
    "stdin": ("POST", f"{_BOX}/exec/{{number}}/stdin"),
    "signal": ("POST", f"{_BOX}/exec/{{number}}/signal"),
    "kill": ("DELETE", f"{_BOX}/exec/{{number}}"),
    "notebook": ("POST", f"{_BOX}/notebook"),
    "notebooks": ("GET", f"{_BOX}/notebook"),
    "cell": ("POST", f"{_BOX}/notebook/{{number}}/run"),
    "interrupt": ("POST", f"{_BOX}/notebook/{{number}}/interrupt"),
    "restart": ("POST", f"{_BOX}/notebook/{{number}}/restart"),
    "variables": ("GET", f"{_BOX}/notebook/{{number}}/variables"),
    "end": ("DELETE", f"{_BOX}/notebook/{{number}}"),
    "files": ("GET", f"{_BOX}/files"),
    "read": ("GET", f"{_BOX}/files/{{path}}"),
    "write": ("PUT", f"{_BOX}/files/{{path}}"),
    "remove": ("DELETE", f"{_BOX}/files/{{path}}"),
    "archive": ("GET", f"{_BOX}/archive"),
    "extract": ("PUT", f"{_BOX}/archive"),
    "fork": ("POST", f"{_BOX}/fork"),
    "snapshot": ("POST", f"{_BOX}/snapshot"),
    "snapshots": ("GET", "/v1/snapshots"),
    "forget": ("DELETE", "/v1/snapshots/{id}"),
    "lease": ("POST", f"{_BOX}/lease"),
    "step": ("POST", f"{_BOX}/step"),
    "score": ("POST", f"{_BOX}/score"),
}
"""The method and the path of each operation of `BoxCall`."""


class _Headers(Protocol):
    """Headers, as httpx and the standard library have them: names in any case."""

    def get(self, name: str, /) -> str | None: ...


class HttpTransport:
    """A server at `http://…` or `https://…`. `timeout_s`: the longest silence of the server that is tolerated. `ca`:
    see `authority`."""

    def __init__(
        self,
        target: str,
        *,
        api_key: str | None = None,
        timeout_s: float | None = None,
        ca: PathLike | None = None,
    ) -> None:
        import httpx

        self._httpx = httpx
        self._base = target.rstrip("/")
        self._timeout_s = timeout_s
        self._headers = headers_of(api_key)
        try:
            self._tls = tls_context(httpx, ca) if httpx.URL(target).scheme == "https" else None
            self._client = httpx.AsyncClient(
                headers=self._headers,
                timeout=httpx.Timeout(timeout_s, connect=CONNECT_S, pool=None),  # connections are without limit
                limits=httpx.Limits(max_connections=None, max_keepalive_connections=32),
                # Without TLS, loading the machine's authorities would be most of what a client costs.
                verify=self._tls or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
            )
        except httpx.InvalidURL as error:
            raise InvalidRequest(f"target {target!r} is not a valid URL: {error}") from None

    async def verify(self, batch: Batch) -> BatchResult:
        """`POST /v1/verify`."""
        body = _written(wire.batch_to_json(batch), "the batch")
        return understood(wire.result_from_json, await self._call("POST", "/v1/verify", body))

    async def stream(self, header: Batch, samples: AsyncIterator[Sample]) -> AsyncGenerator[Verdict | Group, None]:
        """`POST /v1/verify/stream`."""
        first = _written({"batch": wire.header_to_json(header)}, "the batch")
        exchange = await open_exchange(
            f"{self._base}/v1/verify/stream",
            {**self._headers, "Content-Type": "application/x-ndjson"},
            tls=self._tls,
            connect_s=CONNECT_S,
        )
        async with aclosing(converse(_LineStream(exchange, first), samples, self._timeout_s)) as items:
            async for item in items:
                yield item

    async def verifiers(self, name: str | None = None) -> list[dict[str, Any]]:
        """`GET /v1/verifiers`, or `GET /v1/verifiers/{name}`."""
        if name is not None:
            return [await self._object(f"/v1/verifiers/{quote(name, safe='')}")]
        found = (await self._object("/v1/verifiers")).get("verifiers")
        if not isinstance(found, list):
            raise InternalError("the server's response cannot be read: verifiers: must be a list")
        return found

    async def run(self, run: Run) -> RunResult:
        """`POST /v1/run`."""
        answer = await self._call("POST", "/v1/run", _written(wire.run_to_json(run), "the program"))
        return understood(wire.run_result_from_json, answer)

    async def info(self) -> dict[str, Any]:
        """`GET /v1/info`."""
        return await self._object("/v1/info")

    async def ask(self, method: str, path: str, value: Any = None) -> Any:
        """Any other route: JSON there, and JSON back."""
        return await self._call(method, path, None if value is None else _written(value, "the request"))

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _object(self, path: str) -> dict[str, Any]:
        answer = await self._call("GET", path)
        if not isinstance(answer, dict):
            raise InternalError("the server's response cannot be read: must be an object")
        return answer

    async def _call(self, method: str, path: str, body: bytes | None = None) -> Any:
        headers = {} if body is None else {"Content-Type": "application/json"}
        with self._named_failures():
            response = await self._client.request(method, self._base + path, content=body, headers=headers)
        if response.status_code != 200:
            raise refusal(response.status_code, response.headers, response.content)
        return understood(wire.loads, response.content)

    @contextmanager
    def _named_failures(self) -> Iterator[None]:
        """Raises httpx's exceptions as ours."""
        httpx = self._httpx
        try:
            yield
        except (httpx.ReadTimeout, httpx.WriteTimeout):
            raise DeadlineExceeded(f"no response within {self._timeout_s} s", timeout_s=self._timeout_s) from None
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            raise InvalidRequest(f"{self._base} is not a valid URL: {error}") from None
        except httpx.HTTPError as error:
            if (why := distrust(error)) is not None:
                raise InvalidRequest(f"{self._base}: {why}") from None
            raise Unavailable(f"{self._base} cannot be reached: {error or type(error).__name__}") from None

    # --- boxes

    async def box_call(self, call: BoxCall) -> Any:
        """See `BoxTransport`."""
        async with self._box_response(call) as response:
            with self._named_failures():
                content = await response.aread()
        return understood(wire.loads, content) if content else None

    async def box_events(self, call: BoxCall) -> AsyncGenerator[Any, None]:
        """See `BoxTransport`."""
        async with self._box_response(call, accept="application/x-ndjson") as response:
            rest = b""
            async with aclosing(self._blocks(response)) as blocks:
                async for block in blocks:
                    *whole, rest = (rest + block).split(b"\n")
                    for line in whole:
                        yield understood(wire.loads, line)

    async def box_bytes(self, call: BoxCall) -> AsyncGenerator[bytes, None]:
        """See `BoxTransport`."""
        async with self._box_response(call) as response, aclosing(self._blocks(response)) as blocks:
            async for block in blocks:
                yield block

    @asynccontextmanager
    async def _box_response(self, call: BoxCall, accept: str = "application/json") -> AsyncIterator[Any]:
        """Yields the response to a call, unread. Raises RequestError."""
        method, template = _BOX_ROUTES[call.operation]
        try:
            id, inside = quote(call.box, safe=""), quote(call.path or "", safe="")
            query = f"?{urlencode(call.query)}" if call.query else ""
        except UnicodeEncodeError as error:
            raise InvalidRequest(f"path: is not valid Unicode: {error}") from None
        headers = {"Accept": accept}
        body: Any = call.content
        if call.value is not None:
            body = _written(call.value, "the request")
            headers["Content-Type"] = "application/json"
        elif body is not None:
            headers["Content-Type"] = "application/octet-stream"
        if call.lease is not None:
            headers["Rewarden-Lease"] = call.lease
        url = self._base + template.format(id=id, number=call.number, path=inside) + query
        with self._named_failures():
            request = self._client.build_request(method, url, content=body, headers=headers)
            response = await self._client.send(request, stream=True)
        try:
            if response.status_code >= 300:
                with self._named_failures():
                    content = await response.aread()
                raise refusal(response.status_code, response.headers, content)
            yield response
        finally:
            await response.aclose()

    async def _blocks(self, response: Any) -> AsyncGenerator[bytes, None]:
        try:
            with self._named_failures():
                async for block in response.aiter_raw():
                    yield block
        except Unavailable:
            number = response.headers.get("x-request-id", "")
            raise Unavailable(
                "the server broke off its response, and what came of it is not complete; the server's log has the "
                f"reason (request {number})",
                request_id=number,
            ) from None


def tls_context(httpx: Any, ca: PathLike | None = None) -> ssl.SSLContext:
    """TLS as clients speak it; `ca`: see `authority`. Raises InvalidRequest for a file that holds no certificates."""
    path = authority(ca)
    try:
        made: ssl.SSLContext = (
            httpx.create_ssl_context() if path is None else ssl.create_default_context(cafile=str(path))
        )
    except ssl.SSLError:
        raise InvalidRequest(f"ca: {path} contains no PEM certificates") from None
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    return made


class _LineStream:
    """A `Duplex` of lines of JSON."""

    def __init__(self, exchange: Exchange, first: bytes) -> None:
        self._exchange = exchange
        self._first = first + b"\n"
        self._sent = 0
        self._received = 0
        self._lines: AsyncIterator[bytes] | None = None

    async def send(self, sample: Sample) -> None:
        line = _written(wire.sample_to_json(sample), f"samples[{self._sent}]")
        self._sent += 1
        await self._exchange.send(self._take_first() + line + b"\n")

    async def finish(self) -> None:
        await self._exchange.send(self._take_first())
        await self._exchange.finish()

    def _take_first(self) -> bytes:
        first, self._first = self._first, b""
        return first

    async def receive(self) -> Verdict | Group | None:
        if self._lines is None:
            await self._exchange.head()
            if self._exchange.status != 200:
                raise refusal(self._exchange.status, self._exchange.headers, await self._exchange.body())
            self._lines = self._exchange.lines()
        async for line in self._lines:
            value = read_line(line) if line else {}
            if "verdict" in value:
                self._received += 1
                return understood(wire.verdict_from_json, value["verdict"])
            if "group" in value:
                return understood(wire.group_from_json, value["group"])
            if "done" in value:
                self._check(value["done"])
                return None
        raise Unavailable("the server's response ended before all verdicts were sent")

    def _check(self, done: Any) -> None:
        told = done.get("verdicts") if isinstance(done, dict) else None
        if told != self._received:
            raise Unavailable(f"the server sent {told} verdicts, but {self._received} arrived")

    def abort(self) -> None:
        self._exchange.abort()

    async def close(self) -> None:
        await self._exchange.close()


def headers_of(api_key: str | None) -> dict[str, str]:
    """Returns the headers of every request."""
    headers = {"Accept": "application/json", "User-Agent": "rewarden"}
    if api_key is not None:
        headers["Authorization"] = f"Bearer {api_key}"
    return headers


def read_line(line: bytes) -> dict[str, Any]:
    """Returns the object in a line of a stream's answer. Raises the error that it holds, and InternalError if it is no
    object."""
    value = understood(wire.loads, line)
    if not isinstance(value, dict):
        raise InternalError("the server's response cannot be read: a line must be an object")
    if "error" in value:
        raise understood(wire.error_from_json, value)
    return value


def refusal(status: int, headers: _Headers, body: bytes) -> RequestError:
    """The error that a status, its headers and its body speak of."""
    otherwise = _BY_STATUS.get(status, InternalError if status >= 500 else InvalidRequest)
    try:
        error = wire.error_from_json(wire.loads(body), otherwise)
    except (ValueError, RewardenError):
        # Not of our making: a proxy, or no Rewarden at all.
        error = otherwise(
            f"the server responded with {status}: {body[:200].decode(errors='replace').strip() or 'no body'}"
        )
    wait = retry_after(headers)
    if wait is not None and "retry_after_s" not in error.details:
        error.details = {**error.details, "retry_after_s": wait}
    return error


def retry_after(headers: _Headers) -> float | None:
    """The seconds that a `Retry-After` header asks for, be it a number or a date; None without a readable one."""
    text = headers.get("Retry-After")
    if text is None:
        return None
    try:
        return max(0.0, float(text))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except ValueError:
        return None


def _written(value: Any, what: str) -> bytes:
    try:
        return wire.dumps(value)
    except ValueError as error:
        raise InvalidRequest(f"{what} cannot be sent: {error}") from None
