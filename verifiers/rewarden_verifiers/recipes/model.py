"""A recipe as frozen data: the content of the YAML, checked and with compiled expressions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from rewarden.types import Sample
from rewarden_verifiers.recipes.expression import Expression
from rewarden_verifiers.recipes.source import Source

Parity = Literal["verified", "reading", "mapped"]
"""Closeness to the published system: run against its code, read against its code, or made from its description."""

PARITIES: tuple[Parity, ...] = get_args(Parity)

Number = float | Expression
"""A number, or an expression over `params`, `schedule`, `progress` and `sample` that yields one."""

Unit = Literal["tokens", "characters", "words"]
Combine = Literal["add", "replace"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A parameter of the recipe, which `Use.params` can set. `low` and `high` bound numbers, `choices` lists values."""

    name: str
    type: Literal["number", "integer", "string", "boolean", "object", "list"]
    default: Any
    low: float | None = None
    high: float | None = None
    choices: tuple[Any, ...] = ()
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A verifier that can judge a component. `params` can contain expressions in place of values. `reference` is the
    field that holds the reference for this verifier: a key of the sample's `metadata` or of its `reference`; None: it
    gets the sample's own."""

    path: tuple[str | int, ...]
    name: str | Expression | None = None
    recipe: Mapping[str, Any] | None = None
    params: Any = None
    reference: tuple[str, str] | None = None

    def has_reference(self, sample: Sample) -> bool:
        """Returns whether a sample has the field that holds this verifier's own reference."""
        if self.reference is None:
            return False
        root, key = self.reference
        fields = getattr(sample, root)
        return isinstance(fields, Mapping) and key in fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """A named part of the recipe: the first candidate that gives a score, or `default` if none does."""

    name: str
    candidates: tuple[Candidate, ...]
    default: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row of an outcome table; `when` is None in the last row. A plain score is a table with one row."""

    score: Expression
    when: Expression | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Exclusion:
    """The condition under which a trainer should exclude the sample, and the reason."""

    when: Expression
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthStep:
    """A shaping by length. `correct` and `wrong` are the curve's numbers for that side; None: no shaping."""

    name: str
    kind: Literal["linear", "cosine", "soft_overlong"]
    by: Unit
    correct: Mapping[str, Number] | None
    wrong: Mapping[str, Number] | None
    combine: Combine = "add"
    weight: Number = 1.0
    cap: Number | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Covered:
    """A published system, by its id in `systems.tsv`, whose reward the recipe gives with `params`. `part` names the
    part of that reward if several recipes share it. `parity` is how closely this system was compared; None: like the
    recipe."""

    system: str
    params: Mapping[str, Any]
    part: str = ""
    parity: Parity | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """A recipe; see docs/recipes.md for the meaning of each field. `reads` lists every value that an expression can
    read, as `(root, field, …)`; `canonical` is the text that the fingerprint covers."""

    name: str
    version: str
    description: str
    origin: str
    parity: Parity | None
    systems: tuple[Covered, ...]
    range: tuple[float, float]
    inputs: tuple[str, ...]
    params: Mapping[str, Parameter]
    schedule: Mapping[str, Expression]
    components: Mapping[str, Component]
    main: str
    rows: tuple[Row, ...]
    passed: Expression | None
    shaping: tuple[LengthStep, ...]
    fallback: Expression | None
    exclude: tuple[Exclusion, ...]
    reads: tuple[tuple[str, ...], ...]
    canonical: str
    source: Source
