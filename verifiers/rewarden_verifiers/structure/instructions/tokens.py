"""Splits English text into words and punctuation marks by the Penn Treebank's rules, as NLTK's `word_tokenize` does.

The rules are those of Robert MacIntyre's Treebank tokenizer with the additions of NLTK 3.9. Every pattern here takes
time linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_Rule = tuple[str, re.Pattern[str], str]
"""Characters of which at least one must occur for the rule to apply, its pattern, and its replacement."""

_OPENING: tuple[_Rule, ...] = (
    ("«“‘„`", re.compile(r"[«“‘„]|`+"), r" \g<0> "),
    ('"', re.compile(r'^"'), "``"),
    ("`", re.compile(r"``"), r" \g<0> "),
    ("\"'", re.compile(r"""([ (\[{<])(?:"|'')"""), r"\1 `` "),
    ("'", re.compile(r"(?i)'(?!re|ve|ll|m|t|s|d|n)(?=\w\b)"), r"\g<0> "),
)
_MARKS: tuple[_Rule, ...] = (
    (":,", re.compile(r"([:,])(\D)"), r" \1 \2"),
    (":,", re.compile(r"[:,]$"), r" \g<0> "),
    (".", re.compile(r"\.{2,}"), r" \g<0> "),
    (";@#$%&?!", re.compile(r"[;@#$%&?!]"), r" \g<0> "),
    ("'", re.compile(r"([^'])' "), r"\1 ' "),
    ("*][(){}<>", re.compile(r"[*\]\[(){}<>]"), r" \g<0> "),
    ("-", re.compile(r"--"), r" \g<0> "),
)
_QUOTES: tuple[_Rule, ...] = (
    ("»”’", re.compile(r"[»”’]"), r" \g<0> "),
    ("\"'", re.compile(r"""''|\""""), " '' "),
)
_CONTRACTIONS: tuple[_Rule, ...] = (
    ("'", re.compile(r"([^' ])('[sSmMdD]|') "), r"\1 \2 "),
    ("'", re.compile(r"([^' ])('ll|'LL|'re|'RE|'ve|'VE|n't|N'T) "), r"\1 \2 "),
)
_GLUED = ("cannot", "d'ye", "gimme", "gonna", "gotta", "lemme", "more'n", "wanna")
_UNGLUED = re.compile(
    r"(?i)\b(can(?=not)|d(?='ye)|gim(?=me)|gon(?=na)|got(?=ta)|lem(?=me)|more(?='n)|wan(?=na\s))"
    r"(not|'ye|me|na|ta|'n)\b"
)
_TIS = re.compile(r"(?i) ('t)(is|was)\b")
_CLOSERS = "])}>\"'»”’ "


def _apply(rules: tuple[_Rule, ...], text: str) -> str:
    for signs, pattern, replacement in rules:
        for sign in signs:
            if sign in text:
                text = pattern.sub(replacement, text)
                break
    return text


def _final_period(text: str) -> str:
    """Separates the final period of a sentence if only closing marks follow it."""
    tail = text.rstrip()
    body = tail.rstrip(_CLOSERS)
    if len(body) < 2 or body[-1] != "." or body[-2] == ".":
        return text
    return f"{body[:-1]} . {tail[len(body) :]} "


def _words(sentence: str) -> list[str]:
    text = _apply(_MARKS, _final_period(_apply(_OPENING, sentence)))
    # The rules for contractions expect words to be separated by a single space, including at both ends.
    text = _apply(_CONTRACTIONS, f" {' '.join(_apply(_QUOTES, text).split())} ")
    lower = text.lower()
    if any(word in lower for word in _GLUED):
        text = _UNGLUED.sub(r" \1 \2 ", text)
    return (_TIS.sub(r" \1 \2 ", text) if "'" in text else text).split()


def tokens(sentences: Sequence[str]) -> list[str]:
    """The words and marks in these sentences."""
    return [word for sentence in sentences for word in _words(sentence)]
