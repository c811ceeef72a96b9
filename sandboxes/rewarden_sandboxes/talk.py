"""One gRPC call to a host, which carries orders and their answers."""

from __future__ import annotations

import asyncio
import contextlib

import grpc
import grpc.aio

from rewarden_sandboxes.errors import BadJob
from rewarden_sandboxes.service import MOST_BYTES
from rewarden_sandboxes.v1 import sandbox_pb2 as pb
from rewarden_sandboxes.v1 import sandbox_pb2_grpc as stubs

_CAUSE_S = 5.0
"""Seconds to wait for a host's reason for a broken call."""


_ENVELOPE = 1024**2
"""The overhead of a message, in bytes, beyond its content."""


def check_size(size: int) -> None:
    """Raises BadJob for a message that is too large: sending it ends the call for all."""
    if size > MOST_BYTES - _ENVELOPE:
        raise BadJob("", f"the request has more than {MOST_BYTES - _ENVELOPE} bytes")


class Talk:
    """One call, which carries jobs and their answers until it breaks.

    The tasks that order never write themselves: cancelling a task during a write ends the call for all.
    """

    def __init__(self, stub: stubs.SandboxHostStub, metadata: tuple[tuple[str, str], ...]) -> None:
        self.why = "the connection to the sandbox host was closed"
        self.over = False
        self._call = stub.Work(metadata=metadata)
        self._stub, self._metadata = stub, metadata
        self._expected: dict[int, asyncio.Queue[pb.Answer | None]] = {}
        self._orders: asyncio.Queue[pb.Order] = asyncio.Queue()
        loop = asyncio.get_running_loop()
        self._tasks = (loop.create_task(self._listen()), loop.create_task(self._write()))

    def expect(self, number: int) -> asyncio.Queue[pb.Answer | None]:
        """Returns the queue for the answers to an order; None in it means that the call broke."""
        answers = self._expected[number] = asyncio.Queue()
        return answers

    def order(self, order: pb.Order) -> None:
        """Send an order."""
        self._orders.put_nowait(order)

    def forget(self, number: int, *, cancel: bool) -> None:
        """Discard further answers; `cancel`: also end the job, if it still runs."""
        self._expected.pop(number, None)
        if cancel and not self.over:
            self.order(pb.Order(id=number, cancel=True))

    def hang_up(self, why: str) -> None:
        """End the call from this side."""
        if not self.over:
            self.over, self.why = True, why
            self._call.cancel()

    def _note(self, why: str) -> None:
        if not self.over:  # otherwise we ended the call, and the reason is set
            self.why = why

    async def _write(self) -> None:
        # `_listen` finds out why the call is broken.
        with contextlib.suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError, asyncio.CancelledError):
            while True:
                await self._call.write(await self._orders.get())

    async def _cause(self, error: grpc.aio.AioRpcError) -> grpc.aio.AioRpcError:
        """Returns the error that broke the call. If the host refuses it during a write, gRPC reports the failed write
        and not the refusal; a call with a single message has no such race, and is refused for the same reason.
        """
        if error.code() is grpc.StatusCode.INTERNAL:
            try:
                await self._stub.Status(pb.StatusRequest(), timeout=_CAUSE_S, metadata=self._metadata)
            except grpc.aio.AioRpcError as again:
                if again.code() is grpc.StatusCode.UNAUTHENTICATED:
                    return again
            except asyncio.CancelledError:
                pass  # the channel was closed
        return error

    async def _listen(self) -> None:
        try:
            while (answer := await self._call.read()) is not grpc.aio.EOF:
                expected = self._expected.get(answer.id)
                if expected is not None:
                    expected.put_nowait(answer)
            self._note(
                f"the sandbox host cannot be reached, or disconnected: {await self._call.details() or 'the call ended'}"
            )
        except grpc.aio.AioRpcError as error:
            self._note(why(await self._cause(error)))
        except asyncio.CancelledError:
            pass  # the channel was closed
        finally:
            self.over = True
            self._tasks[1].cancel()
            for expected in self._expected.values():
                expected.put_nowait(None)


def why(error: grpc.aio.AioRpcError) -> str:
    """Returns the reason for a failed call, in words for its callers."""
    if error.code() is grpc.StatusCode.UNAUTHENTICATED:
        return str(error.details())
    return f"the sandbox host cannot be reached, or disconnected: {error.details() or error.code().name}"
