"""Rows for comparing gates of questions that a policy asks after its searches, whose answer it was given."""

from __future__ import annotations

import random
from collections.abc import Callable

from benchmarks.parity_rows import Row, drawn, thought

_BOATS = (
    ("Corisande", "the lifeboat of Bellhaven", "the widow Thwaite"),
    ("North Lantern", "the ferry of Aldermouth", "the brothers Quill"),
    ("Patience", "the barge at Sedge Lock", "a miller named Orrin"),
)


def proposed() -> Callable[[random.Random], Row]:
    """Returns a maker of rows with a question after searches. The opinion has what a reader of the documents answers,
    and whether a judge takes that for the expected answer."""

    def make(rng: random.Random) -> Row:
        answer, boat, giver = rng.choice(_BOATS)
        year = rng.randrange(100_000, 1_000_000)  # no two rows alike: what a judge said of a text is kept
        document = f"The name of {boat} was {answer}. It was given by {giver} in {year}."
        asked = f"Which name did {giver} choose in the year {year} when they gave away {boat}?"
        questions = {
            "plain": (14, asked),
            "long": (1, " ".join([asked] * 14)),
            "short": (2, f"Who named {boat}?"),
            "letter": (1, "?"),
            "blank": (1, "  "),
            "ten words": (1, f"Say which name {boat} bore before {year}?"),
            "leaked": (3, f"{asked} Was it {answer.lower()} or some other name?"),
            "padded": (1, f"Who named        {boat}?"),
        }
        kind, question = drawn(rng, questions)
        tagged = f"<question>{question}</question>"
        forms = {
            "end": (14, f"<think>{thought(rng)}</think>\n{tagged}"),
            "spaced": (2, f"<think>{thought(rng)}</think>\n<question>\n {question}\n</question>"),
            "no tag": (1, f"<think>{thought(rng)}</think>\n{question}"),
            "open": (1, f"<think>{thought(rng)}</think>\n<question>{question}"),
            "several": (1, f"{tagged}\n<question>{asked} And why did they?</question>"),
            "thought": (1, f"<think>{thought(rng)} {tagged}</think>\nThat is all."),
            "empty": (1, ""),
        }  # fmt: skip
        form, end = drawn(rng, forms)
        names = [f"{boat} name", f"{giver} gift {year}", f"boats of {year}"]
        searches = {
            "two": (8, names[:2]),
            "three": (4, names),
            "one": (2, names[:1]),
            "none": (1, []),
            "again": (2, [*names[:2], names[0]]),
            "same": (1, [names[0]] * 2),
        }
        number, queries = drawn(rng, searches)
        told = [
            f"<think>{thought(rng)}</think>\n<search>{query}</search>\n<information>{document}</information>\n"
            for query in queries
        ]
        said = rng.choice((answer, f"The {answer}", f"{answer} of {year}", f"{giver}, {year}", None))
        response = "".join(told) + end if form != "empty" else ""
        fields = {"opinion": {"answer": said, "match": rng.random() < 0.5}}
        return Row(f"{kind}, {form}, {number}", response, {"artefact": document, "answer": answer}, fields)

    return make
