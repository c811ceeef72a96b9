"""The answer that a heading or a phrase announces, up to the end of its sentence."""

from __future__ import annotations

import re
from dataclasses import replace

from rewarden_verifiers.extraction.extracted import MARKUP, Extracted, trimmed

REACH = 500
"""Maximum number of characters from an announcement to the end of its answer."""

# A sentence ends at ". " or at the end of the line; "3.5" does not end it, and neither does LaTeX's "\;".
_SENTENCE_END = re.compile(
    r"\.\s|(?<!\\)[;!?]|[。；！？।؟۔።]|,\s{1,8}(?:so|which|and so)\b|,?\s{1,8}(?:since|because)\b"
)
_DISPLAY = re.compile(r"\\\[(.*?)\\\]|\$\$(.*?)\$\$", re.DOTALL)
_BOXES = ("\\boxed", "\\fbox", "$\\boxed", "$\\fbox")
_ASKING = ("?", "？", "؟")
TAIL = re.compile(r"(?:\s|\[\^?\d{1,3}\]|[\u2190-\u2bff\U0001f000-\U0001faff\ufe0f\u200d\u220e])+$")
"""Characters after an answer that add nothing: citations, emoji, the end of a proof."""
_BRACKET = re.compile(r"\\.|[{}]")
_LEAD = re.compile(r"(?:[*_`\s:\uff1a}]|\.{2,}|\u2026)+")


def stated(text: str, begin: int, rule: str) -> Extracted | None:
    r"""The answer announced here, on this line or the next, or in the display formula that follows. An answer in
    `\boxed{}` does not count: that box is empty or unclosed.
    """
    rest = text[begin : begin + REACH]
    lead = _LEAD.match(rest)
    if lead is not None:
        begin, rest = begin + lead.end(), rest[lead.end() :]
    if not rest or rest.startswith(_BOXES):
        return None
    display = _DISPLAY.match(rest)
    if display is not None and display.lastindex is not None:
        start, end = display.span(display.lastindex)
        return trimmed(text, begin + start, begin + end, rule, MARKUP + ".")
    line = rest.split("\n", 1)[0]
    # "$5!$" is not an exclamation.
    inner = line.find("$", 1) if line.startswith("$") else 0
    cut = _SENTENCE_END.search(line, max(inner, 0))
    if cut is not None:
        if cut.group().endswith(_ASKING):
            return None
        line = line[: cut.start()]
    end = _closed(line)
    stop = line[:end].rstrip(MARKUP)
    if not stop[-1:].isascii() or stop.endswith("]"):
        stop = TAIL.sub("", stop).rstrip(MARKUP)
    found = trimmed(text, begin, begin + len(stop), rule, MARKUP + "." if stop.endswith(".") else MARKUP)
    if found is not None and "**" in found.text:  # "is **12** miles"
        return replace(found, texts=(found.text.replace("**", ""),))
    return found


def _closed(line: str) -> int:
    """The number of characters before the end of a brace or formula that was opened before the announcement."""
    depth = 0
    for match in _BRACKET.finditer(line):
        token = match.group()
        if token in ("{", "\\(", "\\["):
            depth += 1
        elif token in ("}", "\\)", "\\]"):
            depth -= 1
            if depth < 0:
                return match.start()
    return len(line)
