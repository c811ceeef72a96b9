"""The frame around every call: its id, the caller's key, the mapping of errors to statuses, a log line and a count."""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import NoReturn
from urllib.parse import unquote

import grpc
import structlog

from rewarden.errors import InternalError, InvalidRequest, RequestError, RewardenError
from rewarden.v1 import rewarden_pb2 as pb
from rewarden.wire.json import dumps, error_to_json
from rewarden.wire.protobuf import ERROR_METADATA, GRPC_STATUS
from rewarden_server.access.caller import CURRENT, Caller
from rewarden_server.access.rates import Meter
from rewarden_server.boxes.lease import lease_in
from rewarden_server.observe.logs import get_logger, log_defect
from rewarden_server.observe.telemetry.span import within
from rewarden_server.refusals import as_request_error
from rewarden_server.service import BOX_SCOPE, Service

SURFACE = "grpc"

BOX_METHODS: Mapping[str, str] = {
    method.name: f"Box.{method.name}" for method in pb.DESCRIPTOR.services_by_name["BoxService"].methods
}
"""The methods for boxes, by their names in logs and metrics."""

NEEDS: Mapping[str, str] = {
    "Verify": "verify",
    "VerifyStream": "verify",
    "ListVerifiers": "read",
    "Info": "read",
    "Run": "run",
    **dict.fromkeys(BOX_METHODS.values(), BOX_SCOPE),
}
"""The scope that each method requires."""

LEASE = "rewarden-lease"
"""The metadata key of a lease."""

PUSHBACK = "grpc-retry-pushback-ms"
"""The metadata key that gRPC's own retries read: when a refused call may be tried again."""

_log = get_logger("grpc")


def authorization_in(metadata: Iterable[tuple[str, str | bytes]]) -> str | None:
    """Returns the value of `authorization`. Raises InvalidRequest if there are several.

    Attack: a header that is sent twice, of which a proxy in front of us believes one and we the other.
    """
    values = [value for name, value in metadata if name == "authorization" and isinstance(value, str)]
    if len(values) > 1:
        raise InvalidRequest("the metadata authorization is sent twice")
    return values[0] if values else None


def caller_in(service: Service, metadata: Iterable[tuple[str, str | bytes]], method: str) -> Caller:
    """Returns the caller, by key, or by lease for a method for boxes. Raises Unauthorized, InvalidRequest."""
    pairs = list(metadata)
    authorization = authorization_in(pairs)
    if method in BOX_METHODS.values():
        leases = [value for name, value in pairs if name == LEASE and isinstance(value, str)]
        if len(leases) > 1:
            raise InvalidRequest(f"the metadata {LEASE} is sent twice")
        lease = lease_in(authorization, leases[0] if leases else None)
        if lease is not None:
            return service.leaseholder(lease)
    return service.keys.caller(authorization)


@asynccontextmanager
async def call(service: Service, context: grpc.aio.ServicerContext, method: str) -> AsyncIterator[None]:
    """Serves one call in the block. An exception ends the call with the right status."""
    metadata = {name: value for name, value in context.invocation_metadata() or () if isinstance(value, str)}
    request_id = metadata.get("x-request-id", "")[:128] or uuid.uuid4().hex
    start = time.perf_counter()
    status, key = "CANCELLED", ""
    meter: Meter | None = None
    entry = service.audit.entry(request_id, SURFACE, _peer(context)) if service.audit is not None else None
    span = service.tracing.request(
        f"grpc {method}", metadata.get("traceparent"), metadata.get("tracestate"), rpc=method, request_id=request_id
    )
    with structlog.contextvars.bound_contextvars(request_id=request_id), within(span):
        try:
            try:
                caller = caller_in(service, context.invocation_metadata() or (), method)
                key = caller.name
                if service.audit is not None:
                    caller.entry = entry
                    service.audit.check()
                if caller.meter is not None:
                    caller.meter.begin()
                    meter = caller.meter
                caller.demand(NEEDS[method])
                CURRENT.set(caller)
                with structlog.contextvars.bound_contextvars(key=key):
                    yield
                status = "OK"
            except Exception as error:  # noqa: BLE001  the boundary: whatever it is, it becomes a status here
                known = as_request_error(error)
                if isinstance(known, InternalError) and not isinstance(error, RewardenError):
                    log_defect(_log, error)
                status = known.code
                await _abort(context, known)
        finally:
            if meter is not None:
                meter.end()
            seconds = round(time.perf_counter() - start, 6)
            service.metrics.request(SURFACE, method, status, key, seconds)
            span.note(status=status, key=key)
            _log.info("call", method=method, status=status, seconds=seconds, key=key)
            if service.audit is not None and entry is not None:
                service.audit.write(entry.line(route=method, method="RPC", key=key, status=status, seconds=seconds))


async def _abort(context: grpc.aio.ServicerContext, error: RequestError) -> NoReturn:
    """Ends the call with the error's status and its JSON form in the trailing metadata."""
    trailing: list[tuple[str, str | bytes]] = [(ERROR_METADATA, dumps(error_to_json(error)))]
    after = error.details.get("retry_after_s")
    if isinstance(after, (int, float)):
        trailing.append((PUSHBACK, str(int(after * 1000))))
    # Attack: invalid text in the message of an error, which no status can hold; the caller would wait forever.
    message = error.message.encode("utf-8", "backslashreplace").decode()
    await context.abort(grpc.StatusCode[GRPC_STATUS[error.code]], message, tuple(trailing))
    raise AssertionError("abort always raises")


def _peer(context: grpc.aio.ServicerContext) -> str:
    """Returns the address without its port, as over HTTP: `ipv4:10.0.0.1:5000`, `ipv6:%5B::1%5D:5000`."""
    kind, _, place = unquote(context.peer()).partition(":")
    return place.rpartition(":")[0].strip("[]") if kind in ("ipv4", "ipv6") else place
