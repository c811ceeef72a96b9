"""References of `text`, prepared once for all their responses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import re2

from rewarden.errors import InvalidReference
from rewarden_verifiers.answer.text.closed import CLOSED
from rewarden_verifiers.answer.text.hedging import Offers, negations, offers
from rewarden_verifiers.answer.text.normalise import listed, tokens
from rewarden_verifiers.answer.text.params import Reader, TextParams
from rewarden_verifiers.answer.text.similarity import counted, numbers
from rewarden_verifiers.extraction import encodable

MAX_REFERENCES = 1000
MAX_CHARACTERS = 100_000
"""Maximum number of characters of all references together; with the limit on an answer, it bounds the cost of a
comparison.
"""
MAX_FUZZY = 8000
"""Maximum number of characters of a text for an edit ratio, whose cost is the product of both lengths."""
MAX_PARTIAL = 200
"""Maximum number of characters of a reference for the scorer `partial`, which costs more than that product."""
_SHORT = 8
"""Maximum number of tokens of a reference that asks for one thing, so that offering several is a hedge."""
_MAX_PATTERN = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class TextReference:
    """An answer with its aliases."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    answer: str
    aliases: tuple[str, ...] = ()


Reference = str | tuple[str, ...] | TextReference


@dataclass(frozen=True, slots=True, eq=False)
class Alternative:
    """One of the references: its canonical form and the counts derived from it."""

    index: int
    normal: str
    spaced: str
    counts: Mapping[str, int]
    size: int
    closed: bool
    numbers: tuple[str, ...]
    negations: int


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """All references. `places` maps canonical forms to indices; for `regex`, `patterns` replaces it."""

    alternatives: tuple[Alternative, ...]
    places: Mapping[str, int]
    patterns: tuple[Any, ...]
    longest: int
    offers: tuple[Offers, ...] | None


def read(reference: Reference, reader: Reader) -> Prepared:
    """Prepares the references. Raises InvalidReference if there are none or too many, or if RE2 rejects a pattern."""
    params = reader.params
    if params.preset is not None:
        return _official(reference, reader)
    if isinstance(reference, TextReference):
        texts: tuple[str, ...] = (reference.answer, *reference.aliases)
        if not reference.answer.strip():
            raise InvalidReference("the reference's answer is blank", path="reference.answer")
    else:
        texts = (reference,) if isinstance(reference, str) else reference
    # Lists of aliases in data sets contain blank entries; a reference that is only blank is a mistake.
    kept = [(index, text.strip()) for index, text in enumerate(texts) if text.strip()]
    if not kept:
        raise InvalidReference("the reference is blank", path="reference")
    _bounded([text for _, text in kept], params)
    if params.mode == "regex":
        return Prepared((), {}, tuple(_compiled(text, params) for _, text in kept), 0, None)
    normal = reader.normal if params.mode != "exact" else str
    alternatives = []
    places: dict[str, int] = {}
    for index, text in kept:
        form = normal(text)
        if form in places:
            continue
        places[form] = index
        parts = tokens(form)
        counts = counted(parts)
        closed = form in CLOSED
        alternatives.append(
            Alternative(index, form, " ".join(parts), counts, len(parts), closed, numbers(form), negations(parts))
        )
    for index, text in kept if params.mode != "exact" else ():
        if (joined := listed(text)) is not None:
            places.setdefault(normal(joined), index)
    longest = max(one.size for one in alternatives)
    offered = tuple(offers(text) for _, text in kept) if longest <= _SHORT else None
    return Prepared(tuple(alternatives), places, (), longest, offered)


def _official(reference: Reference, reader: Reader) -> Prepared:
    """The references as SQuAD's script reads them: those whose normal form is not empty. Without any, the question has
    no answer, and the empty text is right.
    """
    if isinstance(reference, TextReference):
        reference = (reference.answer, *reference.aliases)
    texts = [reference] if isinstance(reference, str) else list(reference)
    _bounded([*texts, ""], reader.params)
    places: dict[str, int] = {}
    for index, text in enumerate(texts):
        if form := reader.normal(text):
            places.setdefault(form, index)
    places = places or {"": 0}
    words = [(index, form, form.split()) for form, index in places.items()]
    alternatives = [
        Alternative(index, form, form, counted(parts), len(parts), False, (), 0) for index, form, parts in words
    ]
    return Prepared(tuple(alternatives), places, (), max(one.size for one in alternatives), None)


def _bounded(texts: list[str], params: TextParams) -> None:
    if len(texts) > MAX_REFERENCES:
        raise InvalidReference(f"there are {len(texts)} references, more than {MAX_REFERENCES}", path="reference")
    most = MAX_CHARACTERS
    if params.mode == "fuzzy":
        partial = params.scorer == "partial"
        longest = MAX_PARTIAL if partial else MAX_FUZZY
        most = 25 * MAX_PARTIAL if partial else most
        if max(map(len, texts)) > longest:
            raise InvalidReference(f"a reference can have at most {longest} characters here", path="reference")
    total = sum(map(len, texts))
    if total > most:
        raise InvalidReference(f"the references have {total} characters, more than {most}", path="reference")


def _compiled(pattern: str, params: TextParams) -> Any:
    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = not params.case
    if len(pattern) > _MAX_PATTERN:
        raise InvalidReference(f"a pattern can have at most {_MAX_PATTERN} characters", path="reference")
    try:
        return re2.compile(encodable(pattern), options)
    except re2.error as error:
        raise InvalidReference(f"RE2 refuses the pattern {pattern!r}: {error}", path="reference") from None
