"""The whole error model, in one place.

Errors are defined here and raised at the boundary that they are named for. Only `rewarden_server.engine.failures` turns
them into verdicts. HTTP and gRPC derive their statuses from the `code` and `http_status` of each class. There are two
families:

* `RequestError`: the whole request is refused, before any work. The caller gets a 4xx or 5xx, never a verdict.
* `SampleError`: one sample cannot be scored. Its verdict has the class's `status`, `fault` and `reason`; other
  samples are not affected.

Extensions of Rewarden raise plain Python exceptions (or `InvalidReference`); the boundary translates them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar


class RewardenError(Exception):
    """The base class of all errors that Rewarden raises. `details` is JSON-ready and safe to show to a caller."""

    code: ClassVar[str] = "internal"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.details: Mapping[str, Any] = details


# --- refused requests ------------------------------------------------------------------------------------------


class RequestError(RewardenError):
    """The request is refused as a whole; nothing was scored."""

    http_status: ClassVar[int] = 500


class InvalidRequest(RequestError):
    """The request is malformed. `details["path"]` is the JSON path of the field at fault, if there is one."""

    code = "invalid_request"
    http_status = 400


class UnknownImage(InvalidRequest):
    """No sandbox host has that image; the message has the command that builds it."""

    code = "unknown_image"


class Unauthorized(RequestError):
    """The API key is missing or unknown."""

    code = "unauthorized"
    http_status = 401


class Forbidden(RequestError):
    """The API key lacks a scope, which `details` can name, or a page of another origin sent the request."""

    code = "forbidden"
    http_status = 403


class NotFound(RequestError):
    """The verifier, recipe, job, blob, box, file or route does not exist."""

    code = "not_found"
    http_status = 404


class FingerprintMoved(RequestError):
    """The caller expects a fingerprint or version (`Batch.expect`) that is not the current one."""

    code = "fingerprint_moved"
    http_status = 409


class ImageMismatch(RequestError):
    """A snapshot was taken of a box with another image. `details`: `image_id` of both."""

    code = "image_mismatch"
    http_status = 409


class NotebookEnded(RequestError):
    """The notebook has no kernel any more. `details["fault"]`: `policy` if a program in the box ended it or keeps its
    kernel from starting, `caller` if it was closed, `infra` if the sandbox host failed. Its box lives on."""

    code = "notebook_ended"
    http_status = 410


class BoxEnded(RequestError):
    """The box has ended. `details["reason"]`: see `rewarden.boxes.types.EndReason`. A lost host says nothing about the
    policy: `details["fault"]` is then `infra`."""

    code = "box_ended"
    http_status = 410


class TooLarge(RequestError):
    """The request exceeds a limit on size, depth or count; `details` names the limit."""

    code = "too_large"
    http_status = 413


class Overloaded(RequestError):
    """The server accepts no more work now. `details["retry_after_s"]` says when to retry."""

    code = "overloaded"
    http_status = 429
    retryable = True


class TooManyBoxes(RequestError):
    """The key has as many boxes, or as much memory or disk in boxes, as it may. `details["limit"]` names the setting.
    Clients do not retry: the caller must close a box."""

    code = "too_many_boxes"
    http_status = 429


class Unavailable(RequestError):
    """The server cannot be reached, is draining, or disconnected during a response."""

    code = "unavailable"
    http_status = 503
    retryable = True


class NoRoom(Unavailable):
    """No sandbox host has room for another box now."""

    code = "no_room"


class DeadlineExceeded(RequestError):
    """The client timed out. A deadline on the server ends in verdicts instead."""

    code = "deadline_exceeded"
    http_status = 504
    retryable = True


class StorageFull(RequestError):
    """The server's disk is full; nothing was stored."""

    code = "storage_full"
    http_status = 507


class InternalError(RequestError):
    """An internal error of the server. Its message never contains a sample's text."""

    code = "internal"
    http_status = 500


# --- samples that cannot be scored -----------------------------------------------------------------------------


class SampleError(RewardenError):
    """One sample cannot be scored: `status`, `fault`, `reason` and `flags` are those of its verdict."""

    status: ClassVar[str] = "error"
    fault: ClassVar[str] = "infra"
    reason: ClassVar[str] = "failed"
    code = "sample"
    flags: tuple[str, ...] = ()


class InvalidSample(SampleError):
    """A field of the sample is wrong; `details["path"]` is its JSON path."""

    fault = "caller"
    reason = "invalid_sample"


class InvalidParams(SampleError):
    """The parameters of a verifier are wrong; `details["path"]` is the JSON path."""

    fault = "caller"
    reason = "invalid_params"


class UnknownVerifier(SampleError):
    """No verifier or recipe has that name; the message suggests near names."""

    fault = "caller"
    reason = "unknown_verifier"


class MissingDependency(SampleError):
    """A package that the verifier needs is not installed; the message has the pip command."""

    fault = "infra"
    reason = "missing_dependency"


class InvalidReference(SampleError):
    """The expected answer cannot be used (empty, unparseable, too expensive). Raised by a verifier's `prepare`."""

    status = "undecided"
    fault = "reference"
    reason = "invalid_reference"


class PluginError(SampleError):
    """A verifier's own code raised an exception: a defect of the verifier, never the policy's fault or a zero."""

    fault = "verifier"
    reason = "verifier_raised"


class WorkerError(SampleError):
    """A worker process was lost, and its item could not be retried."""

    reason = "worker_lost"
    retryable = True


class SandboxError(SampleError):
    """The sandbox host could not be reached or failed."""

    reason = "sandbox_failed"
    retryable = True


class ProviderError(SampleError):
    """The endpoint of a judge or model could not be reached or failed."""

    reason = "provider_failed"
    retryable = True


class ProviderRefused(ProviderError):
    """The endpoint of a judge or model rejects the request: a wrong key, an unknown model, a text longer than the
    model's context."""

    reason = "provider_refused"
    retryable = False


class BudgetExhausted(SampleError):
    """The budgets of all applicable judges are spent; `details["judge"]` names the last of them."""

    reason = "budget_exhausted"


class ModelError(SampleError):
    """A model's process could not be reached or failed, or its result is not a number."""

    reason = "model_failed"
    retryable = True


class InputTooLong(SampleError):
    """The input exceeds the model's context. `details`: `tokens`, `context`, and `candidate`, the number of tokens that
    the policy wrote. If the policy made the input too long, verifiers score it; otherwise the caller is at fault."""

    fault = "caller"
    reason = "input_too_long"


class DeadlineReached(SampleError):
    """The request's deadline passed before this sample was reached."""

    reason = "deadline"
    retryable = True


class Cancelled(SampleError):
    """The caller disconnected, or the server drained, before this sample was reached."""

    reason = "cancelled"
    retryable = True


REQUEST_ERRORS: Mapping[str, type[RequestError]] = {
    cls.code: cls
    for cls in (
        # Errors of boxes first: of a status without a known code, a client makes the last class that has it.
        UnknownImage,
        ImageMismatch,
        NotebookEnded,
        BoxEnded,
        TooManyBoxes,
        NoRoom,
        InvalidRequest,
        Unauthorized,
        Forbidden,
        NotFound,
        FingerprintMoved,
        TooLarge,
        Overloaded,
        Unavailable,
        DeadlineExceeded,
        StorageFull,
        InternalError,
    )
}
"""Maps error codes on the wire to classes, so that a client raises the same class as the server."""


# --- hints -----------------------------------------------------------------------------------------------------


def near(name: object, known: Iterable[str], otherwise: str = "known: ") -> str:
    """Returns the end of a message about an unknown name: `; did you mean 'math'?`.

    If no known name is near, it lists them all after `otherwise`, or returns nothing if that is empty.
    """
    import difflib  # half a millisecond that only mistakes need to take

    names = list(known)
    if found := difflib.get_close_matches(str(name)[:100], names, n=1):
        return f"; did you mean {found[0]!r}?"
    return f"; {otherwise}{', '.join(names) or 'none'}" if otherwise else ""
