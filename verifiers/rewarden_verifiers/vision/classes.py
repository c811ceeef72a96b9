"""Classes: names of the objects in boxes, and their aliases."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

_GAPS = re.compile(r"[\s_-]+")
_ARTICLE = re.compile(r"(?:the|an?) (?=.)")


def plain_name(name: str) -> str:
    """A name in lower case, without an article, blanks, hyphens, underscores, quotes or a full stop."""
    plain = _GAPS.sub(" ", name.strip(" \t\r\n\"'`*.")).strip().casefold()
    article = _ARTICLE.match(plain)
    return plain[article.end() :] if article else plain


class Classes:
    """Maps names to canonical names by a table of aliases. Raises ValueError if an alias belongs to two names."""

    def __init__(self, aliases: Mapping[str, Sequence[str]]) -> None:
        self._canonical: dict[str, str] = {}
        for name, others in aliases.items():
            for spelling in (name, *others):
                own, target = plain_name(spelling), plain_name(name)
                if self._canonical.setdefault(own, target) != target:
                    raise ValueError(f"aliases: {spelling!r} is listed for two classes; list it for one")

    def of(self, name: str | None) -> str | None:
        """The canonical name of a class, or None for no name."""
        if name is None:
            return None
        plain = plain_name(name)
        return self._canonical.get(plain, plain)
