"""Names that callers choose, made fit for metrics and bounded in number."""

from __future__ import annotations

import re

OTHER = "other"
_UNFIT = re.compile(r"[^\w-]")
_CHARS = 64


class Names:
    """The first `most` names keep their own; whatever comes later is `other`. They are kept for as long as this lives,
    so that a chart, once begun, goes on.

    A name holds letters, digits, `_` and `-`; everything else, slashes too, becomes `_`: a slash would make one
    metric's name the folder of another's, and that is more than MLflow's file store can hold.
    """

    __slots__ = ("_most", "_reserved", "_seen")

    def __init__(self, most: int, reserved: tuple[str, ...] = ()) -> None:
        self._most = most
        self._reserved = reserved
        self._seen: dict[str, str] = {}

    def __call__(self, given: str) -> str:
        """The name under which something is counted."""
        kept = self._seen.get(given)
        if kept is not None:
            return kept
        if len(self._seen) >= self._most:
            return OTHER
        kept = fit(given)
        if kept in self._reserved:
            kept += "_"
        self._seen[given] = kept
        return kept

    def known(self) -> set[str]:
        """All names that were given out, `other` apart."""
        return set(self._seen.values())


def fit(name: str) -> str:
    """A name as a part of a metric's: letters, digits, `_` and `-`, at most 64."""
    return _UNFIT.sub("_", name[:_CHARS]) or "_"
