"""Reads answers of the expected shape: one quantity, a range, a vector, or a table of named numbers.

Several numbers are a hedge if one is expected. Text that computes, negates or calls a function is not read. A number
can occur twice if both are the same ("x = 3/4 = 0.75", "3.2 km (3200 m)"), and a quantity can have several units ("5 ft
3 in").
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from rewarden_verifiers.answer.number.limits import MAX_ITEMS, MAX_LARGE, MAX_TEXT, TooExpensive, Unreadable
from rewarden_verifiers.answer.number.normalise import clean
from rewarden_verifiers.answer.number.numerals import Decimal
from rewarden_verifiers.answer.number.quantity import Quantity, QuantityReader
from rewarden_verifiers.answer.number.tokens import Tokens
from rewarden_verifiers.answer.number.units import Unit, UnitReader

_PLAIN = re.compile(r"[-+]?[0-9]{1,17}")
_SPACED = re.compile(r"([^0-9]{0,200}?[0-9]{1,3})((?: [0-9]{3}){1,12})(?![0-9]|[.,]?[0-9]| ?/)")
_HEDGES = frozenset(
    (
        "or", "not", "maybe", "perhaps", "possibly", "either", "neither", "nor", "versus", "vs", "except", "without",
        "unless", "otherwise", "alternatively", "n't", "isn't", "nan", "inf", "infinity", "∞", "un", "unknown", "never",
        "wrong", "incorrect", "false",
    )
)  # fmt: skip
# Words that change a number into another one.
_FUNCTIONS = frozenset(
    (
        "sqrt", "root", "log", "ln", "exp", "sin", "cos", "tan", "pi", "π", "factorial", "squared", "cubed", "mod",
        "times", "double", "twice", "triple", "plus", "minus", "of", "abs", "e", "i", "base", "less", "more", "choose",
    )
)  # fmt: skip
# Words that change the number after "of" into another one: "42 square units" are still 42.
_ALTERED = frozenset(("square", "cube", "reciprocal", "opposite", "inverse", "negative", "negation", "multiple"))
_DENIED = re.compile(r"\b(?:is|was) (?:wrong|incorrect|false|untrue)\b")
_DASHED = re.compile(r"(?:^|(?<=[\[(,=]))\s?–(?=[0-9.])")
_ENDS = re.compile(r"^([\[(]\s?-?[0-9.]+),(?=-?[0-9.]+\s?[\])]\.?$)(?![0-9]{3}(?![0-9]))")
_APPLIED = re.compile(r"[^\W\d_](?:_\w{1,3})?")
_RATES = frozenset(("a", "an", "each", "every"))
_MOST_STRAY = 24
"""Maximum number of words and signs after a number that are searched for a unit."""
_LEAST = ("at least", "no less than", "not less than", "more than", "greater than", "over", "above", "exceeds", "≥",
          ">", ">=", "minimum of", "no fewer than", "upwards of")  # fmt: skip
_MOST = ("at most", "no more than", "not more than", "less than", "fewer than", "under", "below", "up to", "≤", "<",
         "<=", "maximum of")  # fmt: skip
_BETWEEN = frozenset(("to", "through", "-", "–", "..", "...", "till", "until", "and"))
_EQUAL = frozenset(("=", "≈", "~", "->", "=>"))
_QUIET = frozenset((":", "=", "≈", "~", "(", ")", "[", "]", "{", "}", '"', "'", ".", ",", ";", "?", "->", "=>", "*",
                    "#", "...", "|", "_", "$", "°"))  # fmt: skip
_OPERATION = frozenset(("+", "-", "*", "·", "×", "/", "^", "(", ")", "%", "−"))
_MOST_NUMBERS = 32
"""Maximum number of numbers in an answer that is one quantity, including those that lead to it."""
_OPEN, _CLOSE = "([{", ")]}"


@dataclass(frozen=True, slots=True)
class Span:
    """A range as an answer: from `low` to `high`; None: unbounded."""

    low: Quantity | None
    high: Quantity | None


Scalar = Quantity | Span


def read_scalar(text: str, decimal: Decimal) -> Scalar:
    """The single quantity of an answer, or the range that it states.

    Raises Unreadable (`hedged` for several, `unparseable_answer` for none) and TooExpensive.
    """
    if _PLAIN.fullmatch(text):
        return Quantity(Fraction(int(text)), digits=len(text.lstrip("-+0")), places=0)
    if len(text) > MAX_TEXT:
        raise TooExpensive
    found = _kept(text, decimal) if len(text) <= 200 else _outcome(text, decimal)
    if isinstance(found, Exception):
        raise found
    return found


@lru_cache(maxsize=8192)
def _kept(text: str, decimal: Decimal) -> Scalar | Unreadable | TooExpensive:
    return _outcome(text, decimal)


def _outcome(text: str, decimal: Decimal) -> Scalar | Unreadable | TooExpensive:
    try:
        return _scalar(clean(text), decimal)
    except (Unreadable, TooExpensive) as error:
        return error.with_traceback(None)


def _scalar(text: str, decimal: Decimal) -> Scalar:
    text = _DASHED.sub("-", text)  # a minus sign, where it cannot be a range
    if decimal == "point":
        text = _ENDS.sub(r"\1, ", text)  # (3,5), but (3,500) is one number
    match = _SPACED.match(text)
    if match is not None:  # 1 234 567
        text = match.group(1) + match.group(2).replace(" ", "") + text[match.end() :]
    tokens = Tokens(text)
    parts, gaps = _parts(tokens, decimal)
    if not parts:
        if any(word in ("or", "either") for word in tokens.lower):
            raise Unreadable("hedged")
        raise Unreadable
    span = _span(parts, gaps)
    if span is not None:
        return span
    while len(parts) > 1:
        last, gap = parts[-1], gaps[-2]
        before = parts[-2]
        if gap and gap[0] == "(" and gap[-1] == "(" and gaps[-1][:1] == [")"] and _agree(before, last):
            # The same quantity again, in brackets
            parts, gaps = [*parts[:-2], _finest([before, last])], [*gaps[:-2], [*gap[:-1], *gaps[-1][1:]]]
            continue
        if gap and any(word in _EQUAL for word in gap) and _leads(gaps, parts):
            finest = _finest([*_alone(parts, gaps), last])
            return _single(finest, gaps[-2][_after_equal(gaps[-2]) :], gaps[-1])
        joined = _joined(before, last) if not [word for word in gap if word not in ("and", ",")] else None
        if joined is None:
            raise Unreadable("hedged")
        parts, gaps = [*parts[:-2], joined], [*gaps[:-2], gaps[-1]]
    return _single(parts[0], gaps[0], gaps[1])


def _parts(tokens: Tokens, decimal: Decimal) -> tuple[list[Quantity], list[list[str]]]:
    """The quantities of a text, and the words before, between and after them: one gap more than quantities."""
    reader = QuantityReader(tokens, decimal)
    parts: list[Quantity] = []
    gaps: list[list[str]] = [[]]
    at, large = 0, 0
    while at < len(tokens):
        found = reader.read(at)
        if found is None:
            gaps[-1].append(tokens.lower[at])
            at += 1
            continue
        quantity, at = found
        large += quantity.large
        if large > MAX_LARGE:
            raise TooExpensive
        if len(parts) >= _MOST_NUMBERS:
            raise Unreadable("hedged")
        parts.append(quantity)
        gaps.append([])
        if at < len(tokens) and tokens.lower[at] == "!":
            raise Unreadable  # a factorial
        if at < len(tokens) and tokens.lower[at] == "+" and at + 1 == len(tokens):
            raise Unreadable("hedged")  # "5+": five or more
    if parts and parts[-1].unit is None and not parts[-1].percent:
        parts[-1] = replace(parts[-1], stray=_stray(tokens, len(tokens) - len(gaps[-1])))
    return parts, gaps


def _stray(tokens: Tokens, at: int) -> tuple[tuple[Unit, bool], ...]:
    """The units among the words from `at` on, and whether only signs, "in" and "of" come before each."""
    found: list[tuple[Unit, bool]] = []
    close = True
    for _ in range(_MOST_STRAY):
        if at >= len(tokens):
            break
        read = None
        if tokens.items[at][0] == "word" and (at == 0 or tokens.lower[at - 1] not in _RATES):
            read = UnitReader(tokens.items, at).read()
        if read is not None:
            found.append((read[0], close))
        close = close and read is None and (tokens.items[at][0] == "sign" or tokens.lower[at] in ("in", "of"))
        at = read[1] if read is not None else at + 1
    return tuple(found)


def _single(quantity: Quantity, before: Sequence[str], after: Sequence[str]) -> Scalar:
    """The quantity, if its surroundings neither doubt, negate, bound nor change it."""
    phrase = " ".join(before)
    for phrases, least in ((_LEAST, True), (_MOST, False)):
        if any(phrase == words or phrase.endswith(f" {words}") for words in phrases):
            return Span(quantity, None) if least else Span(None, quantity)
    tail = " ".join(after[:3])
    if tail.startswith(("or more", "or greater", "or higher", "and up", "and above", "or above")):
        return Span(quantity, None)
    if tail.startswith(("or less", "or fewer", "or lower", "and below", "or below")):
        return Span(None, quantity)
    if before[-2:] == ["anything", "but"] or _DENIED.search(" ".join(after)):
        raise Unreadable("hedged")
    for words in (before, after):
        for word in words:
            if word in _HEDGES:
                raise Unreadable("hedged")
            if word[0].isalnum() or word[0] == "_":
                continue
            if word not in _QUIET:
                raise Unreadable
    # "sqrt(5)", "half of", "5 squared": not the number that is written
    leading = [word for word in before if word not in ("(", "of", "the")]
    if leading and leading[-1] in _FUNCTIONS - {"e", "i", "more", "less"}:
        raise Unreadable
    if leading and leading[-1] in _ALTERED and "of" in before[-3:]:
        raise Unreadable
    if after and (after[0] in _FUNCTIONS - {"of"} or (len(after[0]) == 1 and after[0].isalpha() and after[0] != "a")):
        raise Unreadable
    if "*" in after[:1]:
        raise Unreadable
    return quantity


def _agree(first: Quantity, second: Quantity) -> bool:
    """Returns whether two notations of a quantity agree, to the precision of the coarser one."""
    value, other = _base(first), _base(second)
    if first.unit is not None and second.unit is not None and first.unit.dimension != second.unit.dimension:
        return False
    return abs(value - other) <= max(_half_place(first), _half_place(second))


def _finest(same: Sequence[Quantity]) -> Quantity:
    """The exact or most precise of several notations of one quantity: 5/14 rather than 0.357.

    It takes over the unit from another notation if it has none.
    """
    finest = max(same, key=lambda one: math.inf if one.places is None else one.places)
    if finest.unit is not None or finest.percent:
        return finest
    united = next((one for one in same if one.unit is not None), None)
    if united is None:
        return replace(finest, stray=finest.stray or next((one.stray for one in same if one.stray), ()))
    # They agree in base units, so the bare number can only be in the other's unit if that is a base unit.
    base = united.unit is not None and united.unit.factor == 1 and not united.unit.offset
    return replace(finest, unit=united.unit) if base else united


def _alone(parts: Sequence[Quantity], gaps: Sequence[Sequence[str]]) -> list[Quantity]:
    """The numbers that are a whole side of an equation, before its last side."""
    found: list[Quantity] = []
    for place, quantity in enumerate(parts[:-1]):
        before, after = gaps[place], gaps[place + 1]
        led = not before if place == 0 else before[-1:] and before[-1] in _EQUAL
        if led and after[:1] and after[0] in _EQUAL:
            found.append(quantity)
    return found


def _factor(quantity: Quantity) -> Fraction:
    return (Fraction(1, 100) if quantity.percent else Fraction(1)) * (quantity.unit.factor if quantity.unit else 1)


def _base(quantity: Quantity) -> Fraction:
    offset = quantity.unit.offset if quantity.unit is not None else 0
    return quantity.value * _factor(quantity) + offset


def _half_place(quantity: Quantity) -> Fraction:
    if quantity.places is None or quantity.places <= 0:
        return Fraction(0)
    return Fraction(1, 2 * 10**quantity.places) * _factor(quantity)


def _joined(first: Quantity, second: Quantity) -> Quantity | None:
    """Two quantities that form one: "5 ft 3 in", "1 hour and 30 minutes"; None for any others."""
    ours, theirs = first.unit, second.unit
    if ours is None or theirs is None or ours.dimension != theirs.dimension or ours.offset or theirs.offset:
        return None
    if theirs.factor >= ours.factor or second.value < 0 or second.value * theirs.factor >= ours.factor:
        return None
    sign = -1 if first.value < 0 else 1
    value = first.value + sign * second.value * theirs.factor / ours.factor
    return Quantity(value, unit=ours, large=first.large or second.large)


def _after_equal(gap: Sequence[str]) -> int:
    return max(place for place, word in enumerate(gap) if word in _EQUAL) + 1


def _leads(gaps: Sequence[Sequence[str]], parts: Sequence[Quantity]) -> bool:
    """Returns whether everything before the last "=" leads to the last number: the same number, or a computation."""
    sides: list[tuple[list[Quantity], list[str]]] = [([], [])]
    for place, gap in enumerate(gaps[:-1]):
        for word in gap:
            if word in _EQUAL:
                sides.append(([], []))
            else:
                sides[-1][1].append(word)
        sides[-1][0].append(parts[place])
    if len(sides[-1][0]) != 1:
        return False
    result = parts[-1]
    for numbers, words in sides[:-1]:
        if len(numbers) == 1 and words[1:] == ["(", ")"] and _APPLIED.fullmatch(words[0]):
            continue  # f(3) = 42
        signs = [word for word in words if not word[0].isalpha()]
        if any(word in _HEDGES or word == "and" for word in words) or any(
            word not in _OPERATION and word not in (":", "\\") for word in signs
        ):
            return False
        operated = any(word in _OPERATION and word not in "()" for word in signs) or any(
            word in _FUNCTIONS for word in words
        )
        if len(numbers) > 1 and not operated:
            return False
        if len(numbers) == 1 and not operated and not _agree(numbers[0], result):
            return False
    return True


def _span(parts: Sequence[Quantity], gaps: Sequence[Sequence[str]]) -> Span | None:
    """The range that an answer states, or None if it states none."""
    if len(parts) != 2:
        return None
    before, between, after = gaps
    first, second = parts
    words = [word for word in between if word.isalpha() or word in _BETWEEN or word in ("≤", "<", "<=", "±", ",")]
    if list(between) == ["±"]:
        centre, spread = first, _alike(second, first)
        return _ordered(
            replace(centre, value=centre.value - spread.value), replace(centre, value=centre.value + spread.value)
        )
    if any(word in _HEDGES for word in (*before, *between, *after)):
        return None
    bracketed = before[-1:] in (["["], ["("]) and after[:1] in (["]"], [")"]) and list(between) in ([","], [";"])
    chained = len(between) == 3 and between[0] in ("≤", "<", "<=") and between[2] in ("≤", "<", "<=")
    joined = len(words) == 1 and len(between) == 1 and between[0] in _BETWEEN
    if between == ["and"] and "between" not in before:
        joined = False
    if bracketed or chained or joined:
        return _ordered(_alike(first, second), second)
    return None


def _alike(first: Quantity, second: Quantity) -> Quantity:
    """The first quantity, with a unit or percent sign that is written only once: "3 to 5 km"."""
    if first.unit is None and not first.percent:
        return replace(first, unit=second.unit, percent=second.percent, stray=first.stray or second.stray)
    return first


def _ordered(low: Quantity, high: Quantity) -> Span:
    return Span(low, high) if _base(low) <= _base(high) else Span(high, low)


def read_vector(text: str, decimal: Decimal) -> tuple[Quantity, ...]:
    """The entries of a vector or list, in order. Raises Unreadable and TooExpensive."""
    if len(text) > MAX_TEXT:
        raise TooExpensive
    body, unit = _unwrapped(clean(text).removesuffix("."), decimal)
    return tuple(_entry(item, decimal, unit) for item in _items(body, decimal))


def _entry(text: str, decimal: Decimal, unit: Quantity | None) -> Quantity:
    found = read_scalar(text.strip(), decimal)
    if not isinstance(found, Quantity):
        raise Unreadable("hedged")
    if unit is not None and found.unit is None and not found.percent:
        return replace(found, unit=unit.unit, percent=unit.percent)
    return found


def _unwrapped(text: str, decimal: Decimal) -> tuple[str, Quantity | None]:
    """A list without its brackets and introduction, and the unit after the brackets. Raises Unreadable."""
    starts = [place for char in _OPEN if (place := text.find(char)) >= 0]
    if not starts:
        return text, None
    start, end = min(starts), max(text.rfind(char) for char in _CLOSE)
    head, body, tail = text[:start], text[start + 1 : end], text[end + 1 :]
    if end < start or (any(char.isdigit() for char in head) and "=" not in head):
        return text, None
    if any(char in body for char in "[]{}"):
        raise Unreadable("hedged" if "]" in body else "unparseable_answer")
    words = {word.lower() for word in re.findall(r"[^\W\d_]+", head)}
    if words & _HEDGES:
        raise Unreadable("hedged")
    tail = tail.strip(" .^T" if tail.strip().startswith("^T") else " .")
    if not tail:
        return body, None
    unit = read_scalar("1 " + tail, decimal)
    if not isinstance(unit, Quantity) or unit.value != 1 or (unit.unit is None and not unit.percent):
        raise Unreadable
    return body, unit


def _items(body: str, decimal: Decimal) -> list[str]:
    """The texts of the entries."""
    if ";" in body:
        items = body.split(";")
    elif decimal == "point" and "," in body:
        wide = re.search(r", ", body) is not None
        items = re.split(r", ", body) if wide else body.split(",")
    elif ", " in body:
        items = body.split(", ")
    elif decimal == "either" and body.count(",") > 1:
        items = body.split(",")
    elif " and " in body or "|" in body:
        items = body.replace("|", " and ").split(" and ")
    else:
        items = body.split()
    last = items[-1].strip() if items else ""
    if last.startswith("and "):
        items[-1] = last[4:]
    elif len(items) > 1 and " and " in last and "," in body:  # 1, 2 and 3
        items[-1:] = last.split(" and ", 1)
    if len(items) > 1 and not items[-1].strip():
        items.pop()
    if len(items) > MAX_ITEMS:
        raise TooExpensive
    if any(" or " in f" {item} " for item in items):
        raise Unreadable("hedged")
    return items


def read_table(text: str, decimal: Decimal) -> dict[str, Quantity]:
    """Names and their numbers: JSON, or "a: 0.3, b = 0.7", or one per line. Raises Unreadable and TooExpensive."""
    if len(text) > MAX_TEXT:
        raise TooExpensive
    given = _json_object(text)
    pairs = given if given is not None else [_named(part) for part in _lines(text)]
    if len(pairs) > MAX_ITEMS:
        raise TooExpensive
    table: dict[str, Quantity] = {}
    for name, value in pairs:
        key = name_of(name)
        if key in table:
            raise Unreadable("hedged")  # one name, two numbers
        found = value if isinstance(value, Quantity) else read_scalar(value, decimal)
        if not isinstance(found, Quantity) or not key:
            raise Unreadable("hedged" if key else "unparseable_answer")
        table[key] = found
    return table


def name_of(text: str) -> str:
    """A name without details that carry no meaning."""
    return " ".join(clean(text).strip("\"'`*-• ").casefold().split())


def _lines(text: str) -> list[str]:
    body = text.strip().removeprefix("{").removesuffix("}").strip().removesuffix(".")
    rows = [row for row in body.splitlines() if row.strip()]
    if len(rows) == 1:
        rows = rows[0].split(";") if ";" in rows[0] else re.split(r",\s|\sand\s", rows[0])
    return [row.strip().strip(",").strip() for row in rows if row.strip(" ,")]


def _named(part: str) -> tuple[str, str]:
    for sign in (":", "=", "→", " is "):
        name, found, value = part.rpartition(sign)
        if found:
            return name, value
    raise Unreadable


def _json_object(text: str) -> list[tuple[str, Any]] | None:
    """The entries of a JSON object, with numbers still as text; None if the text is not one."""
    body = text.strip().removeprefix("```json").removeprefix("```").removesuffix("```").strip()
    if not (body.startswith("{") and body.endswith("}")):
        return None
    try:
        value = json.loads(body, object_pairs_hook=list, parse_int=str, parse_float=str, parse_constant=_refused)
    except (ValueError, RecursionError):
        return None
    pairs: list[tuple[str, Any]] = value
    if any(not isinstance(pair, tuple) or not isinstance(pair[1], str) for pair in pairs):
        raise Unreadable
    return pairs


def _refused(name: str) -> Any:
    raise Unreadable


def distinct_entries(text: str) -> int:
    """Returns the number of distinct entries of a list of any kind, for answers that are compared by length.

    Raises Unreadable for a text that is not a list, and TooExpensive.
    """
    if len(text) > MAX_TEXT * 4:
        raise TooExpensive
    body = text.strip()
    try:
        value = json.loads(body, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        rows = [row for row in body.splitlines() if row.strip()]
        if len(rows) == 1 and rows[0][0] in _OPEN and rows[0][-1] in _CLOSE:
            rows = rows[0][1:-1].split(",")
        entries: Sequence[Any] = [row.strip() for row in rows]
    else:
        if not isinstance(value, (list, Mapping)):
            raise Unreadable
        entries = [json.dumps(entry, sort_keys=True) for entry in value]
    return len({entry for entry in entries if entry.strip("\"' -*")})
