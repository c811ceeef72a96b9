"""The text that a response is compared with, from a reference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from rewarden.errors import InvalidReference

Against = Literal["chosen", "rejected"]

_TEXTS = ("response", "chosen", "rejected")
_KEYS = {*_TEXTS, "answer", "metadata"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rival:
    """A text by somebody else. answer: what is known to be right, shown to the judge. metadata: numbers about the text,
    such as its calls."""

    text: str
    answer: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


def rival_of(reference: Any, against: Against) -> Rival:
    """The rival of a reference: a text; or `{"response"}`, or a row of preference data with `chosen`, `rejected` or
    both, of which `against` says the one; with `answer` and `metadata` beside it.

    Raises InvalidReference, with the path, for any other form, and for a blank text.
    """
    if isinstance(reference, str):
        reference = {"response": reference}
    if not isinstance(reference, Mapping):
        raise InvalidReference("the reference must be a text, or an object with one", path="reference")
    for key in reference:
        if key not in _KEYS:
            known = ", ".join(sorted(_KEYS))
            raise InvalidReference(f"reference has no field {key!r}; it has {known}", path=f"reference.{key}")
    given = [key for key in _TEXTS if key in reference]
    if given == ["chosen", "rejected"]:
        given = [against]
    if len(given) != 1:
        raise InvalidReference("the reference must have a response, or chosen, rejected or both", path="reference")
    text, answer, metadata = reference[given[0]], reference.get("answer"), reference.get("metadata") or {}
    if not isinstance(text, str) or not text.strip():
        raise InvalidReference("the text to compare with is none", path=f"reference.{given[0]}")
    if answer is not None and not isinstance(answer, str):
        raise InvalidReference("reference.answer must be a text", path="reference.answer")
    if not isinstance(metadata, Mapping):
        raise InvalidReference("reference.metadata must be an object", path="reference.metadata")
    return Rival(text=text, answer=answer, metadata=metadata)
