"""Splits sentences with the Punkt algorithm and its English model (Kiss and Strunk 2006), offline and in linear time.

IFEval and IFBench count sentences with NLTK's Punkt, so another splitter would give other verdicts. The model's tables
(abbreviations, collocations, frequent first words, and the case in which words occurred at which position) are in
`punkt.json`, which `scripts/english-sentences.py` writes; the decisions are made here as in NLTK 3.9, including its
oddities.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

_BLANKS = " \t\n\r\x0b\x0c"
_CANDIDATE = re.compile(r"""[.?!](?=([)";}\]*:@'({\[?!])|\s+(\S+))""")
"""A mark that may end a sentence: followed by other punctuation, or by blanks and a word."""
_WORD = re.compile(
    r"""(?:-{2,}|\.{2,}|(?:\.\s){2,}\.)"""
    r"""|(?=[^("`{\[:;&#*@)}\]\-,])\S+?(?=\s|$|[)";}\]*:@'({\[?!]|-{2,}|\.{2,}|(?:\.\s){2,}\."""
    r"""|,(?=$|\s|[)";}\]*:@'({\[?!]|-{2,}|\.{2,}|(?:\.\s){2,}\.))"""
    r"""|\S"""
)
_CLOSING = re.compile(r"""["')\]}]+?(?:\s+|(?=--)|$)""", re.MULTILINE)
_NUMBER = re.compile(r"-?[.,]?\d[\d,.-]*\.?$")
_ELLIPSIS = re.compile(r"\.\.+$")
_INITIAL = re.compile(r"[^\W\d]\.$")
_PLAIN = re.compile(r"[A-Za-z]{2,}")

_NUMERIC = "##number##"
_SEEN_INSIDE_CAPITAL = 1 << 2
_SEEN_CAPITAL = 1 << 1 | 1 << 2 | 1 << 3
_SEEN_FIRST_SMALL = 1 << 4
_SEEN_SMALL = 1 << 4 | 1 << 5 | 1 << 6


@dataclass(frozen=True, slots=True)
class _Model:
    """The tables, by their names in Punkt. ortho_context: the case and position in which a word occurred, as
    `_SEEN_…`.
    """

    abbrev_types: frozenset[str]
    collocations: frozenset[tuple[str, str]]
    sent_starters: frozenset[str]
    ortho_context: Mapping[str, int]


@lru_cache(maxsize=1)
def _model() -> _Model:
    tables = json.loads(Path(__file__).with_name("punkt.json").read_text(encoding="utf-8"))
    return _Model(
        abbrev_types=frozenset(tables["abbrev_types"]),
        collocations=frozenset((one, other) for one, other in tables["collocations"]),
        sent_starters=frozenset(tables["sent_starters"]),
        ortho_context=tables["ortho_context"],
    )


def warm() -> None:
    """Loads the model's tables."""
    _model()


def seen(word: str) -> bool:
    """Returns whether a lower-case word is in the model's tables, that is, occurred in English newspapers."""
    return word in _model().ortho_context


class _Token:
    """A token, and the properties of its form."""

    __slots__ = ("abbreviation", "breaks", "ellipsis", "kind", "period", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        lower = text.lower()
        self.kind = _NUMERIC if _NUMBER.match(lower) else lower
        self.period = text.endswith(".")
        self.breaks = self.abbreviation = self.ellipsis = False
        if text in (".", "?", "!"):
            self.breaks = True
        elif _ELLIPSIS.match(text):
            self.ellipsis = True
        elif self.period and not text.endswith(".."):
            known = _model().abbrev_types
            stem = lower[:-1]
            self.abbreviation = stem in known or stem.rpartition("-")[2] in known
            self.breaks = not self.abbreviation

    @property
    def stem(self) -> str:
        """The kind without its period."""
        return self.kind[:-1] if len(self.kind) > 1 and self.kind.endswith(".") else self.kind

    @property
    def seen_as(self) -> str:
        """The kind under which it is stored in the model's tables."""
        return self.stem if self.breaks else self.kind


def _begins(token: _Token) -> bool | None:
    """Returns whether a word's case shows that it begins a sentence; None if that is unclear."""
    if token.text in (";", ":", ",", ".", "!", "?"):
        return False
    seen = _model().ortho_context.get(token.seen_as, 0)
    first = token.text[0]
    if first.isupper() and seen & _SEEN_SMALL and not seen & _SEEN_INSIDE_CAPITAL:
        return True
    if first.islower() and (seen & _SEEN_CAPITAL or not seen & _SEEN_FIRST_SMALL):
        return False
    return None


def _revise(token: _Token, following: _Token) -> None:
    """Decides again whether a period ends a sentence, given the next word."""
    if not token.period:
        return
    model = _model()
    stem, next_kind = token.stem, following.seen_as
    initial = _INITIAL.match(token.text) is not None
    capital = following.text[0].isupper()
    if (stem, next_kind) in model.collocations:
        token.breaks = False
        return
    first = _begins(following)
    shortened = (token.abbreviation or token.ellipsis) and not initial
    if shortened and (first or (capital and next_kind in model.sent_starters)):
        token.breaks = True
        return
    if initial or stem == _NUMERIC:
        name = first is None and initial and capital
        if first is False or (name and not model.ortho_context.get(next_kind, 0) & _SEEN_SMALL):
            token.breaks = False


def _ends(context: str) -> bool:
    """Returns whether a sentence ends within a candidate's context, before its last word."""
    before: _Token | None = None
    for line in context.split("\n"):
        for word in _WORD.findall(line):
            token = _Token(word)
            if before is not None:
                _revise(before, token)
                if before.breaks:
                    return True
            before = token
    return False


def _breaks(text: str) -> Iterator[tuple[int, int]]:
    """Yields the end of each sentence and the start of the next."""
    waiting: re.Match[str] | None = None
    start = stop = 0
    for match in _CANDIDATE.finditer(text):
        mark = match.start()
        blank = max(text.rfind(char, stop, mark) for char in _BLANKS) - stop if mark > stop else 0
        # As in NLTK, a blank at the very beginning does not count.
        begin = stop + blank + 1 if blank > 0 else start
        if waiting is not None and stop <= begin and _decides(text, start, waiting):
            yield waiting.end(), waiting.start(2) if waiting.group(2) else waiting.end()
        waiting, start, stop = match, begin, mark
    if waiting is not None and _decides(text, start, waiting):
        yield waiting.end(), waiting.start(2) if waiting.group(2) else waiting.end()


def _decides(text: str, start: int, match: re.Match[str]) -> bool:
    if match.group(2):
        # Decide the common cases without splitting the context into words.
        if match.group() != ".":
            return True
        word = text[start : match.start()]
        if _PLAIN.fullmatch(word) and word.lower() not in _model().abbrev_types:
            return True
    return _ends(text[start : match.end()] + text[match.end() : match.end(2) if match.group(2) else match.end(1)])


def sentences(text: str) -> list[str]:
    """Splits a text into stripped sentences."""
    found: list[str] = []
    spans: list[tuple[int, int]] = []
    last = 0
    for end, following in _breaks(text):
        spans.append((last, end))
        last = following
    spans.append((last, len(text.rstrip())))
    moved = 0
    for place, (start, end) in enumerate(spans):
        begin = start + moved
        if place + 1 < len(spans):
            after, until = spans[place + 1]
            # Closing quotation marks and brackets belong to the preceding sentence.
            closing = _CLOSING.match(text[after:until])
            if closing:
                found.append(text[begin : after + len(closing.group().rstrip())])
                moved = closing.end()
                continue
            moved = 0
        if text[begin:end]:
            found.append(text[begin:end])
    return found
