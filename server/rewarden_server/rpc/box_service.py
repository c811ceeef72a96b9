"""gRPC's methods for boxes: the operations of `boxes/desk.py`, with JSON as text."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable
from operator import methodcaller
from typing import Any

import grpc

from rewarden.boxes.call import BoxCall
from rewarden.errors import InvalidRequest, TooLarge
from rewarden.v1 import rewarden_pb2 as pb
from rewarden.wire.json import dumps
from rewarden_server.access.caller import CURRENT
from rewarden_server.boxes.desk import Desk
from rewarden_server.intake.json_expansion import read_json
from rewarden_server.rpc.call import BOX_METHODS, SURFACE, call
from rewarden_server.rpc.message import parsed, received
from rewarden_server.service import Service

_SERVICE = pb.DESCRIPTOR.services_by_name["BoxService"]
NAME = _SERVICE.full_name

_FED = frozenset({"Stdin", "Write", "Extract"})
"""Methods that take bytes after the call."""

_BYTES = frozenset({"Read", "Archive"})
"""Methods that return bytes."""


def handlers(service: Service) -> grpc.GenericRpcHandler:
    """The methods for a gRPC server; see `reward_service.handlers`."""
    served = BoxService(service)
    made = {}
    for method in _SERVICE.methods:
        handler = (
            grpc.stream_stream_rpc_method_handler if method.server_streaming else grpc.stream_unary_rpc_method_handler
        )
        made[method.name] = handler(served.method(method.name), response_serializer=methodcaller("SerializeToString"))
    return grpc.method_handlers_generic_handler(NAME, made)


class BoxService:
    """See protos/rewarden/v1/rewarden.proto."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def method(self, name: str) -> Callable[..., Any]:
        """Returns the function that serves a method."""
        if name == "Exec":
            return self._exec
        if name in _BYTES:
            return self._bytes(name)
        return self._unary(name)

    def _unary(self, name: str) -> Callable[..., Any]:
        operation = "exec" if name == "Run" else name.lower()

        async def serve(messages: AsyncIterator[bytes], context: grpc.aio.ServicerContext) -> pb.BoxReply:
            async with call(self._service, context, BOX_METHODS[name]):
                if name in _FED:
                    asked, inputs = await self._first(messages)
                    made = self._call(operation, asked, content=inputs)
                else:
                    made = self._call(operation, parsed(pb.BoxCall, self._checked(await received(context))))
                told = await getattr(self._desk(), operation)(made)
                reply = pb.BoxReply() if told is None else pb.BoxReply(reply_json=dumps(told).decode())
            return reply

        return serve

    def _bytes(self, name: str) -> Callable[..., Any]:
        async def serve(
            messages: AsyncIterator[bytes], context: grpc.aio.ServicerContext
        ) -> AsyncGenerator[pb.BoxBytes, None]:
            async with call(self._service, context, BOX_METHODS[name]):
                made = self._call(name.lower(), parsed(pb.BoxCall, self._checked(await received(context))))
                async with contextlib.aclosing(getattr(self._desk(), name.lower())(made)) as pieces:
                    async for piece in pieces:
                        yield pb.BoxBytes(data=piece)

        return serve

    async def _exec(
        self, messages: AsyncIterator[bytes], context: grpc.aio.ServicerContext
    ) -> AsyncGenerator[pb.BoxReply, None]:
        async with call(self._service, context, BOX_METHODS["Exec"]):
            asked, inputs = await self._first(messages)
            made = self._call("exec", asked)
            feed = bool((made.value or {}).get("feed"))
            async with contextlib.aclosing(self._desk().events(made, inputs if feed else None)) as events:
                async for event in events:
                    yield pb.BoxReply(reply_json=dumps(event).decode())

    def _desk(self) -> Desk:
        caller = CURRENT.get()
        assert caller is not None  # `call` sets it
        return Desk(self._service, caller, SURFACE)

    async def _first(self, messages: AsyncIterator[bytes]) -> tuple[pb.BoxCall, AsyncIterable[bytes]]:
        """Returns the call that a stream begins with, and the bytes that follow."""
        async for data in messages:
            message = parsed(pb.BoxInput, self._checked(data))
            if message.WhichOneof("item") != "call":
                break
            return message.call, _data_in(messages)
        raise InvalidRequest("the first message of the stream must be its call")

    def _checked(self, data: bytes) -> bytes:
        most = self._service.limits.max_run_bytes
        if len(data) > most:
            raise TooLarge(f"the message has more than {most} bytes (limits.max_run_bytes)", limit="max_run_bytes")
        return data

    def _call(self, operation: Any, asked: pb.BoxCall, content: AsyncIterable[bytes] | None = None) -> BoxCall:
        return BoxCall(
            operation=operation,
            box=asked.box,
            path=asked.path if asked.HasField("path") else None,
            number=asked.number if asked.HasField("number") else None,
            value=self._object(asked.request_json, "request_json") if asked.HasField("request_json") else None,
            query=self._object(asked.query_json, "query_json") if asked.HasField("query_json") else {},
            content=content,
        )

    def _object(self, text: str, name: str) -> dict[str, Any]:
        value = read_json(text.encode(), self._service.limits)
        if type(value) is not dict:
            raise InvalidRequest(f"{name}: must be an object", path=name)
        return value


async def _data_in(messages: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    async for data in messages:
        message = parsed(pb.BoxInput, data)
        if message.WhichOneof("item") != "data":
            raise InvalidRequest("after the call, every message of the stream must contain data")
        yield message.data
