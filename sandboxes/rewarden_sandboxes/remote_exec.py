"""An exec in a box, as its caller has it."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator
from dataclasses import replace

from rewarden_sandboxes.box import Output
from rewarden_sandboxes.codec import box_event_from_answer
from rewarden_sandboxes.errors import HostError
from rewarden_sandboxes.exchange import Exchange
from rewarden_sandboxes.job import Report
from rewarden_sandboxes.talk import Talk
from rewarden_sandboxes.v1 import sandbox_pb2 as pb


class RemoteExec(Exchange[Output]):
    """A program in a box. Iterated over, it gives its output as it comes, until `report` says how it ended."""

    def __init__(self, talk: Talk, number: int, message: pb.Exec) -> None:
        super().__init__(talk, pb.Order(id=number, exec=message), box_event_from_answer, "exec")

    @property
    def number(self) -> int:
        """Its number, which no other exec of the box has."""
        return self._number

    async def __aiter__(self) -> AsyncIterator[Output]:
        """Its output. Raises HostError when it is lost, or its box is over."""
        while (output := await self._next()) is not None:
            yield output

    async def finish(self) -> Report:
        """Read what is still to come. Returns how it ended, with that. Raises as iterating does."""
        found: dict[str, list[bytes]] = {"stdout": [], "stderr": []}
        async for output in self:
            found[output.stream].append(output.data)
        assert self.report is not None
        return replace(self.report, stdout=b"".join(found["stdout"]), stderr=b"".join(found["stderr"]))

    async def feed(self, data: AsyncIterable[bytes]) -> None:
        """Send all of this to its stdin, and close that. A program that reads no more holds nobody back; data that
        cannot be had kills it.
        """
        try:
            async for part in data:
                try:
                    await self.send(part)
                except HostError:  # it has ended, which whoever reads finds out
                    return
        except BaseException:
            self.leave()
            raise
        self.close_stdin()

    def close_stdin(self) -> None:
        """Nothing more comes for its stdin."""
        if not self._over:
            self._talk.order(pb.Order(id=self._number, eof=True))

    def signal(self, number: int, *, group: bool = False) -> None:
        """Send a signal to its process, or to all of its process group."""
        if not self._over:
            self._talk.order(pb.Order(id=self._number, signal=pb.Signal(number=number, group=group)))
