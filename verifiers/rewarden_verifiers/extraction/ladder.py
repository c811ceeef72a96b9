"""The ladder of extraction: the rules, their order, and the conditions under which the loose ones are skipped.

`auto` tries the marks first (box, tag, JSON key, `####`, heading, phrase) and then the verifier's own loose rules,
which depend on the position of the answer. The first rule that matches decides. If the prompt asks for a box or a tag,
only that counts, so that a policy learns the form.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import re2

from rewarden.errors import InvalidParams
from rewarden_verifiers.extraction.extracted import Extracted, Rule, lowered, trimmed
from rewarden_verifiers.extraction.marks import OPENINGS, answer_tag, boxed, hashed, heading, json_answer, unanswered
from rewarden_verifiers.extraction.number import last_number
from rewarden_verifiers.extraction.phrases import answer_line, phrase


def _last_line(text: str) -> Extracted | None:
    end = len(text.rstrip())
    return trimmed(text, text.rfind("\n", 0, end) + 1, end, "last_line")


def _whole(text: str) -> Extracted | None:
    return trimmed(text, 0, len(text), "whole")


_RULES: Mapping[str, Rule] = {
    "boxed": boxed,
    "answer_tag": answer_tag,
    "json_answer": json_answer,
    "hash": hashed,
    "heading": heading,
    "phrase": phrase,
    "answer_line": answer_line,
    "last_number": last_number,
    "last_line": _last_line,
    "whole": _whole,
}

_MARKS = ("boxed", "answer_tag", "json_answer", "hash", "heading", "phrase")
PRESETS: Mapping[str, tuple[str, ...]] = {
    "strict": ("boxed", "answer_tag"),
    "explicit": _MARKS,
    "auto": _MARKS,
    "lax": (*_MARKS, "last_number"),
    **{rule: (rule,) for rule in _RULES},
}
_PRESET_RULES = {name: tuple(_RULES[rule] for rule in rules) for name, rules in PRESETS.items()}
_BOX = re.compile(r"\\f?box(?:ed)?(?![A-Za-z])(?!\s*\{\s*(?:\?|_|\\))")
# "Do not use \boxed{}", and the gaps in an exercise: "\boxed{?} + 3 = 15".
_NO_DEMAND = re.compile(r"\b(?:not|never|without|avoid|n't)\b[^.\n]{0,40}$", re.IGNORECASE)
_NO_DEMAND_REACH = 60
"""The number of characters before a box in which the pattern must end."""
_LABELLED = re.compile(r"\(?[A-Za-z]\s?[).:\]]|[A-Z]$")
"""An option's label, which is complete whatever follows it: "C) Wat", "C"."""
_CLOSED = frozenset(("boxed", "answer_tag", "json_answer"))
"""The marks that show where their answer ends."""
_UNFINISHED = frozenset(("length", "abort"))
_ASKED: Mapping[tuple[Rule, ...], str] = {
    (boxed,): r"The prompt asks for \boxed{…}, and the response has none.",
    (answer_tag,): "The prompt asks for an answer's tag, and the response has none.",
    (boxed, answer_tag): r"The prompt asks for \boxed{…} or an answer's tag, and the response has neither.",
}
_PROMPTS = 512
"""Number of prompts whose requested form is cached; siblings share one."""


def encodable(text: str) -> str:
    """Returns the text in a form that RE2 can read: lone surrogates, which are not UTF-8, become question marks."""
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
        return trimmed(text, last.start(group), last.end(group), "regex")

    return rule


@lru_cache(maxsize=256)
def _tag_rule(tag: str) -> Rule:
    opening, closing = f"<{tag}>", f"</{tag}>"

    def rule(text: str) -> Extracted | None:
        start = text.rfind(opening)
        if start < 0:
            return None
        end = text.find(closing, start)
        return None if end < 0 else trimmed(text, start + len(opening), end, f"tag:{tag}")

    return rule


def rules_of(extraction: Any) -> tuple[Rule, ...]:
    """Returns the rules of the `extraction` parameter: a preset, or a list of rules in the order to try them.

    A rule is a name, `{"regex": pattern}` (RE2; the first group of the last match) or `{"tag": name}`. Raises
    InvalidParams, with the path of the item at fault.
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


def first_found(text: str, rules: Sequence[Rule]) -> Extracted | None:
    """Returns the result of the first rule that matches, or None."""
    for rule in rules:
        found = rule(text)
        if found is not None:
            return found
    return None


def extract(text: str, extraction: Any = "strict") -> Extracted | None:
    """Returns the result of the first rule that matches in the viewed response, or None.

    Takes linear time; never raises for any text.
    """
    return first_found(text, rules_of(extraction))


@lru_cache(maxsize=_PROMPTS)
def demanded(prompt: str) -> tuple[Rule, ...]:
    """Returns the rules of the forms that a prompt asks for by showing them (a box, a tag), if any."""
    found: list[Rule] = []
    for box in _BOX.finditer(prompt):
        if _NO_DEMAND.search(prompt, max(0, box.start() - _NO_DEMAND_REACH), box.start()) is None:
            found.append(boxed)
            break
    lower = lowered(prompt)
    if any(tag in lower for tag in OPENINGS):
        found.append(answer_tag)
    return tuple(found)


def _may_go_on(text: str, found: Extracted, finish_reason: str) -> bool:
    """Returns whether the answer is at the end of a truncated text, after a mark that does not show its end."""
    if finish_reason not in _UNFINISHED or not found.text[-1:].isalnum() or _LABELLED.match(found.text):
        return False
    return found.rule not in _CLOSED and not text[found.span[1] :].strip("*_` \t\r\n$)\"'")


class Ladder:
    """The rules of an `extraction` parameter for a verifier with its own rules.

    own: the verifier's rules by name; None for a rule that depends on the sample and is passed to `find`. marks: marks
    for this kind of answer, besides the shared ones. loose: names of the rules that `auto` tries after the marks. lax:
    names of the rules that `lax` tries after those. Raises InvalidParams for an invalid extraction.
    """

    def __init__(
        self,
        extraction: Any,
        own: Mapping[str, Rule | None],
        *,
        marks: Sequence[str] = (),
        loose: Sequence[str] = (),
        lax: Sequence[str] = (),
    ) -> None:
        self._known: dict[str, Rule | None] = {**_RULES, **own}
        self._auto = extraction == "auto"
        self._marks: tuple[Rule | str, ...]
        self._loose: tuple[Rule | str, ...] = ()
        self._all_marks = self._named((*_MARKS, *marks))
        if extraction in ("auto", "lax", "explicit"):
            self._marks = self._all_marks
            if extraction != "explicit":
                self._loose = self._named((*loose, *lax) if extraction == "lax" else loose)
        elif isinstance(extraction, str):
            self._marks = self._named((extraction,)) if extraction in own else rules_of(extraction)
        else:
            if not extraction:
                rules_of(extraction)
            self._marks = tuple(
                self._named((item,))[0] if isinstance(item, str) and item in own else rules_of([item])[0]
                for item in extraction
            )

    def _named(self, names: Sequence[str]) -> tuple[Rule | str, ...]:
        """Returns the rules of these names, or the name of a rule that depends on the sample."""
        return tuple(self._known[name] or name for name in names)

    def find(
        self,
        text: str,
        *,
        prompt: str | None = None,
        finish_reason: str | None = None,
        own: Callable[[str], Rule] | None = None,
    ) -> Extracted | None:
        """Returns the answer in a viewed response by the first rule that matches, or None.

        own: makes a rule that depends on the sample, given its name.

        Attack: stop, or be stopped, at a line that reads like an answer. Loose rules are skipped for a response that
        was cut off, or that has an unclosed or empty box or tag.
        """
        asked = demanded(prompt) if self._auto and prompt else ()
        for rule in asked or self._marks:
            found = rule(text) if callable(rule) else own(rule)(text)  # type: ignore[misc]
            if found is not None:
                return found if finish_reason is None or not _may_go_on(text, found, finish_reason) else None
        if asked or not self._loose or finish_reason in _UNFINISHED or unanswered(text):
            return None
        for rule in self._loose:
            found = rule(text) if callable(rule) else own(rule)(text)  # type: ignore[misc]
            if found is not None:
                return Extracted(found.texts, found.rule, found.span, loose=True)
        return None

    def missed(
        self,
        text: str,
        *,
        prompt: str | None = None,
        finish_reason: str | None = None,
        own: Callable[[str], Rule] | None = None,
    ) -> str | None:
        """Returns feedback on a response in which `find` found no answer, or None if there is nothing to say.

        It names the form that the prompt asks for, and a mark with an answer that was not searched. It reveals nothing
        about the answer itself. Loose rules are not tried: most responses end in a number, and reading it costs more
        than all marks.
        """
        asked = demanded(prompt) if self._auto and prompt else ()
        told = [_ASKED[asked]] if asked else []
        for rule in self._all_marks:
            if rule in (asked or self._marks):
                continue
            found = rule(text) if callable(rule) else own(rule)(text)  # type: ignore[misc]
            if found is not None:
                if finish_reason is None or not _may_go_on(text, found, finish_reason):
                    told.append(f"`extraction: explicit` would read the answer that the response marks ({found.rule}).")
                break
        return " ".join(told) or None
