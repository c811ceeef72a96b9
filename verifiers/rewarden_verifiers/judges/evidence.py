"""Evidence to check claims against: passages, and claims if the reference gives them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewarden.errors import InvalidReference, SampleError
from rewarden_verifiers.judges.references import known

MOST_PASSAGES = 200
MOST_CLAIMS = 200
LONGEST = 400_000
"""Maximum number of characters of all passages together, and of all given claims."""

Given = str | list[Any] | dict[str, Any]


@dataclass(frozen=True, slots=True)
class Evidence:
    """Passages, and the claims to check against them. claims: None if the judge must extract them from the response."""

    passages: tuple[str, ...]
    claims: tuple[str, ...] | None = None


def read_evidence(reference: Given) -> Evidence:
    """Reads the evidence of a reference: a text, a list of passages, or `{"evidence": text or passages, "claims":
    [texts]}`.

    A passage is a text or `{"title", "text"}`. Raises InvalidReference with the JSON path, also if there is no evidence
    to check claims against.
    """
    claims: Any = None
    path = "reference"
    if isinstance(reference, Mapping):
        known(reference, ("evidence", "claims"), "reference")
        claims, reference, path = reference.get("claims"), reference.get("evidence", []), "reference.evidence"
    passages = read_passages(reference, path)
    if claims is None:
        return Evidence(passages)
    if not isinstance(claims, (list, tuple)) or not all(isinstance(one, str) and one.strip() for one in claims):
        raise InvalidReference("reference.claims must be a list of strings", path="reference.claims")
    _bound(claims, MOST_CLAIMS, "reference.claims")
    return Evidence(passages, tuple(claims))


def read_passages(given: Any, path: str, error: type[SampleError] = InvalidReference) -> tuple[str, ...]:
    """Reads a text or a list of passages. Raises `error` for any other form, for blank evidence, and for too much of
    it.
    """
    rows = [given] if isinstance(given, (str, Mapping)) else given
    if not isinstance(rows, (list, tuple)):
        raise error(f"{path} must be a string or a list of passages", path=path)
    passages = tuple(_passage(one, f"{path}[{place}]", error) for place, one in enumerate(rows))
    if not any(passage.strip() for passage in passages):
        raise error(f"{path}: there is no evidence to hold claims against", path=path)
    _bound(passages, MOST_PASSAGES, path, error)
    return passages


def _passage(value: Any, path: str, error: type[SampleError]) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping) and isinstance(value.get("text"), str) and set(value) <= {"title", "text"}:
        title = value.get("title")
        if title is None or isinstance(title, str):
            return f"{title}\n{value['text']}" if title else str(value["text"])
    raise error(f"{path} must be a string or an object of title and text", path=path)


def _bound(texts: Sequence[str], most: int, path: str, error: type[SampleError] = InvalidReference) -> None:
    if len(texts) > most:
        raise error(f"{path} has {len(texts)} entries; at most {most}", path=path)
    if sum(map(len, texts)) > LONGEST:
        raise error(f"{path} has more than {LONGEST} characters", path=path)
