"""The one place where an error becomes a gRPC status."""

from __future__ import annotations

from typing import NoReturn

import grpc

from rewarden.errors import RequestError
from rewarden.wire.json import dumps, error_to_json
from rewarden.wire.protobuf import ERROR_METADATA, GRPC_STATUS

PUSHBACK = "grpc-retry-pushback-ms"
"""The metadata key that gRPC's own retries read: when a refused call may be tried again."""


async def abort(context: grpc.aio.ServicerContext, error: RequestError) -> NoReturn:
    """End the call with the error's status, its JSON form in the trailing metadata."""
    trailing: list[tuple[str, str | bytes]] = [(ERROR_METADATA, dumps(error_to_json(error)))]
    after = error.details.get("retry_after_s")
    if isinstance(after, (int, float)):
        trailing.append((PUSHBACK, str(int(after * 1000))))
    await context.abort(grpc.StatusCode[GRPC_STATUS[error.code]], error.message, tuple(trailing))
    raise AssertionError("abort always raises")
