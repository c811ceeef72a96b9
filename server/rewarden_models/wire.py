"""The messages between the server and a model's process: tasks, results and failures as JSON, one way each.

    POST /v1/work     {"model": NAME, "items": [{"id": 0, "kind": "classify", "task": {…}}, …]}
                      NDJSON, one line per item as it ends, in any order:
                      {"id": 0, "result": {…}} or {"id": 0, "error": {"kind", "message", "details"}}
                      "call"?: a unique name by which items can be cancelled; if the caller closes the connection, its
                      items are cancelled too
    POST /v1/cancel   {"call": NAME, "ids": [0, …]}: items that have not ended do so with an error
    GET  /v1/models   {"models": {NAME: {"state": loading | ready | failed, "problem"?, "kind"?, "about"?: {…}, …}}}
    POST /v1/models/NAME/reload   {"model"?, "revision"?}: {"about": {…}, "place": {"model", "revision"?}}, the
                      new facts and the source of the weights, once the swap is done
    GET  /healthz     {"status": "alive", "loading": whether a model is}

Work for a model that is loading waits for it. If a key is set, every request but the last must show it
(`authorization: Bearer KEY`). A request that is refused as a whole gets a 4xx status and {"error": {"kind", "message",
"details"}}.

Fields are those of `rewarden_verifiers.inference`. Numbers that are not finite are never sent: they become failures.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import msgspec

from rewarden.errors import InputTooLong, InvalidParams, InvalidSample, MissingDependency, ModelError, SampleError
from rewarden_verifiers import inference
from rewarden_verifiers.inference import Task

TASKS: Mapping[str, type[Any]] = {
    "classify": inference.Classify,
    "pair": inference.Pair,
    "choose": inference.Choose,
    "likelihood": inference.Likelihood,
    "rate": inference.Rate,
    "write": inference.Write,
    "embed": inference.Embed,
}
RESULTS: Mapping[str, type[Any]] = {
    "classify": inference.Logits,
    "pair": inference.Margin,
    "choose": inference.Choices,
    "likelihood": inference.Likelihoods,
    "rate": inference.StepValues,
    "write": inference.Texts,
    "embed": inference.Vector,
}
_KINDS = {made: kind for kind, made in TASKS.items()}


def kind_of(task: Task[Any]) -> str:
    """The name of a task's kind."""
    return _KINDS[type(task)]


def to_wire(value: Any) -> Any:
    """A task, a result or the facts about a model, JSON-ready; fields that are None are left out."""
    if is_dataclass(value):
        made = {item.name: to_wire(getattr(value, item.name)) for item in fields(value)}
        return {name: item for name, item in made.items() if item is not None}
    if isinstance(value, Mapping):
        return {name: to_wire(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_wire(item) for item in value]
    return value


def task_from_wire(kind: str, value: Any) -> Task[Any]:
    """The task in that message. Raises InvalidSample, with the path, if it is not valid."""
    if kind not in TASKS:
        raise InvalidSample(f"unknown kind of task {kind!r}; known: {', '.join(TASKS)}", path="kind")
    try:
        task: Task[Any] = msgspec.convert(value, TASKS[kind])
    except msgspec.ValidationError as error:
        raise InvalidSample(f"task: {error}", path="task") from None
    return task


_ERRORS: Mapping[str, type[SampleError]] = {
    "too_long": InputTooLong,  # details: tokens, context, candidate
    "unsupported": InvalidParams,  # the model cannot do such a task
    "unknown_model": InvalidParams,
    "invalid": InvalidSample,
    "memory": ModelError,
    "not_finite": ModelError,
    "loading": ModelError,
    "failed": ModelError,
    "stopped": ModelError,
    "missing": MissingDependency,  # a package, at the process
    "forbidden": InvalidParams,  # weights may not be read from there
}


def error_from_wire(value: Any) -> SampleError:
    """The exception for a failure that the model's process reports."""
    if not isinstance(value, Mapping):
        return ModelError("the model's process sent neither a result nor an error")
    kind, details = str(value.get("kind")), value.get("details")
    made = _ERRORS.get(kind, ModelError)
    more = {str(name): item for name, item in details.items()} if isinstance(details, Mapping) else {}
    if made is InvalidParams:
        more.setdefault("path", "model" if kind == "forbidden" else "params.model")
    return made(str(value.get("message", kind)), **{"kind": kind, **more})


def error_to_wire(kind: str, message: str, **details: Any) -> dict[str, Any]:
    """A failure, JSON-ready; `kind` is one that `error_from_wire` knows."""
    return {"kind": kind, "message": message, "details": details}
