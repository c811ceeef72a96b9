"""A call's message before it is parsed: its bytes, and how many rows they hold.

gRPC would parse a message before anybody could look at it. Attack: a batch of empty rows. Each is two bytes on the wire
and a hundred times that once parsed, so that a message within its limit would fill the memory before its rows could be
counted.
"""

from __future__ import annotations

from typing import TypeVar

import grpc
from google.protobuf.message import DecodeError, Message

from rewarden.errors import InvalidRequest
from rewarden.v1 import rewarden_pb2 as pb

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_ROW = pb.VerifyRequest.DESCRIPTOR.fields_by_name["samples"].number << 3 | _BYTES
_OTHERS = 100
"""Fields beside rows that are looked at. Attack: millions of empty headers, which take as long to walk over as rows."""

M = TypeVar("M", bound=Message)


async def received(context: grpc.aio.ServicerContext) -> bytes:
    """The one message of a unary call, as it came. Raises InvalidRequest where there is none."""
    data = await context.read()
    if not isinstance(data, bytes):
        raise InvalidRequest("the call has no message")
    return data


def parsed(kind: type[M], data: bytes) -> M:
    """The message that these bytes are. Raises InvalidRequest."""
    try:
        return kind.FromString(data)
    except DecodeError:
        raise _unreadable(kind) from None


def rows(data: bytes, most: int) -> int:
    """Returns the number of samples in a `VerifyRequest`; counting stops one beyond `most`. Raises InvalidRequest for
    bytes that are not a message. For every message that protobuf can parse, the count is that of protobuf.
    """
    at, found, others, end = 0, 0, 0, len(data)
    try:
        while at < end and found <= most:
            tag, at = _varint(data, at)
            kind = tag & 7
            if kind == _BYTES:
                size, at = _varint(data, at)
                at += size
            elif kind == _VARINT:
                _, at = _varint(data, at)
            elif kind in (_FIXED64, _FIXED32):
                at += 8 if kind == _FIXED64 else 4
            else:  # a group, which proto3 does not have
                raise _unreadable(pb.VerifyRequest)
            if tag == _ROW:
                found += 1
            else:
                others += 1
                if others > _OTHERS:
                    raise InvalidRequest("the message has too many fields besides its samples; send one header")
    except IndexError:
        raise _unreadable(pb.VerifyRequest) from None
    return found


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """The number that begins there, and where the next thing begins. Raises IndexError where the bytes end."""
    byte = data[at]
    if byte < 128:
        return byte, at + 1
    value = byte & 127
    for place in range(1, 10):
        byte = data[at + place]
        value |= (byte & 127) << 7 * place
        if byte < 128:
            return value, at + place + 1
    raise _unreadable(pb.VerifyRequest)


def _unreadable(kind: type[Message]) -> InvalidRequest:
    return InvalidRequest(f"the message is not a valid {kind.__name__}")
