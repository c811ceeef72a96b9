r"""Finding the answer in a response: an ordered list of rules, the first that fires wins and is named in the evidence.

Presets: `strict` reads a `\boxed{}` or an `<answer>` tag; `explicit` adds `#### 42` and phrases such as "the answer
is"; `lax` adds, last, the last number. Every rule is a linear scan; caller's patterns run on RE2, which cannot
backtrack.

Boxes that disagree (ATTACKS E, hedging): the last *cluster* of boxes counts, and of answer tags likewise. They form a
cluster when little but connecting words stands between them ("\boxed{12} or \boxed{13}"); such a cluster yields
several `texts`, and the verifier decides whether several answers are permitted. One taken back ("wait, …") does not
join a cluster.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

import re2

from rewarden.errors import InvalidParams

MAX_ANSWER = 20_000
"""Characters of an answer that are looked at; of a longer box one more is given, so that it is seen to be longer."""

MAX_TEXTS = 64
"""Answers of a cluster that are looked at, the last ones: whoever offers more hedges in any case."""


@dataclass(frozen=True, slots=True)
class Extracted:
    """The result of a rule. `texts` has one entry, or several where the response offers several answers at once.

    `span` is the part of the viewed response that the rule read, in characters; it covers all the texts.
    """

    texts: tuple[str, ...]
    rule: str
    span: tuple[int, int]

    @property
    def text(self) -> str:
        """The last of the texts: the answer, where only one is expected."""
        return self.texts[-1]

    @property
    def oversized(self) -> bool:
        """Returns whether an answer, or several that stand together, exceed 20,000 characters, box and blanks included.

        Extraction cuts a box there and trims it: "Paris", 20,000 blanks and "London" would read as Paris. And
        sixty-four boxes that stand together are sixty-four answers to read.
        """
        return self.span[1] - self.span[0] > MAX_ANSWER


Rule = Callable[[str], "Extracted | None"]
Own = TypeVar("Own")

_BOX_TOKEN = re.compile(r"\\(?:boxed|fbox)\s*\{|\\(?:boxed|fbox)(?![A-Za-z])|\\.|[{}]", re.DOTALL)
# What TeX takes without braces: a number, a command with its arguments, one letter.
_BARE_BOX = re.compile(
    r"\s{0,4}([-+\u2212]?\d[\d.,/]{0,60}%?|(?!\\(?:boxed|fbox))\\[A-Za-z]{1,30}(?:\{[^{}\n]{0,200}\}){0,2}"
    r"|(?<=\s)[A-Za-z](?![A-Za-z]))"
)
_RETRACTION = re.compile(
    r"\b(?:wait|no|actually|correct(?:ion|ed|ing)?|mistake|instead|re-?check\w*|sorry|should be|error|fix\w*|hmm|"
    r"final(?:ly)?|therefore|thus|hence|so|simplif\w*|which is|that is|i\.e\.)\b",
    re.IGNORECASE,
)
_MAX_GAP = 80

_MARKUP = "*_` \t\r\n$"
_ASCII_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}

# Numbers stand as GSM8K writes them (`#### 1,234`); other text after `####` is a heading unless it ends the response.
_HASHED_NUMBER = re.compile(r"[-+\u2212$ ]*\d[\d.,/% ]*")
_ASCII_CUES = ("answer", "option", "choice")
_CUES = (*_ASCII_CUES, "答案")
_QUALIFIED = ("final", "correct", "right", "best")
_CUE_END = re.compile(
    r"s?[\s*_]{0,8}(?:(?:is|are|(?:would|should|must|has to|will) be)\b|是|为|[:=\uff1a]"
    r"|(?<=\s)[-\u2013\u2014]\s)[\s*_]{0,8}[:\uff1a]?",
    re.IGNORECASE,
)
_PHRASE_REACH = 500
# A sentence ends at ". " or at the line's end; "3.5" does not.
_SENTENCE_END = re.compile(r"\.\s|[;!?。；！？]|,\s{1,8}(?:so|since|because|which|and so)\b")
_NUMBER = re.compile(
    r"(?:(?<![\w)\]])[-+\u2212])?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+|(?<!\d)(?=\.\d))(?:\.\d+)?(?:[eE][-+]?\d+)?%?(?:/\d+)?"
)
_NUMBER_REACH = 2000


def lowered(text: str) -> str:
    """The text in lower case, of the same length, so that places in one are places in the other."""
    lower = text.lower()
    return lower if len(lower) == len(text) else text.translate(_ASCII_LOWER)


def boxes(text: str) -> list[tuple[int, int, str]]:
    r"""Every `\boxed{…}` or `\fbox{…}`, outermost, as (start, end, content). A box that never closes is none."""
    found: list[tuple[int, int, str]] = []
    slash = text.find("\\")
    if slash < 0:
        return found
    first, other = text.find("\\boxed", slash), text.find("\\fbox", slash)
    if first < 0 or 0 <= other < first:
        first = other
    if first < 0:
        return found
    opened: list[tuple[int, int]] = []  # of each open brace: where its box begins (-1: no box) and its content
    for match in _BOX_TOKEN.finditer(text, first):
        token = match.group()
        if token == "{":
            opened.append((-1, match.end()))
        elif token == "}":
            if opened:
                start, begin = opened.pop()
                if start >= 0:
                    while found and found[-1][0] > start:  # boxes within this one
                        found.pop()
                    # One character more than is looked at: whoever reads it sees that it is too long, and not absent.
                    end = min(match.start(), begin + MAX_ANSWER + 1)
                    found.append((start, match.end(), text[begin:end]))
        elif token[-1] == "{" and len(token) > 2:
            opened.append((match.start(), match.end()))
        elif len(token) > 2 and (bare := _BARE_BOX.match(text, match.end())) is not None:  # \boxed 7
            found.append((match.start(), bare.end(), bare.group(1).rstrip(".,")))
    return found


def _cluster(text: str, found: Sequence[tuple[int, int, str]], rule: str) -> Extracted | None:
    """The last answers that stand together and were not taken back in between.

    One that was cut is not stripped: it would look whole, and a second answer behind many blanks would be gone.
    """
    if not found:
        return None
    first = len(found) - 1
    while first > 0 and len(found) - first < MAX_TEXTS:
        begin, end = found[first - 1][1], found[first][0]
        if end - begin > _MAX_GAP or _RETRACTION.search(text, begin, end):
            break
        first -= 1
    cluster = found[first:]
    texts = tuple(answer[2] if len(answer[2]) > MAX_ANSWER else answer[2].strip() for answer in cluster)
    return Extracted(texts, rule, (cluster[0][0], cluster[-1][1]))


def _trimmed(text: str, start: int, end: int, rule: str, strip: str | None = None) -> Extracted | None:
    """The part of the text without what surrounds it, if anything is left that is short enough for an answer."""
    inner = text[start:end]
    body = inner.lstrip(strip)
    start += len(inner) - len(body)
    body = body.rstrip(strip)
    if not body or len(body) > MAX_ANSWER:
        return None
    return Extracted((body,), rule, (start, start + len(body)))


def _boxed(text: str) -> Extracted | None:
    return _cluster(text, [box for box in boxes(text) if box[2].strip()], "boxed")


def _answer_tag(text: str) -> Extracted | None:
    if "<" not in text:
        return None
    lower = lowered(text)
    found: list[tuple[int, int, str]] = []
    start = lower.find("<answer>")
    while start >= 0:
        close = lower.find("</answer>", start)
        if close < 0:
            return None  # the last tag never closes: the answer was not finished
        # Of tags without an end, the one next to the end counts.
        start = lower.rfind("<answer>", start, close)
        inner = text[start + 8 : close].strip()
        if inner and len(inner) <= MAX_ANSWER:
            found.append((start, close + 9, inner))
        start = lower.find("<answer>", close)
    return _cluster(text, found, "answer_tag")


def _hash(text: str) -> Extracted | None:
    at = text.rfind("####")
    if at < 0:
        return None
    end = text.find("\n", at)
    line = text[at + 4 : end if end >= 0 else len(text)]
    if end >= 0 and text[end:].strip() and _HASHED_NUMBER.fullmatch(line.strip(_MARKUP)) is None:
        return None
    return _trimmed(text, at + 4, at + 4 + len(line), "hash", _MARKUP)


def _phrase(text: str) -> Extracted | None:
    lower = lowered(text)
    best: Extracted | None = None
    for cue in _ASCII_CUES if text.isascii() else _CUES:
        floor = best.span[0] if best is not None else 0
        at = lower.rfind(cue, floor)
        while at >= 0:
            found = _after_cue(text, lower, at, cue)
            if found is not None:
                best = found
                break
            at = lower.rfind(cue, floor, at)
    return best


def _after_cue(text: str, lower: str, at: int, cue: str) -> Extracted | None:
    """Returns what a phrase at this place says, if it is one: "answer is", "correct option:", but not "an answer
    to".
    """
    if cue == "answer":
        if at and lower[at - 1].isalnum():
            return None
    elif cue in ("option", "choice") and not lower[max(0, at - 12) : at].rstrip().endswith(_QUALIFIED):
        return None
    match = _CUE_END.match(text, at + len(cue))
    if match is None:
        return None
    begin = match.end()
    rest = text[begin : begin + _PHRASE_REACH]
    body = rest.lstrip("*_` \t\r\n:")
    if not body or body.startswith(("not ", "n't")):
        return None
    begin += len(rest) - len(body)
    line = body.split("\n", 1)[0]
    cut = _SENTENCE_END.search(line)
    found = _trimmed(text, begin, begin + (cut.start() if cut else len(line)), "phrase", _MARKUP)
    if found is None or not found.text.endswith("."):
        return found
    return _trimmed(text, found.span[0], found.span[1], "phrase", _MARKUP + ".")


def _last_number(text: str) -> Extracted | None:
    offset = max(0, len(text) - _NUMBER_REACH)
    last = None
    for match in _NUMBER.finditer(text, offset):
        last = match
    return None if last is None else Extracted((last.group(),), "last_number", last.span())


def _last_line(text: str) -> Extracted | None:
    end = len(text.rstrip())
    return _trimmed(text, text.rfind("\n", 0, end) + 1, end, "last_line")


def _whole(text: str) -> Extracted | None:
    return _trimmed(text, 0, len(text), "whole")


_RULES: Mapping[str, Rule] = {
    "boxed": _boxed,
    "answer_tag": _answer_tag,
    "hash": _hash,
    "phrase": _phrase,
    "last_number": _last_number,
    "last_line": _last_line,
    "whole": _whole,
}
PRESETS: Mapping[str, tuple[str, ...]] = {
    "strict": ("boxed", "answer_tag"),
    "explicit": ("boxed", "answer_tag", "hash", "phrase"),
    "lax": ("boxed", "answer_tag", "hash", "phrase", "last_number"),
    **{rule: (rule,) for rule in _RULES},
}
_PRESET_RULES = {name: tuple(_RULES[rule] for rule in rules) for name, rules in PRESETS.items()}


def encodable(text: str) -> str:
    """The text as RE2 can read it: halves of surrogate pairs, which have no UTF-8 form, become question marks."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


@lru_cache(maxsize=256)
def _regex_rule(pattern: str) -> Rule:
    try:
        compiled = re2.compile(pattern)
    except re2.error as error:
        raise InvalidParams(f"extraction: RE2 refuses the pattern {pattern!r}: {error}", path="extraction") from None
    group = 1 if compiled.groups else 0

    def rule(text: str) -> Extracted | None:
        last = None
        for match in compiled.finditer(encodable(text)):
            last = match
        if last is None or not last.group(group):
            return None
        return _trimmed(text, last.start(group), last.end(group), "regex")

    return rule


@lru_cache(maxsize=256)
def _tag_rule(tag: str) -> Rule:
    opening, closing = f"<{tag}>", f"</{tag}>"

    def rule(text: str) -> Extracted | None:
        start = text.rfind(opening)
        if start < 0:
            return None
        end = text.find(closing, start)
        return None if end < 0 else _trimmed(text, start + len(opening), end, f"tag:{tag}")

    return rule


def rules_of(extraction: Any) -> tuple[Rule, ...]:
    """The `extraction` parameter as rules: a preset's name, or an ordered list of rules' names, `{"regex": pattern}`
    (RE2; the last match's first group) and `{"tag": name}`. Raises InvalidParams, naming what is wrong.
    """
    if isinstance(extraction, str):
        preset = _PRESET_RULES.get(extraction)
        if preset is None:
            known = ", ".join(PRESETS)
            raise InvalidParams(f"extraction has no preset {extraction!r}; it has {known}", path="extraction")
        return preset
    if not isinstance(extraction, Sequence) or not extraction:
        raise InvalidParams("extraction must be a preset's name or a non-empty list of rules", path="extraction")
    found: list[Rule] = []
    for index, item in enumerate(extraction):
        if isinstance(item, str) and item in _RULES:
            found.append(_RULES[item])
        elif isinstance(item, Mapping) and set(item) == {"regex"} and isinstance(item["regex"], str):
            found.append(_regex_rule(item["regex"]))
        elif isinstance(item, Mapping) and set(item) == {"tag"} and isinstance(item["tag"], str) and item["tag"]:
            found.append(_tag_rule(item["tag"]))
        else:
            raise InvalidParams(
                f"extraction[{index}] must be one of {', '.join(_RULES)}, or {{'regex': …}} or {{'tag': …}}",
                path=f"extraction[{index}]",
            )
    return tuple(found)


def rules_with(extraction: Any, name: str, own: Own) -> tuple[Rule | Own, ...]:
    """The same where an extraction may also name a verifier's own rule, with which `lax` ends. None may stand for a
    rule that is not known yet.
    """
    if isinstance(extraction, str):
        if extraction == "lax":
            return (*rules_of("explicit"), own)
        return (own,) if extraction == name else rules_of(extraction)
    return tuple(own if item == name else rules_of([item])[0] for item in extraction)


def extract(text: str, extraction: Any = "strict") -> Extracted | None:
    """The first rule that fires on the viewed response, or None. Linear in the text; never raises for any text."""
    return first_found(text, rules_of(extraction))


def first_found(text: str, rules: Sequence[Rule]) -> Extracted | None:
    """Returns what the first of some rules that fires finds, or None."""
    for rule in rules:
        found = rule(text)
        if found is not None:
            return found
    return None
