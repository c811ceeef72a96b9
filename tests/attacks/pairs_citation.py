"""Attacks on `citation`, each with its honest twin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.attacks.pairs import Pair

SOURCES = {
    "d1": "Albert Einstein was born in Ulm in 1879 and grew up in Munich.",
    "d2": "Einstein received the Nobel Prize in Physics in 1921 for explaining the photoelectric effect.",
    "d3": "Ulm is a city on the Danube in Germany.",
    "d4": "Bananas are rich in potassium.",
}
GOLD = {"sources": SOURCES, "gold": ["d1"]}
BORN = "Albert Einstein was born in Ulm"
MADE_UP = "Albert Einstein invented the telephone in Paris"

# title, reference, attack, twin, params
_TABLE: list[tuple[str, Any, str, str, Mapping[str, Any]]] = [
    # Citing everything, and nothing
    ("every source", SOURCES, f"{BORN} [1][2][3][4].", f"{BORN} [1].", {}),
    ("every source in one bracket", SOURCES, f"{BORN} [d1, d2, d3, d4].", f"{BORN} [d1].", {}),
    ("a range over every source", SOURCES, f"{BORN} [1-4].", f"{BORN} [1-1].", {}),
    ("every source in tags", SOURCES, f"{BORN} <cite>d1, d2, d3, d4</cite>.", f"{BORN} <cite>d1</cite>.", {}),
    ("every number up to a hundred", SOURCES, BORN + "".join(f"[{n}]" for n in range(100)), f"{BORN} [1]", {}),
    ("nothing", SOURCES, f"{BORN}.", f"{BORN} [d1].", {}),
    ("an empty bracket", SOURCES, f"{BORN} [].", f"{BORN} [d1].", {}),
    ("one source fifty times", SOURCES, f"{MADE_UP} {'[d1]' * 50}.", f"{BORN} {'[d1]' * 50}.", {}),
    ("citations without a sentence", SOURCES, "[d1] [d2] [d3]", f"{BORN} [d1]", {}),
    ("a source that the question does not need", GOLD, "Ulm is a city on the Danube [d3].", f"{BORN} [d1].", {}),
    # Sources that are made up
    ("a made-up id", SOURCES, f"{BORN} [d9].", f"{BORN} [d1].", {}),
    ("a list of its own", SOURCES, f"{MADE_UP} [5].\n\nSources:\n[5] {MADE_UP}.", f"{BORN} [1].\n\nSources:\n[1] Life", {}),
    ("an id that its own list explains", SOURCES, f"{MADE_UP} [1].\n\nSources:\n[1] {MADE_UP}.", f"{BORN} [1].", {}),
    ("a footnote with its own text", SOURCES, f"{MADE_UP}[^1].\n\n[^1]: {MADE_UP}.", f"{BORN}[^1].\n\n[^1]: d1", {}),
    ("a link to anywhere", SOURCES, f"{MADE_UP} [1](https://a.example/).", f"{BORN} [1](https://a.example/).", {}),
    ("an id with a zero-width character", SOURCES, f"{BORN} [d\u200b9].", f"{BORN} [d\u200b1].", {}),
    ("an id with a look-alike letter", SOURCES, f"{BORN} [\u0501 1].", f"{BORN} [d1].", {}),
    ("an id in the thought alone", SOURCES, f"<think>{BORN} [d1].</think>{BORN}.", f"<think>x</think>{BORN} [d1].", {}),
    # Sentences that no source holds
    ("another claim", SOURCES, f"{MADE_UP} [d1].", f"{BORN} [d1].", {}),
    ("another year", SOURCES, f"{BORN} in 1878 [d1].", f"{BORN} in 1879 [d1].", {}),
    ("another place", SOURCES, "Albert Einstein was born in Paris [d1].", f"{BORN} [d1].", {}),
    ("another field", SOURCES, "Einstein received the Nobel Prize in Chemistry in 1921 for explaining the photoelectric effect [d2].", "Einstein received the Nobel Prize in Physics in 1921 for explaining the photoelectric effect [d2].", {}),
    ("another country in bold type", SOURCES, "**Ulm** is a city on the Danube in **Austria** [d3].", "**Ulm** is a city on the Danube in **Germany** [d3].", {}),
    ("initials that no name has", SOURCES, "Albert Einstein was born in the USSR [d1].", f"{BORN} [d1].", {}),
    ("ids and words in a bracket", SOURCES, f"{BORN} [d1 or d9].", f"{BORN} [d1 d1].", {}),
    ("a link's title without end", SOURCES, "[1](" + 'a "' * 30_000, f'{BORN} [1](https://a.example/ "a").', {}),
    ("capitals without end", SOURCES, "Ab Cd " * 20_000 + "[d1].", f"{BORN} [d1].", {}),
    ("function words", SOURCES, "It is what it is and so it was [d1].", f"What it is: {BORN} [d1].", {}),
    ("one word", SOURCES, "Ulm [d1].", f"{BORN} [d1].", {}),
    ("one word again and again", SOURCES, "Telephone telephone telephone telephone Ulm [d1].", f"{BORN} [d1].", {}),
    ("words that zero-width characters join", SOURCES, "Ein\u200bstein\u200bulm was telephone paris baker [d1].", "Albert Ein\u200bstein was born in Ulm [d1].", {}),
    # Quotations
    ("a false quotation", SOURCES, 'He "was born in Paris in 1879" [d1].', 'He "was born in Ulm in 1879" [d1].', {}),
    ("a quotation with a gap", SOURCES, 'He "was born in Ulm … and grew up" [d1].', 'He "was born in Ulm in 1879 and grew up" [d1].', {}),
    ("one word as a quotation", SOURCES, f'{BORN} "in" winter [d1].', 'Albert Einstein "was born in Ulm" [d1].', {"quotes": "require"}),
    ("a quotation of another source", SOURCES, 'Einstein in Munich "received the Nobel Prize in Physics" [d1].', 'Einstein there "received the Nobel Prize in Physics" [d2].', {}),
    ("typographic marks around what is made up", SOURCES, "He “was born in Paris in 1879” [d1].", "He “was born in Ulm in 1879” [d1].", {}),
    # Text
    ("nothing at all", SOURCES, "", f"{BORN} [d1].", {}),
    ("brackets without end", SOURCES, "[" * 100_000, f"{BORN} [d1].", {}),
    ("quotation marks without end", SOURCES, '"' * 100_000, f"{BORN} [d1].", {}),
    ("tags without end", SOURCES, "<cite>" * 20_000, f"{BORN} <cite>d1</cite>.", {}),
    ("a book", SOURCES, f"{BORN} [d1]. " * 20_000, f"{BORN} [d1]. " * 2000, {}),
]  # fmt: skip

PAIRS = [
    Pair(title=title, use="citation", reference=reference, attack=attack, twin=twin, params=params)
    for title, reference, attack, twin, params in _TABLE
]
