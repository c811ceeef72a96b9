"""The calls of a response, whichever format it writes them in: marks of model families, tags, JSON, Python."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from dataclasses import dataclass, field

from rewarden_verifiers.structure.json.locate import JSON_WORDS, extent, fences
from rewarden_verifiers.structure.json.strict import BLANKS, MAX_FAULTS, MAX_TEXT, Malformed, SyntaxFault, decode
from rewarden_verifiers.tools.tool_calls.bodies import json_calls
from rewarden_verifiers.tools.tool_calls.calls import NAME_KEYS, Call, calls_of
from rewarden_verifiers.tools.tool_calls.formats import FORMATS, Shape
from rewarden_verifiers.tools.tool_calls.python import looks_like_python, python_calls
from rewarden_verifiers.tools.tool_calls.scanning import Scan, opens, scan
from rewarden_verifiers.turn_markers import FAMILIES, turn_end

_CALL_WORDS = ("tool_call", "tool_calls", "tool_code")
_CODE_WORDS = ("python", "py")
_WORD = re.compile(r"\w")
_OBJECT = re.compile(r"\{(?=[ \t\r\n]*\")")
# What a call as JSON cannot do without, in whatever quotes.
_NAMED = re.compile(rf"\b(?:tool_calls|{'|'.join(NAME_KEYS)})\b|\\u")
# A list of calls; what is indexed (`a[f(x)]`) is none.
_LIST = re.compile(r"(?<![\w)\]])\[\s{0,8}[A-Za-z_][\w.]{0,255}\(")
_LIST_END = re.compile(r"\)\s{0,8}\]")
# A name that is a tool's rather than a word, and its arguments.
_IDENTIFIER = r"(?:functions\.)?(?P<name>[a-z_][\w./-]{0,255}|[\w./-]{0,255}[_.][\w./-]{0,255}?)(?::\d{1,9})?"
_BARE = re.compile(rf"\s*{_IDENTIFIER}[ \t]?\n?[ \t]?(?=\{{\s*(?:\"|\}}))")
_CHATGLM = re.compile(rf"\s*{_IDENTIFIER}[ \t]{{0,8}}\n ?```python\n\s{{0,8}}(?=tool_call\()")
_LINE = re.compile(r"^[ \t]{0,8}(?P<name>[A-Za-z_][\w.]{0,255})\([^\n]{0,4000}\)[ \t]{0,8}$", re.MULTILINE)
# A tag that is named after what agents do, with nothing but names in it, and the word of ReAct before a tool's name.
_TAG = re.compile(
    r"<(?P<tag>(?:[a-z]{1,32}[_:.-]){0,4}(?:tools?|functions?|invoke|api|call|calls|toolcall|action|execute|search)"
    r"(?:[_:.-][a-z]{1,32}){0,4})(?:\s[^<>\n]{0,200})?>"
)
_ACTION = re.compile(r"^Action(?: \d{1,3})?:[ \t]{0,8}(?P<name>[\w.-]{1,256})[ \t]{0,8}$", re.MULTILINE)
_NO_ACTION = re.compile(
    r"^Action(?: \d{1,3})?:[ \t]{0,8}(?i:none|n/a|null)[ \t]{0,8}\nAction Input(?: \d{1,3})?:", re.MULTILINE
)
_INPUT = re.compile(r"^Action Input\b", re.MULTILINE)

# A list of calls that all of the text was to be; a fence and a recipient that are a call's whatever follows.
_CUT = re.compile(
    r"\A\s*\[\s{0,8}[A-Za-z_][\w.]{0,255}\(\s{0,8}[A-Za-z_]\w{0,255}\s{0,8}=|^```tool_(?:code|calls?)\b|\bto=functions\."
    r"|\bto=(?!(?:user|self)<)[\w./-]{1,256}\s{0,8}<\|(?:message|channel)\|>|```python\n\s{0,8}tool_call\b",
    re.MULTILINE,
)
_AROUND = re.compile("|".join(sorted({mark for row in FORMATS for mark in row.around})))
# What ends or parts a call rather than begins one.
_WITHIN = re.compile(r"^</|end|suffix|sep|arg|ARGS✿|CALL_ID|constrain|plugin|interpreter|call\|>|unused12")
_MARKERS = tuple(sorted({marker for family in FAMILIES for marker in family.calls}))
_LONGEST = max(map(len, _MARKERS))
_TOLD = 10_000
"""Characters of a list of calls in Python's syntax that is looked for within prose."""
_LISTS = 200
"""Beginnings of such a list that are looked at."""


@dataclass(slots=True, eq=False)
class Reading:
    """The calls that were found. `shape` is None where there is neither a call nor an empty list of them. `quoted`: a
    call is in a quotation."""

    calls: list[Call]
    shape: Shape | None
    quoted: bool = False
    words: bool = True
    """True if the response says anything at all."""
    loose: bool = False
    """True if all of it is Python, not in a list, in code fences without a word within prose."""
    formats: list[tuple[str, Shape]] = field(default_factory=list)
    """The formats of the calls, with their shapes."""
    text: str = ""
    """The response without thoughts, and without calls where there are any."""


def read(text: str) -> Reading:
    """The calls of a viewed response. Linear in it. Raises Malformed for what was meant as calls and is none."""
    if len(text) > MAX_TEXT:
        raise Malformed("too_long", f"more than {MAX_TEXT} characters")
    found = scan(text)
    if found.calls:
        return _beside(found)
    seen = found.gaps[0] if len(found.gaps) == 1 else "".join(found.gaps)
    # Attack: a call and an end of turn after it, which kept it from being all of the text and was paid as abstaining.
    body = seen[: turn_end(seen)].strip()
    reading = _block(body)
    if reading is None and ("```" in body or "~~~" in body):
        reading = _fenced(body)
    if reading is None:
        reading = Reading([], None, words=_WORD.search(body) is not None)
    reading.quoted = found.mentioned
    reading.text = seen
    return reading


def _beside(found: Scan) -> Reading:
    """The calls behind marks, and all others of the response: none is for free, whatever format it is in.

    Attack: the same response says one thing in one format, which is judged, and another in one that is served.
    """
    formats: list[tuple[str, Shape]] = [(row.name, row.shape) for row in found.formats]
    calls = found.calls + found.quoted
    for gap in found.gaps:
        body = _AROUND.sub("", gap).strip()
        if not body:
            continue
        if (marker := _UNREAD.search(body)) is not None:
            raise Unread(marker.group())
        try:
            other = _block(body)
        except SyntaxFault:
            other = None
        if other is None and ("```" in body or "~~~" in body):
            other = _fenced(body, part=True)
        if other is not None and other.calls and not other.loose:
            calls += other.calls
            formats += other.formats
        elif other is None and "{" in body:
            for amid in _objects(body):
                calls += amid
    return Reading(calls, formats[0][1], found.mentioned, formats=formats, text="\n".join(found.gaps))


def _unread_markers() -> list[str]:
    """The markers by which families begin calls that no format here reads."""
    markers = {marker for family in FAMILIES for marker in family.calls}
    return sorted(
        marker
        for marker in markers
        if not (opens(marker) or _AROUND.match(marker) is not None or _WITHIN.search(marker) is not None)
    )


_UNREAD = re.compile("|".join(map(re.escape, _unread_markers())))


class Unread(Malformed):
    """A native call in a format that is not read, told by its `marker`."""

    def __init__(self, marker: str) -> None:
        super().__init__("unread_call", f"it holds {marker!r}, which some models write for a call")
        self.marker = marker


def _block(body: str) -> Reading | None:
    """The calls that a text is, and nothing else."""
    if body[:1] in ("{", "["):
        python = body[0] == "[" and looks_like_python(body)
        try:
            value, end = decode(body, 0)
        except SyntaxFault as fault:
            if python:
                return _alone(python_calls(body), "python", "python")
            if body[0] == "[" and not body[1 : fault.position].strip():
                return None  # a bracket that begins prose
            raise
        calls = calls_of(value)
        if calls and end != len(body):  # parallel calls, a semicolon or a line's end between them
            end = _further(body, end, calls)
        if calls is not None and end != len(body):
            raise Malformed("trailing_text", f"after the calls comes {body[end : end + 40].lstrip()!r}")
        return None if calls is None else _alone(calls, "json", "json")
    if looks_like_python(body):
        return _alone(python_calls(body), "python", "python")
    return _name_and_object(body) or _chatglm(body)


def _alone(calls: list[Call], name: str, shape: Shape) -> Reading:
    return Reading(calls, shape, formats=[(name, shape)])


def _further(body: str, end: int, calls: list[Call]) -> int:
    rest = body[end:].lstrip()
    sign = rest[:1]
    begun = rest[1:].lstrip() if sign in (";", ",") else rest
    if begun[:1] != "{":
        return end
    return json_calls(body, len(body) - len(begun), calls)


def _name_and_object(body: str) -> Reading | None:
    """Calls of which each is a name and a JSON object after it: GLM 4, and native calls without their tokens."""
    calls: list[Call] = []
    position = 0
    while position < len(body):
        match = _BARE.match(body, position)
        if match is None:
            if calls:
                raise Malformed("trailing_text", f"after the calls comes {body[position : position + 40].lstrip()!r}")
            return None
        arguments, position = decode(body, match.end())
        calls.append(Call(match.group("name"), arguments))
    return _alone(calls, "glm_4", "native") if calls else None


def _chatglm(body: str) -> Reading | None:
    """Calls of which each is a name and, in a code fence, `tool_call(x=…)`."""
    calls: list[Call] = []
    position = 0
    while (match := _CHATGLM.match(body, position)) is not None:
        end = body.find("\n```", match.end())
        if end < 0:
            raise Malformed("unclosed_fence", "the code fence never closes")
        (call, *others) = python_calls(body[match.end() : end])
        if others:
            raise Malformed("malformed_call", "there is more than one tool_call(…) behind a name")
        calls.append(Call(match.group("name"), call.arguments, call.positional))
        position = end + 4
    if calls and body[position:].strip():
        raise Malformed("trailing_text", f"after the calls comes {body[position : position + 40].lstrip()!r}")
    return _alone(calls, "chatglm_3", "native") if calls else None


def told(reading: Reading, tools: Container[str] | None) -> bool:
    """Returns whether a text without calls holds one within its words: as a JSON object; as a list in Python's syntax
    of tools that there are (without definitions: with a named argument, or before all words), or one alone in a line;
    in a tag that is named after calls; as the action of an agent; or begun and cut off. Raises Malformed for what would
    take too long.
    """
    text = reading.text
    return (
        _object_told(text)
        or _list_told(text, tools)
        or _line_told(text, tools)
        or _form_told(text, tools)
        or _begun(text)
    )


def _object_told(text: str) -> bool:
    return next(_objects(text), None) is not None


def _objects(text: str) -> Iterator[list[Call]]:
    """The calls that stand within words as JSON, those that are not well formed as none. Raises Malformed for what
    would take too long.
    """
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
            yield []
            continue
        if calls:
            yield calls


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
        first = number == 0 and not text[: match.start()].strip() and text[end.end() : end.end() + 1] != "("  # no link
        if any(first or call.arguments if tools is None else _among(call.name, tools) for call in calls):
            return True
    return False


def _line_told(text: str, tools: Container[str] | None) -> bool:
    return tools is not None and any(_among(match.group("name"), tools) for match in _LINE.finditer(text))


def _form_told(text: str, tools: Container[str] | None) -> bool:
    """Returns whether a tag or an action of an agent stands outside code, that is read in none of the formats."""
    if "<" not in text and "Action" not in text:
        return False
    bare = _NO_ACTION.sub("", _without_code(text))
    if any(_closed(bare, match) for match in _TAG.finditer(bare)):
        return True
    for match in _ACTION.finditer(bare):
        name = match.group("name")
        if (tools is not None and _among(name, tools)) or "_" in name or "." in name.rstrip("."):
            return True
    return "Action Input" in bare and _INPUT.search(bare) is not None


def _begun(text: str) -> bool:
    """Returns whether a text ends within a call, or within the mark of one."""
    if _CUT.search(text) is not None:
        return True
    tail = text[max(text.rfind("<"), text.rfind("["), text.rfind("✿"), text.rfind("]<]"), 0) :]
    return (
        3 < len(tail) < _LONGEST
        and tail.startswith(("<", "[", "✿", "]<]"))
        and any(marker.startswith(tail) for marker in _MARKERS)
    )


def _closed(text: str, match: re.Match[str]) -> bool:
    return text.startswith("/>", match.end() - 2) or f"</{match.group('tag')}>" in text


_SPAN = re.compile(r"(?<!`)(`{1,2})(?!`)[^`\n]{1,4000}\1(?!`)")


def _without_code(text: str) -> str:
    """The text without code fences that end and without inline code."""
    if "`" not in text and "~~~" not in text:
        return text
    pieces: list[str] = []
    done = 0
    for fence in fences(text):
        if fence.closed:
            pieces.append(text[done : fence.start])
            done = fence.end
    return _SPAN.sub("", "".join([*pieces, text[done:]]))


def _among(name: str, tools: Container[str]) -> bool:
    return name in tools or name.replace(".", "_") in tools


def mere_code(reading: Reading, tools: Container[str] | None) -> bool:
    """Returns whether what was read is an example of code within prose, which calls none of the tools that there
    are."""
    return reading.loose and tools is not None and not any(_among(call.name, tools) for call in reading.calls)


def _fenced(body: str, *, part: bool = False) -> Reading | None:
    """The calls of the code fences together: every fence that holds calls counts, so that no call is for free.

    part: the body is not all of the response, so that a fence that fills it does not stand alone.
    """
    calls: list[Call] = []
    shapes: list[Shape] = []
    loose = True
    begin, end = extent(body)
    for fence in fences(body):
        content = fence.content.strip(BLANKS)
        alone = not part and fence.start <= begin and end <= fence.end
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
        if found is not None and found.shape is not None:
            loose = loose and not (fence.word or alone) and content[:1] not in ("{", "[")
            if not fence.closed:
                raise Malformed("unclosed_fence", "the code fence never closes")
            calls += found.calls
            if found.shape not in shapes:
                shapes.append(found.shape)
    if not shapes:
        return None
    return Reading(calls, shapes[-1], loose=loose, formats=[(str(shape), shape) for shape in shapes])
