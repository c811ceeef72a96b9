"""The whole error model, in one place.

Errors are *named* here, for the boundary that was crossed; *raised* where the boundary is; *turned into verdicts* in
`rewarden_server.engine.failures` and nowhere else; and *turned into HTTP and gRPC statuses* by the two surfaces from
the `code` and `http_status` that each class carries. There are two families:

* `RequestError`: the request as a whole is refused, before any work. A 4xx or 5xx for the caller, never a verdict.
* `SampleError`: one sample cannot be scored. It becomes that sample's verdict, with the class's `status`, `fault`
  and `reason`; its neighbours are unharmed.

Whoever extends Rewarden raises plain Python exceptions (or `InvalidReference`); the boundary names them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar


class RewardenError(Exception):
    """Anything that Rewarden raises on purpose. `details` is JSON-ready and safe to show to a caller."""

    code: ClassVar[str] = "internal"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.details: Mapping[str, Any] = details


# --- refused requests ------------------------------------------------------------------------------------------


class RequestError(RewardenError):
    """The envelope is refused as a whole; nothing was scored."""

    http_status: ClassVar[int] = 500


class InvalidRequest(RequestError):
    """The envelope is malformed. `details["path"]` is the JSON path of the field at fault where there is one."""

    code = "invalid_request"
    http_status = 400


class Unauthorized(RequestError):
    """The API key is missing or unknown."""

    code = "unauthorized"
    http_status = 401


class Forbidden(RequestError):
    """The API key is known and may not do this, or a page of another origin asks; `details` may name the scope."""

    code = "forbidden"
    http_status = 403


class NotFound(RequestError):
    """No such verifier, recipe, job, blob or route."""

    code = "not_found"
    http_status = 404


class FingerprintMoved(RequestError):
    """The caller demanded a fingerprint or a version (`Batch.expect`) that is not the current one."""

    code = "fingerprint_moved"
    http_status = 409


class TooLarge(RequestError):
    """The request is over a size, depth or count limit; `details` names the limit."""

    code = "too_large"
    http_status = 413


class Overloaded(RequestError):
    """The server admits no more work now. `details["retry_after_s"]` says when to come back."""

    code = "overloaded"
    http_status = 429
    retryable = True


class Unavailable(RequestError):
    """The server cannot be reached, is draining, or went away in mid-answer."""

    code = "unavailable"
    http_status = 503
    retryable = True


class DeadlineExceeded(RequestError):
    """No answer within the client's time-out. A server's own deadline ends in verdicts instead."""

    code = "deadline_exceeded"
    http_status = 504
    retryable = True


class StorageFull(RequestError):
    """The server's disk has no room for what was sent; nothing of it was kept."""

    code = "storage_full"
    http_status = 507


class InternalError(RequestError):
    """A defect of the server's. Its text never holds a sample's text."""

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
    """No verifier or recipe of that name; the message lists near names."""

    fault = "caller"
    reason = "unknown_verifier"


class MissingDependency(SampleError):
    """The verifier is known, but a package that it needs is not installed; the message has the pip command."""

    fault = "infra"
    reason = "missing_dependency"


class InvalidReference(SampleError):
    """The expected answer cannot be used (empty, unparseable, too expensive). Raised by a verifier's `prepare`."""

    status = "undecided"
    fault = "reference"
    reason = "invalid_reference"


class PluginError(SampleError):
    """A verifier's own code raised: a defect of the verifier, never the policy's fault and never a zero."""

    fault = "verifier"
    reason = "verifier_raised"


class WorkerError(SampleError):
    """A worker process was lost and its item could not be tried again."""

    reason = "worker_lost"
    retryable = True


class SandboxError(SampleError):
    """The sandbox host could not be reached or broke."""

    reason = "sandbox_failed"
    retryable = True


class ProviderError(SampleError):
    """A judge's or model's endpoint could not be reached or broke."""

    reason = "provider_failed"
    retryable = True


class ProviderRefused(ProviderError):
    """A judge's or model's endpoint is there and will not do what it is asked: a wrong key, an unknown model, a text
    longer than the model reads."""

    reason = "provider_refused"
    retryable = False


class BudgetExhausted(SampleError):
    """The budget of the judges that were to be asked is spent; `details["judge"]` names the last of them."""

    reason = "budget_exhausted"


class ModelError(SampleError):
    """A model's process could not be reached or broke, or what it computed is no number."""

    reason = "model_failed"
    retryable = True


class InputTooLong(SampleError):
    """A model reads less than it was given. `details`: `tokens`, `context`, and `candidate`: how many of the tokens the
    policy wrote. Verifiers score what the policy made too long; what is too long without it is the caller's."""

    fault = "caller"
    reason = "input_too_long"


class DeadlineReached(SampleError):
    """The request's deadline passed before this sample was reached."""

    reason = "deadline"
    retryable = True


class Cancelled(SampleError):
    """The caller left, or the server drained, before this sample was reached."""

    reason = "cancelled"
    retryable = True


REQUEST_ERRORS: Mapping[str, type[RequestError]] = {
    cls.code: cls
    for cls in (
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
"""Error code on the wire → class, so that a client raises what the server raised."""


# --- hints -----------------------------------------------------------------------------------------------------


def near(name: object, known: Iterable[str], otherwise: str = "known: ") -> str:
    """Returns the end of a message that a name is not known: `; did you mean 'math'?`.

    Where no known name is near, it names them all behind `otherwise`, or nothing if that is empty.
    """
    import difflib  # half a millisecond that only mistakes need to take

    names = list(known)
    if found := difflib.get_close_matches(str(name)[:100], names, n=1):
        return f"; did you mean {found[0]!r}?"
    return f"; {otherwise}{', '.join(names) or 'none'}" if otherwise else ""
