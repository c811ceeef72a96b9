"""English number words as numerals: "twenty-one" as "21", "two hundred and five" as "205"."""

from __future__ import annotations

import re

from rewarden_verifiers.answer.number.words import SMALL, TENS

_SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_WORDS = SMALL.keys() | TENS.keys() | _SCALES.keys() | {"hundred"}
_HYPHENED = re.compile(rf"\b({'|'.join(TENS)})-(?=(?:{'|'.join(SMALL)})\b)", re.IGNORECASE)
_PIECE = re.compile(r"[^\W\d_]+|\s+|.", re.DOTALL)


def with_numerals(text: str) -> str:
    """The text with every run of number words replaced by its numeral; other text stays unchanged.

    A run such as "two three" is two numbers, not one.
    """
    pieces = _PIECE.findall(_HYPHENED.sub(r"\1 ", text))
    made: list[str] = []
    place = 0
    while place < len(pieces):
        if pieces[place].lower() not in _WORDS or (value := _read(pieces, place)) is None:
            made.append(pieces[place])
            place += 1
        else:
            number, place = value
            made.append(str(number))
    return "".join(made)


def _read(pieces: list[str], place: int) -> tuple[int, int] | None:
    """The number that begins at this piece, and the index of the piece after it; None for a scale without a number
    before it.
    """
    total = group = 0
    step = 10**15  # each part of a number is smaller than the previous one
    smallest = 10**3
    end = None
    while place < len(pieces):
        word = pieces[place].lower()
        if word in SMALL:
            value = SMALL[word]
            if smallest <= max(value, 9) or (smallest <= 19 and value > 9):
                break
            group += value
            smallest = 0
        elif word in TENS:
            if smallest <= 90:
                break
            group += TENS[word]
            smallest = 10
        elif word == "hundred":
            if not 0 < group < 100 or smallest >= 100:
                break
            group *= 100
            smallest = 100
        elif word in _SCALES:
            scale = _SCALES[word]
            if not group or scale >= step:
                break
            total += group * scale
            group, step, smallest = 0, scale, 10**3
        else:
            break
        place += 1
        end = place
        # White space, or "and", separates the parts.
        if place < len(pieces) and pieces[place].isspace():
            place += 1
            if place + 1 < len(pieces) and pieces[place].lower() == "and" and pieces[place + 1].isspace():
                if word != "hundred" and word not in _SCALES:
                    break
                place += 2
    return None if end is None else (total + group, end)
