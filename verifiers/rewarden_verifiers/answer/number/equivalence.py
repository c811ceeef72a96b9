"""Equivalence of two numeric answers, without a reference."""

from __future__ import annotations

from rewarden_verifiers.answer.number.compare import compare
from rewarden_verifiers.answer.number.limits import TooExpensive, Unreadable
from rewarden_verifiers.answer.number.params import NumberParams
from rewarden_verifiers.answer.number.quantity import Quantity
from rewarden_verifiers.answer.number.reading import read_scalar, read_vector
from rewarden_verifiers.answer.number.reference import Gold

_KEYED_BITS = 4096


class NumberEquivalence:
    """Equivalence of numbers and vectors: equal values in any notation and unit, or within the tolerance of either."""

    def __init__(self, params: NumberParams) -> None:
        self._params = params

    def extract(self, text: str) -> str | None:
        """The answer of a response; None if there is none, if it is not a number, or if it hedges."""
        found = self._params.ladder.find(text)
        if found is None:
            return None
        texts = tuple(dict.fromkeys(found.texts))
        if self._read(texts[0]) is None or any(self.same(texts[0], other) is not True for other in texts[1:]):
            return None
        return texts[0]

    def key(self, answer: str) -> str | None:
        """The exact value in base units; None if it is not a number, or very long."""
        entries = self._read(answer)
        if entries is None:
            return None
        keys: list[str] = []
        for entry in entries:
            value, unit = entry.value, entry.unit
            if entry.percent and self._params.percent == "same":
                value /= 100
            dimension = ""
            if unit is not None and self._params.units != "ignored":
                value = value * unit.factor + unit.offset
                dimension = str([(name, str(power)) for name, power in unit.dimension])
            bits = value.numerator.bit_length() + value.denominator.bit_length()
            if bits > _KEYED_BITS:
                return None
            sign = "%" if entry.percent and self._params.percent in ("required", "either") else ""
            keys.append(f"{value}{sign}{dimension}")
        return ";".join(keys) + ("" if len(keys) == 1 else ";")

    def same(self, a: str, b: str) -> bool | None:
        """Returns whether two answers are equal; None if one is not a number, so that they cannot be compared."""
        first, second = self._read(a), self._read(b)
        if first is None or second is None:
            return None if a != b else True
        if len(first) != len(second):
            return False
        return all(self._one(x, y) or self._one(y, x) for x, y in zip(first, second, strict=True))

    def _one(self, gold: Quantity, answer: Quantity) -> bool:
        return compare(Gold(gold), answer, self._params).right

    def _read(self, text: str) -> tuple[Quantity, ...] | None:
        try:
            found = read_scalar(text.strip(), self._params.decimal)
            if isinstance(found, Quantity):
                return (found,)
        except (Unreadable, TooExpensive):
            pass
        try:
            entries = read_vector(text, self._params.decimal)
        except (Unreadable, TooExpensive):
            return None
        return entries if len(entries) > 1 and text.strip()[:1] in tuple("[({\\") else None
