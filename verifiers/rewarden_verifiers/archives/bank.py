"""A memory bank: entries by id, and the operations that change it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

EVENTS: Mapping[str, str] = {
    **dict.fromkeys(("add", "insert", "store", "create"), "add"),
    **dict.fromkeys(("update", "edit", "modify", "replace"), "update"),
    **dict.fromkeys(("delete", "remove", "forget"), "delete"),
    **dict.fromkeys(("noop", "none", "no_op", "keep", "skip"), "noop"),
}
"""Event names in lower case, and the event that each one means."""

_EVENT_KEYS = ("event", "operation", "op", "action")
_ID_KEYS = ("id", "memory_id")
_TEXT_KEYS = ("text", "content", "new_memory", "memory", "fact")


class BadOperation(Exception):
    """A value that is not an operation; the message says why."""


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation: `add`, `update`, `delete` or `noop`."""

    event: str
    id: str | None
    text: str | None


@dataclass(slots=True)
class Change:
    """The changes that operations make to a bank.

    added: texts. updated: the new texts by id. deleted: ids. void: the number of operations without effect, because no
    entry has their id, or, for ADD, because an entry has it already.
    """

    added: list[str] = field(default_factory=list)
    updated: dict[str, str] = field(default_factory=dict)
    deleted: set[str] = field(default_factory=set)
    void: int = 0

    @property
    def size(self) -> int:
        """The number of changed entries."""
        return len(self.added) + len(self.updated) + len(self.deleted)


def operation(value: Any) -> Operation:
    """Reads an operation from a JSON value. Raises BadOperation."""
    if not isinstance(value, Mapping):
        raise BadOperation("an operation is an object")
    named = _first(value, _EVENT_KEYS)
    event = EVENTS.get(named.strip().lower().replace("-", "_")) if isinstance(named, str) else None
    if event is None:
        raise BadOperation("an operation has an event: ADD, UPDATE, DELETE or NOOP")
    own, text = _first(value, _ID_KEYS), _first(value, _TEXT_KEYS)
    if isinstance(own, bool) or not isinstance(own, (str, int, type(None))):
        raise BadOperation("an id must be a string or a number")
    if not isinstance(text, (str, type(None))):
        raise BadOperation("a text must be a string")
    if event in ("add", "update") and not (text or "").strip():
        raise BadOperation(f"{event.upper()} has a text")
    if event in ("update", "delete") and own is None:
        raise BadOperation(f"{event.upper()} has an id")
    return Operation(event, None if own is None else str(own), text)


def _first(value: Mapping[str, Any], keys: Sequence[str]) -> Any:
    return next((value[key] for key in keys if key in value), None)


def change(bank: Mapping[str, str], operations: Iterable[Operation]) -> Change:
    """Returns the combined effect of operations on a bank, applied in order. A change that is undone does not count."""
    entries, nameless = dict(bank), list[str]()
    made = Change()
    for one in operations:
        if one.event == "add" and one.id is None:
            nameless.append(one.text or "")
        elif one.event in ("add", "update") and one.id is not None and (one.id in entries) == (one.event == "update"):
            entries[one.id] = one.text or ""
        elif one.event == "delete" and one.id in entries:
            del entries[one.id]
        elif one.event != "noop":
            made.void += 1
    made.added = [text for own, text in entries.items() if own not in bank] + nameless
    made.updated = {own: text for own, text in entries.items() if own in bank and text.split() != bank[own].split()}
    made.deleted = set(bank) - set(entries)
    return made
