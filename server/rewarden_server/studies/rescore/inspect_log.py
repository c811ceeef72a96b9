"""Logs of Inspect (https://inspect.aisi.org.uk), `.eval` and `.json`, as rows of rollouts.

The prompt is what comes before the first message of the model, the response the rest. The first score that is a number
is the verdict's score, and the others are its components. Letters are those of Inspect: C is right, P half, I and N
wrong. A score that holds several numbers is several scores.
"""

from __future__ import annotations

import json
import math
import struct
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import zstandard

from rewarden_server.studies.rescore.file_row import FileRow, file_row
from rewarden_server.studies.rescore.options import RescoreError

_LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
_ZSTD = 93
_LOCAL = struct.Struct("<4s22xHH")
"""The header before a member's data: signature, lengths of name and extra field."""

_HEAD = 4096
"""Bytes within which a log in JSON names its evaluation: only its version and status come before it."""

_MOST_BYTES = 256 * 1024**2
"""Of a sample in an archive, unpacked."""


def is_inspect(path: Path) -> bool:
    """Returns whether a file is a log of Inspect by its name; a `.json` file counts if it holds one."""
    if path.suffix == ".eval":
        return True
    if path.suffix != ".json" or not _may_be_log(path):
        return False
    try:
        value = json.loads(path.read_bytes())
    except (ValueError, RecursionError):  # lines, each of them an object
        return False
    return isinstance(value, dict) and isinstance(value.get("eval"), dict) and "samples" in value


def _may_be_log(path: Path) -> bool:
    """Returns whether a file begins as an object with the log's first keys: others need not be read whole."""
    with path.open("rb") as file:
        head = file.read(_HEAD)
    return head.lstrip().startswith(b"{") and b'"eval"' in head


def inspect_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The samples of a log as rows, those that have scores with a verdict. Raises RescoreError."""
    _, samples = _opened(path)
    yield from samples


def inspect_rollouts(path: Path, first: int, limit: int) -> Iterator[FileRow]:
    """The samples of a log from the sample `first` on, as rows without verdicts: the column `inspect` holds what the
    log's own scorers said. What cannot be read, and what follows it, is one fault.
    """
    row = 0
    try:
        count, samples = _opened(path)
        for values in samples:
            if row >= first:
                yield file_row(row, (row + 1) / count, _unjudged(values), limit)
            row += 1
    except RescoreError as error:
        if row >= first:
            yield FileRow(row, row + 1, 1.0, b"", error.message)


def _unjudged(row: dict[str, Any]) -> dict[str, Any]:
    verdict = row.pop("verdict", {})
    if verdict.get("status") == "error" and row.get("response") == "":
        del row["response"]  # the sample broke off before the model said anything: nothing is to be blamed on it
    told = {"scorer": (verdict.get("verifier") or {}).get("name"), "score": verdict.get("score")}
    told |= {"answer": verdict.get("extracted"), "explanation": verdict.get("feedback")}
    others = {name: one["score"] for name, one in (verdict.get("components") or {}).items()}
    return {**row, "inspect": {**told, **({"others": others} if others else {})}}


def _opened(path: Path) -> tuple[int, Iterator[dict[str, Any]]]:
    """The number of a log's samples, and these as rows."""
    if path.suffix == ".json":
        value = _parsed(path)
        samples = _objects(value["samples"])
        return len(samples), _rows(value["eval"], samples)
    try:
        with zipfile.ZipFile(path) as archive:
            count = sum(item.filename.startswith("samples/") for item in archive.infolist())
    except (zipfile.BadZipFile, OSError) as error:
        raise RescoreError(f"{str(path)!r} is not a log of Inspect that can be read: {error}") from None
    return count, _archived(path)


def _archived(path: Path) -> Iterator[dict[str, Any]]:
    try:
        with zipfile.ZipFile(path) as archive:
            names = [item for item in archive.infolist() if item.filename.startswith("samples/")]
            header = archive.NameToInfo.get("header.json") or archive.NameToInfo.get("_journal/start.json")
            told = {} if header is None else _member(archive, header)
            yield from _rows(_object(told.get("eval")), (_member(archive, item) for item in names))
    except (zipfile.BadZipFile, zstandard.ZstdError, ValueError, RuntimeError) as error:
        raise RescoreError(f"{str(path)!r} is not a log of Inspect that can be read: {error}") from None


def _parsed(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RescoreError(f"{str(path)!r} is not valid JSON: {error}") from None


def _object(value: Any) -> Mapping[str, Any]:
    """A value where an object is expected; an empty one for everything else."""
    return value if isinstance(value, dict) else {}


def _objects(value: Any) -> list[Mapping[str, Any]]:
    """The objects of what should be a list of them."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _member(archive: zipfile.ZipFile, item: zipfile.ZipInfo) -> Mapping[str, Any]:
    if item.file_size > _MOST_BYTES:
        raise RescoreError(
            f"{item.filename} in {archive.filename} unpacks to {item.file_size:,} bytes; that is too many"
        )
    value = json.loads(_unpacked(archive, item) if item.compress_type == _ZSTD else archive.read(item))
    if not isinstance(value, dict):
        raise RescoreError(f"{item.filename} in {archive.filename} is not a JSON object")
    return value


def _unpacked(archive: zipfile.ZipFile, item: zipfile.ZipInfo) -> bytes:
    """A member that is packed with Zstandard, as Inspect does it by now, and which the standard library reads only from
    Python 3.14 on.
    """
    file = archive.fp
    if file is None:
        raise zipfile.BadZipFile("the archive is closed")
    file.seek(item.header_offset)
    head = file.read(_LOCAL.size)
    if len(head) < _LOCAL.size:
        raise zipfile.BadZipFile("the archive is truncated")
    signature, name, extra = _LOCAL.unpack(head)
    if signature != b"PK\x03\x04":
        raise zipfile.BadZipFile(f"{item.filename} has no local header")
    file.seek(name + extra, 1)
    packed = zstandard.ZstdDecompressor().stream_reader(file.read(item.compress_size), read_across_frames=True)
    return packed.read(_MOST_BYTES)


def _rows(task: Mapping[str, Any], samples: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for sample in samples:
        prompt, response = _conversation(sample)
        name, epoch = str(sample.get("id", "")), sample.get("epoch")
        row = {
            "id": f"{name} #{epoch}" if epoch is not None else name,
            "group": name,
            "data_source": task.get("task"),
            "prompt": prompt,
            "response": response,
            "reference": sample.get("target"),
            "metadata": sample.get("metadata") or None,
        }
        verdict = _verdict(sample)
        if verdict is not None:
            row["verdict"] = verdict
        yield {key: value for key, value in row.items() if value is not None}


_ATTACHED = "attachment://"


def _attached(value: Any, attachments: Mapping[str, Any]) -> Any:
    """A value with the long texts that the log keeps apart from it."""
    if isinstance(value, str):
        return attachments.get(value[len(_ATTACHED) :], value) if value.startswith(_ATTACHED) else value
    if isinstance(value, list):
        return [_attached(item, attachments) for item in value]
    if isinstance(value, dict):
        return {name: _attached(item, attachments) for name, item in value.items()}
    return value


def _conversation(sample: Mapping[str, Any]) -> tuple[Any, Any]:
    told = _attached(sample.get("messages"), _object(sample.get("attachments")))
    messages = [_message(one) for one in _objects(told)]
    first = next((at for at, one in enumerate(messages) if one["role"] == "assistant"), None)
    if first is None:
        output = _object(sample.get("output"))
        asked = sample.get("input")
        prompt = [_message(one) for one in _objects(asked)] if isinstance(asked, list) else asked
        return messages or prompt, output.get("completion") or ""
    response = messages[first:]
    alone = len(response) == 1 and response[0].keys() <= {"role", "content"}
    return messages[:first], response[0]["content"] if alone and isinstance(response[0]["content"], str) else response


def _message(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message as OpenAI's protocol has it."""
    content = message.get("content")
    made: dict[str, Any] = {"role": str(message.get("role", "")), "content": content}
    if isinstance(content, list):
        thoughts = [str(one.get("reasoning")) for one in content if isinstance(one, dict) and one.get("reasoning")]
        rest = [one for one in content if not (isinstance(one, dict) and one.get("type") == "reasoning")]
        if thoughts:
            made["reasoning_content"] = "\n".join(thoughts)
        texts = [one.get("text") if isinstance(one, dict) and one.get("type") == "text" else None for one in rest]
        made["content"] = "\n".join(map(str, texts)) if None not in texts else rest
    calls = [
        {"type": "function", "function": {"name": str(one.get("function")), "arguments": one.get("arguments")}}
        for one in _objects(message.get("tool_calls"))
    ]
    return {**made, "tool_calls": calls} if calls else made


def _verdict(sample: Mapping[str, Any]) -> dict[str, Any] | None:
    scores = _scores(sample)
    if not scores:
        error = sample.get("error")
        if not error:
            return None
        told = error.get("message") if isinstance(error, dict) else error
        return {"status": "error", "score": None, "reason": "sample_error", "fault": "infra", "feedback": str(told)}
    numbers = {name: _number(score.get("value")) for name, score in scores.items()}
    name = next((name for name, number in numbers.items() if number is not None), next(iter(scores)))
    chosen, number = scores[name], numbers[name]
    explanation = chosen.get("explanation")
    verdict: dict[str, Any] = {
        "status": "undecided" if number is None else "scored",
        "score": number,
        "passed": number == 1.0 if isinstance(chosen.get("value"), (str, bool)) and number is not None else None,
        "reason": "no_number" if number is None else None,
        "fault": "verifier" if number is None else None,
        "extracted": chosen.get("answer"),
        "feedback": None if explanation is None else str(explanation),
        "verifier": {"name": name, "version": "", "fingerprint": ""},
        "evidence": {"value": chosen.get("value")} if number is None else _object(chosen.get("metadata")),
    }
    others = {other: value for other, value in numbers.items() if other != name}
    if others:
        verdict["components"] = {
            other: {"status": "undecided" if value is None else "scored", "score": value, "reason": None}
            for other, value in others.items()
        }
    return verdict


def _scores(sample: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The scores of a sample by name; of one whose value is an object or a list, each part, with the rest next to
    it."""
    given = _object(sample.get("scores")) or ({"score": sample["score"]} if sample.get("score") else {})
    found: dict[str, Mapping[str, Any]] = {}
    for name, score in given.items():
        told = _object(score)
        value = told.get("value")
        parts = dict(enumerate(value)) if isinstance(value, list) else value
        if not isinstance(parts, dict) or not parts:
            found[name] = told
            continue
        for key, part in parts.items():
            found[f"{name}.{key}"] = {**told, "value": part}
    return found


def _number(value: Any) -> float | None:
    """A value as a number; Inspect writes NaN for what it did not score."""
    if isinstance(value, str):
        return _LETTERS.get(value.upper())
    try:
        return float(value) if isinstance(value, (bool, int, float)) and math.isfinite(value) else None
    except OverflowError:
        return None
