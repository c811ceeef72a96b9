"""The caller's side of a session."""

from __future__ import annotations

from rewarden_sandboxes.codec import session_event_from_answer
from rewarden_sandboxes.exchange import Exchange
from rewarden_sandboxes.talk import Talk
from rewarden_sandboxes.v1 import sandbox_pb2 as pb


class RemoteSession(Exchange[bytes]):
    """A program that runs on the host, alone in its slot."""

    def __init__(self, talk: Talk, number: int, message: pb.Session) -> None:
        super().__init__(talk, pb.Order(id=number, session=message), session_event_from_answer, "session")

    async def receive(self) -> bytes:
        """Returns bytes of its stdout as they arrive; none when the program has ended, and `report` says how. Raises
        HostError if the session is lost.
        """
        return await self._next() or b""
