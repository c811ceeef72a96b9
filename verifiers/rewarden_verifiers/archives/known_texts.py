"""The texts of an archive, as a list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rewarden.errors import InvalidReference, InvalidSample
from rewarden_verifiers.archives.novelty_params import METADATA, NoveltyParams

MOST_TEXTS = 2_000
MOST_CHARACTERS = 200_000
"""For all texts of an archive together: they are prepared and compared within a second, even if each word is one
letter.
"""


def known_texts(reference: Any, metadata: Mapping[str, Any] | None, params: NoveltyParams) -> tuple[str, ...]:
    """Checks and returns the texts. Raises InvalidReference, or InvalidSample if they come from the metadata."""
    error: type[InvalidReference | InvalidSample] = InvalidReference
    texts = reference["archive"] if isinstance(reference, Mapping) and [*reference] == ["archive"] else reference
    if params.archive != "reference":
        error = InvalidSample
        texts = (metadata or {}).get(params.archive.removeprefix(METADATA))
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise error("the archive must be a list of strings, or {archive: texts} in the reference", path=params.archive)
    if len(texts) > MOST_TEXTS or sum(map(len, texts)) > MOST_CHARACTERS:
        message = f"the archive may have {MOST_TEXTS} texts and {MOST_CHARACTERS} characters at most"
        raise error(message, path=params.archive)
    for place, text in enumerate(texts):
        if not text.strip():
            raise error("a text of the archive is blank", path=f"{params.archive}[{place}]")
    return tuple(texts)
