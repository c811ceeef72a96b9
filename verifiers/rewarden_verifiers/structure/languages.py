"""Languages, their scripts, and their detection. Offline and deterministic.

A script that only one language uses (Greek, Hangul, Thai …) identifies it. langdetect's n-grams distinguish languages
that share a script (Latin, Cyrillic, Arabic, Devanagari), with a fixed seed for each call.
"""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

_LATIN = (
    "af ca cs cy da de en es et fi fr hr hu id it lt lv nl no pl pt ro sk sl so sq sv sw tl tr vi",
    "Afrikaans Catalan Czech Welsh Danish German English Spanish Estonian Finnish French Croatian Hungarian Indonesian "
    "Italian Lithuanian Latvian Dutch Norwegian Polish Portuguese Romanian Slovak Slovenian Somali Albanian Swedish "
    "Swahili Tagalog Turkish Vietnamese",
)
_SHARED = (
    ("bg mk ru uk", "Bulgarian Macedonian Russian Ukrainian", "CYRILLIC"),
    ("ar fa ur", "Arabic Persian Urdu", "ARABIC"),
    ("hi mr ne", "Hindi Marathi Nepali", "DEVANAGARI"),
    (*_LATIN, "LATIN"),
)
_OWN = (
    "am Amharic ETHIOPIC;bn Bengali BENGALI;bo Tibetan TIBETAN;el Greek GREEK;gu Gujarati GUJARATI;he Hebrew HEBREW;"
    "hy Armenian ARMENIAN;ja Japanese HIRAGANA KATAKANA CJK;ka Georgian GEORGIAN;km Khmer KHMER;kn Kannada KANNADA;"
    "ko Korean HANGUL;lo Lao LAO;ml Malayalam MALAYALAM;my Burmese MYANMAR;or Odia ORIYA;pa Punjabi GURMUKHI;"
    "si Sinhala SINHALA;ta Tamil TAMIL;te Telugu TELUGU;th Thai THAI;zh Chinese CJK BOPOMOFO"
)
_KANA = frozenset(("HIRAGANA", "KATAKANA"))
_OTHER_CODES = {"nb": "no", "nn": "no", "fil": "tl", "iw": "he", "in": "id", "cmn": "zh"}
_KANA_SHARE = 0.05
"""Of Japanese prose nearly half is kana; a text of Han characters with next to none is Chinese."""
PROBABLE = 0.2
"""The probability from which a language counts that is not the likeliest: Danish and Norwegian are hard to tell."""


def _table() -> tuple[dict[str, frozenset[str]], dict[str, str], frozenset[str]]:
    scripts: dict[str, frozenset[str]] = {}
    names: dict[str, str] = dict(_OTHER_CODES)
    shared: set[str] = set()
    for codes, called, script in _SHARED:
        for code, name in zip(codes.split(), called.split(), strict=True):
            scripts[code], names[name.lower()] = frozenset((script,)), code
            shared.add(code)
    for entry in _OWN.split(";"):
        code, name, *own = entry.split()
        scripts[code], names[name.lower()] = frozenset(own), code
    return scripts, names, frozenset(shared)


SCRIPTS, _NAMES, SHARING = _table()
"""Of each language its scripts; other spellings; the languages that share their script with others."""


def known(name: str) -> str:
    """The code of a language given as a code ("fr", "pt-BR", "zh-cn") or an English name. Raises ValueError."""
    plain = name.strip().lower().replace("_", "-")
    code = _NAMES.get(plain, plain.partition("-")[0])
    code = _NAMES.get(code, code)
    if code not in SCRIPTS:
        raise ValueError(f"unknown language {name!r}; known: {', '.join(sorted(SCRIPTS))}")
    return code


@lru_cache(maxsize=16_384)
def _script(char: str) -> str | None:
    name = unicodedata.name(char, "") if char.isalpha() else ""
    return name.replace("-", " ").partition(" ")[0] or None


def script(word: str) -> str | None:
    """The script of a word's first letter, as Unicode names it (CJK for Han); None for a word without letters."""
    return next((found for char in word if (found := _script(char)) is not None), None)


def mixed(word: str) -> bool:
    """Returns whether a word has Latin letters and others: a term with an ending of the language that it is used in."""
    found = {_script(char) for char in word} - {None}
    return "LATIN" in found and len(found) > 1


def belongs(found: Counter[str], code: str) -> int:
    """Returns how many words of these scripts a text in this language can contain."""
    kana = sum(found[name] for name in _KANA)
    # Han characters stand in two languages; kana says which.
    japanese = kana > _KANA_SHARE * (kana + found["CJK"])
    if code in ("ja", "zh") and (code == "ja") is not japanese:
        return 0 if code == "ja" else found["BOPOMOFO"]
    return sum(found[name] for name in SCRIPTS[code])


@lru_cache(maxsize=1)
def _factory() -> Any:
    from langdetect import PROFILES_DIRECTORY
    from langdetect.detector_factory import DetectorFactory
    from langdetect.utils.lang_profile import LangProfile

    factory = DetectorFactory()
    # Not `load_profile`: it takes the files in the order of the file system, on which the draws depend.
    paths = sorted(path for path in Path(PROFILES_DIRECTORY).iterdir() if path.is_file())
    for place, path in enumerate(paths):
        factory.add_profile(LangProfile(**json.loads(path.read_text(encoding="utf-8"))), place, len(paths))
    factory.seed = 0  # the detector draws n-grams at random; each call begins with the same draw
    return factory


def warm() -> None:
    """Load the detector's profiles."""
    _factory()


def probabilities(text: str) -> dict[str, float]:
    """Returns what langdetect takes the text for, the likeliest first; nothing if it finds nothing to go by."""
    from langdetect.lang_detect_exception import LangDetectException

    detector = _factory().create()
    detector.append(text)
    try:
        found = detector.get_probabilities()
    except LangDetectException:
        return {}
    told: dict[str, float] = {}
    for entry in found:
        code = entry.lang.partition("-")[0]
        told[code] = told.get(code, 0.0) + float(entry.prob)
    return told


def language_of(text: str, words: Sequence[str]) -> str | None:
    """The language of a text of these words; None where there is too little of it."""
    found = Counter(name for word in words if (name := script(word)) is not None)
    if not found:
        return None
    most = found.most_common(1)[0][0]
    for code in SCRIPTS:
        if code not in SHARING and most in SCRIPTS[code] and belongs(found, code):
            return code
    return next(iter(probabilities(text)), None)
