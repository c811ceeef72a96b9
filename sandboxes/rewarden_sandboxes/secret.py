"""The token that a server and its sandbox hosts share: a file on both sides, and sent with every call.

A file has one token per line. A host accepts any of them, a server sends the first, so tokens can be rotated without an
outage.
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import grpc
import grpc.aio

from rewarden_sandboxes.errors import HostError

HEADER = "authorization"
_SCHEME = "Bearer "
_SHORTEST = 16

OPEN = "/grpc.health.v1.Health/"
"""The only calls that need no token: the health check, which reveals only whether the host is ready."""

REFUSED = "the sandbox host refuses this caller's token: sandbox.token_file must hold the same token on both sides"


def read_tokens(path: Path) -> tuple[str, ...]:
    """Returns the tokens of a file. Raises HostError, whose message never contains them."""
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise HostError(f"sandbox.token_file: {path} cannot be read: {error.strerror}") from None
    tokens = [line.strip() for line in lines if line.strip()]
    if not tokens:
        raise HostError(f"sandbox.token_file: {path} is empty; make one: openssl rand -hex 32 > {path}")
    for token in tokens:
        if len(token) < _SHORTEST or not all(0x21 <= byte <= 0x7E for byte in token):
            raise HostError(
                f"sandbox.token_file: {path}: a token is one line of at least {_SHORTEST} letters, digits and signs, "
                f"without spaces; make one: openssl rand -hex 32 > {path}"
            )
    return tuple(token.decode() for token in tokens)


def shown(token: str | None) -> tuple[tuple[str, str], ...]:
    """Returns the metadata that a caller sends with each call."""
    return () if token is None else ((HEADER, _SCHEME + token),)


class Gate(grpc.aio.ServerInterceptor):  # type: ignore[misc,unused-ignore]
    """Refuses calls without one of the tokens, before it reads any of their messages."""

    def __init__(self, tokens: tuple[str, ...]) -> None:
        self._tokens = [(_SCHEME + token).encode() for token in tokens]

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler:
        """See grpc."""
        handler = await continuation(handler_call_details)
        if handler is None or str(handler_call_details.method).startswith(OPEN):
            return handler
        if self._knows(dict(handler_call_details.invocation_metadata or ()).get(HEADER)):
            return handler
        return _refusing(handler)

    def _knows(self, given: Any) -> bool:
        told = given.encode("utf-8", "replace") if isinstance(given, str) else b""
        # In constant time, and with every token: the time must not reveal which token almost matches.
        return sum(hmac.compare_digest(told, token) for token in self._tokens) > 0


def _refusing(handler: grpc.RpcMethodHandler) -> grpc.RpcMethodHandler:
    """Returns a handler of the same kind that refuses every call."""

    async def refuse(_: Any, context: grpc.aio.ServicerContext) -> Any:
        await context.abort(grpc.StatusCode.UNAUTHENTICATED, REFUSED)

    make = grpc.stream_stream_rpc_method_handler if handler.request_streaming else grpc.unary_unary_rpc_method_handler
    return make(refuse, handler.request_deserializer, handler.response_serializer)
