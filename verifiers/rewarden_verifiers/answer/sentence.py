"""The last sentence of a response, and signs that it is not a definite answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from rewarden_verifiers.extraction import Extracted
from rewarden_verifiers.extraction.extracted import lowered
from rewarden_verifiers.extraction.statement import TAIL

EMPHASIS = "*_` \t\r\n"

_REACH = 2000
"""Number of characters at the end of a response that are searched for the beginning of its last sentence."""

_MAX_SHORT, _MAX_WORDS, _MAX_PHRASE = 120, 12, 3
"""Maximum number of characters, and of spaces, of a response that is only its answer; the last one: of spaces if it
ends like a sentence.
"""

# A dollar sign before white space opens no formula, and one after white space or before a digit closes none: pandoc's
# rule, by which "$5 and $6" is money. Each branch begins with a literal, so that the engine can skip positions where no
# formula begins.
SPAN = re.compile(
    r"\\\[(.{1,400}?)\\\]|\$\$(.{1,400}?)\$\$|\\\((.{1,400}?)\\\)|\$(?<![\\$\d]\$)(?![\s$])([^$\n]{1,400}?)(?<![\s\\$])\$(?!\d)",
    re.DOTALL,
)
_CLOSINGS = ("$", r"\)", r"\]")
_SEVERAL = re.compile(r"[.!?]\s+\S")
ENDS = (".", "!", "。", "！", "।", "۔")
_DISPLAY = re.compile(r"\\\[.{1,400}?\\\]|\$\$.{1,400}?\$\$", re.DOTALL)
# Chat models offer more help after their last sentence.
_CLOSER = re.compile(
    r"(?:is there anything|would you like|do you (?:want|have|need)|let me know|please let me|feel free|"
    r"i hope (?:this|that)|if you (?:have|need))\b[^.!?\n]{0,120}[.!?]\s*$"
)
_CLOSER_REACH = 200
_NEAR = 300
"""Number of characters before the end in which most last sentences begin."""
_BOUNDARY = re.compile(r"[.!?](?=[\s*_])|[。！？।۔]|\n")
# A word that states by itself what holds: "…, no.", "So no, it does not.", "the statement is false."
_WORDS = re.compile(
    r"(?:[.!?,;\n]\s*(?:(?:so|but|then|thus|hence|therefore),?\s+)?|\b(?:is|are|was|be)\s+)([^\W\d_]+)(?=\s*[,.;!?]|$)",
    re.IGNORECASE,
)
_CLAUSE = re.compile(
    r"[\s*_]{0,8}(?:(?:so|thus|hence|therefore|well)\b,?\s{1,4})?([^\n,.;:!?]{1,60}?)[*_]{0,2}(?:,\s|，|[.;:!](?:\s|$)|\s[-\u2013\u2014]\s)",
    re.IGNORECASE,
)
DOUBT = re.compile(
    r"n[\u2019']t\b|\b(?:or|either|neither|nor|maybe|might|may|perhaps|possibly|could|if|unless|whether|not|cannot|than|"
    r"between|at least|at most|up to|about|around|approximately|roughly|never|no|none|neither|wrong|false|incorrect|"
    r"hardly|barely|scarcely|nearly|almost|just|over|under|above|below|beyond|except|excluding|but|unlikely|"
    r"doubts?|unsure|unclear|uncertain|exceeds?|fails?|eliminates?|excludes?|rules? out|instead|rather|only|isnt|"
    r"let|suppose|assume|(?<!the\s)given|consider|try|check|first,|step|chapter|question|page|example|guess|assuming|"
    r"nicht|kein\w*|vielleicht|ne|pas|peut|tal vez|quizás?|não|talvez|nem|nie|inte|ikke|niet|geen|değil|bukan|tidak|"
    r"không|не|нет|ни|может|возможно|لا|ليس|नहीं)\b|\?|不|没|沒|非|可能|也许|아니|않|ではな|じゃな|ません",
    re.IGNORECASE,
)


def short_response(text: str) -> Extracted | None:
    """The whole response, if it is one line of a few words, and not a sentence."""
    body = text.strip()
    if not body or len(body) > _MAX_SHORT or "\n" in body or body.count(" ") > _MAX_WORDS:
        return None
    if (body.endswith(ENDS) and body.count(" ") > _MAX_PHRASE) or _SEVERAL.search(body) is not None:
        return None
    start = text.index(body)
    return Extracted((body,), "short_response", (start, start + len(body)))


@lru_cache(maxsize=1)  # the rules of a ladder call this in turn
def last_sentence(text: str) -> tuple[int, int] | None:
    """The position of the last sentence; None if the text does not end with one.

    Attack: be cut off, or stop, after a number. An inline formula can be anywhere in a sentence, so its closing sign
    does not end one.
    """
    near = max(0, len(text) - _CLOSER_REACH)
    closer = _CLOSER.search(lowered(text[near:]))
    if closer is not None:
        text = text[: near + closer.start()]
    text = text.rstrip()
    # Attack: runs of white space within the text, at each of which a search would scan the rest of the run.
    tail_signs = TAIL.search(text, max(0, len(text) - 200))
    if tail_signs is not None:
        text = text[: tail_signs.start()]
    end = len(text.rstrip(" \t\r\n*_\"'”’)"))
    if text.endswith((r"\)", r"\]"), 0, end + 1):
        end += 1
    floor = max(0, end - _REACH)
    tail = text[floor:end]
    if tail.endswith((r"\]", "$$")):
        displays = [span.span() for span in _DISPLAY.finditer(tail)]
        if not displays or displays[-1][1] != len(tail):
            return None
        before = displays[-1][0]
    elif tail.endswith(ENDS):
        before = len(tail) - 1
    else:
        return None
    closed = max(map(tail.rfind, _CLOSINGS))
    spans: list[tuple[int, int]] | None = None
    for boundary in _boundaries(tail, before):
        if not tail[boundary.end() : before].strip(EMPHASIS):
            continue
        if boundary.start() < closed:  # perhaps within a formula; finding out costs most
            if spans is None:
                spans = [span.span() for span in SPAN.finditer(tail)]
            if any(first <= boundary.start() < last for first, last in spans):
                continue
        return floor + boundary.end(), end
    return floor, end


def _boundaries(tail: str, before: int) -> Iterator[re.Match[str]]:
    """Yields possible ends of sentences, the last one first."""
    near = max(0, before - _NEAR)
    yield from reversed(list(_BOUNDARY.finditer(tail, near, before)))
    if near:
        yield from reversed(list(_BOUNDARY.finditer(tail, 0, near + 1)))  # a full stop needs the space after it


def blanked(text: str, start: int, end: int) -> str:
    """A part of the text, with its length unchanged, without its formulas and emphasis."""
    said = SPAN.sub(lambda span: " " * len(span.group()), text[start:end])
    return said.replace("*", " ").replace("\n", " ")


def opening_clause(text: str, says: Callable[[str], object], rule: str) -> Extracted | None:
    """The clause before the first comma of the first sentence ("Yes, because …") or of the last one ("…. So yes, it
    does."), if it says something; both if both do and they differ. Only for a text with a proper end.

    Attack: open with one label and conclude with another, or list them. No later clause may be a different answer.
    """
    last = last_sentence(text)
    if last is None:
        return None
    found: dict[str, tuple[int, int]] = {}
    for start, end in ((0, min(len(text), _REACH)), last):
        clause = _CLAUSE.match(text, start, end)
        if clause is None or not says(clause.group(1)):
            continue
        found[clause.group(1)] = clause.span(1)
        for word in _WORDS.findall(text[clause.end(1) :]):
            if word.casefold() != clause.group(1).casefold() and says(word):
                found[word] = clause.span(1)
    if not found:
        return None
    spans = list(found.values())
    return Extracted(tuple(found), rule, (spans[0][0], spans[-1][1]))
