"""Finds the JSON in a response: as the whole text, in a code fence, in an answer tag, or in prose.

Rules are tried in order, and the first that finds something decides. The text that it finds must be strict JSON;
several different values are a hedge.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rewarden.errors import InvalidParams
from rewarden_verifiers.extraction import Rule as SharedRule
from rewarden_verifiers.extraction import rules_of
from rewarden_verifiers.structure.json.strict import BLANKS, Malformed, canonical, parse, standing_in

PRESETS: dict[str, tuple[str, ...]] = {
    "strict": ("whole",),
    "fenced": ("whole", "fence"),
    "explicit": ("whole", "answer_tag", "fence"),
    "lax": ("whole", "answer_tag", "fence", "prose"),
}

OWN_RULES = ("whole", "fence", "prose")
SHARED_RULES = ("answer_tag", "boxed")

JSON_WORDS = ("json", "jsonc", "json5", "application/json")
"""Labels of code fences that contain JSON."""

_BEGINNINGS = frozenset('{["-0123456789tfnNI')
"""Characters that JSON can begin with, and those of NaN and Infinity, which are reported as invalid."""

# A fence begins a line, or ends one with only its label after it, as models write: `Here it is: ```json`.
_EDGE = re.compile(r"(?:^[ \t]{0,8}|(?<=[ \t:\uff1a*]))(```+|~~~+)([^\n]*)$", re.MULTILINE)
# A closing fence directly after its JSON. JSON strings do not span lines.
BEHIND = re.compile(r"(?<=[]}])[ \t]{0,8}(```+|~~~+)[ \t]{0,8}\.?[ \t]{0,8}$", re.MULTILINE)
_ONLY_WORD = re.compile(r"(?:[A-Za-z][\w/+-]{0,20})?[ \t]{0,8}")
_BRACKET = re.compile(r"[ \t\r\n]*[{\[]")
_WORD = re.compile(r"[ \t]*([A-Za-z][\w/+-]{0,20})(?![\w/+-])")

Rule = str | dict[str, str]


@dataclass(slots=True, eq=False)
class Fence:
    """A code fence: its label in lower case, its content, and its position. `closed`: whether it ends."""

    word: str
    content: str
    start: int
    end: int
    closed: bool


@dataclass(slots=True, eq=False)
class Located:
    """The JSON of a response. `alone`: whether nothing else is there except its fence or tag. `copies`: how often it
    occurs.
    """

    value: Any
    text: str
    rule: str
    span: tuple[int, int]
    alone: bool
    copies: int = 1


class Hedged(Exception):
    """The response has several different values, but one is expected."""

    def __init__(self, values: Sequence[Any], rule: str) -> None:
        super().__init__(rule)
        self.number = len(values)
        self.rule = rule


def extent(text: str) -> tuple[int, int]:
    """Returns the bounds of the stripped text, to decide what stands alone. Computed once, not for each fence."""
    return len(text) - len(text.lstrip()), len(text.rstrip())


def fences(text: str) -> list[Fence]:
    """Returns the code fences of a text, in order. The closing fence is on its own line, so that a string can contain
    backticks; otherwise, it may be at the end of a line directly after a list or object with which the content begins.
    """
    if "```" not in text and "~~~" not in text:
        return []
    found: list[Fence] = []
    opened: tuple[str, str, int, int] | None = None  # marks, label, start of the fence, start of its content
    searched, json = 0, False  # how far an inline closing fence has been searched for, and whether there can be one
    for match in _EDGE.finditer(text):
        marks, rest = match.group(1), match.group(2)
        late = match.start() > 0 and text[match.start() - 1] != "\n"
        if late and (_ONLY_WORD.fullmatch(rest) is None or (opened is not None and not rest.strip())):
            continue
        if opened is not None:
            if not late and rest.strip() in ("", ".") and marks[0] == opened[0][0] and len(marks) >= len(opened[0]):
                found.append(Fence(opened[1], text[opened[3] : match.start()], opened[2], match.end(), True))
                opened = None
                continue
            ended = _ended(text, opened, searched, match.start()) if json else None
            searched = match.start()
            if ended is None:
                continue
            found.append(ended)
            opened = None
        named = _WORD.match(rest)
        word = named.group(1).lower() if named is not None else ""
        body = rest.rstrip()
        if body.endswith(marks[0] * 3):  # opened and closed in one line
            content = body[named.end() if named is not None else 0 :].rstrip(marks[0])
            found.append(Fence(word, content, match.start(), match.end(), True))
        elif marks[0] not in rest:
            opened = (marks, word, match.start(), min(match.end() + 1, len(text)))
            searched, json = opened[3], begins_as_json(text, opened[3])
    if opened is not None:
        ended = _ended(text, opened, searched, len(text)) if json else None
        found.append(ended or Fence(opened[1], text[opened[3] :], opened[2], len(text), False))
    return found


def begins_as_json(text: str, position: int) -> bool:
    """Returns whether a list or object seems to begin here, after blanks."""
    return _BRACKET.match(text, position) is not None


def _ended(text: str, opened: tuple[str, str, int, int], start: int, end: int) -> Fence | None:
    """Returns an open fence that is closed directly after a list or object in this range, or None."""
    marks, word, begun, content = opened
    match = ended_behind(text, marks, start, end)
    return None if match is None else Fence(word, text[content : match.start()], begun, match.end(), True)


def ended_behind(text: str, marks: str, start: int, end: int) -> re.Match[str] | None:
    """Returns the closing marks of a fence at the end of a line in this range, directly after a list or object."""
    for match in BEHIND.finditer(text, start, end):
        if match.group(1)[0] == marks[0] and len(match.group(1)) >= len(marks):
            return match
    return None


class Finder:
    """The validated `extraction` parameter: the name of a preset, or an ordered list of rules. Raises InvalidParams."""

    __slots__ = ("_fences", "_rules", "_several")

    def __init__(self, extraction: str | Sequence[Rule], several: Literal["hedge", "last"]) -> None:
        if isinstance(extraction, str):
            if extraction not in PRESETS:
                raise InvalidParams(
                    f"extraction has no preset {extraction!r}; it has {', '.join(PRESETS)}", path="extraction"
                )
            extraction = PRESETS[extraction]
        if not extraction:
            raise InvalidParams("extraction must be a preset's name or a non-empty list of rules", path="extraction")
        for index, rule in enumerate(extraction):
            if isinstance(rule, str) and rule not in (*OWN_RULES, *SHARED_RULES):
                known = ", ".join((*OWN_RULES, *SHARED_RULES))
                raise InvalidParams(
                    f"extraction[{index}] must be one of {known}, or {{'regex': …}} or {{'tag': …}}",
                    path=f"extraction[{index}]",
                )
        self._rules = [(rule, None if rule in OWN_RULES else rules_of([rule])[0]) for rule in extraction]
        self._fences = "fence" in extraction
        self._several = several

    def find(self, response: str, roots: Sequence[type]) -> Located | None:
        """Finds the JSON in a response; None if there is none. `roots`: the expected types of the value.

        Raises Malformed and Hedged. Each rule takes time linear in the response.
        """
        begun: Malformed | None = None
        for rule, shared in self._rules:
            if rule == "whole":
                body = response.strip(BLANKS)
                if body[:1] not in _BEGINNINGS:
                    continue
                try:
                    value = parse(body)
                except Malformed as malformed:
                    # Text that begins like JSON was meant to be JSON, but a fence or tag may still follow.
                    begun = begun or (malformed if body[:1] in ("{", "[") else None)
                    continue
                start = len(response) - len(response.lstrip(BLANKS))
                return Located(value, body, "whole", (start, start + len(body)), True)
            if shared is not None:
                found = self._shared(shared, response)
            elif rule == "fence":
                found = self._fenced(response)
            else:
                found = [
                    Located(value, response[start:end], "prose", (start, end), False)
                    for value, start, end in standing_in(response, roots)
                ]
            if found:
                return self._one(found, response)
        if begun is not None:
            raise begun
        return None

    def _shared(self, rule: SharedRule, response: str) -> list[Located]:
        extracted = rule(response)
        if extracted is None:
            return []
        found: list[Located] = []
        for text in extracted.texts:
            inner = self._fenced(text) if self._fences else []
            fenced = bool(inner) and inner[0].alone
            value, shown = (inner[0].value, inner[0].text) if fenced else (parse(text), text)
            found.append(Located(value, shown, extracted.rule, extracted.span, False))
        return found

    @staticmethod
    def _fenced(text: str) -> list[Located]:
        found: list[Located] = []
        begin, end = extent(text)
        for fence in fences(text):
            content = fence.content.strip(BLANKS)
            if fence.word in JSON_WORDS or (fence.word == "" and content[:1] in ("{", "[")):
                if not fence.closed:
                    raise Malformed("unclosed_fence", "the code fence never closes")
                alone = fence.start <= begin and end <= fence.end
                found.append(Located(parse(content), content, "fence", (fence.start, fence.end), alone))
        return found

    def _one(self, found: list[Located], response: str) -> Located:
        last = found[-1]
        if len(found) > 1 and self._several == "hedge":
            distinct = {canonical(item.value) for item in found}
            if len(distinct) > 1:
                raise Hedged(found, last.rule)
        alone = last.alone
        if last.rule not in OWN_RULES:
            start, end = last.span
            alone = len(found) == 1 and not (response[:start].strip() or response[end:].strip())
        return Located(last.value, last.text, last.rule, last.span, alone, len(found))
