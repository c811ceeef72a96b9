"""Columns: their usual names, their values, and the usual words in them, for rescored files and trainers' data alike.

A column is named by a path: names joined by dots (`reward_model.ground_truth`), a number for an item of a list, and `*`
for all its items (`outputs.*.text`). A column whose own name contains dots comes first, and a text that is a JSON
object counts as that object.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

_STATED = (
    "reference",
    "reference_answer",
    "ground_truth",
    "reward_model.ground_truth",
    "reward_spec.ground_truth",
    "extra.reward_model.ground_truth",
    "gts",
    "gold",
    "gold_answer",
    "expected_answer",
)
"""Names that mean the expected answer and nothing else."""

_WORKED = "solution"
"""The name of a worked solution, or of the answer itself."""

GUESSES: Mapping[str, tuple[str, ...]] = {
    "response": (
        "response",
        "completion",
        "output",
        "generation",
        "generated_text",
        "solution_str",
        "model_output",
        "prediction",
        "rollout",
        "responses",
        "completions",
        "outputs",
        "generations",
        "samples",
    ),
    "messages": ("messages", "conversation", "conversations"),
    "prompt": ("prompt", "question", "problem", "input", "instruction", "query", "messages"),
    # The last three also name other things: a class, a difficulty, whether a response is right.
    "reference": (*_STATED, "answer", "final_answer", _WORKED, "label", "target", "expected"),
    "group": ("group", "group_id", "prompt_id", "problem_id", "question_id", "uid"),
    "data_source": ("data_source", "source", "dataset", "dataset_name"),
    "finish_reason": ("finish_reason", "stop_reason", "truncated", "is_truncated"),
    "token_count": ("token_count", "response_length", "completion_tokens", "num_tokens", "num_output_tokens"),
    "id": ("id", "sample_id", "rollout_id"),
}
"""The usual names, the likeliest first."""

ABSENT: Any = object()
"""The value of a column that a row does not have."""

_FINISH: Mapping[str, str] = {
    **dict.fromkeys(("stop", "eos", "eos_token", "end_turn", "stop_sequence", "stop_token", "tool_calls"), "stop"),
    **dict.fromkeys(("tool_use", "function_call", "matched_stop"), "stop"),
    **dict.fromkeys(("length", "max_tokens", "max_length", "max_new_tokens", "truncated", "incomplete"), "length"),
    **dict.fromkeys(("abort", "aborted", "cancelled", "content_filter", "error"), "abort"),
}
"""The names that samplers and providers give to the ends of a generation."""


def value_of(row: Mapping[str, Any], column: str, default: Any = None) -> Any:
    """Returns the value of a column, which may be a path, or `default` if the row has no such column."""
    if column in row:
        return row[column]
    if "." not in column:
        return default
    value = _walk(row, column.split("."))
    return default if value is ABSENT else value


def paths_beside(row: Mapping[str, Any], column: str) -> list[str]:
    """Returns the columns that a row has instead of an absent one: for a path, those in the object where it ends."""
    head, dot, _ = column.rpartition(".")
    inside = _object(value_of(row, head)) if dot else None
    return [f"{head}.{name}" for name in inside] if isinstance(inside, Mapping) else list(row)


def rivals(chosen: str, values: Mapping[str, Any]) -> list[str]:
    """Returns the usual columns of the reference that contradict the chosen one. `values`: those of the row, plain.

    Names that mean the expected answer only contradict each other. Any other name is contradicted by the names after
    it, except that a solution beside an answer is how the answer was found. Equal answers are no contradiction, nor is
    a text that ends with the other column's answer, nor a boolean.
    """
    names = GUESSES["reference"]
    later = _STATED if chosen in _STATED else names
    return [
        name
        for name in later[later.index(chosen) + 1 :]
        if name != _WORKED and values.get(name) not in (None, "") and not _agree(values[chosen], values[name])
    ]


def finish_reason(value: Any) -> Any:
    """Returns the reason why a generation ended, in our words. Unknown reasons are returned as they are."""
    if isinstance(value, dict):  # SGLang: {"type": "length", "length": 1024}
        value = value.get("type")
    if isinstance(value, bool):  # a column such as `truncated`
        return "length" if value else "stop"
    # A word that we do not know goes on as it is, so that the row is blamed for it rather than quietly misread.
    return _FINISH.get(value.lower(), value) if isinstance(value, str) else value


def only(value: Any) -> Any:
    """Returns the only item of a list of one, as open-instruct keeps its names; returns any other value unchanged."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def token_count(value: Any) -> Any:
    """A count of tokens; whole floats, as data frames make them, become integers."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _walk(value: Any, path: Sequence[str]) -> Any:
    for place, part in enumerate(path):
        value = _object(value)
        if isinstance(value, Mapping):
            if part not in value:
                return ABSENT
            value = value[part]
        elif isinstance(value, list):
            if part == "*":
                found = [_walk(item, path[place + 1 :]) for item in value]
                return [None if item is ABSENT else item for item in found]
            if not part.isdecimal() or int(part) >= len(value):
                return ABSENT
            value = value[int(part)]
        else:
            return ABSENT
    return value


def _object(value: Any) -> Any:
    """Returns the object in a text of JSON, and any other value unchanged."""
    if not isinstance(value, str) or not value.lstrip().startswith("{"):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


_CLOSING = "}])>*_`'\".,;:!?$ \n\t"
"""Characters that can follow an answer at the end of a text."""
_SEPARATOR = re.compile(r"(?<=\d),(?=\d)")
_ZEROS = re.compile(r"(?<=\d)\.0+$")


def _agree(one: Any, other: Any) -> bool:
    """Returns whether two columns can hold the same answer, by a cheap comparison that errs on the side of yes."""
    one, other = only(one), only(other)
    if isinstance(one, bool) or isinstance(other, bool) or one == other:
        return True
    if isinstance(one, Mapping) or isinstance(other, Mapping):
        return bool(_object(one) == _object(other))
    if isinstance(one, list) or isinstance(other, list):  # several answers, any of which is right
        ones, others = (value if isinstance(value, list) else [value] for value in (one, other))
        return any(_agree(left, right) for left in ones for right in others)
    short, long = sorted((_bare(one), _bare(other)), key=len)
    if short.replace(" ", "") == long.replace(" ", ""):
        return True
    before, after = long[: -len(short) or None], long[len(short) :]
    if long.endswith(short) and not before[-1:].isalnum() and before[-1:] not in (".", "-", "/"):
        return True  # "… #### 72"
    return long.startswith(short) and after.lstrip(".:)") != after.lstrip(".:) ")  # "5 apples", "B. Paris"


def _bare(value: Any) -> str:
    """Returns the text of an answer without what can follow it, and with numbers written in one way."""
    text = " ".join(str(value).rstrip(_CLOSING).split()).casefold()
    return _ZEROS.sub("", _SEPARATOR.sub("", text))
