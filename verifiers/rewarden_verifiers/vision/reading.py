"""Parsed answers: their items, the form of the items, and statements that there are none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from rewarden_verifiers.vision.documents import fenced, hollow, says_nothing, unmarked, values_in
from rewarden_verifiers.vision.place_params import Which

MAX_READ = 2000
"""The maximum number of items read from one answer; more are too many under any setting."""
MAX_DEPTH = 8
"""The maximum nesting depth at which items are looked for."""

Item = TypeVar("Item")


class Reading(NamedTuple, Generic[Item]):
    """An answer's items. `form`: how they were written. `denied`: the answer states that there are none."""

    items: tuple[Item, ...]
    form: str
    denied: bool = False


def read_twice(text: str, read: Callable[[str], Reading[Item]]) -> Reading[Item]:
    """Reads a text, and reads it again without markup if it has no items, or if some stand outside fences and tags:
    bold print can contain the answer, or a second one.
    """
    found = read(text)
    if found.form in ("none", "prose", "json") and (plain := unmarked(text)) != text:
        again = read(plain)
        if len(again.items) > len(found.items):
            return again
    return found


def read_json(text: str, walk: Callable[[Any, list[Item]], None]) -> Reading[Item]:
    """The items in a text's JSON, fenced blocks before plain text. `denied` is set if a part of it says that nothing is
    there.

    walk: adds the items of a JSON value to a list.
    """
    empty = False
    for parts, form in ((fenced(text), "fenced_json"), ([text], "json")):
        found: list[Item] = []
        for part in parts:
            for value in values_in(part):
                empty = empty or says_nothing(value)
                if not hollow(value):
                    walk(value, found)
        if found:
            return Reading(tuple(found), form)
    return Reading((), "none", denied=empty)


def read_all(texts: Sequence[str], read: Callable[[str], Reading[Item]], which: Which) -> Reading[Item]:
    """Reads several answers that count together, and keeps the items that `which` selects."""
    parts = [read(text) for text in texts]
    found = parts[0]
    if len(parts) > 1:
        items = tuple(item for part in parts for item in part.items)
        found = Reading(items, parts[-1].form, denied=all(part.denied for part in parts))
    if which != "all" and len(found.items) > 1:
        return Reading((found.items[0 if which == "first" else -1],), found.form)
    return found
