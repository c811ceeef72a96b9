"""Names that a problem knows, found in a text."""

from __future__ import annotations

import re
from collections.abc import Iterable


class Names:
    """Finds names as whole words, whatever their case. Raises ValueError for two that differ in case only."""

    def __init__(self, names: Iterable[str]) -> None:
        listed = list(names)
        self._known = {name.casefold(): name for name in listed}
        if len(self._known) < len(listed) or not all(name.strip() == name != "" for name in listed):
            raise ValueError("names must differ in more than their case, and must not be empty or begin with a blank")
        longest = sorted(listed, key=len, reverse=True)
        self._pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest))})(?!\w)", re.IGNORECASE)

    def within(self, text: str) -> list[str]:
        """The different names in a text, in the order of their first occurrence."""
        found = (self._known.get(one.casefold()) for one in self._pattern.findall(text))
        return list(dict.fromkeys(name for name in found if name is not None))

    def exactly(self, value: object) -> str | None:
        """The name that a value is, or None."""
        return self._known.get(value.casefold()) if isinstance(value, str) else None
