"""One call to the boxes of a server, for any transport."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, Union, runtime_checkable

from rewarden.errors import InvalidRequest

Operation = Literal[
    "open",
    "list",
    "get",
    "close",
    "exec",
    "progress",
    "stdin",
    "signal",
    "kill",
    "notebook",
    "notebooks",
    "cell",
    "interrupt",
    "restart",
    "variables",
    "end",
    "files",
    "read",
    "write",
    "remove",
    "archive",
    "extract",
    "fork",
    "snapshot",
    "snapshots",
    "forget",
    "lease",
    "step",
    "score",
]

Content = Union[bytes, AsyncIterable[bytes]]


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxCall:
    """A call. box: the id of the box (for `forget`, of a snapshot). path: of a file. number: of a program or a
    notebook. value: the request, ready for JSON. query: further parameters. content: bytes instead of a request. lease:
    sent instead of the key."""

    operation: Operation
    box: str = ""
    path: str | None = None
    number: int | None = None
    value: Mapping[str, Any] | None = None
    query: Mapping[str, Any] = field(default_factory=dict)
    content: Content | None = None
    lease: str | None = None


@runtime_checkable
class BoxTransport(Protocol):
    """A transport to a server with boxes. Each method makes one attempt, and raises `RequestError` subclasses."""

    async def box_call(self, call: BoxCall) -> Any:
        """Returns the answer, as JSON gives it; None if there is none to give."""

    def box_events(self, call: BoxCall) -> AsyncGenerator[Any, None]:
        """Yields the lines of the answer to `exec`, as JSON gives them."""

    def box_bytes(self, call: BoxCall) -> AsyncGenerator[bytes, None]:
        """Yields the bytes of the answer to `read` or `archive`."""


def with_boxes(transport: object, target: str) -> BoxTransport:
    """Returns the transport. Raises InvalidRequest if its target has no boxes."""
    if isinstance(transport, BoxTransport):
        return transport
    raise InvalidRequest(f"target {target!r} has no boxes; use a server: http://… or grpc://…")
