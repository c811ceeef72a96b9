"""A call's message before it is parsed: its bytes, and the number of rows in them.

gRPC would parse a message before anybody could check it. Attack: a batch of empty rows. Each takes two bytes on the
wire and a hundred times that once parsed, so a message within the size limit would fill the memory before its rows
could be counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

import grpc
from google.protobuf.message import DecodeError, Message

from rewarden.errors import InvalidRequest
from rewarden.v1 import rewarden_pb2 as pb

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def _tag(kind: type[Message], field: str) -> int:
    """The tag of a field that contains a message."""
    return kind.DESCRIPTOR.fields_by_name[field].number << 3 | _BYTES


_ROW = _tag(pb.VerifyRequest, "samples")
_HEADER, _ONE, _SEVERAL = (_tag(pb.VerifyStreamRequest, name) for name in ("header", "sample", "samples"))
_OTHERS = 100
"""Fields other than rows that are read at most. Attack: millions of empty headers, which take as long to walk through
as rows."""

M = TypeVar("M", bound=Message)


async def received(context: grpc.aio.ServicerContext) -> bytes:
    """Returns the one message of a unary call, unparsed. Raises InvalidRequest if there is none."""
    data = await context.read()
    if not isinstance(data, bytes):
        raise InvalidRequest("the call has no message")
    return data


def parsed(kind: type[M], data: bytes) -> M:
    """Parses bytes into a message. Raises InvalidRequest."""
    try:
        return kind.FromString(data)
    except DecodeError:
        raise _unreadable(kind) from None


def rows(data: bytes, most: int) -> int:
    """Returns the number of samples in a `VerifyRequest`; counting stops one beyond `most`. Raises InvalidRequest for
    bytes that are not a message. For every message that protobuf can parse, the count is that of protobuf.
    """
    found = others = 0
    for tag, _, _ in _fields(pb.VerifyRequest, data):
        if tag == _ROW:
            found += 1
            if found > most:
                break
        else:
            others = _one_more(others)
    return found


def rows_in(data: bytes, most: int) -> list[tuple[int, int]]:
    """Returns where each sample of a stream's message begins and ends, at most one more than `most`. Raises
    InvalidRequest for bytes that are not a message of samples.

    Rows are parsed one by one: an unreadable row costs no other, and a full stream parses no row that it has no room
    for.
    """
    found: list[tuple[int, int]] = []
    others = 0
    single = False
    for tag, start, end in _fields(pb.VerifyStreamRequest, data):
        if tag in (_SEVERAL, _ONE):
            if single or (tag == _ONE and found):  # protobuf would merge two, or take the last
                raise InvalidRequest("a message of a stream has either one `sample` or `samples`")
            single = tag == _ONE
            found.append((start, end))
            if len(found) > most:
                break
        elif tag == _HEADER:
            raise InvalidRequest("after the header, every message of a stream must contain samples, and no header")
        else:
            others = _one_more(others)
    if not found:
        raise InvalidRequest("after the header, every message of a stream must contain a sample")
    return found


def _one_more(others: int) -> int:
    if others == _OTHERS:
        raise InvalidRequest("the message has too many fields other than samples; send one header")
    return others + 1


def _fields(kind: type[Message], data: bytes) -> Iterator[tuple[int, int, int]]:
    """Yields each field of a message: its tag, and where its content begins and ends. Raises InvalidRequest."""
    at, end = 0, len(data)
    try:
        while at < end:
            tag, at = _varint(data, at)
            wired = tag & 7
            start = at
            if wired == _BYTES:
                size, start = _varint(data, at)
                at = start + size
            elif wired == _VARINT:
                _, at = _varint(data, at)
            elif wired in (_FIXED64, _FIXED32):
                at += 8 if wired == _FIXED64 else 4
            else:  # a group, which proto3 does not have
                raise _unreadable(kind)
            yield tag, start, at
    except IndexError:
        raise _unreadable(kind) from None
    if at > end:
        raise _unreadable(kind)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Returns the number that begins at this offset, and the offset behind it. Raises IndexError if the bytes end
    first, or if the number is too long for any field."""
    byte = data[at]
    if byte < 128:
        return byte, at + 1
    value = byte & 127
    for place in range(1, 10):
        byte = data[at + place]
        value |= (byte & 127) << 7 * place
        if byte < 128:
            return value, at + place + 1
    raise IndexError


def _unreadable(kind: type[Message]) -> InvalidRequest:
    return InvalidRequest(f"the message is not a valid {kind.__name__}")
