"""Rows for comparing rewards of dates, and of what is stated to follow from them."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from benchmarks.parity_rows import Forms, Row, drawn, think_answer, thought

_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip


def _thinks(why: str, what: str) -> str:
    return f"<think>{why}</think>\n<answer>{what}</answer>"


def _forms() -> Forms:
    """Returns the forms of thoughts that are short, looping or too long."""
    words = [f"{first}{last}" for first in "bdfgklmnprst" for last in ("ale", "ond", "irt", "umber", "ock", "even")]
    said = (
        "the treaty is signed in early spring this time",
        "it was so",
        "we then look once more at the dates told here",
    )

    def loop(rng: random.Random, times: int) -> str:
        return " ".join([rng.choice(said)] * times)

    def spread(rng: random.Random, count: int) -> str:
        """Returns words without a run of five that occurs again."""
        return " ".join(f"{rng.choice(words)}{place}" for place in range(count))

    return {
        **think_answer(),
        "unclosed": (2, lambda rng, why, what: f"<think>{why}</think>\n<answer>{what}"),
        "two lines": (1, lambda rng, why, what: f"<think>{why}</think>\n<answer>\n{what}\n</answer>"),
        "stuttering": (3, lambda rng, why, what: _thinks(f"{spread(rng, 60)} {' so' * rng.randint(2, 12)}", what)),
        "looping": (4, lambda rng, why, what: _thinks(f"{spread(rng, 90)} {loop(rng, rng.randint(2, 8))} so", what)),
        "all loop": (2, lambda rng, why, what: _thinks(loop(rng, 44), what)),
        "short loop": (2, lambda rng, why, what: _thinks(loop(rng, rng.randint(2, 5)), what)),
        "long": (4, lambda rng, why, what: _thinks(spread(rng, rng.randint(850, 1100)), what)),
    }


def _told(month: int) -> str:
    """Returns a month, counted from the year 0, as YYYY-MM."""
    return f"{month // 12}-{month % 12 + 1:02}"


def _drawn(rng: random.Random, count: int) -> list[int]:
    return [rng.randrange(2016 * 12, 2024 * 12) for _ in range(count)]


def _near(rng: random.Random, month: int) -> int:
    return month + rng.choice((-1, 1)) * rng.choice((0, 0, 1, 2, 3, 6, 12, 30))


def _rates(rng: random.Random, count: int) -> dict[str, Any]:
    """Returns the fields of a row whose events are easy or hard, or of one that does not say."""
    hard = rng.choice((None, 0.07, 0.085))
    easy = [rng.random() < 0.5 for _ in range(count)]
    rates = [0.1 if hard is None or one else hard for one in easy]
    told = {} if hard is None else {"metadata": {"rates": rates}}
    return {"easy": [True] * count if hard is None else easy, "hard": hard, **told}


def months() -> Callable[[random.Random], Row]:
    """Returns a maker of rows whose answer is a month YYYY-MM, in thoughts that are short, looping or too long."""

    def make(rng: random.Random) -> Row:
        year, month = rng.randint(2016, 2025), rng.randint(1, 12)
        right = f"{year}-{month:02}"
        far = year * 12 + month - 1 + rng.choice((-1, 1)) * rng.choice((1, 1, 2, 3, 6, 12, 30))
        near = f"{far // 12}-{far % 12 + 1:02}"
        kind = rng.choices(
            ("right", "near", "spaced", "words", "day", "no month", "no event", "none", "blank", "sentence"),
            weights=(8, 12, 1, 1, 1, 1, 2, 1, 1, 1),
        )[0]
        what = {
            "right": right,
            "near": near,
            "spaced": f" {right} ",
            "words": f"March {year}",
            "day": f"{right}-05",
            "no month": f"{year}-13",
            "no event": "No event",
            "none": "none",
            "blank": "",
            "sentence": f"It is {right}.",
        }[kind]
        name, form = drawn(rng, _forms())
        return Row(f"{kind}, {name}", form(rng, thought(rng), what), right)

    return make


def _spoilt(rng: random.Random, right: str, near: str) -> tuple[str, str]:
    """Returns a kind of answer and the answer, of the right one and of one that is close to it."""
    kinds = {
        "right": (8, right),
        "near": (14, near),
        "in a sentence": (1, f"I think that {near} I am sure."),
        "no stop": (1, near.removesuffix(".")),
        "no month": (1, near.replace("-0", "-2", 1).replace("-1", "-3", 1)),
        "other labels": (1, near.replace("Event", "Case")),
        "twice": (1, f"{near} {right}"),
        "answered twice": (1, f"{near}</answer><answer>{right}"),
        "answered after nothing": (1, f"none</answer><answer>{right}"),
        "no event": (1, "No event"),
        "a date": (1, right.partition(": ")[2][:7]),
        "blank": (1, ""),
    }
    return drawn(rng, kinds)


def differences() -> Callable[[random.Random], Row]:
    """Returns a maker of rows whose answer states two months and how many months are between them. `easy` and `hard`
    have each event's difficulty, and the rate of the hard ones."""

    def make(rng: random.Random) -> Row:
        first, second = _drawn(rng, 2)
        guesses = [_near(rng, first), _near(rng, second)]
        apart = abs(guesses[0] - guesses[1])
        claim = rng.choice((apart, apart, max(0, _near(rng, apart)), abs(first - second), rng.randrange(100)))

        def told(dates: list[int], months: int) -> str:
            return f"Event 1: {_told(dates[0])}, Event 2: {_told(dates[1])}. Month difference: {months}."

        kind, what = _spoilt(rng, told([first, second], abs(first - second)), told(guesses, claim))
        name, form = drawn(rng, _forms())
        reference = {"Event 1": _told(first), "Event 2": _told(second), "Month difference": abs(first - second)}
        return Row(f"{kind}, {name}", form(rng, thought(rng), what), reference, _rates(rng, 2))

    return make


def timelines() -> Callable[[random.Random], Row]:
    """Returns a maker of rows whose answer states three months and the order of their events."""

    def sequence(dates: list[int]) -> list[int]:
        return sorted((1, 2, 3), key=lambda event: dates[event - 1])

    def make(rng: random.Random) -> Row:
        dates = _drawn(rng, 3)
        guesses = [_near(rng, date) for date in dates]
        start = guesses[0]
        guesses = rng.choice(
            (guesses, guesses, guesses, [start] * 3, [start, start + 1, start + 2], [start, start - 1, start - 2])
        )
        claim = rng.choice((sequence(guesses), sequence(guesses), sequence(dates), rng.sample((1, 2, 3), 3)))
        if rng.random() < 0.04:
            claim = rng.choice(([1, 1, 2], [1, 2, 4], [0, 1, 2]))

        def told(moments: list[int], order: list[int]) -> str:
            stated = ", ".join(f"Event {place}: {_told(moment)}" for place, moment in enumerate(moments, start=1))
            return f"{stated}. Event order: {'-'.join(map(str, order))}."

        kind, what = _spoilt(rng, told(dates, sequence(dates)), told(guesses, claim))
        name, form = drawn(rng, _forms())
        reference: dict[str, Any] = {f"Event {place}": _told(date) for place, date in enumerate(dates, start=1)}
        reference |= {"Event order": [str(event) for event in sequence(dates)]}
        return Row(f"{kind}, {name}", form(rng, thought(rng), what), reference, _rates(rng, 3))

    return make


def completions() -> Callable[[random.Random], Row]:
    """Returns a maker of rows whose answer states a month, and a year or a month's name that was masked."""

    def written(rng: random.Random, month: int) -> str:
        name = _MONTHS[month % 12]
        return rng.choice((name, name, name.lower(), name[:3], str(month % 12 + 1), f"{month % 12 + 1:02}"))

    def make(rng: random.Random) -> Row:
        (date,) = _drawn(rng, 1)
        guess, masked = _near(rng, date), _near(rng, date)
        year = rng.random() < 0.5
        entity = str(masked // 12) if year else _MONTHS[masked % 12]
        near = str(_near(rng, masked) // 12) if year else written(rng, _near(rng, masked))
        if rng.random() < 0.1:
            near = rng.choice(
                ("June", "2019", "June 2019", "the year", "13", "1850", "2150")
                if year
                else ("2019", "June 2019", "a month", "13", "0", "May or June")
            )
        kind, what = _spoilt(
            rng,
            f"Event: {_told(date)}. Missing entity: {entity}.",
            f"Event: {_told(guess)}. Missing entity: {near}.",
        )
        name, form = drawn(rng, _forms())
        reference = {"Event": _told(date), "Missing entity": entity}
        return Row(
            f"{kind}, {name}",
            form(rng, thought(rng), what),
            reference,
            {"mask": "year" if year else "month", **_rates(rng, 1)},
        )

    return make
