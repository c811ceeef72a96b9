"""Finds the program in a response.

This takes linear time for any response: fences are found by string search, and each line is examined once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Literal

from rewarden.errors import InvalidParams
from rewarden_sandboxes.languages import Registry, UnknownLanguage
from rewarden_verifiers.extraction import encodable

Unclosed = Literal["refuse", "accept"]
RuleLike = str | dict[str, str]

BARE = "bare"
"""The name of the rule `bare`."""
MAX_CODE = 1_000_000
"""The maximum number of characters of a program."""
MAX_FENCES = 10_000
"""The maximum number of fences in a response; no program needs more."""

_REGISTRY = Registry.load()
_OLD: Mapping[str, tuple[str, ...]] = {"python": ("python2",)}
"""Labels of a language's older versions: many programs that carry them are written in the newest one."""

_FENCE = re.compile(r"```|~~~")
_TAG = re.compile(r"[A-Za-z][\w.-]{0,63}")
_DEEPER = 4
"""A fence that is indented by at least this many more columns than the opening one does not close it: fences inside a
docstring are part of the code.
"""


class TooManyFences(Exception):
    """The text has more fences than we examine."""


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block. `label` is the first word after the fence, in lower case."""

    label: str
    code: str
    closed: bool


@dataclass(frozen=True, slots=True)
class Candidate:
    """A program and the rule that found it. prefixed: the prompt's code was put before it. completed: it continues that
    code.
    """

    code: str
    rule: str
    prefixed: bool = False
    completed: bool = False


@dataclass(frozen=True, slots=True)
class Missing:
    """The reason why a response has no program. `reason` is in snake_case."""

    reason: str
    flags: tuple[str, ...] = ()


Rule = Callable[[str, frozenset[str], Unclosed], "Candidate | Missing | None"]
"""A rule that finds a program in a text. It returns `Missing` for a program that must not count, and None if there is
none.
"""


def blocks(text: str) -> list[Block]:
    """Yields the fenced blocks of a text by CommonMark's rules, at any indentation, which is removed from the code.

    Raises TooManyFences.
    """
    found: list[Block] = []
    opened: tuple[str, int, str, int] | None = None  # fence, indentation, label, beginning of the code
    place, line_end, seen = 0, -1, 0
    while (match := _FENCE.search(text, place)) is not None:
        start = text.rfind("\n", line_end + 1, match.start()) + 1 or line_end + 1
        line_end = text.find("\n", match.start())
        if line_end < 0:
            line_end = len(text)
        place = line_end + 1
        seen += 1
        if seen > MAX_FENCES:
            raise TooManyFences
        before = text[start : match.start()]
        behind = bool(before.strip(" \t"))
        if behind and opened is not None:
            continue
        line = text[match.start() : line_end].rstrip()
        rest = line.lstrip(line[0])
        fence = line[: len(line) - len(rest)]
        indent = len(before.expandtabs(4))
        if opened is None:
            # `` ```x``` `` is inline code; some models open a block mid-line: "Here it is: ```python".
            if "`" not in rest and (rest or not behind):
                opened = fence, 0 if behind else indent, _label(rest), place
        elif not rest and fence[0] == opened[0][0] and len(fence) >= len(opened[0]) and indent < opened[1] + _DEEPER:
            found.append(Block(opened[2], _dedented(text[opened[3] : start], opened[1]), True))
            opened = None
    if opened is not None:
        found.append(Block(opened[2], _dedented(text[opened[3] :], opened[1]), False))
    return found


def _label(info: str) -> str:
    """Returns `python` for `python`, `Python title="x"`, `{.python}` and `python:main.py`."""
    word = info.strip().lstrip("{.").split(maxsplit=1)[:1]
    return re.split(r"[,:{}]", word[0], maxsplit=1)[0].lower() if word else ""


def _dedented(code: str, indent: int) -> str:
    if not indent:
        return code
    blank = re.compile(rf"^[ \t]{{1,{indent}}}", re.MULTILINE)
    return blank.sub("", code)


@lru_cache(maxsize=256)
def labels_of(language: str, extra: tuple[str, ...] = ()) -> frozenset[str]:
    """Returns the labels that fences can use for a language."""
    name = language.lower()
    try:
        row = _REGISTRY.get(name)
        own = {name, row.name, *row.fences, *_OLD.get(row.name, ())}
    except UnknownLanguage:  # an unregistered language, from the host's own file
        own = {name}
    return frozenset(own | {label.lower() for label in extra})


def language_of(response: str, languages: Sequence[str], extra: tuple[str, ...] = ()) -> str | None:
    """Returns the language of a response's program, according to the last fence that names one of `languages`; the
    first of them if no fence names a language, and None if all fences name others. extra: further labels of the first
    language.
    """
    try:
        found = blocks(response)
    except TooManyFences:
        return languages[0]
    labels = {label: name for name in reversed(languages) for label in labels_of(name)}
    labels |= dict.fromkeys(map(str.lower, extra), languages[0])
    named = [labels[block.label] for block in found if block.label in labels]
    if named:
        return named[-1]
    return None if found and all(block.label for block in found) else languages[0]


def _choose(which: str, text: str, labels: frozenset[str], unclosed: Unclosed) -> Candidate | Missing | None:
    """Returns the block that counts, from those labelled with the language, or else from those without a label."""
    found = blocks(text)
    named = [block for block in found if block.label in labels] or [block for block in found if not block.label]
    if not named:
        return Missing("no_code_block") if found else None
    usable = [block for block in named if block.closed or unclosed == "accept"]
    if not usable or (which == "last_block" and not (named[-1].closed or unclosed == "accept")):
        return Missing("unclosed_fence", ("unclosed_fence",))
    if which == "all_blocks":
        return Candidate("\n".join(block.code for block in usable), which)
    return Candidate(usable[-1 if which == "last_block" else 0].code, which)


def _tag_rule(tag: str) -> Rule:
    opening, closing = f"<{tag}>", f"</{tag}>"

    def rule(text: str, labels: frozenset[str], unclosed: Unclosed) -> Candidate | Missing | None:
        end = text.rfind(closing)
        start = text.rfind(opening, 0, end) if end >= 0 else -1
        if start < 0:
            return None
        inner = text[start + len(opening) : end]
        within = _choose("last_block", inner, labels, unclosed)
        if within is None:
            return Candidate(inner.strip("\r\n"), f"tag:{tag}")
        return Candidate(within.code, f"tag:{tag}") if isinstance(within, Candidate) else within

    return rule


def _whole(text: str, labels: frozenset[str], unclosed: Unclosed) -> Candidate | Missing | None:
    return Candidate(text, "whole") if text.strip() else None


def bare(text: str, labels: frozenset[str], unclosed: Unclosed) -> Candidate | Missing | None:
    """Takes a text without fences for a program, if it is one."""
    return Candidate(text, BARE) if text.strip() and _FENCE.search(text) is None else None


_RULES: Mapping[str, Rule] = {
    **{which: partial(_choose, which) for which in ("last_block", "first_block", "all_blocks")},
    "answer_tag": _tag_rule("answer"),
    "whole": _whole,
}
PRESETS: Mapping[str, tuple[str, ...]] = {
    "strict": ("last_block",),
    "lax": ("last_block", "answer_tag", "whole"),
    **{name: (name,) for name in _RULES},
}


def rules_of(extraction: str | Sequence[RuleLike]) -> tuple[Rule, ...]:
    """Returns the rules of a preset or of a list of names and `{"tag": name}`. Raises InvalidParams."""
    if isinstance(extraction, str):
        if extraction not in PRESETS:
            raise InvalidParams(
                f"extraction {extraction!r} is unknown; known: {', '.join(PRESETS)}", path="params.extraction"
            )
        extraction = PRESETS[extraction]
    if not extraction:
        raise InvalidParams("extraction lists no rule", path="params.extraction")
    rules: list[Rule] = []
    for item in extraction:
        if isinstance(item, str) and item in _RULES:
            rules.append(_RULES[item])
        elif isinstance(item, dict) and item.keys() == {"tag"} and _TAG.fullmatch(item["tag"]):
            rules.append(_tag_rule(item["tag"]))
        else:
            raise InvalidParams(
                f"extraction rule {item!r} is unknown; known: {', '.join(_RULES)} and {{'tag': name}}",
                path="params.extraction",
            )
    return tuple(rules)


def find(response: str, rules: Sequence[Rule], labels: frozenset[str], unclosed: Unclosed) -> Candidate | Missing:
    """Returns the program in a response, found by the first rule that matches, or the reason why there is none.

    A rule also decides if it finds a program that must not count (its fence is never closed): a later rule would find
    the same text.
    """
    try:
        for rule in rules:
            found = rule(response, labels, unclosed)
            if isinstance(found, Candidate):
                if not found.code.strip():
                    return Missing("empty_code")
                if len(found.code) > MAX_CODE:
                    return Missing("code_too_long", ("too_expensive",))
                # An unpaired surrogate cannot be encoded for a file.
                return Candidate(encodable(found.code), found.rule)
            if found is not None and found.reason != "no_code_block":
                return found
    except TooManyFences:
        return Missing("too_many_fences", ("too_expensive",))
    return Missing("no_answer")
