"""Fields of requests to SandboxFusion's routes. Each reader raises InvalidRequest with the field's name."""

from __future__ import annotations

import base64
import binascii
import sys
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from rewarden.errors import InvalidRequest
from rewarden_server.compat.peer_requests import unprocessable

DEFAULT_S = 10.0

_LEAST = 8
"""The size of a value that is not a text, in characters."""

_MOST_S = sys.float_info.max
"""The host has its own limits; JSON's integers are unbounded."""

_FIELDS: Mapping[str, str] = {
    "program.language": "language",
    "program.files": "files",
    "program.limits.memory_mb": "memory_limit_MB",
    "program.limits": "run_timeout",
    "cases[0].limits.memory_mb": "memory_limit_MB",
    "cases[0].limits": "run_timeout",
    "compile_limits": "compile_timeout",
    "collect": "fetch_files",
}
"""Maps the places in a job at which the sandbox host finds a fault to the request's fields."""


def seconds(body: Mapping[str, Any], name: str, otherwise: float = DEFAULT_S) -> float:
    """Returns a time-out."""
    value = body.get(name, otherwise)
    if type(value) not in (int, float) or not 0 < value <= _MOST_S:
        raise InvalidRequest("must be a number of seconds above 0", path=name)
    return float(value)


def memory(value: Any) -> int | None:
    """Returns the limit in MiB; None, the host's own default, for numbers that mean "no limit" there."""
    if type(value) is not int:
        raise InvalidRequest("must be a whole number", path="memory_limit_MB")
    return value if value > 0 else None


def stdin(value: Any) -> bytes:
    """Returns a program's input."""
    if value is None:
        return b""
    if type(value) is not str:
        raise InvalidRequest("must be a string or null", path="stdin")
    try:
        return value.encode()
    except UnicodeEncodeError:
        raise InvalidRequest("contains a lone surrogate, which has no UTF-8 encoding", path="stdin") from None


def files(value: Any) -> dict[str, bytes]:
    """Returns the content of each path."""
    if type(value) is not dict:
        raise InvalidRequest("must be an object of path to base64", path="files")
    # Their server skips entries without content and those with this name too.
    return {path: _content(data) for path, data in value.items() if data is not None and "IGNORE_THIS_FILE" not in path}


def _content(data: Any) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except (TypeError, ValueError, binascii.Error):
        raise InvalidRequest("must map each path to base64 or null", path="files") from None


def names(value: Any, path: str = "fetch_files") -> list[str]:
    """Returns a list of strings."""
    if type(value) is not list or not all(type(name) is str for name in value):
        raise InvalidRequest("must be a list of strings", path=path)
    return value


def refusal(message: str, path: str) -> Response:
    """A 422 that names the request's field."""
    field = next((name for prefix, name in _FIELDS.items() if path.startswith(prefix)), path)
    return unprocessable(message, *([field] if field else []))


def weight(value: Any) -> int:
    """Returns the approximate size of a reply in characters."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, Mapping):
        return sum(len(name) + weight(item) for name, item in value.items())
    return sum(map(weight, value), _LEAST) if isinstance(value, list) else _LEAST
