r"""Labels of options, and the parser that reads them with or without brackets and markup: "(B)", "**B**", `\text{B}`,
"option B".

The parser is cautious. A label counts if it is the whole answer, or if the text after it cannot make it a word ("B.",
"B because", "B (Paris)"). So "A train leaves" names no option, and "1.5" does not name option 1. If an answer names
several labels ("A or B", "A, C"), all of them are read, and the verifier decides whether that is permitted.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

MAX_LABELS = 100
"""Maximum number of options of a multiple-choice question."""

_LETTERS = tuple(string.ascii_uppercase)
_ROMAN = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii", "xiii", "xiv", "xv")

_MARKUP = re.compile(
    r"\\(?:text|textbf|textit|textrm|textsf|texttt|mathrm|mathbf|mathsf|mathit|mathbb|boldsymbol|bm|bf|rm|emph|"
    r"underline|mbox|boxed|fbox|operatorname|displaystyle|left|right|quad|qquad)(?![A-Za-z])\*?|"
    r"\\[,;! ()\[\]]|[{}$*_`~]"
)
_QUOTES = '"“”«»「」 \t\r\n'
_FILLER = re.compile(
    r"(?:(?:the|my|so|thus|hence|therefore|final|correct|right|best|answers?|options?|choices?|letters?|alternatives?|"
    r"is|are|be|would|should|must|both|either|most likely|likely|probably|clearly|definitely|选项?|选择|答案)"
    r"(?:[\s:：,]{1,8}|(?=[(\[（])|(?<=[选项择案])))+",
    re.IGNORECASE,
)
_JOIN = re.compile(
    r"\s{0,8}(?:,\s{0,8}(?:and|or|&)?|and/or\b|and\b|or\b|[/&+;、，和或及与])\s{0,8}"
    r"(?:(?:the )?(?:options?|choices?|answers?|letters?)\s{1,8})?",
    re.IGNORECASE,
)
_EITHER = re.compile(r"or\b|/|或", re.IGNORECASE)
_CLOSE = r"[)\]>）】」]"
# What can follow a label without brackets. Upper case: an end, punctuation that is not part of a number or a word, or a
# word that continues with the option; "A train" is an article and "I think" a pronoun.
_AFTER = re.compile(
    r"\s{0,8}$|\s{0,4}[)\]>:;：；。、）】」](?!\d)|\s{0,4}\n|[.,，．](?!\d)|\s{1,8}[(\[（-]|\s{0,2}[–—]|\s{0,4}(?:因为|是)|"
    r"\s{1,8}(?:because|since|as|due|given|or|and|is|are|where|which|in this)\b"
)
_AFTER_LOWER = re.compile(r"\s{0,8}$|\s{0,4}[)\]:：）]|\.(?!\S)|\s{0,4}\n")
_DENIED = re.compile(r"\s{1,8}(?:is|are)\s{1,8}(?:not|wrong|incorrect|false|n't)\b", re.IGNORECASE)
_DOUBT = re.compile(
    r"n[\u2019']t\b|\b(?:not|never|neither|nor|if|whether|unless|unlikely|cannot|could|might|may)\b", re.I
)
_SEARCHED = 300
"""Number of characters of a wordy answer or sentence that are searched for a label."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The options that an answer names, by index, in its order.

    `rest` is the text after leading labels, or the whole text if the labels are within it. `either` means that they are
    offered as alternatives ("A or B", "A/B").
    """

    labels: tuple[int, ...]
    rest: str = ""
    either: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Alphabet:
    """The labels of a question's options. Made by `alphabet`."""

    labels: tuple[str, ...]
    exact: Mapping[str, Reading]
    index: Mapping[str, int]
    item: re.Pattern[str]
    listed: re.Pattern[str]
    anywhere: re.Pattern[str]
    stated: re.Pattern[str]
    run: re.Pattern[str] | None

    def read(self, text: str) -> Reading | None:
        """Reads the options that an answer names; None if it names none. Linear; never raises."""
        found = self.exact.get(text)
        if found is not None:
            return found
        if not text.isascii():
            text = unicodedata.normalize("NFKC", text)
        if text.count("{") != text.count("}"):  # truncated within a command, so the rest of the answer is unknown
            return None
        text = _MARKUP.sub("", text).strip(_QUOTES)
        found = self.exact.get(text)
        if found is not None:
            return found
        if self.run is not None and len(text) <= 2 * len(self.labels) and self.run.fullmatch(text):
            letters = re.findall(r"[A-Z]", text)
            if len(set(letters)) == len(letters):
                return Reading(tuple(self.index[letter] for letter in letters))
        found = self._leading(text, 0)
        if found is None and (filler := _FILLER.match(text)) is not None:
            found = self._leading(text, filler.end())
        return found or self._anywhere(text)

    def states(self, line: str) -> tuple[int, ...]:
        """The options that a sentence chooses ("B is correct", "I choose B"); none if it negates or doubts."""
        if len(line) > _SEARCHED or _DOUBT.search(line):
            return ()
        found = (next(filter(None, match.groups())) for match in self.stated.finditer(line))
        return tuple(dict.fromkeys(self.index[label] for label in found))

    def leads(self, line: str) -> int | None:
        """The option whose label begins this line as in a list ("B) Paris", "**(B)** Paris"), or None."""
        match = self.listed.match(unicodedata.normalize("NFKC", line) if not line.isascii() else line)
        return None if match is None else self.index[match.group(1)]

    def _leading(self, text: str, at: int) -> Reading | None:
        first = self._item(text, at)
        if first is None:
            return None
        label, end = first
        labels = [label]
        either = False
        while (join := _JOIN.match(text, end)) is not None and (following := self._item(text, join.end())) is not None:
            label, end = following
            either = either or _EITHER.search(join.group()) is not None
            if label not in labels:
                labels.append(label)
        if len(labels) == 1 and _DENIED.match(text, end):
            return None
        rest = text[end:].lstrip(")].:;,，。：、-–— \t\n")
        if len(labels) == 1:
            # "A) Paris B) London C) Rome": a list of the options, not an answer.
            for other in self.listed.finditer(rest):
                if self.index[other.group(1)] not in labels:
                    labels.append(self.index[other.group(1)])
        return Reading(tuple(labels), rest, either)

    def _item(self, text: str, at: int) -> tuple[int, int] | None:
        match = self.item.match(text, at)
        if match is None:
            return None
        end = match.end()
        if match.group(1):
            return self.index[match.group(1)], end
        label = match.group(2)
        after = _AFTER_LOWER if label.islower() and len(label) == 1 else _AFTER
        if after.match(text, end) is None:
            # Another label can follow where no other word can ("A/B", "A, B").
            join = _JOIN.match(text, end) if not label.islower() else None
            if join is None or (following := self.item.match(text, join.end())) is None:
                return None
            if not following.group(1) and _AFTER.match(text, following.end()) is None:
                return None
        return self.index[label], end

    def _anywhere(self, text: str) -> Reading | None:
        """Labels in brackets, or after "option", within a wordy answer; if they differ, all are read."""
        found: list[int] = []
        for match in self.anywhere.finditer(text[:_SEARCHED]):
            label = self.index[match.group(1) or match.group(2)]
            if label not in found:
                found.append(label)
        return Reading(tuple(found), text) if found else None


@lru_cache(maxsize=1024)
def alphabet(labels: tuple[str, ...]) -> Alphabet:
    """Makes the alphabet of these labels. Case only matters if two labels differ in nothing else."""
    index: dict[str, int] = {label: number for number, label in enumerate(labels)}
    for number, label in enumerate(labels):
        for variant in (label.upper(), label.lower(), label.capitalize()):
            index.setdefault(variant, number)
    exact: dict[str, Reading] = {}
    for name, number in index.items():
        reading = Reading((number,))
        for dress in (
            "{}",
            "({})",
            "{}.",
            "{})",
            "[{}]",
            "**{}**",
            "({}).",
            "**({})**",
            "\\text{{{}}}",
            "\\text{{({})}}",
        ):
            exact.setdefault(dress.format(name), reading)
    one = "|".join(re.escape(name) for name in sorted(index, key=len, reverse=True))
    upper = "|".join(re.escape(name) for name in sorted(index, key=len, reverse=True) if not name.islower()) or one
    single = all(len(label) == 1 and label in string.ascii_letters for label in labels)
    capitals = "".join(sorted({label.upper() for label in labels})) if single else ""
    return Alphabet(
        labels=labels,
        exact=exact,
        index=index,
        item=re.compile(rf"[(\[<（【「]\s{{0,4}}({one})\s{{0,4}}{_CLOSE}|({one})(?!\w)"),
        listed=re.compile(
            rf"(?:^|(?<=\s))[\s*_>#-]{{0,8}}[(\[（]?({one})(?:{_CLOSE}|[*_]{{0,2}}[.:：、．])[*_]{{0,2}}(?=\s|$)"
        ),
        anywhere=re.compile(
            rf"(?<![\w)\]])[(\[（【]({one}){_CLOSE}|(?i:\b(?:option|choice|letter|answer)\s{{1,4}})({upper})(?!\w)"
        ),
        stated=re.compile(
            r"\b(?i:choose|select|pick|go with)\s{1,4}(?i:(?:the )?(?:option|choice|answer)\s{1,4})?[(*]{0,3}"
            rf"({upper})(?!\w)"
            rf"|(?<![\w'])({upper})[)*]{{0,3}}\s{{1,4}}is\s{{1,4}}(?:the |clearly |therefore )?"
            r"(?:correct|right|best)\b"
            r"|(?:^|[.!:]\s)(?i:(?:(?:so|thus|hence|therefore|then)\b,?\s)?(?:it|this|that)(?:[\u2019']s|\s(?:is|must\sbe)))\s"
            rf"[(*]{{0,3}}({upper})[)*]{{0,3}}\.?$"
            rf"|\b(?i:answer)\b[^.\n]{{0,60}}\bis\s{{1,4}}(?i:option\s{{1,4}})?[(*]{{0,3}}({upper})[)*]{{0,3}}\.?$"
        ),
        run=re.compile(rf"[{capitals}](?:[\s,]*[{capitals}])+") if capitals else None,
    )


def expand(labels: str) -> tuple[str, ...]:
    """Expands a range of labels such as "A-J", "a-d", "1-4" or "i-v".

    Raises ValueError for other texts, listing the ranges.
    """
    first, _, last = labels.partition("-")
    if first.isascii() and last.isascii():
        if first.isdigit() and last.isdigit() and len(first) < 4 and len(last) < 4 and int(first) < int(last):
            if int(last) - int(first) < MAX_LABELS:
                return tuple(str(number) for number in range(int(first), int(last) + 1))
        elif len(first) == len(last) == 1 and first.isalpha() and last.isalpha() and first < last:
            if first == "i" and last in ("v", "x"):
                return _ROMAN[: _ROMAN.index(last) + 1]
            if first.isupper() == last.isupper():
                return tuple(chr(code) for code in range(ord(first), ord(last) + 1))
        elif first == "i" and last in _ROMAN[1:]:
            return _ROMAN[: _ROMAN.index(last) + 1]
        elif first == "I" and last.lower() in _ROMAN[1:] and last.isupper():
            return tuple(label.upper() for label in _ROMAN[: _ROMAN.index(last.lower()) + 1])
    raise ValueError(f"labels {labels!r} is not a range of labels such as 'A-J', 'a-d', '1-4' or 'i-v'; or give a list")


def usual(gold: tuple[str | int, ...], count: int | None) -> tuple[str, ...]:
    """The labels that a question probably uses, judged by how its gold answer is written: letters, numbers or Roman
    numerals.
    """
    texts = [item.strip() for item in gold if isinstance(item, str)]
    if texts and all(text.isascii() and text.isdigit() and len(text) <= 2 for text in texts):
        first = 0 if "0" in texts else 1
        return tuple(str(number) for number in range(first, first + (count or 20)))
    if any(len(text) > 1 and text.lower() in _ROMAN for text in texts):
        return _ROMAN[: count or len(_ROMAN)]
    if count is not None and count > len(_LETTERS):
        return tuple(str(number) for number in range(1, count + 1))
    return _LETTERS[:count] if count is not None else _LETTERS
