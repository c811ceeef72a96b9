"""Right answers as the reference states them, and answers that are nearly right."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from rewarden_server.studies.audit.sampled import stated
from rewarden_server.studies.lint.examination import WRONG
from rewarden_verifiers.answer.worked import answer_in

_LAST_NUMBER = re.compile(r"\d+(?!.*\d)", re.DOTALL)
_OPPOSITES = {"true": "false", "false": "true", "yes": "no", "no": "yes"}
_LETTER = re.compile(r"\(?([A-Ja-j])\)?")


def answer_of(reference: Any) -> str | None:
    """Returns the right answer as text; None if the reference states none."""
    whole = stated(reference)
    return None if whole is None else answer_in(whole).strip() or None


def perturbed(answer: str) -> str:
    """Returns the answer with one thing changed: its last number, its letter, yes to no; otherwise another answer."""
    number = _LAST_NUMBER.search(answer)
    if number is not None:
        text = str(int(number[0]) + 1).rjust(len(number[0]), "0")
        return answer[: number.start()] + text + answer[number.end() :]
    opposite = _OPPOSITES.get(answer.strip().lower())
    if opposite is not None:
        return opposite
    letter = _LETTER.fullmatch(answer.strip())
    if letter is not None:
        return "A" if letter[1].upper() != "A" else "B"
    return WRONG["formula" if "\\" in answer or "^" in answer else "words"][0]


def expected_json(reference: Any) -> list[str]:
    """Returns the expected value of a reference of `json` as JSON; empty where only a schema is given."""
    if isinstance(reference, str) and reference.lstrip()[:1] in ("{", "["):
        return [reference]
    value = reference
    if isinstance(reference, Mapping) and reference and reference.keys() <= {"expected", "alternatives", "schema"}:
        several = reference.get("alternatives")
        if isinstance(several, list) and several:
            value = several[0]
        elif "expected" in reference:
            value = reference["expected"]
        else:
            return []
    return [json.dumps(value, ensure_ascii=False)]


def perturbed_json(text: str) -> str | None:
    """Returns JSON in which the first value that is not a container is another one."""
    try:
        value = json.loads(text)
    except ValueError:
        return None
    for path, leaf in _leaves(value, ()):
        return json.dumps(_with(value, path, _other(leaf)), ensure_ascii=False)
    return None


def _leaves(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, (*path, key))
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from _leaves(item, (*path, place))
    else:
        yield path, value


def _with(value: Any, path: tuple[Any, ...], leaf: Any) -> Any:
    if not path:
        return leaf
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = _with(copy[path[0]], path[1:], leaf)
    return copy


def _other(leaf: Any) -> Any:
    if isinstance(leaf, bool):
        return not leaf
    if isinstance(leaf, (int, float)):
        return leaf + 1
    return "a violet zeppelin"
