"""IFBench's `custom:*`: tasks with one right form each, including tables. They take no arguments."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from itertools import pairwise

from rewarden_verifiers.structure.instructions.checker import plain
from rewarden_verifiers.structure.instructions.text import STRIPPED, Text, bare

_NUMBER = re.compile(r"\d+")
_SEVENS = tuple(str(number) for number in range(14, 51, 7))
_QUESTION = re.compile(r"Question \d+[.|):;]?\s*")
_OPTION = re.compile(r"[A-Ea-e][.|)]\s*\w")
_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})")
_NAPOLEON = range(1769, 1822)
_DAYS = {2: 29, 4: 30, 6: 30, 9: 30, 11: 30}
_AFRICAN_COUNTRIES = 52
_CAPITALS_LIST = """
    Reykjavik Helsinki Oslo Tallinn Stockholm Riga Moscow Copenhagen Vilnius Minsk Dublin Berlin Amsterdam Warsaw London
    Brussels Prague Luxembourg Paris Vienna Bratislava Budapest Vaduz Chisinau Bern Ljubljana Zagreb
    """
_CAPITALS = tuple(_CAPITALS_LIST.split())
_CITY = ["ID", "Country", "City", "Year", "Count"]
_SPECIAL = re.compile(r"[^\d\w\s]")


def _ascii(text: str) -> str:
    """Removes characters outside ASCII, and accents from letters."""
    if text.isascii():
        return text
    # Normalise character by character: ordering a long run of combining marks takes quadratic time.
    parts = (char if char.isascii() else unicodedata.normalize("NFKD", char) for char in text)
    return "".join(parts).encode("ascii", "ignore").decode("ascii")


@plain("custom:multiples")
def multiples(text: Text) -> bool:
    """Its numbers are the multiples of 7 from 14 to 49."""
    return tuple(_NUMBER.findall(text.value)) == _SEVENS


@plain("custom:mcq_count_length")
def mcq_count_length(text: Text) -> bool:
    """Four questions that begin with "Question" and a number, each longer than the one before, with five options."""
    if not text.value.startswith("Question"):
        return False
    questions = [part.strip() for part in _QUESTION.split(text.value) if part.strip()]
    if len(questions) != 4:
        return False
    lengths: list[int] = []
    for question in questions:
        lines = [line.strip() for line in question.split("\n")]
        chosen = [place for place, line in enumerate(lines) if _OPTION.match(line)]
        if len(chosen) != 5:
            return False
        lengths.append(len(" ".join(lines[: chosen[0]]).strip()))
    return all(one < other for one, other in pairwise(lengths))


@plain("custom:reverse_newline")
def reverse_newline(text: Text) -> bool:
    """At least 52 lines from "Zimbabwe" on, in reverse alphabetical order."""
    lines = [line for raw in text.lines if (line := raw.strip(STRIPPED))]
    start = next((place for place, line in enumerate(lines) if "Zimbabwe" in line), len(lines))
    listed = [_ascii(line) for line in lines[start:]]
    return len(listed) >= _AFRICAN_COUNTRIES and listed == sorted(listed, reverse=True)


@plain("custom:word_reverse")
def word_reverse(text: Text) -> bool:
    """Read backwards word by word, it names the bald eagle."""
    return "bald eagle" in " ".join(reversed(bare(text.lower).split()))


@plain("custom:character_reverse")
def character_reverse(text: Text) -> bool:
    """Read backwards, it names the bald eagle."""
    return "elgae dlab" in text.lower


@plain("custom:sentence_alphabet")
def sentence_alphabet(text: Text) -> bool:
    """26 sentences that begin with the letters of the alphabet in order."""
    return "".join(sentence.lstrip()[:1].lower() for sentence in text.sentences) == "abcdefghijklmnopqrstuvwxyz"


@plain("custom:european_capitals_sort")
def european_capitals_sort(text: Text) -> bool:
    """The capitals of Europe north of 45 degrees from north to south, separated by commas."""
    return tuple(part.strip() for part in _ascii(text.value).split(",") if part.strip()) == _CAPITALS


@plain("custom:date_format_list")
def date_format_list(text: Text) -> bool:
    """Dates of Napoleon's time as YYYY-MM-DD, separated by commas."""
    for part in text.value.split(","):
        date = _DATE.fullmatch(part.strip())
        if date is None:
            return False
        year, month, day = (int(number) for number in date.groups())
        if year not in _NAPOLEON or month > 12 or day > _DAYS.get(month, 99 if month == 0 else 31):
            return False
    return True


def _header(names: str, separator: str) -> re.Pattern[str]:
    return re.compile(separator.join(f'(?:{name}|"{name}")' for name in names.split()))


_PRODUCT = _header("ProductID Category Brand Price Stock", r",[ \t]*")
_STUDENT = _header("StudentID Subject Grade Semester Score", r"\t *")


def _rows(value: str, delimiter: str = ",") -> list[list[str]]:
    """The rows of a table; empty if the text is not a table."""
    try:
        return list(csv.reader(io.StringIO(value), delimiter=delimiter))
    except csv.Error:
        return []


def _quotes_kept(value: str) -> str:
    # A tripled quotation mark opens or closes a field, plus one literal mark.
    return value.replace('"', '"""')


@plain("custom:csv_city")
def csv_city(text: Text) -> bool:
    """A header and seven rows of five fields, separated by commas."""
    rows = _rows(text.value)
    return len(rows) == 8 and rows[0] == _CITY and all(len(row) == 5 for row in rows[1:])


def _special(field: str) -> bool:
    """Returns whether the first line of a field has a character in quotation marks that is not a letter, digit or
    blank.
    """
    line = field.partition("\n")[0]
    last = line.rfind('"')
    return line.startswith('"') and last > 1 and _SPECIAL.search(line, 1, last) is not None


@plain("custom:csv_special_character")
def csv_special_character(text: Text) -> bool:
    """A header and fourteen rows of five fields, separated by commas, with a special character in quotation marks."""
    if _PRODUCT.fullmatch(text.lines[0].strip()) is None:
        return False
    rows = _rows(_quotes_kept(text.value))
    if len(rows) != 15:
        return False
    for row in rows[1:]:
        if len(row) != 5:
            return False
        if any(map(_special, row)):
            return True  # the official checker ignores the rows after it
    return False


@plain("custom:csv_quotes")
def csv_quotes(text: Text) -> bool:
    """A header and three rows of five fields, separated by tabs, each field in quotation marks."""
    if _STUDENT.fullmatch(text.lines[0].strip()) is None:
        return False
    rows = _rows(_quotes_kept(text.value), "\t")
    fields = [field.strip() for row in rows for field in row]
    shaped = len(rows) == 4 and all(len(row) == 5 for row in rows)
    return shaped and all(field.startswith('"') and field.endswith('"') for field in fields)
