"""The normal form of texts in SQuAD's own script, for its official verdict (`preset: squad`)."""

from __future__ import annotations

import re
import string

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")


def normalised(text: str) -> str:
    """A text in lower case, without ASCII punctuation and articles, with single spaces: 1.5 becomes 15, -5 becomes 5,
    and "A" becomes empty.
    """
    return " ".join(_ARTICLE.sub(" ", text.lower().translate(_PUNCTUATION)).split())
