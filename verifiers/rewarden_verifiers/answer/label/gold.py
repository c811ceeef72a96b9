"""References of `label`, prepared once for all their responses."""

from __future__ import annotations

from dataclasses import dataclass

from rewarden.errors import InvalidReference
from rewarden_verifiers.answer.label.names import MAX_ENTRIES, Names
from rewarden_verifiers.answer.label.params import LabelParams

Gold = str | int | bool
Reference = Gold | tuple[Gold, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """The right labels, in the reference's order, and the names used to read an answer."""

    labels: tuple[str, ...]
    names: Names


def prepare(reference: Reference, params: LabelParams) -> Prepared:
    """Prepares the reference. Raises InvalidReference for a label outside the set, or if a required label is
    missing.
    """
    golds = reference if isinstance(reference, tuple) else (reference,)
    reader, mode = params.reader, params.mode
    if len(golds) > MAX_ENTRIES:
        raise InvalidReference(f"the reference has more than {MAX_ENTRIES} labels", path="reference")
    if not golds and mode != "multi":
        raise InvalidReference("the reference names no label", path="reference")
    names = reader.names
    if not names.closed and golds and all(isinstance(gold, bool) for gold in golds):
        names = reader.verdicts
    found = []
    for gold in golds:
        text = str(gold).lower() if isinstance(gold, bool) else str(gold)
        label = names.find(text)
        if label is None:
            listed = ", ".join(names.names[:10])
            raise InvalidReference(
                f"the reference {text[:100]!r} is none of the labels: {listed}" if names.closed else "a label is blank",
                path="reference",
            )
        found.append(label)
    if mode != "vector":
        found = list(dict.fromkeys(found))
    return Prepared(tuple(found), names)
