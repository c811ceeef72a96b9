"""The options of `number`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

from rewarden_verifiers.answer.number.finding import number_ladder
from rewarden_verifiers.answer.number.numerals import Decimal
from rewarden_verifiers.extraction import Ladder

Metric = Literal["l1", "l2", "max", "total_variation", "kl"]
_MOST_DIGITS = 1000


@dataclass(frozen=True, kw_only=True)
class NumberParams:
    """Options of `number`.

    extraction: where the answer stands: `auto` (any mark, else a last line, formula or number that concludes; only a
        box or a tag where the prompt asks for it), `strict` (last box or tag), `explicit` (any mark), `lax` (as `auto`
        whatever the prompt asks, and the last number with its unit), `whole`, or an ordered list of rules, among them
        `last_quantity`.
    abs_tol: the largest distance that is right, in the reference's unit.
    rel_tol: the same as a share of the reference's size. Where no tolerance is given, whole numbers must be equal and
        others may differ by a millionth of their size.
    significant: the answer may be rounded to so many significant digits (it may be half a unit of the last one away);
        `reference`: to as many as the reference shows.
    decimals: the answer may be rounded to so many decimal places; `reference`: to as many as the reference shows. Of
        several tolerances the widest counts.
    percent: `same`: 12% is 0.12; `as_number`: the sign is ignored, 12% is 12; `required`: the sign must stand where
        the reference has it and nowhere else; `either`: 12, 12% and 0.12 all match 12%.
    units: `optional`: the reference's unit may be left out, another one is converted, one of another dimension is
        wrong; `required`: it must be there; `ignored`: units are not looked at. Currencies are units without rates.
    decimal: how numerals are written, in answers and in references given as text: `point` (1,234.5), `comma` (1.234,5),
        or `either` (told by form; 1,234 is then a whole number).
    interval: what is right where the reference is a range: `within` (a number in it), `same` (the same range), or
        `either` of them.
    partial: what a number that is not right may still earn: `none`; `linear`, 1 - d / scale; `exponential`,
        exp(-d / scale), of its distance d; `digits`, the share of its digits that are right; `items`, the share of a
        vector's or table's entries that are right.
    scale: the distance at which `linear` reaches nothing and `exponential` 0.37.
    distance: `absolute`, or `relative` to the reference's size (absolute where that is 0).
    metric: how far vectors and tables are from each other: `l1`, `l2`, `max`, `total_variation` (half of l1), or `kl`
        (divergence of the answer from the reference, in nats); the last two ask for probability distributions.
    passes: the score from which on the sample passes.
    wrong_score: what a number earns that was given plainly, but is wrong: less than 1. Hedges, and answers that are no
        numbers, earn nothing.
    count: the answer is a list, and how many different entries it has is the number that is compared.
    """

    extraction: str | tuple[str | dict[str, str], ...] = "auto"
    abs_tol: float | None = None
    rel_tol: float | None = None
    significant: int | Literal["reference"] | None = None
    decimals: int | Literal["reference"] | None = None
    percent: Literal["same", "as_number", "required", "either"] = "same"
    units: Literal["optional", "required", "ignored"] = "optional"
    decimal: Decimal = "point"
    interval: Literal["either", "within", "same"] = "either"
    partial: Literal["none", "linear", "exponential", "digits", "items"] = "none"
    scale: float = 1.0
    distance: Literal["absolute", "relative"] = "absolute"
    metric: Metric = "l1"
    passes: float = 1.0
    wrong_score: float = 0.0
    count: bool = False

    def __post_init__(self) -> None:
        for name, value in (("abs_tol", self.abs_tol), ("rel_tol", self.rel_tol)):
            if value is not None and not 0 <= value < math.inf:
                raise ValueError(f"{name} must be 0 or more, and finite")
        if isinstance(self.significant, int) and not 1 <= self.significant <= _MOST_DIGITS:
            raise ValueError(f"significant must be from 1 to {_MOST_DIGITS}, or 'reference'")
        if isinstance(self.decimals, int) and not 0 <= self.decimals <= _MOST_DIGITS:
            raise ValueError(f"decimals must be from 0 to {_MOST_DIGITS}, or 'reference'")
        if not 0 < self.scale < math.inf:
            raise ValueError("scale must be more than 0, and finite")
        if not 0 < self.passes <= 1:
            raise ValueError("passes must be more than 0, and at most 1")
        if not 0 <= self.wrong_score < self.passes:
            raise ValueError("wrong_score must be at least 0, and less than passes")
        number_ladder(self.extraction)

    @cached_property
    def ladder(self) -> Ladder:
        """The rules of extraction."""
        return number_ladder(self.extraction)

    @cached_property
    def tolerances(self) -> tuple[Fraction | None, Fraction | None]:
        """The absolute and the relative tolerance."""
        return exact(self.abs_tol), exact(self.rel_tol)

    @property
    def tolerant(self) -> bool:
        """Returns whether any tolerance is given."""
        given = (self.abs_tol, self.rel_tol, self.significant, self.decimals)
        return any(one is not None for one in given)


def exact(value: float | None) -> Fraction | None:
    """A tolerance, if one is given, exactly as it is written: 0.1 is a tenth."""
    return None if value is None else Fraction(repr(value))
