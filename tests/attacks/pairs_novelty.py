"""Attacks on `novelty`, each with its honest twin."""

from __future__ import annotations

from tests.attacks.pairs import Pair

_FOX = "The fox crossed the frozen river at night to reach the henhouse."
_BOAT = "A small boat drifted past the lighthouse before dawn."
_NEW = "Bees carry pollen between flowers that grow on distant hills."
_WORDS = [f"zor{number}" for number in range(40)]

# title, attack, twin
_TABLE: list[tuple[str, str, str]] = [
    ("a copy", _FOX, _NEW),
    ("capitals", _FOX.upper(), _NEW.upper()),
    (
        "wide letters",
        "Ｔｈｅ ｆｏｘ ｃｒｏｓｓｅｄ ｔｈｅ ｆｒｏｚｅｎ ｒｉｖｅｒ ａｔ ｎｉｇｈｔ ｔｏ ｒｅａｃｈ ｔｈｅ ｈｅｎｈｏｕｓｅ",
        _NEW,
    ),
    ("look-alike letters", _FOX.translate(str.maketrans("oeac", "оеас")), _NEW),
    ("accents", _FOX.replace("e", "é"), _NEW),
    ("zero-width characters", "\u200b".join(_FOX), "\u200b".join(_NEW)),
    ("soft hyphens", _FOX.replace("r", "r\u00ad"), _NEW),
    ("a blank after each letter", " ".join(_FOX), " ".join(_NEW)),
    ("hyphens in words", _FOX.replace("o", "o-"), _NEW.replace("o", "o-")),
    ("words in reverse", " ".join(reversed(_FOX.split())), " ".join(reversed(_NEW.split()))),
    ("words in order of the alphabet", " ".join(sorted(_FOX.split())), " ".join(sorted(_NEW.split()))),
    ("punctuation", _FOX.replace(" ", "; "), _NEW.replace(" ", "; ")),
    ("one word less", _FOX.replace(" frozen", ""), _NEW),
    ("padding before", f"{' '.join(_WORDS)} {_FOX}", f"{' '.join(_WORDS)} {_NEW}"),
    ("padding after", f"{_FOX} {' '.join(_WORDS)}", f"{_NEW} {' '.join(_WORDS)}"),
    ("two copies", f"{_FOX} {_BOAT}", f"{_NEW} It is late."),
    ("a loop", "zor blim frot snarl " * 30, _NEW),
    ("nothing", "", _NEW),
    ("an opener", "Let's think step by step.", _NEW),
    ("reasoning that is new", f"<think>{_NEW}</think>{_FOX}", f"<think>{_FOX}</think>{_NEW}"),
    ("a book", " ".join(f"w{number}" for number in range(30_000)), " ".join(f"w{number}" for number in range(3_000))),
]

PAIRS = [
    Pair(title=title, use="novelty", reference={"archive": [_FOX, _BOAT]}, attack=attack, twin=twin, least=0.85)
    for title, attack, twin in _TABLE
]
