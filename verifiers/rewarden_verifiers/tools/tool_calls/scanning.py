"""Finds the calls after formats' marks in a text, and the rest of the text.

A call within a code fence, inline code or a quoted line is a quotation; one within the reasoning is ignored. One pass,
in linear time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from rewarden_verifiers.structure.json.locate import begins_as_json, ended_behind
from rewarden_verifiers.structure.json.strict import Malformed, check_surrogates
from rewarden_verifiers.tools.tool_calls.calls import Call
from rewarden_verifiers.tools.tool_calls.formats import FORMATS, THOUGHTS, Format


@dataclass(slots=True, eq=False)
class Scan:
    """A text, gone over. formats: those of the calls. quoted: calls in quotations; mentioned: marks of some stand
    there. gaps: the pieces of text beside calls and thoughts."""

    calls: list[Call] = field(default_factory=list)
    formats: list[Format] = field(default_factory=list)
    quoted: list[Call] = field(default_factory=list)
    mentioned: bool = False
    gaps: list[str] = field(default_factory=list)


def _alike() -> dict[str, list[Format]]:
    rows: dict[str, list[Format]] = {}
    for row in FORMATS:
        rows.setdefault(row.opening, []).append(row)
    return rows


_ALIKE = list(_alike().items())
_HEADS: dict[str, re.Pattern[str]] = {row.name: re.compile(row.head or row.opening, re.MULTILINE) for row in FORMATS}
_OPEN = "|".join(f"(?P<o{number}>{opening})" for number, (opening, _) in enumerate(_ALIKE))
_THINK = "|".join(f"(?P<t{number}>{re.escape(opening)})" for number, (opening, _) in enumerate(THOUGHTS))
# Messages to no tool, as harmony and Muse Glimmer part them: what is thought, and what the user sees.
_CHANNEL = (
    r"(?P<channel>(?:<\|start\|>assistant\s{0,8})?<\|channel\|>(?P<kind>analysis|commentary|final)\b"
    r"[^<>\n]{0,80}<\|message\|>"
    r"|(?:<\|start\|>assistant|\A)\s{0,8}to=(?P<to>self|user)<\|message\|>)"
)
_MESSAGE_END = re.compile(r"<\|(?:call|end|return|start|channel|eom|eot)\|>|\Z")
# At most places nothing more than a first character is tried, and no row at most others.
_FIRST = (
    r"(?=[<\[\]✿f>A-]|\A[ t])(?=<(?:[|｜]|tool|func|invo|start|step|TOOL|sear|long|use_|think|seed:|atem:|mm:|ifm)"
    r"|\[(?:TOOL|unused|THINK)|\]<\]|✿|funct|>>>|Action|-> t|\A[ t])"
)
# A marked place: none of them means that there is nothing to do.
_MARK = re.compile(f"{_FIRST}(?:{_OPEN}|{_THINK}|{_CHANNEL})", re.MULTILINE)
_OPENING = re.compile(f"{_FIRST}(?:{_OPEN})", re.MULTILINE)
_TOKEN = re.compile(
    f"{_FIRST}(?:{_OPEN}|{_THINK}|{_CHANNEL})"
    r"|^[ \t]{0,8}(?P<fence>```+|~~~+)|(?<=[ \t:\uff1a*])(?P<late>```+|~~~+)(?=[\w/+-]{0,20}[ \t]{0,8}$)"
    r"|(?P<tick>`+)|^[ \t]{0,3}(?P<quote>>)",
    re.MULTILINE,
)
_WORD = re.compile(r"[ \t]*([\w/+-]{0,20})")
_MARKUP = frozenset(("html", "htm", "xhtml", "vue", "svelte", "jsx", "tsx", "astro", "php", "css", "js", "javascript"))


def scan(text: str) -> Scan:
    """Go over a text. Raises Malformed for a mark that begins no whole call."""
    found = Scan()
    if _MARK.search(text) is None:
        found.gaps.append(text)
        return found
    check_surrogates(text)
    position = told = 0
    quotations: list[tuple[int, int]] = []
    spans: list[tuple[int, int]] = []
    read: list[tuple[int, int]] = []
    endless: set[str] = set()
    while (match := _TOKEN.search(text, position)) is not None:
        kind, position = match.lastgroup or "", match.end()
        if kind[0] == "o" and kind[1:].isdigit():
            end = _call(text, match, kind, found)
            if end is None:
                continue
        elif kind[0] == "t" and kind[1:].isdigit():
            closing = THOUGHTS[int(kind[1:])][1]
            # Each closing mark that is nowhere is looked for once, so that openings without end cost no more.
            end = -1 if closing in endless else text.find(closing, position)
            if end < 0:
                endless.add(closing)
                continue
            end += len(closing)
        elif kind == "channel":
            end = position
            if "analysis" in match.group("kind", "to") or "self" in match.group("kind", "to"):
                behind = _MESSAGE_END.search(text, position)
                end = len(text) if behind is None else behind.start()
        else:
            position = _quotation(text, match, kind, found, quotations)
            continue
        spans.append((told, match.start()))
        told = position = end
    spans.append((told, len(text)))
    if found.calls:
        # Attack: a thought that never ends, and a call in it.
        if endless:
            raise Malformed("unclosed_thought", "a thought before or between the calls never closes")
        for begin, end in quotations:
            if quoted := _calls_in(text[begin:end]):
                found.quoted += quoted
                read.append((begin, end))
    found.gaps += _pieces(text, spans, read)
    return found


def _pieces(text: str, spans: list[tuple[int, int]], read: list[tuple[int, int]]) -> list[str]:
    """The text of spans, without the quotations in them whose calls were read. Both are in order."""
    pieces: list[str] = []
    number = 0
    for start, end in spans:
        while number < len(read) and read[number][0] < end:
            pieces.append(text[start : read[number][0]])
            start = read[number][1]
            number += 1
        pieces.append(text[start:end])
    return pieces


def opens(marker: str) -> bool:
    """Returns whether a marker begins a call in one of the formats."""
    return _OPENING.search(marker) is not None


def _call(text: str, match: re.Match[str], kind: str, found: Scan) -> int | None:
    """Read the call whose mark this is; None if the mark is an ordinary word. Raises Malformed."""
    rows = _ALIKE[int(kind[1:])][1]
    for row in rows:
        head = _HEADS[row.name].match(text, match.start())
        if head is not None:
            name = row.called or (head.group("name") if "name" in head.re.groupindex else "")
            end = row.body(text, head.end(), name, found.calls)
            if row not in found.formats:
                found.formats.append(row)
            return end
    if rows[-1].certain:
        raise Malformed("malformed_call", f"{match.group()[:40]!r} begins no call that can be read")
    return None


def _calls_in(text: str) -> list[Call]:
    """The whole calls in a quotation."""
    found = Scan()
    position = 0
    while (match := _OPENING.search(text, position)) is not None:
        try:
            end = _call(text, match, match.lastgroup or "", found)
        except Malformed:
            break
        position = match.end() if end is None else end
    return found.calls


def _quotation(text: str, match: re.Match[str], kind: str, found: Scan, quotations: list[tuple[int, int]]) -> int:
    """Returns where a quotation ends; notes it if it holds the mark of a call."""
    start = position = match.end()
    word = ""
    if kind in ("fence", "late"):
        named = _WORD.match(text, position)
        word = named.group(1).lower() if named is not None else ""
        position = _fence_end(text, position, match.group(kind))
    elif kind == "tick":
        close = text.find("`", position)
        if close >= 0 and text.find("\n", position, close) < 0:
            position = close + 1
    else:
        end = text.find("\n", position)
        position = len(text) if end < 0 else end
    if _mentions(text[start:position], word):
        found.mentioned = True
        quotations.append((start, position))
    return position


def _mentions(text: str, word: str) -> bool:
    """Returns whether a quotation holds a mark of a call; a tag of HTML in code of that language is none."""
    for match in _OPENING.finditer(text):
        rows = _ALIKE[int((match.lastgroup or "")[1:])][1]
        for row in rows:
            if row.called:
                if row.shape == "xml" and word in _MARKUP:
                    continue
                closed = "</" + match.group()[1:] if row.shape == "xml" else ""
                if closed in text:
                    return True
            elif row.certain or _HEADS[row.name].match(text, match.start()) is not None:
                return True
    return False


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
