"""A client of an existing server with Kimina's protocol, used instead of processes of our own.

Each request to `POST /api/check` has one snippet, because that server fails a whole request if one of its snippets
fails. Read in project-numina/kimina-lean-server (fb2393d, January 2026): server/routers/check.py, server/repl.py.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, get_args

from rewarden.errors import (
    InternalError,
    InvalidRequest,
    Overloaded,
    ProviderError,
    RequestError,
    TooLarge,
    Unavailable,
)
from rewarden.retry import Retry
from rewarden.transports.http import CONNECT_S, refusal
from rewarden.wire.json import dumps, loads
from rewarden_server.lean.projects import without_credentials
from rewarden_verifiers.provers import Checked, Goal, Message, Position, Severity, Snippet

if TYPE_CHECKING:
    import httpx

AT_ONCE = 64
"""Concurrent snippets for one server: more would only wait there, against its `MAX_WAIT`."""

MOST_BYTES = 32 * 1024**2
"""The maximum size of an answer in bytes. It is about one snippet, which is to blame for a larger one."""

RETRY = Retry(attempts=5, first_s=0.5, most_s=8.0, patience_s=60.0)

WAIT_S = 300.0
"""Seconds that a snippet may wait there for a process and for its imports, in addition to its own time."""

_DEFAULT_S = 60.0
"""Seconds for a snippet without limits."""

_LARGE = 1024**2
"""Answers of at least this many bytes are decoded on a thread."""

_DEAD = (b"JSON decode error", b"Lean process broken pipe")
"""Their text in a 500 if a REPL died while it processed the snippet."""

_SURROGATE = re.compile(r"[\ud800-\udfff]")
"""Half a surrogate pair: that server rejects a request with one, which would look like its own failure."""

_SEVERITIES = get_args(Severity)


class Kimina:
    """Checks snippets at `address`. Used on one loop. `key`: sent as a bearer token.

    It compiles nothing, and snippets share its processes: its results are as trustworthy as the server at the other
    end.
    """

    def __init__(self, address: str, key: str | None) -> None:
        import httpx

        self._httpx = httpx
        self._url = f"{address.rstrip('/')}/api/check"
        self._shown = without_credentials(address)
        headers = {"Content-Type": "application/json", "User-Agent": "rewarden"}
        if key is not None:
            headers["Authorization"] = f"Bearer {key}"
        self._client = httpx.AsyncClient(
            headers=headers,
            timeout=httpx.Timeout(None, connect=CONNECT_S),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=AT_ONCE),
        )
        self._room = asyncio.Semaphore(AT_ONCE)

    async def check(self, snippet: Snippet) -> Checked:
        """Returns the server's result for a snippet, retrying transient errors.

        Raises ProviderError if it cannot be reached, or answers with an error of its own or with invalid data.
        """
        timeout_s = _timeout(snippet)
        async with self._room:
            try:
                # The imports and the text have the full time each.
                async with asyncio.timeout(2 * timeout_s + WAIT_S):
                    return await self._told(snippet, timeout_s)
            except TimeoutError:
                raise ProviderError(f"{self._shown}: no answer within {2 * timeout_s + WAIT_S:g} s") from None
            except RequestError as error:
                raise ProviderError(f"{self._shown}: {error.message}") from None

    async def close(self) -> None:
        """Closes the connections."""
        await self._client.aclose()

    async def _told(self, snippet: Snippet, timeout_s: int) -> Checked:
        """Like `check`, without a limit on the time. Raises RequestError, ProviderError."""
        failures = deaths = 0
        while True:
            try:
                return await self._ask(snippet, timeout_s, alone=snippet.alone or deaths > 0)
            except _Died:
                # Other snippets may be to blame, because they share REPLs. Therefore it is tried once more in a REPL of
                # its own.
                deaths += 1
                if deaths > 1:
                    return Checked(status="crashed")
            except (Overloaded, Unavailable) as error:
                failures += 1
                wait = RETRY.wait_s(failures, error)
                if wait is None:
                    raise
                await asyncio.sleep(wait)

    async def _ask(self, snippet: Snippet, timeout_s: int, *, alone: bool) -> Checked:
        """Makes one attempt. Raises RequestError, ProviderError, _Died."""
        asked = {
            "snippets": [{"id": "snippet", "code": _SURROGATE.sub("\ufffd", snippet.text)}],
            "timeout": timeout_s,
            "debug": False,
            "reuse": not alone,
            "infotree": "original" if snippet.infotree else "tactics" if snippet.tactics else None,
        }
        response, body = await self._post(dumps(asked))
        if len(body) > MOST_BYTES:
            return Checked(status="output_limit", limit="output_bytes")
        if response.status_code == 200:
            if len(body) < _LARGE:
                return _checked(body, snippet)
            return await asyncio.to_thread(_checked, body, snippet)
        if response.status_code == 500 and any(words in body for words in _DEAD):
            raise _Died
        error = refusal(response.status_code, response.headers, body)
        # Their 500 also means "no REPL would start", which is transient.
        raise Unavailable(error.message) if isinstance(error, InternalError) else error

    async def _post(self, content: bytes) -> tuple[httpx.Response, bytes]:
        """Returns the answer and its body, which is cut off soon after `MOST_BYTES`. Raises Unavailable."""
        pieces: list[bytes] = []
        size = 0
        try:
            async with self._client.stream("POST", self._url, content=content) as response:
                async for piece in response.aiter_bytes():
                    pieces.append(piece)
                    size += len(piece)
                    if size > MOST_BYTES:
                        break
        except self._httpx.HTTPError as error:
            raise Unavailable(f"it cannot be reached: {error or type(error).__name__}") from None
        return response, b"".join(pieces)


class _Died(Exception):
    """A process died while it processed the snippet, possibly for another reason."""


def _timeout(snippet: Snippet) -> int:
    """Returns the time limit in whole seconds, as that server takes it; it has one limit, on wall time."""
    limits = snippet.limits
    given = [each for each in (limits.cpu_s, limits.wall_s) if each is not None]
    return max(1, math.ceil(max(given, default=_DEFAULT_S)))


# --- its answers -------------------------------------------------------------------------------------------------


def _checked(body: bytes, snippet: Snippet) -> Checked:
    """Returns the answer about one snippet. Raises Unavailable for a failure of that server, ProviderError for no
    answer."""
    try:
        (result,) = loads(body)["results"]
        error, response, seconds = result.get("error"), result.get("response"), float(result.get("time") or 0.0)
        if error:
            if "timed out" in error and "header" not in error:
                return Checked(status="time_limit", limit="wall_s", wall_s=seconds)
            # The text is not to blame for imports that took too long: the next attempt finds them loaded.
            raise Unavailable(str(error)[:500])
        if "message" in response:
            # For example, the REPL's message on imports that do not exist. Nothing was elaborated.
            whole = Message(severity="error", text=str(response["message"]), start=Position(line=1, column=0))
            return Checked(status="ok", messages=(whole,), wall_s=seconds)
        tree = response.get("infotree")
        return Checked(
            status="ok",
            messages=tuple(_message(each) for each in response.get("messages") or ()),
            sorries=tuple(_sorry(each) for each in response.get("sorries") or ()),
            tactics=_tactics(tree) if snippet.tactics else (),
            infotree=_written(tree) if snippet.infotree and tree is not None else None,
            cpu_s=seconds,
            wall_s=seconds,
        )
    except TooLarge:  # an infotree nests as deep as the text
        return Checked(status="output_limit", limit="output_bytes")
    except (InvalidRequest, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise ProviderError(f"the answer of Kimina's server cannot be read: {error}") from None


def _written(tree: Any) -> str:
    try:
        return dumps(tree).decode()
    except ValueError:
        raise TooLarge("the infotree is nested too deep") from None


def _message(told: Mapping[str, Any]) -> Message:
    if told["severity"] not in _SEVERITIES:
        raise ValueError(f"no such severity: {told['severity']!r}")
    end = told.get("endPos")
    return Message(
        severity=told["severity"],
        text=str(told["data"]),
        start=_position(told["pos"]),
        end=_position(end) if end is not None else None,
    )


def _sorry(told: Mapping[str, Any]) -> Goal:
    goal = told.get("goal")
    start = _position(told["pos"])
    end = told.get("endPos")
    return Goal(
        text="sorry", start=start, end=_position(end) if end is not None else start, goals=(str(goal),) if goal else ()
    )


def _tactics(tree: Any) -> tuple[Goal, ...]:
    """Yields the nodes of tactics, in the order of the source; those without a source are left out."""
    found: list[Goal] = []
    left = list(reversed(tree or ()))
    while left:
        entry = left.pop()
        left.extend(reversed(entry.get("children") or ()))
        if entry.get("kind") != "TacticInfo":
            continue
        node = entry["node"]
        syntax = node["stx"]
        place = syntax["range"]
        if not place["synthetic"]:
            goals = tuple(str(goal) for goal in node.get("goalsBefore") or ())
            start, end = _position(place["start"]), _position(place["finish"])
            found.append(Goal(text=str(syntax["pp"]), start=start, end=end, goals=goals))
    return tuple(found)


def _position(told: Mapping[str, Any]) -> Position:
    return Position(line=int(told["line"]), column=int(told["column"]))
