"""Calls in tags: `<tool_call>{json}</tool_call>`, `<function=name><parameter=x>…`, `<invoke name="…">`.

A call within a code fence, inline code or a quoted line is a quotation, not a call. One pass; linear.
"""

from __future__ import annotations

import re
from typing import Any

from rewarden_verifiers.structure.json.locate import begins_as_json, ended_behind
from rewarden_verifiers.structure.json.strict import BLANKS, Malformed, check_surrogates, decode
from rewarden_verifiers.tools.tool_calls.calls import MAX_NAME, Call, Untyped, calls_of

_OPENING = r"<tool_call>|<function=|<invoke\s"
_OPENINGS = re.compile(_OPENING)
_TOKEN = re.compile(
    r"^[ \t]{0,8}(?P<fence>```+|~~~+)|(?<=[ \t:\uff1a*])(?P<late>```+|~~~+)(?=[\w/+-]{0,20}[ \t]{0,8}$)"
    rf"|(?P<tick>`+)|^[ \t]{{0,3}}(?P<quote>>)|(?P<open>{_OPENING})",
    re.MULTILINE,
)
_FUNCTION = re.compile(r"<function=([^<>\n]{1,300})>")
_PARAMETER = re.compile(r"<parameter=([^<>\n]{1,300})>")
_INVOKE = re.compile(r"<invoke\s{1,8}name=\"([^\"<>\n]{1,300})\"\s{0,8}>")
_INVOKE_PARAMETER = re.compile(r"<parameter\s{1,8}name=\"([^\"<>\n]{1,300})\"[^<>\n]{0,80}>")
_BLANK = re.compile(r"\s*")


def tagged_calls(text: str) -> tuple[list[Call], bool]:
    """The calls in tags, and whether there are quoted ones too. Raises Malformed for a tag that is no whole call."""
    calls: list[Call] = []
    quoted = False
    if _OPENINGS.search(text) is None:
        return calls, quoted
    check_surrogates(text)
    position = 0
    while (match := _TOKEN.search(text, position)) is not None:
        kind, position = match.lastgroup, match.end()
        if kind == "open":
            position = _element(text, match.start(), calls)
            continue
        start = position
        if kind in ("fence", "late"):
            position = _fence_end(text, position, match.group(kind))
        elif kind == "tick":
            close = text.find("`", position)
            if close >= 0 and text.find("\n", position, close) < 0:
                position = close + 1
        else:
            end = text.find("\n", position)
            position = len(text) if end < 0 else end
        quoted = quoted or _OPENINGS.search(text, start, position) is not None
    return calls, quoted


def _fence_end(text: str, position: int, marks: str) -> int:
    """Returns where the code fence that was opened ends: after a line of its marks alone, else with its line or the
    text.
    """
    line = text.find("\n", position)
    if line < 0:
        return len(text)
    if marks[0] * 3 in text[position:line]:  # opened and closed in one line
        return line
    close = re.compile(rf"^[ \t]{{0,8}}{re.escape(marks)}{re.escape(marks[0])}*[ \t]*\.?[ \t]*$", re.MULTILINE)
    found = close.search(text, line)
    if begins_as_json(text, line):
        found = ended_behind(text, marks, line, len(text) if found is None else found.start()) or found
    return len(text) if found is None else found.end()


def _element(text: str, start: int, calls: list[Call]) -> int:
    """Read the element that begins here, add its calls, and say where it ends. Raises Malformed."""
    if text.startswith("<function=", start):
        return _function(text, start, calls)
    if text.startswith("<invoke", start):
        return _invoke(text, start, calls)
    position = _skip(text, start + len("<tool_call>"))
    before = len(calls)
    while not text.startswith("</tool_call>", position):
        if text.startswith("<function=", position):
            position = _function(text, position, calls)
        elif text[position : position + 1] in ("{", "["):
            value, position = decode(text, position)
            found = calls_of(value, tagged=True)
            if found is None:
                raise Malformed("malformed_call", "a <tool_call> holds JSON that is no call")
            calls += found
        else:
            reason = "unclosed_tag" if position >= len(text) else "malformed_call"
            raise Malformed(reason, "a <tool_call> holds something that is no call, or never closes")
        position = _skip(text, position)
        if text.startswith(",", position):
            position = _skip(text, position + 1)
    if len(calls) == before:
        raise Malformed("malformed_call", "a <tool_call> is empty")
    return position + len("</tool_call>")


def _function(text: str, start: int, calls: list[Call]) -> int:
    match = _FUNCTION.match(text, start)
    if match is None:
        raise Malformed("malformed_call", "a <function=…> without a name")
    position = _skip(text, match.end())
    arguments: dict[str, Any]
    if text.startswith("{", position):
        arguments, position = decode(text, position)
        position = _closing(text, _skip(text, position), "</function>")
    else:
        arguments, position = _parameters(text, position, _PARAMETER, "</function>")
    calls.append(Call(_named(match.group(1)), arguments))
    return position


def _invoke(text: str, start: int, calls: list[Call]) -> int:
    match = _INVOKE.match(text, start)
    if match is None:
        raise Malformed("malformed_call", "an <invoke> without a name")
    arguments, position = _parameters(text, _skip(text, match.end()), _INVOKE_PARAMETER, "</invoke>")
    calls.append(Call(_named(match.group(1)), arguments))
    return position


def _parameters(text: str, position: int, opening: re.Pattern[str], closing: str) -> tuple[dict[str, Any], int]:
    arguments: dict[str, Any] = {}
    while (match := opening.match(text, position)) is not None:
        name = _named(match.group(1))
        if name in arguments:
            raise Malformed("duplicate_key", f"the parameter {name[:80]!r} stands twice in a call")
        end = text.find("</parameter>", match.end())
        if end < 0:
            raise Malformed("unclosed_tag", "a parameter never closes")
        value = text[match.end() : end]
        arguments[name] = Untyped(value.removeprefix("\n").removesuffix("\n"))
        position = _skip(text, end + len("</parameter>"))
    return arguments, _closing(text, position, closing)


def _closing(text: str, position: int, closing: str) -> int:
    if not text.startswith(closing, position):
        raise Malformed("unclosed_tag", f"{closing} is missing")
    return position + len(closing)


def _named(text: str) -> str:
    name = text.strip(BLANKS + "\"'")
    if not name or len(name) > MAX_NAME:
        raise Malformed("malformed_call", "a name is blank or too long")
    return name


def _skip(text: str, position: int) -> int:
    match = _BLANK.match(text, position)
    return position if match is None else match.end()
