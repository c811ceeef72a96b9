"""One quantity: a number with its sign, exponent, fraction, scale, percent sign and unit, read from tokens."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from rewarden_verifiers.answer.number.limits import LARGE, TooExpensive, Unreadable
from rewarden_verifiers.answer.number.numerals import Decimal, Numeral, bounded, numeral, power
from rewarden_verifiers.answer.number.tokens import Tokens
from rewarden_verifiers.answer.number.units import CURRENCIES, Unit, UnitReader, named
from rewarden_verifiers.answer.number.words import MULTIPLIERS, PARTS, STARTS, number_in_words, part_after

_ORDINALS = frozenset(("st", "nd", "rd", "th"))
_PERCENT = frozenset(("%", "percent", "pct", "percentage"))
_SIGNS = frozenset("$€£¥₹₩¢°")
_SHORT_SCALES = {"k": 10**3, "m": 10**6, "b": 10**9, "t": 10**12}
_BEFORE_SIGN = frozenset(
    ("(", "[", ",", ";", "=", ":", "≈", "~", "{", "|", "to", "is", "and", "or", "<", ">", "≤", "≥")
)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number as written. `value` is the numeral's own: 12 for "12%", with `percent` set.

    digits, places: significant digits and decimal places shown; None if the notation is exact (a fraction, a word).
    label: the words after it that are not a unit ("apples").
    stray: units further on in the text ("5 [m]"), and whether only signs separate each from the number.
    """

    value: Fraction
    percent: bool = False
    unit: Unit | None = None
    digits: int | None = None
    places: int | None = None
    large: bool = False
    label: str = ""
    stray: tuple[tuple[Unit, bool], ...] = ()


class QuantityReader:
    """Reads the quantity that begins at a token, or reports that none does."""

    def __init__(self, tokens: Tokens, decimal: Decimal) -> None:
        self._tokens = tokens
        self._decimal: Decimal = decimal
        self._count = len(tokens)

    def read(self, at: int) -> tuple[Quantity, int] | None:
        """The quantity at `at`, and its end. Raises Unreadable or TooExpensive for an invalid number."""
        begin = at
        negative, signed = False, False
        currency: Unit | None = None
        for _ in range(3):  # "-$5", "$-5", "US $5"
            text = self._text(at)
            if text in ("-", "+") and not signed and self._may_sign(at, begin):
                negative, signed = text == "-", True
                at += 1
            elif text in ("minus", "negative", "plus") and not signed:
                negative, signed = text != "plus", True
                at += 1
            elif currency is None and text in CURRENCIES and self._begins(at + 1):
                currency = named(text) if text != "rs" else named("Rs")
                at += 1
                at += text == "rs" and self._text(at) == "."
            else:
                break
        found = self._number(at)
        if found is None:
            return None
        read, at = found
        value = -read.value if negative else read.value
        percent = False
        unit = currency
        text = self._text(at)
        if currency is not None and text in _SHORT_SCALES and not self._tokens.spaced[at]:
            value, at = value * _SHORT_SCALES[text], at + 1  # $5k, $3M
        elif text in _PERCENT:
            percent, at = True, at + 1
            if self._text(at) in ("point", "points"):
                at += 1
        elif text == "per" and self._text(at + 1) == "cent":
            percent, at = True, at + 2
        elif text == "‰":
            value, percent, at = value / 10, True, at + 1
        elif self._kind(at) == "word" or text in _SIGNS or text in ("/", "(", "·", "*") or self._inverse(at):
            measured = self._unit(at)
            if measured is not None:
                after, end = measured
                if currency is None or after.dimension == currency.dimension:
                    unit, at = after, end
            elif self._tokens.items[at][0] == "word" and not self._tokens.spaced[at]:
                raise Unreadable  # 5x, 12AB: the numeral is part of something else
        return Quantity(value, percent, unit, read.digits, read.places, read.large, self._label(at)), at

    def _inverse(self, at: int) -> bool:
        """Returns whether "1/s" begins here."""
        return self._text(at) == "1" and self._text(at + 1) == "/" and self._kind(at + 2) == "word"

    def _unit(self, at: int) -> tuple[Unit, int] | None:
        text = self._text(at)
        if text in ("·", "*") and self._kind(at + 1) != "word":
            return None
        if text == "(" and (self._kind(at + 1) != "word" or not self._tokens.spaced[at]):
            return None
        start = at + 1 if text in ("·", "*") else at
        return UnitReader(self._tokens.items, start).read()

    def _label(self, at: int) -> str:
        words: list[str] = []
        while at < self._count and self._kind(at) == "word" and len(words) < 6:
            words.append(self._tokens.lower[at])
            at += 1
        return " ".join(words)

    def _kind(self, at: int) -> str:
        return self._tokens.items[at][0] if at < self._count else "end"

    def _text(self, at: int) -> str:
        return self._tokens.lower[at] if at < self._count else ""

    def _begins(self, at: int) -> bool:
        at += self._text(at) == "."
        return (
            self._kind(at) == "number" or self._text(at) in ("-", "+", "minus", "negative") or self._text(at) in STARTS
        )

    def _may_sign(self, at: int, begin: int) -> bool:
        """Returns whether "-" is a sign here, not a dash between two numbers."""
        if at > begin:
            return True
        if at == 0 or self._text(at - 1) in _BEFORE_SIGN:
            return True
        before = self._kind(at - 1)
        attached = at + 1 < self._count and not self._tokens.spaced[at + 1]
        return attached and (
            self._tokens.spaced[at] or (before == "sign" and self._text(at - 1) not in (")", "]", "%"))
        )

    def _number(self, at: int) -> tuple[Numeral, int] | None:
        if self._kind(at) == "word":
            if self._text(at) not in STARTS or (self._text(at + 1) == "of" and self._text(at) == "one"):
                return None
            worded = number_in_words(self._tokens.lower, at)
            return None if worded is None else (Numeral(worded[0]), worded[1])
        if self._kind(at) != "number":
            return None
        read = numeral(self._tokens.items[at][1], self._tokens.exponents[at], self._decimal)
        if read is None:
            raise Unreadable
        at += 1
        if self._text(at) == "^":
            exponent, end = self._exponent(at)
            if read.value == 0 and exponent.startswith("-"):
                raise Unreadable
            value = power(read.value, exponent)
            return Numeral(value, large=value.numerator.bit_length() + value.denominator.bit_length() > 130), end
        if self._text(at) == "×" and self._text(at + 1) == "10" and self._text(at + 2) == "^":
            exponent, end = self._exponent(at + 2)
            places = None if read.places is None else read.places - bounded(exponent)
            large = read.large or abs(bounded(exponent)) > LARGE
            return self._scaled(Numeral(read.value * power(Fraction(10), exponent), read.digits, places, large), end)
        if self._text(at) == "/" and self._kind(at + 1) == "number":
            return self._over(read, at + 1)
        if (
            self._kind(at) == "number"
            and self._text(at + 1) == "/"
            and self._kind(at + 2) == "number"
            and self._tokens.spaced[at]
            and read.places == 0
        ):  # 1 3/4
            above = numeral(self._tokens.items[at][1], self._tokens.exponents[at], self._decimal)
            if above is None:
                raise Unreadable
            part, end = self._over(above, at + 2)
            if not 0 < part.value < 1:
                raise Unreadable
            return Numeral(read.value + part.value, large=read.large or part.large), end
        return self._scaled(read, at)

    def _over(self, above: Numeral, at: int) -> tuple[Numeral, int]:
        below = numeral(self._tokens.items[at][1], self._tokens.exponents[at], self._decimal)
        if below is None or below.value == 0 or self._text(at + 1) in ("/", "^"):
            raise Unreadable
        return Numeral(above.value / below.value, large=above.large or below.large), at + 1

    def _exponent(self, at: int) -> tuple[str, int]:
        """The exponent after "^", and its end."""
        bracket = self._text(at + 1) == "("
        place = at + 1 + bracket
        sign = ""
        if self._text(place) in ("-", "+"):
            sign, place = self._text(place), place + 1
        text = self._text(place)
        if self._kind(place) != "number" or not text.isdigit() or self._tokens.exponents[place]:
            raise Unreadable
        if bracket and self._text(place + 1) != ")":
            raise Unreadable
        end = place + 1 + bracket
        if self._text(end) == "^":
            raise TooExpensive  # towers: 10^10^10
        return sign + text, end

    def _scaled(self, read: Numeral, at: int) -> tuple[Numeral, int]:
        """Applies the words that modify a numeral: "1.5 million", "3 and a half", "2 thirds", "3rd"."""
        text = self._text(at)
        if self._kind(at) != "word":
            return read, at
        if text in _ORDINALS and not self._tokens.spaced[at] and read.places == 0:
            return read, at + 1
        if text in PARTS and text != "half" and read.places == 0 and read.value > 0:
            return Numeral(read.value / PARTS[text], large=read.large), at + 1
        more = part_after(self._tokens.lower, at)
        if more is not None and read.places == 0:
            return self._multiplied(Numeral(read.value + more[0]), more[1])
        return self._multiplied(read, at)

    def _multiplied(self, read: Numeral, at: int) -> tuple[Numeral, int]:
        for _ in range(2):  # "3 hundred thousand"
            factor = MULTIPLIERS.get(self._text(at))
            if factor is None:
                break
            zeros = len(str(factor)) - 1 if factor != 12 else 0
            read = Numeral(
                read.value * factor, read.digits, None if read.places is None else read.places - zeros, read.large
            )
            at += 1
        return read, at
