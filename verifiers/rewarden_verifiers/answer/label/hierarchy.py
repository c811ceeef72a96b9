"""Hierarchies of labels: paths ("animal/dog"), or an object that maps each label to its parent."""

from __future__ import annotations

from collections.abc import Mapping

MAX_DEPTH = 64


class Hierarchy:
    """The ancestors of labels. Raises ValueError for a map with a cycle or deeper than 64.

    A root shared by all labels earns nothing, because every answer implies it. It is left out.
    """

    def __init__(self, separator: str | None, parents: Mapping[str, str], labels: tuple[str, ...]) -> None:
        self._separator = separator
        self._parents = parents
        self._root: str | None = None
        known = labels or tuple({*parents, *parents.values()})
        tops = {self._line(label)[0] for label in known} if separator is not None or parents else set()
        if len(tops) == 1:
            self._root = tops.pop()

    def line(self, label: str) -> tuple[str, ...]:
        """The labels from the top down to this one, without a root shared by all; only the root if the label is the
        root.
        """
        line = self._line(label)
        return line[1:] if len(line) > 1 and line[0] == self._root else line

    def closure(self, labels: frozenset[str]) -> frozenset[str]:
        """Labels with all their ancestors; the labels themselves if there is no hierarchy."""
        if self._separator is None and not self._parents:
            return labels
        return frozenset(node for label in labels for node in self.line(label) if node != self._root)

    def _line(self, label: str) -> tuple[str, ...]:
        if self._separator is not None:
            parts = [part.strip() for part in label.split(self._separator, MAX_DEPTH)]
            parts = [part for part in parts if part]
            return tuple(self._separator.join(parts[: depth + 1]) for depth in range(len(parts))) or (label,)
        line = [label]
        while (above := self._parents.get(line[-1])) is not None:
            line.append(above)
            if len(line) > MAX_DEPTH:
                raise ValueError(f"parents: the label {label!r} is its own ancestor, or more than {MAX_DEPTH} deep")
        return tuple(reversed(line))
