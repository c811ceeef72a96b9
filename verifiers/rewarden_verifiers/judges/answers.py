"""Reference answers as judges are shown them: one text, or several of which each is accepted."""

from __future__ import annotations

from collections.abc import Sequence

from rewarden.errors import InvalidReference


def accepted(reference: str | Sequence[str] | None) -> tuple[str, ...]:
    """The answers; none where there is no reference. Raises InvalidReference for an empty one."""
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
