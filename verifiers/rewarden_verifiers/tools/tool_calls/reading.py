"""The calls of a response, whichever shape it writes them in: tags, JSON, Python."""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass
from typing import Literal

from rewarden_verifiers.structure.json.locate import JSON_WORDS, extent, fences
from rewarden_verifiers.structure.json.strict import BLANKS, MAX_FAULTS, MAX_TEXT, Malformed, SyntaxFault, decode
from rewarden_verifiers.tools.tool_calls.calls import NAME_KEYS, Call, calls_of
from rewarden_verifiers.tools.tool_calls.python import looks_like_python, python_calls
from rewarden_verifiers.tools.tool_calls.tags import tagged_calls

Shape = Literal["json", "python", "xml"]

_PREFIXES = ("[TOOL_CALLS]", "<|python_tag|>", "<tool_calls>")
"""Texts that some chat templates write before a call."""

_CALL_WORDS = ("tool_call", "tool_calls", "tool_code")
_CODE_WORDS = ("python", "py")
_WORD = re.compile(r"\w")
_OBJECT = re.compile(r"\{(?=[ \t\r\n]*\")")
# What a call as JSON cannot do without, in whatever quotes.
_NAMED = re.compile(rf"\b(?:tool_calls|{'|'.join(NAME_KEYS)})\b|\\u")
# A list of calls; what is indexed (`a[f(x)]`) is none.
_LIST = re.compile(r"(?<![\w)\]])\[\s{0,8}[A-Za-z_][\w.]{0,255}\(")
_LIST_END = re.compile(r"\)\s{0,8}\]")

_TOLD = 10_000
"""Characters of a list of calls in Python's syntax that is looked for amid prose."""
_LISTS = 200
"""Beginnings of such a list that are looked at."""


@dataclass(slots=True, eq=False)
class Reading:
    """The calls that were found. `shape` is None where there is neither a call nor an empty list of them. `quoted`: a
    call stands in a quotation."""

    calls: list[Call]
    shape: Shape | None
    quoted: bool = False
    words: bool = True
    """True if the response says anything at all."""
    loose: bool = False
    """True if all of it is Python, not in a list, in code fences without a word amid prose."""


def read(text: str) -> Reading:
    """The calls of a viewed response. Linear in it. Raises Malformed for what was meant as calls and is none."""
    if len(text) > MAX_TEXT:
        raise Malformed("too_long", f"more than {MAX_TEXT} characters")
    calls, quoted = tagged_calls(text) if "<" in text else ([], False)
    if calls:
        return Reading(calls, "xml", quoted)
    body = text.strip()
    found = _block(_behind_prefix(body))
    if found is None and ("```" in body or "~~~" in body):
        found = _fenced(body)
    if found is not None:
        found.quoted = quoted
        return found
    return Reading([], None, quoted, _WORD.search(text) is not None)


def _behind_prefix(body: str) -> str:
    """Returns what follows a template's word for calls, prose before it or not; without one, the text itself."""
    for prefix in _PREFIXES:
        position = body.find(prefix)
        if position < 0 or body[body.rfind("\n", 0, position) + 1 : position].lstrip().startswith(">"):
            continue  # a quoted line is a quotation, as for tags
        behind = body[position + len(prefix) :].removesuffix("</tool_calls>").strip()
        if position == 0 or behind[:1] in ("{", "[") or looks_like_python(behind):
            return behind
    return body


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


def told(text: str, tools: Container[str] | None) -> bool:
    """Returns whether a text without calls holds one amid its words: as a JSON object, or as a list in Python's syntax
    of tools that there are (without definitions: with a named argument). Raises Malformed for what would take too long.
    """
    return _object_told(text) or _list_told(text, tools)


def _object_told(text: str) -> bool:
    position = faults = 0
    left = 4 * len(text) + 1_000_000  # characters that may be read and be none
    while (match := _OBJECT.search(text, position)) is not None:
        try:
            value, position = decode(text, match.start())
        except Malformed as malformed:
            faults += 1
            position = match.end()  # a call may stand within what is none
            left -= (malformed.position if isinstance(malformed, SyntaxFault) else len(text)) - match.start()
            if faults > MAX_FAULTS or left < 0:
                raise Malformed("too_long", "too many brackets that begin no JSON") from None
            continue
        try:
            calls = calls_of(value)
        except Malformed:
            return True
        if calls and not all(_definition(call) for call in calls):
            return True
    return False


def _definition(call: Call) -> bool:
    """Returns whether this is rather the definition of a tool: a schema stands for its arguments."""
    return call.arguments.get("type") == "object" and isinstance(call.arguments.get("properties"), dict)


def _list_told(text: str, tools: Container[str] | None) -> bool:
    for number, match in enumerate(_LIST.finditer(text)):
        if number == _LISTS:
            raise Malformed("too_long", f"more than {_LISTS} lists that may be calls")
        end = _LIST_END.search(text, match.end(), match.start() + _TOLD)
        if end is None:
            continue
        try:
            calls = python_calls(text[match.start() : end.end()])
        except Malformed:
            continue
        if any(call.arguments if tools is None else _among(call, tools) for call in calls):
            return True
    return False


def _among(call: Call, tools: Container[str]) -> bool:
    return call.name in tools or call.name.replace(".", "_") in tools


def mere_code(reading: Reading, tools: Container[str] | None) -> bool:
    """Returns whether what was read is an example of code amid prose, which calls none of the tools that there are."""
    return reading.loose and tools is not None and not any(_among(call, tools) for call in reading.calls)


def _fenced(body: str) -> Reading | None:
    """The calls of the code fences together: every fence that holds calls counts, so that no call is for free."""
    calls: list[Call] = []
    shape: Shape | None = None
    loose = True
    begin, end = extent(body)
    for fence in fences(body):
        content = fence.content.strip(BLANKS)
        alone = fence.start <= begin and end <= fence.end
        if fence.word and fence.word not in (*JSON_WORDS, *_CALL_WORDS) and not (alone and fence.word in _CODE_WORDS):
            continue
        if content[:1] not in ("{", "[") and not looks_like_python(content):
            continue
        try:
            found = _block(content)
        except SyntaxFault:
            if _NAMED.search(content) is None:
                continue  # not JSON, say for a comment in it, and no call either
            raise
        if found is not None:
            loose = loose and not (fence.word or alone) and content[:1] not in ("{", "[")
            if not fence.closed:
                raise Malformed("unclosed_fence", "the code fence never closes")
            calls += found.calls
            shape = found.shape
    return None if shape is None else Reading(calls, shape, loose=loose)
