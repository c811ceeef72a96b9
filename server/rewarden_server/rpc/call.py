"""What goes round every call: its id, the caller's key, errors to statuses, one log line and one count."""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import grpc
import structlog

from rewarden.errors import InternalError, RewardenError
from rewarden_server.logs import get_logger, log_defect
from rewarden_server.refusals import as_request_error
from rewarden_server.rpc.errors import abort
from rewarden_server.service import Service

SURFACE = "grpc"

_log = get_logger("grpc")


@asynccontextmanager
async def call(service: Service, context: grpc.aio.ServicerContext, method: str) -> AsyncIterator[None]:
    """Serve one call within; what it raises ends the call with the right status."""
    metadata = {name: value for name, value in context.invocation_metadata() or () if isinstance(value, str)}
    request_id = metadata.get("x-request-id", "")[:128] or uuid.uuid4().hex
    start = time.perf_counter()
    status, key = "CANCELLED", ""
    with structlog.contextvars.bound_contextvars(request_id=request_id):
        try:
            try:
                key = service.keys.check(metadata.get("authorization"))
                with structlog.contextvars.bound_contextvars(key=key):
                    yield
                status = "OK"
            except Exception as error:  # noqa: BLE001  the boundary: whatever it is, it becomes a status here
                known = as_request_error(error)
                if isinstance(known, InternalError) and not isinstance(error, RewardenError):
                    log_defect(_log, error)
                status = known.code
                await abort(context, known)
        finally:
            service.metrics.request(SURFACE, method, status, key)
            seconds = round(time.perf_counter() - start, 6)
            _log.info("call", method=method, status=status, seconds=seconds, key=key)
