"""The column of the expected answer: a process says once which one it reads, and contradictions raise."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from typing import Any

from rewarden.adapters.settings import Settings
from rewarden.columns import rivals
from rewarden.errors import InvalidRequest

_log = logging.getLogger("rewarden")

_CHECKED = 32
"""The number of rows with a reference in the same column that are checked. The first is the example."""

_ALWAYS = -(10**12)
"""The count of a column that was contradicted: all its rows are checked, in whatever order they come."""

_HEAD, _TAIL = 40, 60
"""The characters of an example that are shown: of worked solutions, the end is what counts."""


class References:
    """The columns in which references were found, for each use. After the first rows, a row costs one look-up."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str | None, str], int] = {}

    def see(
        self, settings: Settings, column: str, value: Any, origin: str, values: Callable[[], Mapping[str, Any]] | None
    ) -> None:
        """Counts a row's reference, and says once where it comes from.

        column: the column or columns. origin: how they were chosen. values: for a guessed column, returns the usual
        columns of the row, to be checked against it. Raises InvalidRequest if one contradicts it.
        """
        use = None if settings.use is None else settings.use.name
        count = self._rows.get((use, column), 0)
        if count >= _CHECKED or value is None:
            return
        if values is not None and (found := values()) and (others := rivals(column, found)):
            self._rows[use, column] = _ALWAYS
            told = ", ".join(f"{name}: {_shown(found[name])}" for name in (column, *others))
            raise InvalidRequest(
                f"reference: the columns {', '.join(map(repr, (column, *others)))} have different values ({told}); "
                f"name the one with the expected answer: reference={column!r}, or "
                f"{' or '.join(map(repr, others))}",
                path="reference",
            )
        self._rows[use, column] = count + 1
        if count == 0:
            judge = "the verifier" if use is None else use
            level = logging.WARNING if values is not None else logging.INFO
            _log.log(level, "%s reads its reference from %s (%s), for example %s", judge, column, origin, _shown(value))


def _shown(value: Any) -> str:
    text = " ".join((value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)).split())
    return repr(text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]} … {text[-_TAIL:]}")
