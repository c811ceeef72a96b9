"""Options of `number`."""

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

    extraction: Rules that find the answer: `auto` (any marked answer, else a concluding last line, formula or number;
        if the prompt asks for a box or a tag, only that counts), `strict` (the last box or tag), `explicit` (any marked
        answer), `lax` (as `auto` but regardless of the prompt, and finally the last number with its unit), `whole` (the
        entire response), or an ordered list of rules, which can include `last_quantity`.
    abs_tol: Largest distance that counts as right, in the reference's unit.
    rel_tol: The same as a share of the reference's size. If no tolerance is set, whole numbers must be equal, and
        others can differ by a millionth of their size.
    significant: Significant digits to which the answer can be rounded (it can be off by half a unit of the last one);
        `reference`: as many as the reference shows.
    decimals: Decimal places to which the answer can be rounded; `reference`: as many as the reference shows. If several
        tolerances are set, the widest applies.
    percent: `same`: 12% is 0.12; `as_number`: the sign is ignored, 12% is 12; `required`: the sign must appear if the
        reference has it, and only then; `either`: 12, 12% and 0.12 all match 12%.
    units: `optional`: the reference's unit can be missing, another unit is converted, and a unit of another dimension
        is wrong; `required`: a unit must be present; `ignored`: units are not compared. Currencies are units without
        exchange rates.
    decimal: Notation of numerals, in answers and in references given as text: `point` (1,234.5), `comma` (1.234,5), or
        `either` (recognised by form; 1,234 is then a whole number).
    interval: Right answers if the reference is a range: `within` (a number in it), `same` (the same range), or
        `either`.
    partial: Partial credit for a wrong number at distance d: `none`; `linear`, 1 - d / scale; `exponential`, exp(-d /
        scale); `digits`, the share of its digits that are right; `items`, the share of a vector's or table's entries
        that are right.
    scale: Distance at which `linear` reaches 0 and `exponential` 0.37.
    distance: `absolute`, or `relative` to the reference's size (absolute if that is 0).
    metric: Distance between vectors or tables: `l1`, `l2`, `max`, `total_variation` (half of l1), or `kl` (divergence
        of the answer from the reference, in nats). The last two require probability distributions.
    passes: Lowest score at which the sample passes.
    wrong_score: Score for a clearly stated but wrong number: less than 1. Hedges, and answers that are not numbers,
        score 0.
    count: The answer is a list, and the number of its distinct entries is compared.
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
        """The absolute and relative tolerances."""
        return exact(self.abs_tol), exact(self.rel_tol)

    @property
    def tolerant(self) -> bool:
        """Returns whether a tolerance is set."""
        given = (self.abs_tol, self.rel_tol, self.significant, self.decimals)
        return any(one is not None for one in given)


def exact(value: float | None) -> Fraction | None:
    """A tolerance, if set, exactly as written: 0.1 is a tenth."""
    return None if value is None else Fraction(repr(value))
