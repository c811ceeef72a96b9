"""Rows for comparing rewards of verifiable instructions: texts that obey an instruction, and texts that do not."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.parity_rows import Form, Row, drawn, thought

_SUBJECTS = ("the ferry", "a lantern", "the orchard", "a glacier", "the market", "an old clock", "the harbour")
_VERBS = ("waits", "turns", "shines", "rests", "moves", "rises")
_PLACES = ("by the river", "under the bridge", "in the valley", "near the gate", "at noon", "in winter")
_QUANTIFIERS = ("at least", "around", "at most")

Case = tuple[str, dict[str, Any], str, str]
"""A function's name, its arguments, a text that obeys, and one that does not."""


def _sentence(rng: random.Random) -> str:
    return f"{rng.choice(_SUBJECTS)} {rng.choice(_VERBS)} {rng.choice(_PLACES)}".capitalize() + "."


def _text(rng: random.Random, sentences: int) -> str:
    return " ".join(_sentence(rng) for _ in range(sentences))


def _numbered(rng: random.Random, number: int, quantifier: str) -> tuple[int, int]:
    """Returns a count that obeys a quantifier, and one that does not."""
    if quantifier == "at least":
        return number + rng.randint(0, 2), number - 1
    if quantifier == "at most":
        return number - rng.randint(0, 1), number + 3
    return number, number + 4


def _words(rng: random.Random) -> Case:
    number, quantifier = rng.randint(6, 30), rng.choice(_QUANTIFIERS)
    right, wrong = _numbered(rng, number, quantifier)

    def text(count: int) -> str:
        return " ".join(rng.choices(("moss", "rain", "stone", "bell", "wind"), k=max(count, 1)))

    return (
        "validate_word_constraint",
        {"N": number, "quantifier": quantifier},
        text(right),
        text(wrong + (8 if quantifier == "around" else 0)),
    )


def _sentences(rng: random.Random) -> Case:
    number, quantifier = rng.randint(3, 7), rng.choice(_QUANTIFIERS)
    right, wrong = _numbered(rng, number, quantifier)
    given = {"N": number, "quantifier": quantifier}
    return "verify_sentence_constraint", given, _text(rng, right), _text(rng, wrong)


def _keywords(rng: random.Random) -> Case:
    first, second = rng.sample(("lantern", "glacier", "meadow", "violin"), 2)
    right = f"{_sentence(rng)} A {first} and a {second.upper()} stand there."
    return "verify_keywords", {"keyword_list": [first, second]}, right, f"{_sentence(rng)} A {first} stands there."


def _frequency(rng: random.Random) -> Case:
    word, number = rng.choice(("moss", "rain", "bell")), rng.randint(2, 4)
    right = " ".join([_sentence(rng), *[f"{word} falls."] * number])
    return "verify_keyword_frequency", {"word": word, "N": number}, right, f"{right} {word} again."


def _forbidden(rng: random.Random) -> Case:
    words = rng.sample(("copper", "silver", "granite"), 2)
    return "validate_forbidden_words", {"forbidden_words": words}, _text(rng, 2), f"{_text(rng, 1)} It is {words[0]}."


def _letters(rng: random.Random) -> Case:
    number = rng.randint(2, 5)
    right = "moss on stone " + "z" * number
    return "verify_letter_frequency", {"letter": "z", "N": number}, right, f"{right}z"


def _paragraphs(rng: random.Random) -> Case:
    number = rng.randint(2, 4)
    parts = [_text(rng, 2) for _ in range(number + 1)]
    right, wrong = ("\n* * *\n".join(parts[:count]) for count in (number, number + 1))
    return "verify_paragraph_count", {"N": number}, right, wrong


def _first_word(rng: random.Random) -> Case:
    number = rng.randint(2, 4)
    place = rng.randint(1, number)
    parts = [_text(rng, 2) for _ in range(number)]
    wrong = "\n\n".join(parts)
    parts[place - 1] = f"Therefore {parts[place - 1]}"
    return "validate_paragraphs", {"N": number, "first_word": "Therefore", "i": place}, "\n\n".join(parts), wrong


def _postscript(rng: random.Random) -> Case:
    marker = rng.choice(("P.S.", "P.P.S"))
    text = _text(rng, 2)
    return "verify_postscript", {"postscript_marker": marker}, f"{text}\n\n{marker} {_sentence(rng)}", text


def _placeholders(rng: random.Random) -> Case:
    number = rng.randint(1, 3)
    marks = [f"[{name}]" for name in ("name", "address", "date", "town")]
    return (
        "validate_placeholders",
        {"N": number},
        f"{_text(rng, 1)} {' and '.join(marks[:number])}.",
        f"{_text(rng, 1)} {' and '.join(marks[: number - 1])}.",
    )


def _bullets(rng: random.Random) -> Case:
    number, mark = rng.randint(2, 4), rng.choice("*-")
    lines = [f"{mark} {_sentence(rng)}" for _ in range(number)]
    return "verify_bullet_points", {"N": number}, "\n".join(lines), "\n".join([*lines, lines[0]])


def _title(rng: random.Random) -> Case:
    return "validate_title", {}, f"<<{rng.choice(_SUBJECTS)}>>\n{_text(rng, 2)}", f"<{rng.choice(_SUBJECTS)}>"


def _highlights(rng: random.Random) -> Case:
    number = rng.randint(1, 3)
    marks = " ".join(f"*{name}*" for name in ("moss", "rain", "stone")[:number])
    return "validate_highlighted_sections", {"N": number}, f"{_sentence(rng)} {marks}", _text(rng, 2)


def _sections(rng: random.Random) -> Case:
    number, splitter = rng.randint(2, 4), rng.choice(("SECTION", "Part"))
    parts = [f"{splitter} {place}\n{_text(rng, 1)}" for place in range(1, number + 2)]
    given = {"N": number, "section_splitter": splitter}
    return "validate_sections", given, "\n".join(parts[:number]), "\n".join(parts)


def _json(rng: random.Random) -> Case:
    right = json.dumps({"place": rng.choice(_PLACES), "count": rng.randint(1, 9)})
    return "validate_json_format", {}, right, f"{right[:-1]}"


def _repeated(rng: random.Random) -> Case:
    prompt = f"Tell me of {rng.choice(_SUBJECTS)}."
    given = {"original_prompt": prompt}
    return "validate_repeat_prompt", given, f"{prompt} {_text(rng, 2)}", f"Well. {prompt} {_text(rng, 1)}"


def _two(rng: random.Random) -> Case:
    first = _text(rng, 2)
    return "validate_two_responses", {}, f"{first}\n******\nNext. {_text(rng, 2)}", f"{first}\n******\n{first}"


def _upper(rng: random.Random) -> Case:
    return "validate_uppercase", {}, _text(rng, 2).upper(), _text(rng, 2)


def _lower(rng: random.Random) -> Case:
    return "validate_lowercase", {}, _text(rng, 2).lower(), _text(rng, 2)


def _capitals(rng: random.Random) -> Case:
    number, quantifier = rng.randint(2, 5), rng.choice(_QUANTIFIERS)
    right, wrong = _numbered(rng, number, quantifier)

    def text(count: int) -> str:
        return " ".join(["the", *["MOSS"] * count, "grows"])

    return "validate_frequency_capital_words", {"N": number, "quantifier": quantifier}, text(right), text(wrong)


def _end(rng: random.Random) -> Case:
    phrase = rng.choice(("That is all.", "Good night"))
    text = f"{_text(rng, 2)} {phrase}"
    return "validate_end", {"end_phrase": phrase}, text, f"{text} {_sentence(rng)}"


def _quoted(rng: random.Random) -> Case:
    return "validate_quotation", {}, f'"{_text(rng, 2)}"', f'"{_text(rng, 2)}'


def _commas(rng: random.Random) -> Case:
    return "validate_no_commas", {}, _text(rng, 2), f"{_text(rng, 1)} Then, rain."


_CASES: Sequence[Callable[[random.Random], Case]] = (
    *(_words, _sentences, _keywords, _frequency, _forbidden, _letters, _paragraphs, _first_word, _postscript),
    *(_placeholders, _bullets, _title, _highlights, _sections, _json, _repeated, _two, _upper, _lower, _capitals),
    *(_end, _quoted, _commas),
)

_FORMS: dict[str, tuple[int, Form]] = {
    "plain": (12, lambda rng, why, what: what),
    "thought": (3, lambda rng, why, what: f"<think>{why}</think>\n{what}"),
    "cut": (1, lambda rng, why, what: f"<think>{why}"),
    "empty": (1, lambda rng, why, what: ""),
}


def instructions() -> Callable[[random.Random], Row]:
    """Returns a maker of rows whose reference names a function of Tulu 3 with its arguments."""

    def make(rng: random.Random) -> Row:
        name, given, right, wrong = rng.choice(_CASES)(rng)
        obeys = rng.random() < 0.55
        form, write = drawn(rng, _FORMS)
        response = write(rng, thought(rng), right if obeys else wrong)
        reference = json.dumps({"func_name": name, **given})
        return Row(f"{'right' if obeys else 'wrong'}, {form}", response, reference)

    return make
