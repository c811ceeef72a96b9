"""Rows for comparing rewards of puzzles and word games whose answer is one value."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.parity_rows import Forms, Row, drawn, thought

Answers = Mapping[str, tuple[int, str]]
"""Answers by their kind, with weights."""

_NAMES = ("Ann", "Bob", "Cid", "Dora", "Emil", "Fay")
_WORDS = (
    "apple", "brook", "cedar", "delta", "ember", "flint", "grove", "heath", "inlet", "jetty", "knoll", "ledge", "marsh",
    "nook", "orbit", "pond", "quarry", "ridge", "stone", "tide",
)  # fmt: skip


def boxed_forms() -> Forms:
    """Returns the forms of an answer in a box."""
    return {
        "plain": (10, lambda rng, why, what: f"<think>{why}</think>\nSo the answer is $\\boxed{{{what}}}$."),
        "no thought": (3, lambda rng, why, what: f"{why} \\boxed{{{what}}}"),
        "no box": (2, lambda rng, why, what: f"<think>{why}</think>\nThe answer is {what}."),
        "unclosed": (1, lambda rng, why, what: f"<think>{why}</think>\n\\boxed{{{what}"),
        "cut": (2, lambda rng, why, what: f"<think>{why}"),
        "empty": (1, lambda rng, why, what: ""),
    }


def fenced_forms(language: str = "python") -> Forms:
    """Returns the forms of an answer in a code block."""
    fence = "```" + language

    return {
        "plain": (10, lambda rng, why, what: f"<think>\n{why}\n</think>\n{fence}\n{what}\n```"),
        "after": (2, lambda rng, why, what: f"<think>\n{why}\n</think>\n{fence}\n{what}\n```\nI hope this helps."),
        "no thought": (3, lambda rng, why, what: f"{fence}\n{what}\n```"),
        "twice": (1, lambda rng, why, what: f"{fence}\n?\n```\nNo, it is\n{fence}\n{what}\n```"),
        "unclosed": (1, lambda rng, why, what: f"<think>\n{why}\n</think>\n{fence}\n{what}"),
        "cut": (2, lambda rng, why, what: f"<think>\n{why}"),
        "empty": (1, lambda rng, why, what: ""),
    }


def loose_forms() -> Forms:
    """Returns the forms of an answer that nothing marks."""
    return {
        "plain": (10, lambda rng, why, what: f"<think>{why}</think>\nThe answer is {what}"),
        "alone": (3, lambda rng, why, what: what),
        "changed": (1, lambda rng, why, what: f"It is not this. {why}\n{what}"),
        "cut": (2, lambda rng, why, what: f"<think>{why}"),
        "empty": (1, lambda rng, why, what: ""),
    }


def bare_forms(*, explained: bool = True) -> Forms:
    """Returns the forms of an answer that is the whole response, as it must be for rewards that do not look for it."""
    forms: Forms = {
        "alone": (10, lambda rng, why, what: what),
        "a line": (2, lambda rng, why, what: f"{what}\n"),
        "cut": (1, lambda rng, why, what: f"<think>{why}"),
        "empty": (1, lambda rng, why, what: ""),
    }
    return {**forms, "explained": (2, lambda rng, why, what: f"{why}\n{what}")} if explained else forms


def games(
    forms: Forms, ask: Callable[[random.Random], tuple[Any, Mapping[str, Any], Answers]]
) -> Callable[[random.Random], Row]:
    """Returns a maker of rows of a game. `ask` makes a reference, further fields, and answers."""

    def make(rng: random.Random) -> Row:
        reference, fields, answers = ask(rng)
        kind, what = drawn(rng, answers)
        name, form = drawn(rng, forms)
        return Row(f"{kind}, {name}", form(rng, thought(rng), what), reference, fields)

    return make


Asked = tuple[Any, Mapping[str, Any], Answers]


def tables(rng: random.Random) -> Asked:
    """A table of houses with a header, as Guru asks for it."""
    size = rng.randint(2, 5)
    columns = [
        [str(place + 1) for place in range(size)],
        rng.sample(_NAMES, size),
        rng.sample(("tea", "milk", "water", "coffee", "cocoa"), size),
        rng.sample(("cat", "dog", "bird", "fish", "horse"), size),
    ][: rng.randint(2, 4)]
    rows = [list(row) for row in zip(*columns, strict=True)]
    right: dict[str, Any] = {"header": ["Position", "Name", "Drink", "Pet"][: len(columns)], "rows": rows}
    first, second = rng.sample(range(size), 2)
    swapped = [list(row) for row in rows]
    swapped[first][-1], swapped[second][-1] = swapped[second][-1], swapped[first][-1]
    shuffled = [[row[0], *rng.sample(row[1:], len(row) - 1)] for row in rows]

    def told(rows: Any, **changes: Any) -> str:
        return json.dumps({**right, "rows": rows, **changes})

    return (
        right,
        {},
        {
            "right": (8, told(rows)),
            "swapped": (6, told(swapped)),
            "shuffled": (3, told(shuffled)),
            "turned": (2, told(rows[::-1])),
            "same": (2, told([rows[0]] * size)),
            "numbers": (2, told([[int(row[0]), *row[1:]] for row in rows])),
            "missing row": (3, told(swapped[:-1])),
            "missing cell": (2, told([row[:-1] for row in rows])),
            "further row": (1, told([*swapped, ["9", *rows[0][1:]]])),
            "other header": (2, told(swapped, header=["House", *right["header"][1:]])),
            "no header": (1, json.dumps({"rows": swapped})),
            "no rows": (1, json.dumps({"header": right["header"]})),
            "list": (1, json.dumps(rows)),
            "capitals": (1, told([[cell.upper() for cell in row] for row in rows])),
            "words": (1, "I cannot decide who lives where."),
            "broken": (1, told(rows)[:-2]),
            "blank": (1, " "),
        },
    )


def counts(rng: random.Random) -> Asked:
    """A number of things."""
    right = rng.randint(0, 60)
    answers: Answers = {
        "right": (10, str(right)),
        "near": (8, str(right + 1)),
        "negative": (2, str(-right - 1)),
        "with a unit": (2, f"{right} things"),
        "decimals": (1, f"{right}.0"),
        "words": (1, "many"),
        "blank": (1, ""),
    }
    return str(right), {}, answers


def cents(rng: random.Random) -> Asked:
    """A number with two decimal places."""
    right = rng.randint(-9000, 90000) / 100
    answers: Answers = {
        "right": (10, f"{right:.2f}"),
        "near": (8, f"{right + 0.01:.2f}"),
        "turned": (2, f"{-right - 1:.2f}"),
        "three places": (2, f"{right:.3f}"),
        "one place": (2, f"{right:.1f}"),
        "corrected": (2, f"{right + 2:.2f}, no, {right:.2f}"),
        "words": (1, "nothing"),
        "blank": (1, ""),
    }
    return f"{right:.2f}", {}, answers


def places(rng: random.Random) -> Asked:
    """The name of a place."""
    right, other = rng.sample(_WORDS, 2)
    answers: Answers = {
        "right": (8, right),
        "capitals": (3, right.upper()),
        "wrong": (8, other),
        "with an article": (2, f"the {right}"),
        "both": (2, f"{right} or {other}"),
        "blank": (1, ""),
    }
    return right, {}, answers


def mistakes(rng: random.Random) -> Asked:
    """The number of the first wrong step, or No."""
    right = rng.choice(("No", *map(str, range(1, 12))))
    other = rng.choice([each for each in ("No", "3", "7", "12") if each != right])
    answers: Answers = {"right": (8, right), "wrong": (8, other), "words": (2, f"Step {right}"), "blank": (1, "")}
    return right, {}, {**answers, "small": (2, right.lower())}


def sets(names: tuple[str, ...], between: str = ", ") -> Callable[[random.Random], Asked]:
    """Returns a maker of questions for a set of names."""

    def ask(rng: random.Random) -> Asked:
        right = rng.sample(names, rng.randint(2, 4))
        other = next(name for name in names if name not in right)
        answers: Answers = {
            "right": (8, between.join(right)),
            "turned": (4, between.join(right[::-1])),
            "no blanks": (2, between.strip().join(right)),
            "missing": (4, between.join(right[1:])),
            "further": (4, between.join([*right, other])),
            "wrong": (4, between.join([other, *right[1:]])),
            "blank": (1, ""),
        }
        return right, {}, answers

    return ask


def sorted_words(rng: random.Random) -> Asked:
    """Words in alphabetical order."""
    right = sorted(rng.sample(_WORDS, rng.randint(3, 8)))
    answers: Answers = {
        "right": (8, ", ".join(right)),
        "no blanks": (2, ",".join(right)),
        "swapped": (6, ", ".join([right[1], right[0], *right[2:]])),
        "turned": (2, ", ".join(right[::-1])),
        "missing": (4, ", ".join(right[:-1])),
        "twice": (2, ", ".join([*right, right[-1]])),
        "blank": (1, ""),
    }
    return right, {}, answers


def answers_in_order(rng: random.Random) -> Asked:
    """Yes or no for each person, in bold type."""
    right = rng.choices(("yes", "no"), k=rng.randint(1, 5))
    wrong = [*right]
    place = rng.randrange(len(right))
    wrong[place] = "no" if right[place] == "yes" else "yes"

    def told(said: list[str]) -> str:
        return f"**{', '.join(said)}**"

    answers: Answers = {
        "right": (8, told(right)),
        "capitals": (2, told([each.capitalize() for each in right])),
        "wrong": (8, told(wrong)),
        "longer": (3, told([*right, "yes"])),
        "shorter": (3, told(right[:-1] or ["maybe"])),
        "words": (1, "**I cannot tell**"),
    }
    return right, {}, answers


def equations(rng: random.Random) -> Asked:
    """A sum of two or three numbers, with its value."""
    terms = [str(rng.randint(10, 999)) for _ in range(rng.randint(2, 3))]
    signs = [rng.choice("+-") for _ in terms[1:]]
    left = terms[0] + "".join(f" {sign} {term}" for sign, term in zip(signs, terms[1:], strict=True))
    value = eval(left)  # noqa: S307 - made above of numbers and operators
    other = [str(int(term) + 1) for term in terms]
    wrong = other[0] + "".join(f" {sign} {term}" for sign, term in zip(signs, other[1:], strict=True))
    right = f"{left} = {value}"
    answers: Answers = {
        "right": (8, right),
        "no blanks": (3, right.replace(" ", "")),
        "wrong": (6, f"{wrong} = {eval(wrong)}"),  # noqa: S307 - as above
        "false": (4, f"{left} = {value + 1}"),
        "no value": (2, left),
        "turned": (2, f"{value} = {left}"),
        "words": (1, "not possible"),
    }
    return right, {}, answers


def ciphers(rng: random.Random) -> Asked:
    """A text in capitals, in a list in a list."""
    right = rng.choice(_WORDS).upper()
    other = rng.choice([word for word in _WORDS if word.upper() != right]).upper()
    answers: Answers = {
        "right": (8, f'[["{right}"]]'),
        "wrong": (8, f'[["{other}"]]'),
        "both": (2, f'[["{right}", "{other}"]]'),
        "one list": (2, f'["{right}"]'),
        "bare": (1, right),
        "small": (2, f'[["{right.lower()}"]]'),
        "broken": (1, f'[["{right}"'),
    }
    return right, {}, answers


def meetings(rng: random.Random) -> Asked:
    """The length of the longest meeting and the number of choices, in a list."""
    right = [rng.randrange(10, 200, 10), rng.randint(1, 9)]
    answers: Answers = {
        "right": (8, str(right)),
        "wrong": (8, str([right[0] + 10, right[1]])),
        "turned": (2, str(right[::-1])),
        "one": (2, str(right[:1])),
        "words": (1, "There is no time."),
        "texts": (1, json.dumps([*map(str, right)])),
    }
    return right, {}, answers


def errors(rng: random.Random) -> Asked:
    """The place of the first error, -1 if there is none."""
    right = rng.choice((-1, -1, *range(1, 15)))
    other = rng.choice([each for each in (-1, 3, 7, 16) if each != right])
    answers: Answers = {
        "right": (8, str(right)),
        "wrong": (8, str(other)),
        "words": (2, "I do not know"),
        "said valid": (2, "The sequence is invalid."),
        "blank": (1, ""),
    }
    return right, {}, answers


def brackets(rng: random.Random) -> Asked:
    """A sequence of brackets that closes what it opens."""

    def nested(depth: int) -> str:
        if not depth:
            return ""
        opening = rng.choice(("()", "[]", "{}"))
        return opening[0] + nested(depth - 1) + opening[1] + (nested(depth - 1) if rng.random() < 0.5 else "")

    right = nested(rng.randint(2, 4))
    answers: Answers = {
        "right": (10, right),
        "short": (4, right[:-1]),
        "long": (4, right + right[-1]),
        "turned": (4, right[::-1]),
        "words": (1, "It cannot be closed."),
        "blank": (1, ""),
    }
    return right, {}, answers


def expressions(rng: random.Random) -> Asked:
    """An expression over numbers that has a value."""
    numbers = [rng.randint(1, 13) for _ in range(rng.randint(3, 5))]
    formula = str(numbers[0])
    for number in numbers[1:]:
        formula = f"({formula}{rng.choice('+-*')}{number})"
    value = eval(formula)  # noqa: S307 - made above of numbers and operators
    other = "-".join(map(str, numbers))
    if eval(other) == value:  # noqa: S307 - as above
        other = "+".join(map(str, numbers))
    foreign = next(number for number in range(14, 99) if str(number) not in formula)
    answers: Answers = {
        "right": (10, formula[1:-1]),
        "bracketed": (3, formula),
        "wrong": (6, other),
        "left out": (4, "+".join(map(str, numbers[1:]))),
        "twice": (4, f"{formula}+{numbers[0]}-{numbers[0]}"),
        "foreign": (4, f"{formula}+{foreign}"),
        "power": (1, f"{formula}^1"),
        "broken off": (2, formula[:-1]),
        "words": (2, "no way"),
        "blank": (1, ""),
    }
    return {"numbers": numbers, "target": value}, {}, answers


def inequalities(rng: random.Random) -> Asked:
    """A square of numbers with signs between some of them."""
    size = rng.randint(3, 6)
    order, lines, columns = (rng.sample(range(size), size) for _ in range(3))
    right = [[order[(line + column) % size] + 1 for column in columns] for line in lines]
    puzzle = [[cell if rng.random() < 0.4 else 0 for cell in line] for line in right]
    puzzle[0][0] = 0
    signs: list[tuple[int, int, int, int, str]] = []
    for _ in range(size):
        line, column = rng.randrange(size), rng.randrange(size - 1)
        signs.append((line, column, line, column + 1, "<" if right[line][column] < right[line][column + 1] else ">"))
    up = [[cell % size + 1 for cell in line] for line in right]
    odd = [[*line] for line in right]
    odd[0][0] = right[0][0] % size + 1
    big = [[*line] for line in right]
    big[0][0] = size + 1

    def told(cells: list[list[int]]) -> str:
        return f"[[{','.join(' '.join(map(str, line)) for line in cells)}]]"

    answers: Answers = {
        "right": (10, told(right)),
        "another square": (6, told(up)),
        "a cell": (4, told(odd)),
        "too large": (2, told(big)),
        "turned": (3, told([line[::-1] for line in right])),
        "short": (2, told(right[:-1])),
        "words": (1, "no way"),
    }
    return {"puzzle": puzzle, "constraints": signs}, {}, answers


def wrong_steps(rng: random.Random) -> Asked:
    """The numbers of the wrong steps, if there are any."""
    right = sorted(rng.sample(range(1, 20), rng.choice((0, 1, 2, 2, 3))))
    other = next(step for step in range(1, 20) if step not in right)
    answers: Answers = {
        "right": (8, ",".join(map(str, right)) or "No"),
        "blanks": (3, ", ".join(map(str, right)) or "no errors"),
        "turned": (2, ",".join(map(str, right[::-1])) or "no"),
        "further": (4, ",".join(map(str, [*right, other]))),
        "missing": (4, ",".join(map(str, right[1:])) or "no"),
        "words": (1, "I do not know"),
    }
    return right, {}, answers
