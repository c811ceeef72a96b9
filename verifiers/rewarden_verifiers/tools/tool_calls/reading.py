"""The calls of a response, whichever shape it writes them in: tags, JSON, Python."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from rewarden_verifiers.structure.json.locate import JSON_WORDS, fences
from rewarden_verifiers.structure.json.strict import BLANKS, MAX_TEXT, Malformed, SyntaxFault, decode
from rewarden_verifiers.tools.tool_calls.calls import Call, calls_of
from rewarden_verifiers.tools.tool_calls.python import looks_like_python, python_calls
from rewarden_verifiers.tools.tool_calls.tags import tagged_calls

Shape = Literal["json", "python", "xml"]

_PREFIXES = ("[TOOL_CALLS]", "<|python_tag|>", "<tool_calls>")
"""What some chat templates write before a call."""

_CALL_WORDS = ("tool_call", "tool_calls", "tool_code")
_CODE_WORDS = ("python", "py")
_WORD = re.compile(r"\w")


@dataclass(slots=True, eq=False)
class Reading:
    """What was found. `shape` is None where there is neither a call nor an empty list of them. `quoted`: a call stands
    in a quotation."""

    calls: list[Call]
    shape: Shape | None
    quoted: bool = False
    words: bool = True
    """Whether the response says anything at all."""


def read(text: str) -> Reading:
    """The calls of a viewed response. Linear in it. Raises Malformed for what was meant as calls and is none."""
    if len(text) > MAX_TEXT:
        raise Malformed("too_long", f"more than {MAX_TEXT} characters")
    calls, quoted = tagged_calls(text) if "<" in text else ([], False)
    if calls:
        return Reading(calls, "xml", quoted)
    body = text.strip()
    for prefix in _PREFIXES:
        if body.startswith(prefix):
            body = body[len(prefix) :].removesuffix("</tool_calls>").strip()
            break
    found = _block(body)
    if found is None and ("```" in body or "~~~" in body):
        found = _fenced(body)
    if found is not None:
        found.quoted = quoted
        return found
    return Reading([], None, quoted, _WORD.search(text) is not None)


def _block(body: str) -> Reading | None:
    """The calls that a text is, and nothing else."""
    if body[:1] in ("{", "["):
        python = body[0] == "[" and looks_like_python(body)
        try:
            value, end = decode(body, 0)
        except SyntaxFault as fault:
            if python:
                return Reading(python_calls(body), "python")
            if body[0] == "[" and not body[1 : fault.position].strip():
                return None  # a bracket that begins prose
            raise
        calls = calls_of(value)
        if calls is not None and end != len(body):
            raise Malformed("trailing_text", f"after the calls stands {body[end : end + 40].lstrip()!r}")
        return None if calls is None else Reading(calls, "json")
    if looks_like_python(body):
        return Reading(python_calls(body), "python")
    return None


def _fenced(body: str) -> Reading | None:
    """The calls of the code fences together: every fence that holds calls counts, so that no call is for free."""
    calls: list[Call] = []
    shape: Shape | None = None
    for fence in fences(body):
        content = fence.content.strip(BLANKS)
        alone = not (body[: fence.start].strip() or body[fence.end :].strip())
        if fence.word and fence.word not in (*JSON_WORDS, *_CALL_WORDS) and not (alone and fence.word in _CODE_WORDS):
            continue
        if content[:1] not in ("{", "[") and not looks_like_python(content):
            continue
        found = _block(content)
        if found is not None:
            if not fence.closed:
                raise Malformed("unclosed_fence", "the code fence never closes")
            calls += found.calls
            shape = found.shape
    return None if shape is None else Reading(calls, shape)
