"""The JSON forms of requests to boxes and of their answers. A field that holds its default is left out; unknown fields
of an answer are ignored, so that an old client understands a new server."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, TypeVar

from rewarden.boxes.types import (
    BoxContent,
    BoxFile,
    BoxInfo,
    BoxUsage,
    ExecOutput,
    ExecProgress,
    ExecResult,
    ExecState,
)
from rewarden.errors import InternalError, RequestError
from rewarden.wire.json import content_of, error_from_json, run_result_from_json, run_result_to_json

T = TypeVar("T")


def to_json(item: Any) -> dict[str, Any]:
    """Returns the JSON form of a request or an answer."""
    made: dict[str, Any] = {}
    for each in fields(item):
        value = getattr(item, each.name)
        empty = each.default if each.default_factory is MISSING else each.default_factory()
        if value != empty:
            made[each.name] = _plain(value)
    return made


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return to_json(value)
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return dict(value) if isinstance(value, Mapping) else value


def answer(kind: type[T], value: Any) -> T:
    """Returns the answer of that type. Raises ValueError if it is none."""
    if type(value) is not dict:
        raise ValueError(f"{kind.__name__}: must be an object")
    known = {each.name for each in fields(kind)}  # type: ignore[arg-type]
    try:
        return kind(**{name: item for name, item in value.items() if name in known and item is not None})
    except TypeError as error:
        raise ValueError(f"{kind.__name__}: {error}") from None


def info_from_json(value: Any) -> BoxInfo:
    """Returns the state of a box. Raises ValueError."""
    told = dict(_object(value))
    if told.get("usage") is not None:
        told["usage"] = answer(BoxUsage, told["usage"])
    told["execs"] = tuple(answer(ExecState, item) for item in told.get("execs") or ())
    return answer(BoxInfo, told)


def files_from_json(value: Any) -> list[BoxFile]:
    """Returns the entries of a folder. Raises ValueError."""
    return [answer(BoxFile, item) for item in _object(value).get("files") or ()]


def result_to_json(result: ExecResult) -> dict[str, Any]:
    """Returns the JSON form of a program's end."""
    return {"exec": result.exec, **run_result_to_json(result)}


def result_from_json(value: Any) -> ExecResult:
    """Returns a program's end. Raises ValueError."""
    told = run_result_from_json(value)
    found = {each.name: getattr(told, each.name) for each in fields(told)}
    number = value.get("exec")
    return ExecResult(**found, exec=number if type(number) is int else 0)


def output_to_json(output: ExecOutput) -> dict[str, Any]:
    """Returns the JSON form of output: `{"stdout": "text"}`, or `{"stdout": {"base64": "…"}}` for bytes."""
    return {output.stream: content_of(output.data)}


def output_from_json(value: Any) -> ExecOutput | None:
    """Returns the output in an event; None for another event. Raises ValueError."""
    for stream in ("stdout", "stderr"):
        content = _object(value).get(stream)
        if content is not None:
            return ExecOutput(stream=stream, data=content_in(content))
    return None


def event_from_json(value: Any) -> ExecOutput | ExecResult | None:
    """Returns the output or the end in a line of a stream; None for other lines. Raises the error in it, ValueError."""
    told = _object(value)
    if "error" in told:
        raise error_from_json(told)
    if "ended" in told:
        return result_from_json(told["ended"])
    return output_from_json(told)


def progress_to_json(progress: ExecProgress) -> dict[str, Any]:
    """Returns the JSON form of the state of a program in the background."""
    return {
        "exec": progress.exec,
        "state": progress.state,
        "output": [output_to_json(item) for item in progress.output],
        "next": progress.next,
        "dropped": progress.dropped,
        "result": None if progress.result is None else result_to_json(progress.result),
    }


def progress_from_json(value: Any) -> ExecProgress:
    """Returns the state of a program in the background. Raises ValueError."""
    told = dict(_object(value))
    found = [output_from_json(item) for item in told.get("output") or ()]
    told["output"] = tuple(item for item in found if item is not None)
    if told.get("result") is not None:
        told["result"] = result_from_json(told["result"])
    return answer(ExecProgress, told)


def content_in(content: Any) -> bytes:
    """Returns the bytes of a content. Raises ValueError for anything else."""
    if isinstance(content, str):
        return content.encode("utf-8", "surrogatepass")
    if isinstance(content, Mapping) and isinstance(content.get("base64"), str):
        return base64.b64decode(content["base64"], validate=True)
    raise ValueError('a content must be text, or {"base64": "…"}')


def content(given: str | bytes | BoxContent) -> BoxContent:
    """Returns text or bytes as a content."""
    return content_of(given) if isinstance(given, bytes) else given


def _object(value: Any) -> Mapping[str, Any]:
    if type(value) is not dict:
        raise ValueError("must be an object")
    return value


def understood_event(value: Any) -> ExecOutput | ExecResult | None:
    """Like `event_from_json`, for a client. Raises the server's error, and InternalError if it cannot be read."""
    try:
        return event_from_json(value)
    except RequestError:
        raise
    except ValueError as error:
        raise InternalError(f"the server's response cannot be read: {error}") from None
