"""The two sides of a response: its reasoning, and the answer that the reasoning should support."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rewarden_verifiers.extraction import Rule, first_found
from rewarden_verifiers.view import View, apply_view

Where = Literal["thinking", "before", "either"]


@dataclass(frozen=True, slots=True)
class Sides:
    """reasoning: None if there is none. answer: None if there is none, with the reason in snake_case."""

    reasoning: str | None
    answer: str | None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tags:
    """The tags that delimit the thinking block."""

    open: str = "<think>"
    close: str = "</think>"


def sides_of(response: str, where: Where, rules: tuple[Rule, ...] | None, tags: Tags) -> Sides:
    """Splits a whole response into its two sides.

    where: the reasoning is the closed thinking block (`thinking`), the text before the answer in the final part
    (`before`), or the thinking block if there is one, else the text before the answer (`either`). rules: the rules that
    find the answer in the final part; None: all of it is the answer.
    """

    def part(name: Literal["final", "thinking"]) -> tuple[str | None, str | None]:
        viewed = apply_view(response, View(part=name, open=tags.open, close=tags.close, special_tokens=()))
        return viewed.text, viewed.reason

    final, reason = part("final")
    if final is None:
        return Sides(None, None, reason)
    thought = part("thinking")[0] if where != "before" else None
    if thought is not None and not thought.strip():
        thought = None
    answer, before = final.strip(), ""
    if rules is not None:
        found = first_found(final, rules)
        if found is None:
            return Sides(thought, None, "no_answer")
        answer, before = found.text.strip(), final[: found.span[0]].strip()
    if not answer:
        return Sides(thought, None, "no_answer")
    reasoning = thought if thought is not None or where == "thinking" else before or None
    return Sides(reasoning, answer)
