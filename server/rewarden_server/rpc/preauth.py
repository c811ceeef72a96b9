"""Refuses a caller without a key before any byte of its message is read.

gRPC reads a unary call's whole message, which may be hundreds of megabytes, before it calls the handler. Attack: such
messages without any key, which would fill the memory, also when sent to health and reflection, because all methods
share one limit on messages.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import grpc
from grpc_health.v1 import health, health_pb2

from rewarden.errors import Forbidden, InvalidRequest, Unauthorized, Unavailable
from rewarden.v1 import rewarden_pb2 as pb
from rewarden_server.rpc.call import BOX_METHODS, NEEDS, call, caller_in
from rewarden_server.service import Service

_PATHS = {
    **{f"/{pb.DESCRIPTOR.services_by_name['RewardService'].full_name}/{name}": name for name in NEEDS},
    **{f"/{pb.DESCRIPTOR.services_by_name['BoxService'].full_name}/{name}": told for name, told in BOX_METHODS.items()},
}
"""Our methods by path."""
_CHECK, _WATCH = "/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch"
WATCHES = 100
"""Health streams that callers without a key may hold open together. Attack: an endless number of such streams."""

_OTHER = "unmatched"
"""The name of methods that are not ours in logs and metrics."""


class Preauth(grpc.aio.ServerInterceptor):  # type: ignore[misc,unused-ignore]
    """Checks keys and scopes. Reflection requires a key of any scope; health none, because probes have none."""

    def __init__(self, service: Service, health: health.aio.HealthServicer) -> None:
        self._service = service
        self._health = health
        self._watching = 0

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler:
        """Returns the method's handler, or one that refuses the call."""
        path = handler_call_details.method
        known = _PATHS.get(path, _OTHER)
        held = path == _WATCH and not self._service.keys.required  # by one who has no key, where nobody needs one
        if not held and self._lets_in(handler_call_details, known):
            return await continuation(handler_call_details)
        if path in (_CHECK, _WATCH):
            serializer = health_pb2.HealthCheckResponse.SerializeToString
            answer = self._check if path == _CHECK else self._watch
            return grpc.stream_stream_rpc_method_handler(answer, response_serializer=serializer)
        return grpc.stream_stream_rpc_method_handler(self._refusing(known))

    def _lets_in(self, details: grpc.HandlerCallDetails, method: str) -> bool:
        scope = NEEDS.get(method)
        try:
            caller = caller_in(self._service, details.invocation_metadata or (), method)
            if scope is not None:
                caller.demand(scope)
        except (InvalidRequest, Unauthorized, Forbidden):
            return False
        return True

    async def _check(self, messages: Any, context: grpc.aio.ServicerContext) -> None:
        # The message that names the service is not read: all of them have the server's own health.
        await context.write(await self._health.Check(health_pb2.HealthCheckRequest(), context))

    async def _watch(self, messages: Any, context: grpc.aio.ServicerContext) -> None:
        if self._watching >= WATCHES:
            await context.abort(
                grpc.StatusCode.RESOURCE_EXHAUSTED,
                f"{WATCHES} callers without a key are already watching; call Check instead, or send a key",
            )
        self._watching += 1
        try:
            await self._health.Watch(health_pb2.HealthCheckRequest(), context)
        finally:
            self._watching -= 1

    def _refusing(self, method: str) -> Callable[..., Awaitable[None]]:
        async def refuse(messages: Any, context: grpc.aio.ServicerContext) -> None:
            async with call(self._service, context, method):  # raises what `_lets_in` saw, and counts it
                # Or the key file changed between the two checks. The message was not read, so no answer may follow.
                raise Unavailable("this key was made just now: send the call again", retry_after_s=0.1)

        return refuse
