"""The outputs of a cell, in the format of nbformat 4."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_MANY = 1 << 20


def values(line: bytes | bytearray) -> int:
    """Returns the number of JSON values in a line, before it is parsed; more if it is not JSON."""
    bare = line.replace(b"\\\\", b"").replace(b'\\"', b"")
    quotes = bare.count(b'"')
    if quotes > _MANY:  # attack: a million empty strings, each of which the split below would make an object of
        return quotes // 2
    outside = bare.split(b'"')[::2]
    return sum(part.count(mark) for part in outside for mark in (b",", b":", b"[", b"{"))


class Outputs:
    """Collects the outputs of a cell as its kernel sends them."""

    def __init__(self) -> None:
        self._items: list[dict[str, Any]] = []
        self._texts: dict[int, list[str]] = {}
        self._names: dict[str, list[dict[str, Any]]] = {}
        self._updates: dict[str, tuple[int, Any, Any]] = {}
        """The last update of each display id, and the number of its outputs at that time."""
        self._clear = False

    def add(self, output: Mapping[str, Any]) -> None:
        """Adds an output. Text is joined to the output before it if that is of the same stream."""
        if self._clear:
            self.clear()
        if output.get("output_type") == "stream":
            self._write(str(output.get("name")), str(output.get("text")))
            return
        made = {name: value for name, value in output.items() if name != "transient"}
        self._items.append(made)
        transient = output.get("transient")
        if isinstance(transient, Mapping):
            self._names.setdefault(str(transient.get("display_id")), []).append(made)

    def _write(self, name: str, text: str) -> None:
        last = self._items[-1] if self._items else {}
        if last.get("output_type") == "stream" and last["name"] == name:
            self._texts[id(last)].append(text)
            return
        made = {"output_type": "stream", "name": name, "text": ""}
        self._items.append(made)
        self._texts[id(made)] = [text]

    def clear(self, *, wait: bool = False) -> None:
        """Drops all outputs. wait: not before the next output."""
        self._clear = wait
        if not wait:
            self._items.clear()
            self._texts.clear()
            self._names.clear()
            self._updates.clear()

    def update(self, name: object, data: Any, metadata: Any) -> None:
        """Replaces the outputs of a display id. Attack: many updates of many outputs; only the last one is applied, at
        the end."""
        self._updates[str(name)] = (len(self._names.get(str(name), ())), data, metadata)

    def whole(self) -> list[dict[str, Any]]:
        """Returns all outputs in their order."""
        for item in self._items:
            if item.get("output_type") == "stream":
                item["text"] = "".join(self._texts[id(item)])
        for name, (shown, data, metadata) in self._updates.items():
            for item in self._names.get(name, ())[:shown]:
                item["data"], item["metadata"] = data, metadata
        return self._items
