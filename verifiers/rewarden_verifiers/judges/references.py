"""References as judges see them: acceptable answers, or a text to compare a response with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from rewarden.errors import InvalidReference

Against = Literal["chosen", "rejected"]

_TEXTS = ("response", "chosen", "rejected")
_KEYS = ("answer", "chosen", "metadata", "rejected", "response")


def accepted(reference: str | Sequence[str] | None) -> tuple[str, ...]:
    """The accepted answers; none if there is no reference. Raises InvalidReference for an empty one."""
    if reference is None:
        return ()
    answers = (reference,) if isinstance(reference, str) else tuple(reference)
    if not answers:
        raise InvalidReference("the reference holds no answer", path="reference")
    for place, answer in enumerate(answers):
        if not answer.strip():
            where = "reference" if isinstance(reference, str) else f"reference[{place}]"
            raise InvalidReference(f"{where} is empty", path=where)
    return answers


def known(row: Mapping[str, Any], fields: Sequence[str], path: str) -> None:
    """Raises InvalidReference if an object in a reference has an unknown field."""
    for name in row:
        if name not in fields:
            raise InvalidReference(f"{path} has no field {name!r}; it has {', '.join(fields)}", path=f"{path}.{name}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rival:
    """A text by another author. answer: the correct answer, if known, shown to the judge. metadata: numbers about the
    text, such as its calls.
    """

    text: str
    answer: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


def rival_of(reference: Any, against: Against) -> Rival:
    """Reads the rival from a reference: a text, `{"response"}`, or a row of preference data with `chosen`, `rejected`
    or both, of which `against` selects one; optionally with `answer` and `metadata`.

    Raises InvalidReference, with the path, for any other form, and for a blank text.
    """
    if isinstance(reference, str):
        reference = {"response": reference}
    if not isinstance(reference, Mapping):
        raise InvalidReference("the reference must be a string, or an object with one", path="reference")
    known(reference, _KEYS, "reference")
    given = [key for key in _TEXTS if key in reference]
    if given == ["chosen", "rejected"]:
        given = [against]
    if len(given) != 1:
        raise InvalidReference("the reference must have a response, or chosen, rejected or both", path="reference")
    text, answer, metadata = reference[given[0]], reference.get("answer"), reference.get("metadata") or {}
    if not isinstance(text, str) or not text.strip():
        raise InvalidReference("the text to compare with is none", path=f"reference.{given[0]}")
    if answer is not None and not isinstance(answer, str):
        raise InvalidReference("reference.answer must be a string", path="reference.answer")
    if not isinstance(metadata, Mapping):
        raise InvalidReference("reference.metadata must be an object", path="reference.metadata")
    return Rival(text=text, answer=answer, metadata=metadata)
