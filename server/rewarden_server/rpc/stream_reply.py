"""The replies of a stream: one item each, or everything that is ready at once."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from rewarden.types import Group, Verdict
from rewarden.v1 import rewarden_pb2 as pb
from rewarden.wire.protobuf import add_verdict, group_to_message, verdict_to_message

MOST_BYTES = 1024**2
"""The size from which a reply takes no further verdict. gRPC's own clients refuse messages of more than 4 MiB."""

GATHER_S = 0.001
"""The time for which a reply of many waits for further verdicts while samples are in flight. A reply costs both sides
more than ten verdicts do."""

Items = Sequence["Verdict | Group"]


def one_by_one(items: Items, fields: Collection[str] | None) -> Iterator[pb.VerifyStreamReply]:
    """Yields a reply for each item, which every client understands."""
    for item in items:
        if isinstance(item, Verdict):
            yield pb.VerifyStreamReply(verdict=verdict_to_message(item, fields))
        else:
            yield pb.VerifyStreamReply(group=group_to_message(item))


def together(items: Items, fields: Collection[str] | None) -> Iterator[pb.VerifyStreamReply]:
    """Yields replies of many items. A group's statistics come with or after its members' verdicts."""
    reply, size = pb.VerifyStreamReply(), 0
    for item in items:
        if isinstance(item, Group):
            continue
        if size >= MOST_BYTES:
            yield reply
            reply, size = pb.VerifyStreamReply(), 0
        size += add_verdict(reply.verdicts, item, fields).ByteSize()
    reply.groups.extend(group_to_message(item) for item in items if isinstance(item, Group))
    yield reply
