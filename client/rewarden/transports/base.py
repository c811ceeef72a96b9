"""The interface of a transport: the one thing that the client asks of HTTP, of gRPC, and of an engine in this process.

A transport does one attempt. It knows nothing of retries, of resuming, or of how results are put in order: that is the
client's, in one place. A class found under the entry-point group `rewarden.targets` is called as
`Class(target, api_key=…, timeout_s=…, **options)`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Any, Protocol, TypeVar

from rewarden.errors import InternalError, RequestError
from rewarden.types import Batch, BatchResult, Group, Run, RunResult, Sample, Verdict

T = TypeVar("T")


class Transport(Protocol):
    """One way to a server. Used by one event loop; any number of calls at a time.

    Every method raises `rewarden.errors.RequestError` subclasses: those that the server answered, Unavailable where it
    cannot be reached or goes away, DeadlineExceeded where the client's own time-out passes.
    """

    async def verify(self, batch: Batch) -> BatchResult:
        """The whole answer to a batch, in the request's order."""

    def stream(self, header: Batch, samples: AsyncIterator[Sample]) -> AsyncGenerator[Verdict | Group, None]:
        """Verdicts as they end, `index` counting the samples in the order in which they were taken from `samples`.

        A group's statistics come after its members' verdicts. The iterator ends only when the server said that all is
        answered; a stream that breaks off raises Unavailable, never ends silently short. What `samples` raises is
        raised here. Samples are taken as fast as the server takes them.
        """

    async def verifiers(self, name: str | None = None) -> list[dict[str, Any]]:
        """Returns the verifiers and recipes, as `GET /v1/verifiers` does; with a name, the one of
        `/v1/verifiers/{name}`.

        Raises NotFound.
        """

    async def run(self, run: Run) -> RunResult:
        """Runs a program in the target's sandbox and returns its result. Cancelling the call kills the program."""

    async def info(self) -> dict[str, Any]:
        """The object of `GET /v1/info`."""

    async def close(self) -> None:
        """Give back connections. Calls under way fail."""


def understood(read: Callable[[Any], T], answer: Any) -> T:
    """Returns what `read` makes of a server's answer. Raises InternalError where it cannot be read."""
    try:
        return read(answer)
    except (ValueError, RequestError) as error:
        raise InternalError(f"the server's answer cannot be read: {error}") from None
