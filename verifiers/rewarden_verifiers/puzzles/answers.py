"""Finds the answer to a puzzle in a response: one text, without markup."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from rewarden.types import Outcome
from rewarden_verifiers.extraction import MAX_ANSWER, Extracted, Rule
from rewarden_verifiers.outcome import no_answer, too_expensive, wrong

_FENCE = re.compile(r"(?:```|~~~)[A-Za-z0-9_+-]{0,20}[ \t]*\n(.*?)\n?[ \t]*(?:```|~~~)", re.DOTALL)
_TEXT = re.compile(r"\\(?:text|texttt|mathrm|mathtt)\s?\{([^{}]*)\}")
EXCERPT = 500
"""The number of characters of an answer that a verdict shows."""


def find(response: str, rules: Sequence[Rule]) -> Extracted | Outcome:
    """The answer to judge, or the outcome for a response with no answer, several answers, or one that is too long."""
    for rule in rules:
        found = rule(response)
        if found is None:
            continue
        texts = dict.fromkeys(undressed(text) for text in found.texts)
        evidence = {"rule": found.rule}
        if any(len(text) > MAX_ANSWER for text in found.texts):
            return too_expensive(evidence=evidence)
        if len(texts) > 1:
            return wrong("hedged", flags=("hedged",), extracted=found.text[:EXCERPT], evidence=evidence)
        (text,) = texts
        return replace(found, texts=(text,)) if text else no_answer(evidence=evidence)
    return no_answer()


def undressed(text: str) -> str:
    r"""Removes a code fence, dollars or `\( \)`, bold type or `\text{}` around the whole text."""
    text = text.strip()
    fence = _FENCE.fullmatch(text)
    if fence is not None and "```" not in fence.group(1):
        return fence.group(1).strip("\n").rstrip()
    if len(text) > 2 and text[0] == text[-1] == "$" and "$" not in text.strip("$"):
        text = text.strip("$").strip()
    for opening, closing in ((r"\(", r"\)"), (r"\[", r"\]")):
        if len(text) > 4 and text.startswith(opening) and text.endswith(closing) and opening not in text[2:]:
            text = text[2:-2].strip()
    wrapped = _TEXT.fullmatch(text)
    if wrapped is not None:
        text = wrapped.group(1).strip()
    if len(text) > 4 and text.startswith("**") and text.endswith("**") and "**" not in text[2:-2]:
        text = text[2:-2].strip()
    if len(text) > 2 and text[0] == text[-1] == "`" and "`" not in text[1:-1]:
        text = text[1:-1].strip()
    return text
