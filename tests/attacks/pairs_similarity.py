"""Attacks on `similarity`, each with its honest twin. A twin scores; it need not earn full marks."""

from __future__ import annotations

from typing import Any

from tests.attacks.pairs import Pair

REFERENCE = "The old man sat on the bench by the river and watched the boats go by until the sun went down."
TWIN = "The old man sat on a bench at the river and watched the boats until sunset."
SOURCE = "Der alte Mann sass auf der Bank am Fluss und sah den Booten zu, bis die Sonne unterging."
FORMS = ("bleu", "chrf", "chrf++", "ter", "rouge1", "rouge2", "rougeL", "rougeLsum", "edit")


def pair(
    title: str, attack: str, params: Any, reference: Any = REFERENCE, twin: str = TWIN, fields: Any = None
) -> Pair:
    return Pair(
        title=title,
        use="similarity",
        attack=attack,
        twin=twin,
        reference=reference,
        params=params,
        fields=fields or {},
        least=0.3,
    )


PAIRS = [
    *(pair(f"silence, {name}", " \n", {"metrics": name}) for name in FORMS),
    *(pair(f"punctuation, {name}", "... , . ! ?", {"metrics": name}) for name in FORMS),
    *(
        pair(f"a loop of frequent words, {name}", "the man sat on the " * 5, {"metrics": name})
        for name in FORMS
        if name != "ter"
    ),
    *(
        pair(f"a copy of the source, {name}", SOURCE, {"metrics": name}, {"texts": REFERENCE, "source": SOURCE})
        for name in FORMS
    ),
    pair(
        "the reference's words in a loop, for recall", (REFERENCE + " ") * 5, {"metrics": "rouge1", "rouge": "recall"}
    ),
    pair("one word in a loop, for precision", "the " * 60, {"metrics": "rouge1", "rouge": "precision"}),
    pair(
        "a loop with invisible characters",
        "".join("the" + "\u200b" * (n % 5) + " man sat " for n in range(20)),
        {"metrics": "rouge1"},
    ),
    pair("a loop in changing case", "the man SAT on The MAN sat ON " * 6, {"metrics": "rougeL"}),
    pair(
        "a copy of the source with a word changed",
        SOURCE.replace("alte", "arme"),
        {"metrics": "chrf"},
        {"texts": REFERENCE, "source": SOURCE},
    ),
    pair(
        "a copy of the source in capitals",
        SOURCE.upper(),
        {"metrics": "edit", "lowercase": True},
        {"texts": REFERENCE, "source": SOURCE},
    ),
    pair(
        "a part of the source",
        " ".join(SOURCE.split()[:8]),
        {"metrics": "chrf"},
        {"texts": REFERENCE, "source": SOURCE},
    ),
    pair(
        "the prompt echoed",
        "Translate into English: " + SOURCE,
        {"metrics": "chrf", "copied": 0.9},
        fields={"prompt": f"Translate into English: {SOURCE}"},
    ),
    pair(
        "the prompt's text for its correction",
        "He go to school every day with bus",
        {"metrics": "rougeL", "copied": 0.9},
        "He goes to school every day by bus",
        "He goes to school each day by bus",
        {"prompt": "Correct: He go to school every day with bus"},
    ),
    pair(
        "two answers",
        f"<answer>{REFERENCE}</answer> or <answer>{TWIN}</answer>",
        {"extraction": "answer_tag"},
        twin=f"<answer>{TWIN}</answer>",
    ),
    pair("a million words", "word " * 200_000, {"metrics": "rouge1"}),
    pair("a text of a million letters", "a" * 1_000_000, {"metrics": "edit"}),
    pair("words without end for TER", " ".join(f"w{n}" for n in range(39)), {"metrics": "ter"}, twin=REFERENCE),
    pair("lines without end for Lsum", "".join(f"x{n} y{n}\n" for n in range(20_000)), {"metrics": "rougeLsum"}),
    pair("half of a surrogate pair", "\ud800", {"metrics": ["chrf", "bleu", "edit"]}),
    pair("an open thought", "<think>" + REFERENCE, {"metrics": "rougeL"}),
    pair("near enough is not enough", "The old man", {"metrics": "rougeL", "threshold": 0.6, "graded": False}),
    pair(
        "several translations one after another",
        f"{REFERENCE} {TWIN} An aged fellow rested near water, looking at ships, while daylight lasted.",
        {"metrics": "chrf", "longest": 1.5},
    ),
    pair("a few sure words", "The old man", {"metrics": "rouge1", "rouge": "precision", "shortest": 0.5}),
    pair(
        "a few sure words and dashes",
        "The old man" + " \u2014\u200b" * 60,
        {"metrics": "rouge1", "rouge": "precision", "shortest": 0.5},
    ),
]
