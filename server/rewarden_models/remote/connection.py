"""Requests to another engine's server: bounded retries, and failures that say who caused them."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping
from typing import Any

import httpx
import msgspec

from rewarden_models.failure import Failure, Kind

_RETRIES = 3
_LONGEST_PAUSE_S = 4.0
_PASSING = frozenset({408, 429, 500, 502, 503, 504})


class Connection:
    """A connection to one server. label: the model's name, for messages. Used on one event loop."""

    def __init__(
        self, label: str, base_url: str, key: str | None, *, timeout_s: float, concurrency: int, pause_s: float = 0.25
    ) -> None:
        self._label = label
        self._pause_s = pause_s
        self._client = httpx.AsyncClient(
            base_url=base_url.rstrip("/"),
            headers={"authorization": f"Bearer {key}"} if key else {},
            timeout=httpx.Timeout(timeout_s, connect=10.0),
            limits=httpx.Limits(max_connections=concurrency, max_keepalive_connections=concurrency),
            trust_env=False,
        )

    async def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """The JSON object in the server's answer. Transient errors are retried a few times, then it raises Failure."""
        return await self._asked("POST", path, msgspec.json.encode(body))

    async def get(self, path: str) -> dict[str, Any]:
        """Like `post`, for a request without a body."""
        return await self._asked("GET", path, None)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _asked(self, method: str, path: str, body: bytes | None) -> dict[str, Any]:
        problem = ""
        for attempt in range(_RETRIES + 1):
            if attempt:
                # Full jitter: tasks that failed together must not retry together.
                await asyncio.sleep(random.uniform(0, min(_LONGEST_PAUSE_S, self._pause_s * 2**attempt)))
            try:
                reply = await self._client.request(
                    method, path, content=body, headers={"content-type": "application/json"}
                )
            except httpx.HTTPError as error:
                problem = f"cannot be reached: {type(error).__name__} {error}".rstrip()
                continue
            if reply.status_code == 200:
                return self._object(path, reply)
            said, about = _complaint(reply)
            problem = f"answers {path} with {reply.status_code}: {said[:300]}"
            if reply.status_code not in _PASSING:
                raise Failure(_kind(reply.status_code, said, about), f"model {self._label!r}: its server {problem}")
        raise Failure("failed", f"model {self._label!r}: its server {problem}")

    def _object(self, path: str, reply: httpx.Response) -> dict[str, Any]:
        try:
            made = msgspec.json.decode(reply.content)
        except (msgspec.DecodeError, UnicodeDecodeError):
            made = None
        if isinstance(made, list) and len(made) == 1:  # SGLang answers a single input with a list of one, or with it
            made = made[0]
        if not isinstance(made, dict):
            raise Failure(
                "failed", f"model {self._label!r}: its server answered {path} with something other than a JSON object"
            )
        return made


def _complaint(reply: httpx.Response) -> tuple[str, str]:
    """The text of an error and the parameter that it is about, empty if it names none. vLLM writes `{"error":
    {"message", "type", "param", "code"}}`; SGLang writes the same, `{"error": text}`, or the fields at the top level.
    """
    try:
        body: Any = msgspec.json.decode(reply.content)
    except (msgspec.DecodeError, UnicodeDecodeError):
        body = None
    found = body.get("error", body) if isinstance(body, Mapping) else None
    if isinstance(found, str):
        return found, ""
    if not isinstance(found, Mapping) or not isinstance(found.get("message"), str):
        return reply.text, ""
    about = found.get("param")
    return found["message"], about if isinstance(about, str) else ""


def _kind(status: int, said: str, about: str) -> Kind:
    """The kind of a failure that a retry would not fix."""
    if status == 404 and about == "model":
        return "loading"  # it was there when we connected, so this is not the caller's fault
    if status in (404, 405, 501) or about == "task":  # no such route, or vLLM pools this model for another task
        return "unsupported"
    # vLLM can write NaN only at `/pooling`; elsewhere it blames the request for it.
    return "not_finite" if "Out of range float values" in said else "failed"
