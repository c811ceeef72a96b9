"""The interface of a transport, which HTTP, gRPC and the engine in this process implement.

A transport makes one attempt. The client does retries, resuming and the ordering of results. A class in the entry-point
group `rewarden.targets` is called as `Class(target, api_key=…, timeout_s=…, **options)`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Any, Protocol, TypeVar

from rewarden.errors import InternalError, RequestError
from rewarden.types import Batch, BatchResult, Group, Run, RunResult, Sample, Verdict

T = TypeVar("T")


class Transport(Protocol):
    """A connection to a server, for one event loop and any number of concurrent calls.

    Every method raises `rewarden.errors.RequestError` subclasses: those that the server returned, Unavailable if it
    cannot be reached or disconnects, and DeadlineExceeded if the client times out.
    """

    async def verify(self, batch: Batch) -> BatchResult:
        """Returns the response to a batch, in the request's order."""

    def stream(self, header: Batch, samples: AsyncIterator[Sample]) -> AsyncGenerator[Verdict | Group, None]:
        """Yields verdicts as they finish; `index` counts the samples in the order in which they were taken.

        A group's statistics come after its members' verdicts. The iterator ends only after the server has confirmed the
        end; a broken stream raises Unavailable and never ends early without an error. Exceptions of `samples` are
        raised here. Samples are taken as fast as the server accepts them.
        """

    async def verifiers(self, name: str | None = None) -> list[dict[str, Any]]:
        """Returns the verifiers and recipes, as `GET /v1/verifiers` does; with a name, the one of
        `/v1/verifiers/{name}`.

        Raises NotFound.
        """

    async def run(self, run: Run) -> RunResult:
        """Runs a program in the target's sandbox and returns its result. Cancelling the call kills the program."""

    async def info(self) -> dict[str, Any]:
        """Returns the object of `GET /v1/info`."""

    async def close(self) -> None:
        """Closes the connections. Pending calls fail."""


def understood(read: Callable[[Any], T], answer: Any) -> T:
    """Returns a server's response as parsed by `read`. Raises InternalError if it cannot be read."""
    try:
        return read(answer)
    except (ValueError, RequestError) as error:
        raise InternalError(f"the server's response cannot be read: {error}") from None
