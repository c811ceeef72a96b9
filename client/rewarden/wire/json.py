"""Types to plain JSON values and back, and JSON text to values and back. Every JSON form of Rewarden is made here.

Three kinds of fault, kept apart:

* Text that is not JSON, or an envelope field that is wrong: `InvalidRequest` (or `TooLarge` for nesting without end),
  because nothing can be done with the request.
* One row that is not a sample: a `BadSample` in its place, because one bad row never costs the other 9,999. Numbers
  that are not finite and halves of surrogate pairs are such faults: `loads` lets them pass so that the row can be
  blamed.
* An answer that is not a verdict (`*_from_json` of verdicts, outcomes, groups and results): `ValueError`. Unknown
  fields of an answer are ignored, so that an old client understands a new server; unknown fields of a request are
  refused, because a misspelt field would silently change what is scored.

JSON null and an absent field are the same. A verdict leaves out the fields that hold their default.
"""

from __future__ import annotations

import base64 as _base64
import json as _json
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import fields as _fields
from functools import lru_cache
from typing import Any, NoReturn

from rewarden.errors import REQUEST_ERRORS, InternalError, InvalidRequest, RequestError, RewardenError, TooLarge, near
from rewarden.types import (
    BadSample,
    Batch,
    BatchResult,
    Component,
    Group,
    Limits,
    Media,
    Outcome,
    Progress,
    Run,
    RunResult,
    Sample,
    Step,
    StepScore,
    Use,
    Verdict,
    VerifierRef,
)

try:
    from msgspec import json as _msgspec
except ImportError:  # the client needs nothing but httpx; the server brings msgspec, which is several times faster
    _msgspec = None  # type: ignore[assignment,unused-ignore]

MAX_DEPTH = 100
"""The depth to which a value in a request may nest, so that whatever walks it later (recursively) is safe."""

STATUSES = ("scored", "undecided", "error")
FAULTS = ("policy", "reference", "verifier", "caller", "infra")
FINISH_REASONS = ("stop", "length", "abort")

SAMPLE_FIELDS = tuple(field.name for field in _fields(Sample))
VERDICT_FIELDS = tuple(field.name for field in _fields(Verdict))
HEADER_FIELDS = tuple(field.name for field in _fields(Batch) if field.name != "samples")

_LARGEST = 2**63 - 1  # counts and indices: what protobuf's int64 holds
_TOO_DEEP = f"is nested too deeply; the limit is {MAX_DEPTH} levels"

# What other systems call our fields, for the hint that goes with an unknown one.
_FOREIGN_NAMES = {
    "answer": "reference",
    "completion": "response",
    "extra_info": "metadata",
    "gold": "reference",
    "ground_truth": "reference",
    "label": "reference",
    "messages": "response",
    "output": "response",
    "question": "prompt",
    "rubric": "use",
    "solution": "response",
    "solution_str": "response",
    "source": "data_source",
    "target": "reference",
    "timeout": "deadline_s",
    "uid": "group",
    "verifier": "use",
}


# --- text ------------------------------------------------------------------------------------------------------


def loads(data: bytes | bytearray | str) -> Any:
    """The value of a JSON text. Integers keep every digit.

    Numbers that are not finite (`NaN`, `1e999`, integers of more digits than Python reads) become float infinities or
    NaN, and halves of surrogate pairs stay in their strings: `sample_from_json` blames the row that holds them.

    Raises InvalidRequest with line and column for text that is not JSON, TooLarge for nesting without end.
    """
    if _msgspec is not None:
        try:
            return _msgspec.decode(data)
        except RecursionError:
            raise TooLarge("the JSON is nested too deeply", limit="depth") from None
        except ValueError:
            # msgspec refuses the whole text for one unpaired surrogate or one 1e999, and names no line: read it again
            # with the standard library, which tells us more.
            pass
    try:
        text = data if isinstance(data, str) else bytes(data).decode("utf-8", "surrogatepass")
        return _json.loads(text.removeprefix("\ufeff"), parse_int=_integer)
    except RecursionError:
        raise TooLarge("the JSON is nested too deeply", limit="depth") from None
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"not UTF-8: byte {error.start} cannot be read", byte=error.start) from None
    except _json.JSONDecodeError as error:
        raise InvalidRequest(
            f"not JSON: line {error.lineno}, column {error.colno}: {error.msg}", line=error.lineno, column=error.colno
        ) from None


def _integer(digits: str) -> int | float:
    try:
        return int(digits)
    except ValueError:  # more digits than Python reads (its guard against quadratic time)
        return math.inf


def dumps(value: Any) -> bytes:
    """The JSON text of a value, compact, in UTF-8. Integers keep every digit, lone surrogates become escapes.

    Raises ValueError with the path of the first thing that JSON cannot hold: NaN and infinities, and any type but
    dict, list, tuple, str, int, float, bool and None (subclasses of these and other mappings are fine).
    """
    try:
        value = _writable(value)
        if _msgspec is not None:
            try:
                return _msgspec.encode(value)
            except UnicodeEncodeError:
                return _escaped(value)
        try:
            return _ENCODE(value).encode()
        except UnicodeEncodeError:
            return _escaped(value)
    except _Fault as fault:
        raise ValueError(f"{fault.path or 'the value'}: {fault.message}") from None
    except RecursionError:
        raise ValueError("the value is nested too deeply, or contains itself") from None


_ENCODE = _json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), check_circular=False).encode
_ENCODE_ESCAPED = _json.JSONEncoder(allow_nan=False, separators=(",", ":"), check_circular=False).encode


def _escaped(value: Any) -> bytes:
    return _ENCODE_ESCAPED(value).encode()


# --- faults and their paths ------------------------------------------------------------------------------------


class _Fault(Exception):
    """Something at `path` is wrong. The path grows as the fault passes through the readers that called each other."""

    def __init__(self, message: str, path: str = "") -> None:
        self.message = message
        self.path = path

    def under(self, part: str | int) -> _Fault:
        own = f"[{part}]" if isinstance(part, int) else part if _PLAIN_NAME(part) else f"[{_json.dumps(part)[:60]}]"
        joint = "." if self.path and not self.path.startswith("[") else ""
        self.path = f"{own}{joint}{self.path}"
        return self

    def request(self) -> InvalidRequest:
        """The same fault, as one of the envelope's."""
        return InvalidRequest(f"{self.path or 'the request'}: {self.message}", path=self.path)

    def row(self, id: str | None) -> BadSample:
        """The same fault, as one row's."""
        return BadSample(message=f"{self.path or 'the sample'}: {self.message}", path=self.path, id=id)


_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_\-]{0,63}\Z").match


def _kind(value: Any) -> str:
    """Returns JSON's name for the type of a value, for messages; never the value, which may be a sample's text."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, (int, float)):
        return "a number"
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, (list, tuple)):
        return "a list"
    return f"a Python {type(value).__name__}"


def _unknown(name: Any, known: Collection[str], what: str) -> NoReturn:
    name = str(name)
    meant = _FOREIGN_NAMES.get(name)
    hint = near(name, known, otherwise="") or near(meant if meant in known else name, known)
    raise _Fault(f"{what} has no such field{hint}").under(name)


# --- reading plain values --------------------------------------------------------------------------------------


def _string(value: Any) -> str:
    if type(value) is not str:
        raise _Fault(f"must be a string, not {_kind(value)}")
    if not value.isascii():
        _unbroken(value)
    return value


def _unbroken(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise _Fault(
            f"contains a lone surrogate at character {error.start}, which is not valid Unicode; replace it"
        ) from None


def _plain(value: Any, depth: int = 0) -> Any:
    """A free-form value, all of it checked: finite, no broken text, string keys, at most MAX_DEPTH levels."""
    kind = type(value)
    if kind is str:
        if not value.isascii():
            _unbroken(value)
    elif kind is dict:
        if depth >= MAX_DEPTH:
            raise _Fault(_TOO_DEEP)
        for key, item in value.items():
            try:
                if type(key) is not str or not key.isascii():
                    _string(key)
                if type(item) is not str or not item.isascii():
                    _plain(item, depth + 1)
            except _Fault as fault:
                raise fault.under(str(key)) from None
    elif kind is list or kind is tuple:
        if depth >= MAX_DEPTH:
            raise _Fault(_TOO_DEEP)
        for index, item in enumerate(value):
            if type(item) is not str or not item.isascii():
                try:
                    _plain(item, depth + 1)
                except _Fault as fault:
                    raise fault.under(index) from None
    elif kind is float:
        if not math.isfinite(value):
            raise _Fault("is not a finite number; use null, or omit it")
    elif kind is not int and kind is not bool and value is not None:
        raise _Fault(f"must be a JSON value, not {_kind(value)}")
    return value


def _writable(value: Any) -> Any:
    """The value itself where JSON can hold it as it is; a copy with subclasses made plain where it must be made."""
    kind = type(value)
    if kind is str or kind is int or kind is bool or value is None:
        return value
    if kind is float:
        if math.isfinite(value):
            return value
        raise _Fault("is not a finite number, which JSON cannot represent; use None")
    copy: Any = None
    if kind is dict:
        for key, item in value.items():
            inner = type(item)
            if type(key) is not str:
                if not isinstance(key, str):
                    raise _Fault(f"has a key that is {_kind(key)}; JSON keys are strings")
                return _writable({str.__str__(name): item for name, item in value.items()})
            if inner is not str and inner is not int and inner is not bool and item is not None:
                try:
                    made = _writable(item)
                except _Fault as fault:
                    raise fault.under(key) from None
                if made is not item:
                    copy = dict(value) if copy is None else copy
                    copy[key] = made
        return value if copy is None else copy
    if kind is list or kind is tuple:
        for index, item in enumerate(value):
            inner = type(item)
            if inner is not str and inner is not int:
                try:
                    made = _writable(item)
                except _Fault as fault:
                    raise fault.under(index) from None
                if made is not item:
                    copy = list(value) if copy is None else copy
                    copy[index] = made
        return value if copy is None else copy
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return _writable(float(value))
    if isinstance(value, Mapping):
        return _writable(dict(value))
    if isinstance(value, (list, tuple)):
        return _writable(list(value))
    raise _Fault(f"is {_kind(value)}, which JSON cannot represent; convert it to a list, a string or a number")


def _object(value: Any) -> dict[str, Any]:
    if type(value) is not dict:
        raise _Fault(f"must be an object, not {_kind(value)}")
    _plain(value)
    return value


def _sequence(value: Any) -> Sequence[Any]:
    if type(value) is not list and type(value) is not tuple:
        raise _Fault(f"must be a list, not {_kind(value)}")
    return value  # type: ignore[no-any-return,unused-ignore]


def _text(value: Any) -> Any:
    if type(value) is str:
        if not value.isascii():
            _unbroken(value)
        return value
    if type(value) is not list and type(value) is not tuple:
        raise _Fault(f"must be text or a list of chat messages, not {_kind(value)}")
    for index, message in enumerate(value):
        try:
            _object(message)
        except _Fault as fault:
            raise fault.under(index) from None
    return value


def _at_least(least: int) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        if type(value) is not int:
            raise _Fault(f"must be a whole number, not {_kind(value)}")
        if not least <= value <= _LARGEST:
            raise _Fault(f"must be a whole number from {least} to {_LARGEST}")
        return value

    return read


_count = _at_least(0)
_positive = _at_least(1)


def _seconds(value: Any) -> float:
    if type(value) is not int and type(value) is not float:
        raise _Fault(f"must be a number of seconds, not {_kind(value)}")
    if not 0 < value <= 1e9:  # NaN included
        raise _Fault("must be a number of seconds above 0 and at most 1e9")
    return float(value)


def _one_of(allowed: tuple[str, ...]) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if type(value) is not str or value not in allowed:
            raise _Fault(f"must be one of {', '.join(allowed)}")
        return value

    return read


_Readers = Mapping[str, Callable[[Any], Any]]


def _read(value: Any, readers: _Readers, what: str) -> dict[str, Any]:
    """The fields of an object, each through its reader; nulls are left out, unknown fields refused."""
    if type(value) is not dict:
        raise _Fault(f"must be an object, not {_kind(value)}")
    found: dict[str, Any] = {}
    for name, item in value.items():
        reader = readers.get(name)
        if reader is None:
            _unknown(name, list(readers), what)
        if item is not None:
            try:
                found[name] = reader(item)
            except _Fault as fault:
                raise fault.under(name) from None
    return found


def _each(reader: Callable[[Any], Any]) -> Callable[[Any], tuple[Any, ...]]:
    def read(value: Any) -> tuple[Any, ...]:
        found = []
        for index, item in enumerate(_sequence(value)):
            try:
                found.append(reader(item))
            except _Fault as fault:
                raise fault.under(index) from None
        return tuple(found)

    return read


# --- samples ---------------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def _named(name: str) -> Use:
    return Use(name=name)


def _use(value: Any) -> Use:
    if type(value) is str:
        if not value:
            raise _Fault("must name a verifier or recipe; it is empty")
        return _named(_string(value))
    if type(value) is not dict:
        raise _Fault(f"must be a name, {{name, params}} or {{recipe}}, not {_kind(value)}")
    found = _read(value, _USE, "a use")
    if ("name" in found) == ("recipe" in found):
        raise _Fault("must have either 'name' or 'recipe'")
    return Use(**found)


_USE: _Readers = {"name": _string, "params": _object, "recipe": _object}
_STEP: _Readers = {"message": _count, "start": _count, "end": _count, "kind": _string}
_MEDIA: _Readers = {"id": _string, "mime": _string, "url": _string, "blob": _string, "base64": _string}


def _step(value: Any) -> Step:
    found = _read(value, _STEP, "a step")
    if found.get("end", _LARGEST) < found.get("start", 0):
        raise _Fault("must not be before start").under("end")
    return Step(**found)


def _media(value: Any) -> Media:
    found = _read(value, _MEDIA, "an item of media")
    if len(found.keys() & {"url", "blob", "base64"}) != 1:
        raise _Fault("must have exactly one of 'url', 'blob' and 'base64'")
    return Media(**found)


_SAMPLE: _Readers = {
    "response": _text,
    "id": _string,
    "prompt": _text,
    "prompt_key": _string,
    "reference": _plain,
    "reference_key": _string,
    "use": _use,
    "group": _string,
    "group_size": _positive,
    "data_source": _string,
    "finish_reason": _one_of(FINISH_REASONS),
    "token_count": _count,
    "steps": _each(_step),
    "media": _each(_media),
    "signals": _object,
    "metadata": _object,
}


def sample_from_json(value: Any) -> Sample | BadSample:
    """Returns a row's sample, or a `BadSample` that says which field is wrong and how to fix it. Never raises."""
    try:
        found = _read(value, _SAMPLE, "a sample")
        if "response" not in found:
            raise _Fault("is missing; it is the model's response, as text or chat messages", "response")
        return Sample(**found)
    except _Fault as fault:
        return fault.row(_readable_id(value))


def _readable_id(value: Any) -> str | None:
    try:
        return _string(value["id"]) if type(value) is dict and "id" in value else None
    except _Fault:
        return None


def sample_to_json(sample: Sample) -> dict[str, Any]:
    """The JSON form of a sample; fields that are None are left out."""
    value: dict[str, Any] = {"response": sample.response}
    for name in _SAMPLE_ASIS:
        item = getattr(sample, name)
        if item is not None:
            value[name] = item
    if sample.use is not None:
        value["use"] = use_to_json(sample.use)
    if sample.steps is not None:
        value["steps"] = [_slim(step, _STEP) for step in sample.steps]
    if sample.media is not None:
        value["media"] = [_slim(item, _MEDIA) for item in sample.media]
    return value


_SAMPLE_ASIS = tuple(name for name in SAMPLE_FIELDS if name not in ("response", "use", "steps", "media"))


def _slim(item: Any, names: Iterable[str]) -> dict[str, Any]:
    """The named attributes that are not None."""
    return {name: got for name in names if (got := getattr(item, name)) is not None}


def use_from_json(value: Any) -> Use:
    """A use: a name, `{name, params}` or `{recipe}`. Raises InvalidRequest with the path from the use."""
    try:
        return _use(value)
    except _Fault as fault:
        raise fault.under("use").request() from None


def use_to_json(use: Use) -> Any:
    """The JSON form of a use: its name where that says it all."""
    if use.recipe is None and not use.params:
        return use.name
    value = _slim(use, ("name", "recipe"))
    if use.params:
        value["params"] = use.params
    return value


# --- requests --------------------------------------------------------------------------------------------------


def _expect(value: Any) -> dict[str, str]:
    for name, item in _object(value).items():
        if type(item) is not str:
            raise _Fault(f"must be a fingerprint or NAME@VERSION (a string), not {_kind(item)}").under(name)
    return value  # type: ignore[no-any-return]


def _verdict_field(value: Any) -> str:
    name = _string(value)
    if name not in VERDICT_FIELDS:
        raise _Fault(f"a verdict has no field {name[:60]!r}{near(name, VERDICT_FIELDS)}")
    return name


def _progress(value: Any) -> Progress:
    return Progress(**_read(value, {"step": _count, "total_steps": _positive}, "progress"))


def _no_samples(value: Any) -> NoReturn:
    raise _Fault("must not be in the header of a stream; send samples one by one")


_HEADER: _Readers = {
    "use": _use,
    "shared": _object,
    "progress": _progress,
    "deadline_s": _seconds,
    "group_deadline_s": _seconds,
    "expect": _expect,
    "fields": _each(_verdict_field),
}


def _samples(value: Any) -> tuple[Sample | BadSample, ...]:
    return tuple(map(sample_from_json, _sequence(value)))


_BATCH: _Readers = {"samples": _samples, **_HEADER}


def batch_from_json(value: Any) -> Batch:
    """A request: `{"samples": […], …}`. A row that is not a sample becomes a `BadSample` in its place.

    Raises InvalidRequest, with the JSON path, for a fault of the envelope.
    """
    try:
        found = _read(value, _BATCH, "a batch")
        if "samples" not in found:
            raise _Fault("is missing; it is the list of samples to verify", "samples")
        return Batch(**found)
    except _Fault as fault:
        raise fault.request() from None


def header_from_json(value: Any) -> Batch:
    """The header of a stream: a batch without samples. Raises InvalidRequest, with the JSON path."""
    try:
        return Batch(**_read(value, {"samples": _no_samples, **_HEADER}, "a header"))
    except _Fault as fault:
        raise fault.request() from None


def header_to_json(batch: Batch) -> dict[str, Any]:
    """The JSON form of all of a batch but its samples."""
    value: dict[str, Any] = {}
    if batch.use is not None:
        value["use"] = use_to_json(batch.use)
    if batch.shared:
        value["shared"] = batch.shared
    if batch.progress is not None:
        value["progress"] = _slim(batch.progress, ("step", "total_steps"))
    if batch.deadline_s is not None:
        value["deadline_s"] = batch.deadline_s
    if batch.group_deadline_s is not None:
        value["group_deadline_s"] = batch.group_deadline_s
    if batch.expect:
        value["expect"] = batch.expect
    if batch.fields is not None:
        value["fields"] = list(batch.fields)
    return value


def batch_to_json(batch: Batch) -> dict[str, Any]:
    """The JSON form of a batch. Raises InvalidRequest for a `BadSample` in it, which has no form to be sent in."""
    value = header_to_json(batch)
    value["samples"] = [sample_to_json(good_sample(sample, index)) for index, sample in enumerate(batch.samples)]
    return value


def good_sample(sample: Sample | BadSample, index: int) -> Sample:
    """The sample, if it is one. Raises InvalidRequest for a `BadSample`, naming its place in the request."""
    if isinstance(sample, BadSample):
        fault = _Fault(sample.message, sample.path).under(index).under("samples")
        raise InvalidRequest(f"samples[{index}]: {sample.message}", path=fault.path)
    return sample


# --- outcomes and verdicts -------------------------------------------------------------------------------------


def outcome_to_json(outcome: Outcome) -> dict[str, Any]:
    """The JSON form of an outcome: `status, score, passed, reason, fault`, and what differs from its default."""
    value: dict[str, Any] = {
        "status": outcome.status,
        "score": outcome.score,
        "passed": outcome.passed,
        "reason": outcome.reason,
        "fault": outcome.fault,
    }
    if outcome.range != (0.0, 1.0):
        value["range"] = list(outcome.range)
    if outcome.raw is not None:
        value["raw"] = outcome.raw
    if outcome.components:
        value["components"] = {name: _component_to_json(part) for name, part in outcome.components.items()}
    if outcome.steps:
        value["steps"] = [_slim(step, _STEP_SCORE) for step in outcome.steps]
    if outcome.feedback is not None:
        value["feedback"] = outcome.feedback
    if outcome.extracted is not None:
        value["extracted"] = outcome.extracted
    if outcome.evidence:
        value["evidence"] = outcome.evidence
    if outcome.flags:
        value["flags"] = list(outcome.flags)
    if outcome.effective:
        value["effective"] = outcome.effective
    if outcome.exclude:
        value["exclude"] = True
    if outcome.exclude_reason is not None:
        value["exclude_reason"] = outcome.exclude_reason
    return value


def _component_to_json(part: Component) -> dict[str, Any]:
    value: dict[str, Any] = {"status": part.status, "score": part.score}
    if part.reason is not None:
        value["reason"] = part.reason
    if part.fault is not None:
        value["fault"] = part.fault
    if part.verifier is not None:
        value["verifier"] = part.verifier
    return value


def verdict_to_json(verdict: Verdict, fields: Collection[str] | None = None) -> dict[str, Any]:
    """The JSON form of a verdict. `index` and `status` are always there, and `id` where the sample had one.

    With `fields`, only those besides. Otherwise `score`, `passed`, `reason`, `fault` and `verifier` are there too, and
    whatever differs from its default.
    """
    value: dict[str, Any] = {"index": verdict.index}
    if verdict.id is not None:
        value["id"] = verdict.id
    value |= outcome_to_json(verdict)
    ref = verdict.verifier
    value["verifier"] = (
        None if ref is None else {"name": ref.name, "version": ref.version, "fingerprint": ref.fingerprint}
    )
    if verdict.group is not None:
        value["group"] = verdict.group
    if verdict.data_source is not None:
        value["data_source"] = verdict.data_source
    if verdict.metadata is not None:
        value["metadata"] = verdict.metadata
    if verdict.retryable:
        value["retryable"] = True
    if verdict.cached:
        value["cached"] = True
    if verdict.queue_s:
        value["queue_s"] = verdict.queue_s
    if verdict.run_s:
        value["run_s"] = verdict.run_s
    if fields is not None:
        return {name: item for name, item in value.items() if name in fields or name in _ALWAYS}
    return value


_ALWAYS = ("index", "id", "status")


def _number(value: Any) -> float:
    if type(value) is not float and type(value) is not int:
        raise _Fault(f"must be a number, not {_kind(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise _Fault("must be a finite number")
    return number


def _bool(value: Any) -> bool:
    if type(value) is not bool:
        raise _Fault(f"must be true or false, not {_kind(value)}")
    return value


def _pair(value: Any) -> tuple[float, float]:
    pair = _each(_number)(value)
    if len(pair) != 2:
        raise _Fault("must be a list of two numbers")
    return pair


def _known(value: Any, readers: _Readers) -> dict[str, Any]:
    """The fields of an answer's object that we know; the rest belongs to a newer server."""
    if type(value) is not dict:
        raise _Fault(f"must be an object, not {_kind(value)}")
    found: dict[str, Any] = {}
    for name, item in value.items():
        reader = readers.get(name)
        if item is not None and reader is not None:
            try:
                found[name] = reader(item)
            except _Fault as fault:
                raise fault.under(name) from None
    return found


def _require(found: Mapping[str, Any], *names: str) -> None:
    for name in names:
        if name not in found:
            raise _Fault("is missing", name)


def _any(value: Any) -> Any:
    return value


def _str(value: Any) -> str:
    # Answers may echo what a lenient server read; only requests are refused for broken text.
    if type(value) is not str:
        raise _Fault(f"must be a string, not {_kind(value)}")
    return value


_status = _one_of(STATUSES)
_fault = _one_of(FAULTS)
_COMPONENT: _Readers = {"status": _status, "score": _number, "reason": _str, "fault": _fault, "verifier": _str}
_STEP_SCORE: _Readers = {"index": _at_least(-_LARGEST), "score": _number, "label": _str, "feedback": _str}


def _component(value: Any) -> Component:
    found = _known(value, _COMPONENT)
    _require(found, "status")
    return Component(**found)


def _components(value: Any) -> dict[str, Component]:
    found = {}
    for name, part in _mapping(value).items():
        try:
            found[name] = _component(part)
        except _Fault as fault:
            raise fault.under(name) from None
    return found


def _step_score(value: Any) -> StepScore:
    found = _known(value, _STEP_SCORE)
    _require(found, "index")
    return StepScore(**found)


def _mapping(value: Any) -> dict[str, Any]:
    if type(value) is not dict:
        raise _Fault(f"must be an object, not {_kind(value)}")
    return value


@lru_cache(maxsize=256)
def _verifier(name: str, version: str, fingerprint: str) -> VerifierRef:
    return VerifierRef(name=name, version=version, fingerprint=fingerprint)


def _ref(value: Any) -> VerifierRef:
    if type(value) is dict:  # of every verdict, and mostly the same
        parts = value.get("name"), value.get("version"), value.get("fingerprint")
        if type(parts[0]) is str and type(parts[1]) is str and type(parts[2]) is str:
            return _verifier(parts[0], parts[1], parts[2])
    found = _known(value, _REF)
    _require(found, *_REF)
    return _verifier(**found)


_REF: _Readers = {"name": _str, "version": _str, "fingerprint": _str}

_OUTCOME: _Readers = {
    "status": _status,
    "score": _number,
    "range": _pair,
    "passed": _bool,
    "raw": _any,
    "reason": _str,
    "fault": _fault,
    "components": _components,
    "steps": _each(_step_score),
    "feedback": _str,
    "extracted": _any,
    "evidence": _mapping,
    "flags": _each(_str),
    "effective": _mapping,
    "exclude": _bool,
    "exclude_reason": _str,
}

_VERDICT: _Readers = {
    **_OUTCOME,
    "index": _count,
    "id": _str,
    "group": _str,
    "data_source": _str,
    "metadata": _mapping,
    "verifier": _ref,
    "retryable": _bool,
    "cached": _bool,
    "queue_s": _number,
    "run_s": _number,
}


def outcome_from_json(value: Any) -> Outcome:
    """An outcome from its JSON form. Raises ValueError naming the field."""
    try:
        found = _known(value, _OUTCOME)
        _require(found, "status")
        return Outcome(**found)
    except _Fault as fault:
        raise ValueError(f"outcome.{fault.path}: {fault.message}") from None


def verdict_from_json(value: Any) -> Verdict:
    """A verdict from its JSON form; what was not sent holds its default. Raises ValueError naming the field."""
    try:
        found = _known(value, _VERDICT)
        _require(found, "status", "index")
        return Verdict(**found)
    except _Fault as fault:
        raise ValueError(f"verdict.{fault.path}: {fault.message}") from None


# --- groups and results ----------------------------------------------------------------------------------------


def group_to_json(group: Group) -> dict[str, Any]:
    """The JSON form of a group's statistics: every field; the keys of `pass_at` are strings."""
    value = {name: getattr(group, name) for name in _GROUP}
    value["pass_at"] = {str(k): p for k, p in group.pass_at.items()}
    return value


def _pass_at(value: Any) -> dict[int, float]:
    found = {}
    for key, item in _mapping(value).items():
        try:
            found[int(key)] = _number(item)
        except ValueError:
            raise _Fault("must be a whole number").under(key) from None
        except _Fault as fault:
            raise fault.under(key) from None
    return found


_GROUP: _Readers = {
    "group": _str,
    "size": _count,
    "scored": _count,
    "unscored": _count,
    "passed": _count,
    "mean": _number,
    "std": _number,
    "ddof": _count,
    "best": _number,
    "all_pass": _bool,
    "all_fail": _bool,
    "pass_at": _pass_at,
}


def group_from_json(value: Any) -> Group:
    """A group's statistics from their JSON form. Raises ValueError naming the field."""
    try:
        found = _known(value, _GROUP)
        _require(found, "group", "size", "scored", "unscored", "passed")
        return Group(**found)
    except _Fault as fault:
        raise ValueError(f"group.{fault.path}: {fault.message}") from None


def result_to_json(result: BatchResult, fields: Collection[str] | None = None) -> dict[str, Any]:
    """The JSON form of the answer to a batch; `fields` as in `verdict_to_json`."""
    wanted = None if fields is None else frozenset(fields)
    return {
        "verdicts": [verdict_to_json(verdict, wanted) for verdict in result.verdicts],
        "groups": [group_to_json(group) for group in result.groups],
    }


def result_from_json(value: Any) -> BatchResult:
    """The answer to a batch. Raises ValueError naming the field."""
    if type(value) is not dict or type(value.get("verdicts")) is not list:
        raise ValueError("verdicts: must be a list")
    groups = value.get("groups") or []
    if type(groups) is not list:
        raise ValueError("groups: must be a list")
    return BatchResult(
        verdicts=tuple(map(verdict_from_json, value["verdicts"])), groups=tuple(map(group_from_json, groups))
    )


# --- programs --------------------------------------------------------------------------------------------------


def _base64_text(value: Any) -> str:
    text = _string(value)
    try:
        _base64.b64decode(text, validate=True)
    except ValueError as error:
        raise _Fault(f"is not valid base64: {str(error)[:80]}") from None
    return text


def _content(value: Any) -> Any:
    if type(value) is str:
        return _string(value)
    if type(value) is not dict:
        raise _Fault(f'must be a string, or {{"base64": "…"}}, not {_kind(value)}')
    found = _read(value, {"base64": _base64_text}, "a content")
    if not found:
        raise _Fault("is missing; it is the content's bytes in base64", "base64")
    return found


def _contents(value: Any) -> dict[str, Any]:
    found = {}
    for name, item in _mapping(value).items():
        try:
            found[_string(name)] = _content(item)
        except _Fault as fault:
            raise fault.under(name) from None
    return found


def _code(value: Any) -> str:
    code = _string(value)
    # Compilers and interpreters disagree on what follows a NUL: some end there, and run half of what was sent.
    if "\0" in code:
        raise _Fault(f"contains a NUL at character {code.index(chr(0))}; a program is text")
    return code


_LIMITS: _Readers = {
    "cpu_s": _seconds,
    "wall_s": _seconds,
    "memory_mb": _positive,
    "processes": _positive,
    "output_bytes": _positive,
    "disk_mb": _positive,
    "open_files": _positive,
}


def _limits(value: Any) -> Limits:
    return Limits(**_read(value, _LIMITS, "limits"))


_RUN: _Readers = {
    "language": _string,
    "code": _code,
    "stdin": _content,
    "files": _contents,
    "args": _each(_string),
    "limits": _limits,
    "collect": _each(_string),
}


def run_from_json(value: Any) -> Run:
    """A program to run. Raises InvalidRequest, with the JSON path. Which languages, paths and sizes there may be is
    the sandbox's to say.
    """
    try:
        found = _read(value, _RUN, "a run")
        for name in ("language", "code"):
            if name not in found:
                raise _Fault("is missing", name)
        return Run(**found)
    except _Fault as fault:
        raise fault.request() from None


def run_to_json(run: Run) -> dict[str, Any]:
    """The JSON form of a program to run; what holds its default is left out."""
    value: dict[str, Any] = {"language": run.language, "code": run.code}
    if run.stdin != "":
        value["stdin"] = run.stdin
    if run.files:
        value["files"] = dict(run.files)
    if run.args:
        value["args"] = list(run.args)
    if limits := _slim(run.limits, _LIMITS):
        value["limits"] = limits
    if run.collect:
        value["collect"] = list(run.collect)
    return value


def content_of(data: bytes) -> str | dict[str, str]:
    """Bytes as a content: text where they are UTF-8, else base64."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": _base64.b64encode(data).decode()}


def content_bytes(content: str | Mapping[str, str]) -> bytes:
    """The bytes of a content that was read before. Raises ValueError for one that is none."""
    return content.encode() if isinstance(content, str) else _base64.b64decode(content["base64"], validate=True)


_RUN_TOLD = (
    *("status", "limit", "exit_code", "signal", "stdout", "stderr", "cpu_time", "wall_time", "peak_memory"),
    "truncated",
)


def run_result_to_json(result: RunResult) -> dict[str, Any]:
    """The JSON form of how a program ended."""
    value = {name: getattr(result, name) for name in _RUN_TOLD}
    value["enforced"] = dict(result.enforced)
    value |= _slim(result, ("stdout_base64", "stderr_base64", "message"))
    if result.flags:
        value["flags"] = list(result.flags)
    if result.files:
        value["files"] = dict(result.files)
    if result.compile is not None:
        value["compile"] = run_result_to_json(result.compile)
    return value


def _int(value: Any) -> int:
    if type(value) is not int:
        raise _Fault(f"must be a whole number, not {_kind(value)}")
    return value


def _enforced(value: Any) -> dict[str, str]:
    for name, item in _mapping(value).items():
        if type(item) is not str:
            raise _Fault(f"must be a string, not {_kind(item)}").under(name)
    return value  # type: ignore[no-any-return]


def _run_result(value: Any) -> RunResult:
    found = _known(value, _RUN_RESULT)
    _require(found, "status")
    return RunResult(**found)


_RUN_RESULT: _Readers = {
    "status": _str,
    "limit": _str,
    "exit_code": _int,
    "signal": _int,
    "stdout": _str,
    "stderr": _str,
    "stdout_base64": _str,
    "stderr_base64": _str,
    "cpu_time": _number,
    "wall_time": _number,
    "peak_memory": _count,
    "truncated": _bool,
    "enforced": _enforced,
    "flags": _each(_str),
    "message": _str,
    "compile": _run_result,
    "files": _contents,
}


def run_result_from_json(value: Any) -> RunResult:
    """Returns the result of a program from its JSON form. Raises ValueError naming the field."""
    try:
        return _run_result(value)
    except _Fault as fault:
        raise ValueError(f"run.{fault.path}: {fault.message}") from None


# --- errors ----------------------------------------------------------------------------------------------------


def error_to_json(error: RewardenError) -> dict[str, Any]:
    """The body that goes with a refused request: `{"error": {"code", "message", "details"}}`."""
    return {"error": {"code": error.code, "message": error.message, "details": dict(error.details)}}


def error_from_json(value: Any, otherwise: type[RequestError] = InternalError) -> RequestError:
    """The error that a server raised, of the same class. `otherwise` is for a code that we do not know.

    Raises ValueError when the value is not an error.
    """
    body = value.get("error") if type(value) is dict else None
    if type(body) is not dict or type(body.get("message")) is not str:
        raise ValueError("error: must be an object with a message")
    details = body.get("details")
    error = REQUEST_ERRORS.get(body.get("code", ""), otherwise)(body["message"])
    error.details = details if type(details) is dict else {}
    return error
