"""Exceptions of any kind as refusals of the whole request, which the surfaces give a status."""

from __future__ import annotations

from rewarden.errors import InternalError, InvalidRequest, RequestError, SampleError


def as_request_error(error: Exception) -> RequestError:
    """The error under one of the names that have a status. The message of an unexpected error is not passed on."""
    if isinstance(error, RequestError):
        return error
    if isinstance(error, SampleError):
        # Raised if there is no sample to blame, such as for a verifier that `expect` needs and nobody knows.
        kind = InvalidRequest if error.fault == "caller" else InternalError
        return kind(error.message, **error.details)
    return InternalError("internal error; see the server's log under this request's id")
