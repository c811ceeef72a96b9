"""Types to protobuf messages and back.

Both directions pass through the plain values of `rewarden.wire.json`, so that a field is read, checked, and blamed by
one piece of code, and the two forms cannot drift apart. Needs `rewarden[grpc]`.

Fields of a message that the stubs do not know are dropped by protobuf before we see them: over gRPC the names are the
compiler's business, and only values are checked.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

from google.protobuf.message import Message

from rewarden.errors import InvalidRequest, RewardenError
from rewarden.types import BadSample, Batch, BatchResult, Group, Run, RunResult, Sample, Verdict
from rewarden.v1 import rewarden_pb2 as pb
from rewarden.wire import json as plain

GRPC_STATUS: Mapping[str, str] = {
    "unknown_image": "INVALID_ARGUMENT",
    "image_mismatch": "FAILED_PRECONDITION",
    "box_ended": "FAILED_PRECONDITION",
    "notebook_ended": "FAILED_PRECONDITION",
    "too_many_boxes": "RESOURCE_EXHAUSTED",
    "no_room": "UNAVAILABLE",
    "invalid_request": "INVALID_ARGUMENT",
    "unauthorized": "UNAUTHENTICATED",
    "forbidden": "PERMISSION_DENIED",
    "not_found": "NOT_FOUND",
    "fingerprint_moved": "FAILED_PRECONDITION",
    "too_large": "OUT_OF_RANGE",
    "overloaded": "RESOURCE_EXHAUSTED",
    "unavailable": "UNAVAILABLE",
    "deadline_exceeded": "DEADLINE_EXCEEDED",
    "storage_full": "ABORTED",
    "internal": "INTERNAL",
}
"""An error's code → the name of its gRPC status; one each, so that `too_large` is never taken for `overloaded`. Boxes'
own codes share those of their kind: who calls boxes reads the code."""

ERROR_METADATA = "rewarden-error-bin"
"""The trailing metadata that carries an error's JSON form, in bytes."""


# --- messages to values ----------------------------------------------------------------------------------------

_Reader = Callable[[Any], Any]


class _BadJson(Exception):
    """The JSON text in a `…_json` field cannot be read."""

    def __init__(self, path: str, cause: RewardenError) -> None:
        self.path = path
        self.cause = cause


_Readers = Mapping[Any, tuple[str, "_Reader | None"]]
"""The descriptors of a message's fields → the name in the JSON form, and the reader of what is not a scalar.

Holding the descriptors makes reading several times faster: `ListFields` creates each one that nobody holds.
"""


def _readers(kind: type[Message], **special: tuple[str, _Reader]) -> _Readers:
    return {field: special.get(field.name, (field.name, None)) for field in kind.DESCRIPTOR.fields}


def _text(item: pb.Text) -> Any:
    if text := item.text:  # nearly always; asking which of the two it is costs more
        return text
    form = item.WhichOneof("form")
    return plain.loads(item.messages_json) if form == "messages_json" else item.text if form == "text" else None


def _value(message: Message, readers: _Readers) -> dict[str, Any]:
    """The set fields of a message as a plain object."""
    value: dict[str, Any] = {}
    for field, item in message.ListFields():
        name, reader = readers[field]
        if reader is None:
            value[name] = item
            continue
        try:
            value[name] = reader(item)
        except RewardenError as error:
            raise _BadJson(name, error) from None
        except _BadJson as bad:
            bad.path = f"{name}.{bad.path}"
            raise
    return value


def _nested(readers: _Readers) -> _Reader:
    return lambda message: _value(message, readers)


def _items(readers: _Readers) -> _Reader:
    return lambda message: [_value(item, readers) for item in message.items]


def _json_map(item: Mapping[str, str]) -> dict[str, Any]:
    found = {}
    for key in item:
        try:
            found[key] = plain.loads(item[key])
        except RewardenError as error:
            raise _BadJson(key, error) from None
    return found


def _json(*names: str) -> dict[str, tuple[str, _Reader]]:
    return {f"{name}_json": (name, plain.loads) for name in names}


_USE = _readers(pb.Use, **_json("params", "recipe"))
_SAMPLE = _readers(
    pb.Sample,
    response=("response", _text),
    prompt=("prompt", _text),
    use=("use", _nested(_USE)),
    steps=("steps", _items(_readers(pb.Step))),
    media=("media", _items(_readers(pb.Media))),
    **_json("reference", "signals", "metadata"),
)
_HEADER = _readers(
    pb.Header,
    use=("use", _nested(_USE)),
    shared_json=("shared", _json_map),
    progress=("progress", _nested(_readers(pb.Progress))),
    expect=("expect", dict),
    fields=("fields", lambda message: list(message.names)),
)
_COMPONENT = _readers(pb.Component)
_STEP_SCORE = _readers(pb.StepScore)
_VERDICT = _readers(
    pb.Verdict,
    range=("range", lambda message: [message.low, message.high]),
    components=("components", lambda item: {name: _value(item[name], _COMPONENT) for name in item}),
    # Written out, because a step's index 0 counts as not set.
    steps=("steps", lambda items: [{"index": item.index, **_value(item, _STEP_SCORE)} for item in items]),
    flags=("flags", list),
    verifier=("verifier", lambda ref: {"name": ref.name, "version": ref.version, "fingerprint": ref.fingerprint}),
    **_json("raw", "extracted", "evidence", "effective", "metadata"),
)


def sample_from_message(message: pb.Sample) -> Sample | BadSample:
    """A row's sample, or a `BadSample` that says which field is wrong. Never raises."""
    try:
        value = _value(message, _SAMPLE)
    except _BadJson as bad:
        id = message.id if message.HasField("id") else None
        return BadSample(message=f"{bad.path}: {bad.cause.message}", path=bad.path, id=id)
    return plain.sample_from_json(value)


def header_from_message(message: pb.Header) -> Batch:
    """The header of a stream. Raises InvalidRequest with the JSON path."""
    try:
        value = _value(message, _HEADER)
    except _BadJson as bad:
        raise InvalidRequest(f"{bad.path}: {bad.cause.message}", path=bad.path) from None
    return plain.header_from_json(value)


def batch_from_message(message: pb.VerifyRequest) -> Batch:
    """A request. A row that is not a sample becomes a `BadSample`. Raises InvalidRequest for the envelope."""
    return replace(header_from_message(message.header), samples=tuple(map(sample_from_message, message.samples)))


def verdict_from_message(message: pb.Verdict) -> Verdict:
    """A verdict. Raises ValueError naming the field."""
    try:
        value = _value(message, _VERDICT)
    except _BadJson as bad:
        raise ValueError(f"verdict.{bad.path}: {bad.cause.message}") from None
    value.setdefault("index", 0)
    return plain.verdict_from_json(value)


def group_from_message(message: pb.Group) -> Group:
    """A group's statistics. Raises ValueError naming the field."""
    counts = {name: getattr(message, name) for name in ("group", "size", "scored", "unscored", "passed")}
    return plain.group_from_json({**_value(message, _GROUP), **counts})


def _pass_at(item: Mapping[int, float]) -> dict[str, float]:
    return {str(k): item[k] for k in item}


_GROUP = _readers(pb.Group, pass_at=("pass_at", _pass_at))


def result_from_message(message: pb.VerifyReply) -> BatchResult:
    """The answer to a batch. Raises ValueError naming the field."""
    return BatchResult(
        verdicts=tuple(map(verdict_from_message, message.verdicts)),
        groups=tuple(map(group_from_message, message.groups)),
    )


def _content(message: pb.Content) -> Any:
    return {"base64": _base64(message.data)} if message.WhichOneof("form") == "data" else message.text


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


_RUN = _readers(
    pb.RunRequest,
    stdin=("stdin", _content),
    files=("files", lambda item: {name: _content(item[name]) for name in item}),
    args=("args", list),
    limits=("limits", _nested(_readers(pb.Limits))),
    collect=("collect", list),
)


def run_from_message(message: pb.RunRequest) -> Run:
    """A program to run. Raises InvalidRequest with the path."""
    return plain.run_from_json({"language": message.language, "code": message.code, **_value(message, _RUN)})


def run_result_from_message(message: pb.RunReply) -> RunResult:
    """Returns the result of a program from its message. Raises ValueError naming the field."""
    try:
        return plain.run_result_from_json(_run_result_value(message))
    except RecursionError:
        raise ValueError("run.compile: is nested too deeply") from None


def _run_result_value(message: pb.RunReply) -> dict[str, Any]:
    return {"status": message.status, **_value(message, _RUN_RESULT)}


_RUN_RESULT = _readers(
    pb.RunReply,
    stdout_bytes=("stdout_base64", _base64),
    stderr_bytes=("stderr_base64", _base64),
    enforced=("enforced", dict),
    flags=("flags", list),
    compile=("compile", _run_result_value),
    files=("files", lambda item: {name: _content(item[name]) for name in item}),
)


# --- values to messages ----------------------------------------------------------------------------------------
#
# A message within a message is left to the runtime, as the dictionary of its arguments: built apart, it would be copied
# into its place, which for rows costs more than building them.


def _dumped(value: Any) -> str:
    return plain.dumps(value).decode()


def _text_form(text: Any) -> dict[str, str]:
    return {"text": text} if isinstance(text, str) else {"messages_json": _dumped(text)}


def _json_fields(*names: str) -> Mapping[str, str]:
    return {name: f"{name}_json" for name in names}


def _arguments(value: Mapping[str, Any], as_json: Mapping[str, str]) -> dict[str, Any]:
    """The arguments of a message's constructor: JSON text for free-form values, the rest as is."""
    made = {}
    for name, item in value.items():
        field = as_json.get(name)
        if field is None:
            made[name] = item
        else:
            made[field] = _dumped(item)
    return made


_USE_JSON = _json_fields("params", "recipe")
_SAMPLE_JSON = _json_fields("reference", "signals", "metadata")
_VERDICT_JSON = _json_fields("raw", "extracted", "evidence", "effective", "metadata")


def _use_arguments(use: Any) -> dict[str, Any]:
    return {"name": use} if isinstance(use, str) else _arguments(use, _USE_JSON)


def _sample_arguments(sample: Sample) -> dict[str, Any]:
    made = _arguments(plain.sample_to_json(sample), _SAMPLE_JSON)
    made["response"] = _text_form(sample.response)
    if sample.prompt is not None:
        made["prompt"] = _text_form(sample.prompt)
    if "use" in made:
        made["use"] = _use_arguments(made["use"])
    for name in ("steps", "media"):
        if name in made:
            made[name] = {"items": made[name]}
    return made


def sample_to_message(sample: Sample) -> pb.Sample:
    """The message of a sample. Raises ValueError or TypeError for what protobuf or JSON cannot hold."""
    return pb.Sample(**_sample_arguments(sample))


def header_to_message(batch: Batch) -> pb.Header:
    """The message of all of a batch but its samples. Raises ValueError or TypeError as `sample_to_message`."""
    value = plain.header_to_json(batch)
    if "use" in value:
        value["use"] = _use_arguments(value["use"])
    if "fields" in value:
        value["fields"] = {"names": value["fields"]}
    value["shared_json"] = {key: _dumped(item) for key, item in value.pop("shared", {}).items()}
    return pb.Header(**value)


def batch_to_message(batch: Batch) -> pb.VerifyRequest:
    """The message of a batch. Raises InvalidRequest naming the row that cannot be sent."""
    try:
        request = pb.VerifyRequest(header=header_to_message(batch))
    except (ValueError, TypeError) as error:
        raise InvalidRequest(f"the batch's header: {error}") from None
    for index, sample in enumerate(batch.samples):
        good = plain.good_sample(sample, index)
        try:
            request.samples.add(**_sample_arguments(good))
        except (ValueError, TypeError) as error:
            raise InvalidRequest(f"samples[{index}]: {error}", path=f"samples[{index}]") from None
    return request


def _verdict_arguments(verdict: Verdict, fields: Collection[str] | None) -> dict[str, Any]:
    made = _sound(_arguments(plain.verdict_to_json(verdict, fields), _VERDICT_JSON))
    if "range" in made:
        low, high = made["range"]
        made["range"] = {"low": low, "high": high}
    if "components" in made:
        made["components"] = {name: pb.Component(**_sound(part)) for name, part in made["components"].items()}
    if "steps" in made:
        made["steps"] = [_sound(step) for step in made["steps"]]
    return made


def verdict_to_message(verdict: Verdict, fields: Collection[str] | None = None) -> pb.Verdict:
    """The message of a verdict; `fields` as in `rewarden.wire.json.verdict_to_json`."""
    return pb.Verdict(**_verdict_arguments(verdict, fields))


def add_verdict(messages: Any, verdict: Verdict, fields: Collection[str] | None = None) -> pb.Verdict:
    """Adds the message of a verdict to a list within another message, where it is built, and returns it."""
    made: pb.Verdict = messages.add(**_verdict_arguments(verdict, fields))
    return made


def _sound(value: dict[str, Any]) -> dict[str, Any]:
    """The value, halves of surrogate pairs replaced by U+FFFD: a protobuf string cannot hold them."""
    for name, item in value.items():
        if isinstance(item, str) and not item.isascii():
            value[name] = item.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value


def group_to_message(group: Group) -> pb.Group:
    """The message of a group's statistics."""
    value = plain.group_to_json(group)
    value["pass_at"] = dict(group.pass_at)
    return pb.Group(**value)


def result_to_message(result: BatchResult, fields: Collection[str] | None = None) -> pb.VerifyReply:
    """The message of the answer to a batch; `fields` as in `rewarden.wire.json.verdict_to_json`."""
    wanted = None if fields is None else frozenset(fields)
    reply = pb.VerifyReply()
    for verdict in result.verdicts:
        add_verdict(reply.verdicts, verdict, wanted)
    reply.groups.extend(map(group_to_message, result.groups))
    return reply


def _content_message(content: Any) -> pb.Content:
    if isinstance(content, str):
        return pb.Content(text=content)
    return pb.Content(data=plain.content_bytes(content))


def run_to_message(run: Run) -> pb.RunRequest:
    """The message of a program to run. Raises ValueError, TypeError or KeyError for what protobuf cannot hold."""
    value = plain.run_to_json(run)
    if "stdin" in value:
        value["stdin"] = _content_message(value["stdin"])
    if "files" in value:
        value["files"] = {name: _content_message(item) for name, item in value["files"].items()}
    if "limits" in value:
        value["limits"] = pb.Limits(**value["limits"])
    return pb.RunRequest(**value)


def run_result_to_message(result: RunResult) -> pb.RunReply:
    """The message of how a program ended."""
    value = plain.run_result_to_json(result)
    value.pop("compile", None)
    for name in ("stdout", "stderr"):
        if f"{name}_base64" in value:
            value[f"{name}_bytes"] = base64.b64decode(value.pop(f"{name}_base64"))
    if "files" in value:
        value["files"] = {name: _content_message(item) for name, item in value["files"].items()}
    message = pb.RunReply(**{name: item for name, item in _sound(value).items() if item is not None})
    if result.compile is not None:
        message.compile.CopyFrom(run_result_to_message(result.compile))
    return message
