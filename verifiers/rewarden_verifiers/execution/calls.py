"""Calls: requests to the candidate's room (docs/tagged-codec.md, mode `call`), and the comparison of its replies.

A reply is written in the candidate's process, which can forge it. Forging one gains nothing: the candidate does not
know the expected value, and a forged reply is just another value.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

from rewarden_verifiers.execution.fitting import fit_of, fitted
from rewarden_verifiers.execution.tagged import Untagged, decode, encode, loads, plain
from rewarden_verifiers.execution.values import ValueChecker, differs
from rewarden_verifiers.extraction import encodable

CallVerdict = Literal["AC", "WA", "RE"]


@dataclass(frozen=True, slots=True)
class Returned:
    """The result of a call. `flag`: the name of the reason, if it is neither a wrong value nor an exception."""

    verdict: CallVerdict
    message: str | None = None
    flag: str | None = None


UNCROSSABLE, NO_RESULT, BAD_REPLY = "uncrossable_value", "no_result", "bad_reply"
_WORDS = 200


def request(
    target: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    types: dict[str, Any] | None,
    init: tuple[Any, ...] = (),
) -> bytes:
    """Returns the input of the mode `call`. Raises Untagged for a value that cannot be encoded."""
    asked: dict[str, Any] = {
        "target": target,
        "args": [encode(value) for value in args],
        "kwargs": {name: encode(value) for name, value in kwargs.items()},
    }
    if init:
        asked["init"] = [encode(value) for value in init]
    if types:
        asked["types"] = types
    return json.dumps(asked, ensure_ascii=True, allow_nan=False).encode()


def judge(checker: ValueChecker, reply: bytes, wanted: Any, language: str | None = None) -> Returned:
    """Compares the value in a reply with the expected one: a reference's JSON, as read by `tagged.plain`. language: the
    language of the program.

    Raises Untagged if the reference's value is invalid.
    """
    expected = plain(wanted)
    if not reply:
        return Returned("RE", "the program ended before its function returned", NO_RESULT)
    try:
        said = loads(reply)
        if not isinstance(said, dict):
            raise Untagged("no object")
        if "value" in said:
            value = decode(said["value"])
            fit = fit_of(language) if language is not None and not checker.strict else None
            if fit is not None:
                value = fitted(fit, value, expected)
            found = differs(checker, value, expected)
            return Returned("AC") if found is None else Returned("WA", found)
    except (Untagged, RecursionError):
        return Returned("WA", "the program sent back something that is not a value", BAD_REPLY)
    if "uncrossable" in said:
        return Returned("WA", f"a {_word(said['uncrossable'])!r} is not a plain value", UNCROSSABLE)
    if "missing" in said:
        return Returned("RE", f"there is no {_word(said['missing'])!r}")
    if "error" in said:
        return Returned("RE", f"{_word(said['error'])}: {_word(said.get('message'))}")
    return Returned("WA", "the program sent back something that is not a value", BAD_REPLY)


def _word(value: Any) -> str:
    return encodable(value[:_WORDS]) if isinstance(value, str) else "?"
