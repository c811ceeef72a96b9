"""Parsed answers: their items, the form of these, and denials that there are any."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from rewarden_verifiers.vision.documents import fenced, hollow, says_nothing, unmarked, values_in
from rewarden_verifiers.vision.place_params import Which

MAX_READ = 2000
"""Boxes, points or intervals that are read from one answer; who writes more has written too many in any case."""
MAX_DEPTH = 8
"""Lists and objects within others beyond which none is looked for."""

Item = TypeVar("Item")


class Reading(NamedTuple, Generic[Item]):
    """An answer's items. `form` says how it was written; `denied`: it says in so many words that there is none."""

    items: tuple[Item, ...]
    form: str
    denied: bool = False


def read_twice(text: str, read: Callable[[str], Reading[Item]]) -> Reading[Item]:
    """The reading of a text. Where it has no items, or some outside of fences and tags, ornaments are taken off and it
    is read again: what is in bold print is an answer, and a second one in bold print a second answer.
    """
    found = read(text)
    if found.form in ("none", "prose", "json") and (plain := unmarked(text)) != text:
        again = read(plain)
        if len(again.items) > len(found.items):
            return again
    return found


def read_json(text: str, walk: Callable[[Any, list[Item]], None]) -> Reading[Item]:
    """The items of a text's JSON, fenced before plain; `denied` where a part of it says that nothing is there.

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
    """The reading of all the answers that stand together; of several items those that count."""
    parts = [read(text) for text in texts]
    found = parts[0]
    if len(parts) > 1:
        items = tuple(item for part in parts for item in part.items)
        found = Reading(items, parts[-1].form, denied=all(part.denied for part in parts))
    if which != "all" and len(found.items) > 1:
        return Reading((found.items[0 if which == "first" else -1],), found.form)
    return found
