"""The outputs of a cell, as a notebook shows them: those of nbformat's version 4."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Outputs:
    """Collects what a kernel says of a cell."""

    def __init__(self) -> None:
        self._items: list[dict[str, Any]] = []
        self._texts: dict[int, list[str]] = {}
        self._names: dict[str, list[dict[str, Any]]] = {}
        self._updates: dict[str, tuple[int, Any, Any]] = {}
        """The last update under a name, and the number of items that were shown under it by then."""
        self._clear = False

    def add(self, output: Mapping[str, Any]) -> None:
        """Adds an output. Text joins what the same stream wrote just before."""
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
        """Forgets all; wait: once something else is shown."""
        self._clear = wait
        if not wait:
            self._items.clear()
            self._texts.clear()
            self._names.clear()
            self._updates.clear()

    def update(self, name: object, data: Any, metadata: Any) -> None:
        """Changes what is shown under a name. Attack: many updates of many items, each of which would take time."""
        self._updates[str(name)] = (len(self._names.get(str(name), ())), data, metadata)

    def whole(self) -> list[dict[str, Any]]:
        """Returns them all, in their order."""
        for item in self._items:
            if item.get("output_type") == "stream":
                item["text"] = "".join(self._texts[id(item)])
        for name, (shown, data, metadata) in self._updates.items():
            for item in self._names.get(name, ())[:shown]:
                item["data"], item["metadata"] = data, metadata
        return self._items
