"""Guards that check an answer before the library's scorer sees it. They close the leaks of these scorers one by one.

A guard returns the text for the scorer, or a finding if it rejects the answer. The scorers search within their input,
drop text that they cannot parse, truncate lists and tolerate distances. A guard therefore requires that the entire
answer has the form that the question asks for, and rejects deviations that no tolerance should accept. If a guard
expects JSON and finds none, it raises NotRead, and the answer is rejected (see `guarded`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

from rewarden_verifiers.puzzles import grids, literals
from rewarden_verifiers.puzzles.findings import Finding, illegal, malformed, wrong

Entry = Mapping[str, Any]
Guard = Callable[[str, Entry], str | Finding]

_FORM = malformed("it does not have the requested form")
_OTHER = wrong("the answer is different")

_UNSIGNED = r"(?:\d{1,3}(?:,\d{3}){1,100}|\d{1,300})?(?:\.\d{1,300})?(?:(?<=\d)[eE][-+]?\d{1,3})?"
_NUMBER = re.compile(rf"[-+]?(?=[.\d]){_UNSIGNED}", re.ASCII)
_FRACTION = re.compile(r"([-+]?\d{1,300})\s?/\s?(\d{1,300})", re.ASCII)
_MONEY = " $%€£"


def decimal_of(text: str) -> Decimal | None:
    """The number in a text, with or without commas between thousands; None for anything else, including NaN."""
    text = text.strip().replace("\u2212", "-")
    if _NUMBER.fullmatch(text) is None:
        return None
    try:
        return Decimal(text.replace(",", ""))
    except InvalidOperation:
        return None


def _matching(pattern: str) -> Guard:
    compiled = re.compile(pattern, re.ASCII)

    def guard(answer: str, entry: Entry) -> str | Finding:
        return answer if compiled.fullmatch(answer) else _FORM

    return guard


def _number(answer: str, entry: Entry) -> str | Finding:
    """A single number and nothing else, with commas only between thousands ("1,2" is a list)."""
    value = decimal_of(answer)
    return _FORM if value is None else answer.strip().replace(",", "").replace("\u2212", "-")


def _same_number(answer: str, entry: Entry) -> str | Finding:
    """The exact number: the scorer also gives full marks to numbers near it, and to those within other text."""
    value, gold = decimal_of(answer.strip(_MONEY)), decimal_of(str(entry["answer"]))
    if value is None:
        return _FORM
    return str(entry["answer"]) if value == gold else _OTHER


def _same_text(answer: str, entry: Entry) -> str | Finding:
    """The exact answer, ignoring case and white space."""
    gold = str(entry["answer"])
    return gold if "".join(answer.split()).casefold() == "".join(gold.split()).casefold() else _OTHER


def _same_words(answer: str, entry: Entry) -> str | Finding:
    """The exact words: the scorer also gives full marks to texts that begin with them."""
    gold = str(entry["answer"])
    return gold if answer.casefold().split() == gold.casefold().split() else _OTHER


def _json(answer: str, entry: Entry) -> str | Finding:
    """JSON and nothing else."""
    literals.parse(answer)
    return answer


def _coloring(answer: str, entry: Entry) -> str | Finding:
    """A JSON object whose values are colours, where True does not count as 1."""
    value = literals.parse(answer)
    fine = isinstance(value, dict) and all(type(color) in (int, str) for color in value.values())
    return answer if fine else _FORM


def _moves(answer: str, entry: Entry) -> str | Finding:
    """A JSON list of texts."""
    value = literals.parse(answer)
    fine = isinstance(value, list) and bool(value) and all(isinstance(one, str) for one in value)
    return answer if fine else _FORM


def _boxes(answer: str, entry: Entry) -> str | Finding:
    """A plan: the pattern of its scorer takes time quadratic in a step's length."""
    return _FORM if len(answer) > 8000 else _json(answer, entry)


def _alike(one: Any, other: Any) -> bool:
    """Returns whether two JSON values are equal. Unlike in Python, true is not 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_alike(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(_alike(*pair) for pair in zip(one, other, strict=True))
    return bool(one == other)


def _life(answer: str, entry: Entry) -> str | Finding:
    """The whole board and nothing else: the scorer ignores additional rows and columns."""
    same = _alike(literals.parse(answer), literals.parse(str(entry["answer"])))
    return str(entry["answer"]) if same else _OTHER


def _pooled(answer: str, entry: Entry) -> str | Finding:
    """Each number to two decimals: the scorer tolerates 1 %, accepts 101 for 100, and skips everything after a '#'."""
    gold = [line.split() for line in str(entry["answer"]).split("\n")]
    rows = grids.read(answer, len(gold), len(gold[0]), flat=False)
    if rows is None:
        return _FORM
    for row, solved in zip(rows, gold, strict=True):
        for cell, wanted in zip(row, solved, strict=True):
            value, target = decimal_of(cell), decimal_of(wanted)
            if value is None or target is None or abs(value - target) > Decimal("0.01"):
                return _FORM
    return str(entry["answer"])


def _chance(answer: str, entry: Entry) -> str | Finding:
    """A number or a fraction: the scorer tolerates 1e-4, so 0 would pass for a small chance."""
    value, gold = _rational(answer), _rational(str(entry["answer"]))
    if value is None or gold is None:
        return _FORM
    if abs(value - gold) > gold / 100:
        return _OTHER
    return answer.strip().replace(" ", "")


def _rational(text: str) -> Fraction | None:
    fraction = _FRACTION.fullmatch(text.strip())
    if fraction is not None:
        return Fraction(int(fraction.group(1)), int(fraction.group(2))) if int(fraction.group(2)) else None
    value = decimal_of(text)
    return None if value is None else Fraction(value)


def _roots(answer: str, entry: Entry) -> str | Finding:
    """Exactly the solutions, to four decimals. If there are none, the scorer accepts any text without numbers."""
    gold = [value for part in str(entry["answer"]).split(",") if (value := decimal_of(part)) is not None]
    if not gold:
        none = answer.casefold().strip(" .") in ('""', "''", "none", "no real solution", "no real solutions")
        return "" if none else _FORM
    parts = answer.strip("[]() ").split(",")
    given = [value for part in parts if (value := decimal_of(part)) is not None]
    if len(given) != len(parts):
        return _FORM
    if len(given) != len(gold):
        return _OTHER
    pairs = zip(sorted(given), sorted(gold), strict=True)
    if any(abs(value - target) > Decimal("0.00006") for value, target in pairs):
        return _OTHER
    return str(entry["answer"])


_CLOCK = re.compile(
    r"(?:(\d{1,6}) days?,? )?(\d{1,4}):(\d{2})(?::(\d{2})(?:\.(\d{1,6}))?)?|(\d{1,6})(?: days?)?", re.ASCII
)


def _interval(answer: str, entry: Entry) -> str | Finding:
    """A single duration: the scorer reads "12 or 13 days" as 12, and ignores everything after the seconds."""
    value, gold = _duration(answer.strip()), _duration(str(entry["answer"]).strip())
    if value is None:
        return _FORM
    return str(entry["answer"]) if value == gold else _OTHER


def _duration(text: str) -> timedelta | None:
    match = _CLOCK.fullmatch(text)
    if match is None:
        return None
    days, hours, minutes, seconds, fraction, alone = match.groups()
    if alone is not None:
        return timedelta(days=int(alone))
    micros = int((fraction or "0").ljust(6, "0"))
    return timedelta(int(days or 0), int(seconds or 0), micros, 0, int(minutes), int(hours))


def _calendar(answer: str, entry: Entry) -> str | Finding:
    """The exact number or word: the scorer accepts numbers near it, and gives more than 1 if it is negative."""
    return _same_number(answer, entry) if decimal_of(answer) is not None else _same_words(answer, entry)


_POINT = re.compile(
    r"\(?\s?([-+]?\d{1,12}(?:\.\d{1,12})?)\s?,\s?([-+]?\d{1,12}(?:\.\d{1,12})?)\s?\)?|([-+]?\d{1,12}(?:\.\d{1,12})?)\s?°?"
)


def _geometry(answer: str, entry: Entry) -> str | Finding:
    """One number or one point: the scorer takes the first two of any comma-separated numbers."""
    match = _POINT.fullmatch(answer.strip())
    if match is None or (match.group(1) is None) != (entry["metadata"]["task_type"] != "orthocenter"):
        return _FORM
    return answer.strip()


def _letters_to_digits(answer: str, entry: Entry) -> str | Finding:
    """Each letter once: if a letter has several digits, the scorer takes the last."""
    parts = [part.split("=") for part in answer.split(",")]
    names = [part[0].strip() for part in parts]
    fine = all(len(part) == 2 and re.fullmatch(r"\s{0,4}\d\s{0,4}", part[1], re.ASCII) for part in parts)
    return answer if fine and len(set(names)) == len(names) else _FORM


def _board(answer: str, entry: Entry) -> str | Finding:
    """The grid and nothing else: the scorer drops words and lines of its own accord."""
    metadata = entry["metadata"]
    solved = metadata.get("output") or metadata.get("solution")
    rows = grids.read(answer, len(solved), len(solved[0]), flat=False)
    return _FORM if rows is None else "\n".join(" ".join(row) for row in rows)


def _output(answer: str, entry: Entry) -> str | Finding:
    """The exact grid and nothing else."""
    given = _board(answer, entry)
    if isinstance(given, Finding):
        return given
    wanted = "\n".join(" ".join(map(str, row)) for row in entry["metadata"]["output"])
    return given if given == wanted else _OTHER


def _groups(answer: str, entry: Entry) -> str | Finding:
    """The groups, in any order."""
    given = literals.parse(answer)
    if not isinstance(given, list) or not all(isinstance(group, list) for group in given):
        return _FORM
    if not all(isinstance(word, str) for group in given for word in group):
        return _FORM
    wanted = sorted(sorted(group) for group in entry["metadata"]["solution"])
    return answer if sorted(sorted(group) for group in given) == wanted else _OTHER


def _steps(answer: str, entry: Entry) -> str | Finding:
    """Steps and nothing else: the scorer skips anything that is not a step."""
    steps = "".join(answer.split()).replace(",", "").upper()
    return steps if re.fullmatch(r"[UDLR]{1,10000}", steps) else _FORM


def _disks(answer: str, entry: Entry) -> str | Finding:
    """One move per line, with or without a full stop, which the scorer cannot parse."""
    pattern = re.compile(r"Move disk \d{1,3} from Peg \d{1,3} to Peg \d{1,3}", re.ASCII)
    lines = [line.strip().removesuffix(".") for line in answer.strip().split("\n") if line.strip()]
    return "\n".join(lines) if lines and all(pattern.fullmatch(line) for line in lines) else _FORM


def _factors(answer: str, entry: Entry) -> str | Finding:
    spelled = re.sub(r"\\times(?![A-Za-z])|[x*·]", "×", answer)
    return spelled if re.fullmatch(r"\s{0,4}\d{1,60}(?:\s{0,4}×\s{0,4}\d{1,60}){0,200}\s{0,4}", spelled) else _FORM


def _code_output(answer: str, entry: Entry) -> str | Finding:
    """The exact value: the scorer looks for an object anywhere in the text."""
    gold = str(entry["answer"])
    if answer.strip() == gold.strip():
        return answer
    return gold if _alike(literals.parse(answer), literals.parse(gold)) else _OTHER


def _conclusion(answer: str, entry: Entry) -> str | Finding:
    """A conclusion that does not repeat a premise word for word: the scorer accepts premises, although they
    were given.
    """
    if len(answer) > 400 or re.fullmatch(r"[A-Z()∨∧→↔¬\s]+", answer) is None:
        return _FORM
    metadata = entry["metadata"]
    said = _bare(answer)
    if said == _bare(str(metadata.get("example_answer", ""))):
        return answer
    return illegal("it is one of the premises") if said in {_bare(one) for one in metadata["premises"]} else answer


def _bare(formula: str) -> str:
    return "".join(char for char in formula if char not in "() \t\n")


_NUMBERS = "chain_sum decimal_arithmetic decimal_chain_sum number_format power_function products"
GUARDS: Mapping[str, Guard] = {
    **dict.fromkeys(_NUMBERS.split(), _number),
    **dict.fromkeys(("gsm_symbolic", "rectangle_count"), _same_number),
    **dict.fromkeys(("game_of_life_halting", "letter_jumble", "spell_backward"), _same_words),
    **dict.fromkeys(("kakurasu", "survo"), _board),
    **dict.fromkeys(("arc_agi", "rearc"), _output),
    "advanced_geometry": _geometry,
    "boxnet": _boxes,
    "calendar_arithmetic": _calendar,
    "codeio": _code_output,
    "coin_flip": _chance,
    "complex_arithmetic": _matching(r"\(?[-+\d.\s]{0,100}(?:[-+]?\s?\d{0,50}(?:\.\d{1,50})?[ijIJ])?\s?\)?"),
    "cryptarithm": _letters_to_digits,
    "figlet_font": _same_text,
    "fraction_simplification": _matching(
        r"\$?(?:\d{1,100}\s?/\s?\d{1,100}|\\d?frac\s?\{\s?\d{1,100}\s?\}\s?\{\s?\d{1,100}\s?\})\$?"
    ),
    "game_of_life": _life,
    "graph_color": _coloring,
    "group_anagrams": _groups,
    "jugs": _moves,
    "knight_swap": _matching(r"No|no|NO|\[[\s\S]{0,19000}\]"),
    "palindrome_partitioning": _json,
    "polynomial_equations": _roots,
    "pool_matrix": _pooled,
    "prime_factorization": _factors,
    "propositional_logic": _conclusion,
    "quantum_lock": _matching(r"(?:[\s,\[\]\"'→-]|->){0,6}(?:[ABCabc](?:[\s,\[\]\"'→>-]){0,6}){1,500}"),
    # Single turns: "R999999999" would be expanded that many times.
    "rubiks_cube": _matching(r"(?:\s{0,8}\d?[A-Za-z]{1,2}['2]?(?=\s|$)){1,2000}\s{0,8}"),
    "rush_hour": _matching(r"(?:\s{0,4}[A-Z][-+]\d(?=\s|$)){1,1000}\s{0,4}"),
    "sokoban": _steps,
    "time_intervals": _interval,
    "tower_of_hanoi": _disks,
    "word_ladder": _matching(r"[A-Za-z]{1,30}(?:\s{0,4},\s{0,4}[A-Za-z]{1,30}){1,2000}"),
}
"""Data sets whose scorer receives only what the guard passes; the others compare with the one right answer."""


def guarded(name: str, answer: str, entry: Entry) -> str | Finding:
    """The text to pass to a data set's scorer, or the reason why the answer is rejected."""
    guard = GUARDS.get(name)
    try:
        return answer if guard is None else guard(answer, entry)
    except literals.NotRead:
        return _FORM
