"""Attacks on `length`, `repetition` and `language`, each with its honest twin."""

from __future__ import annotations

from typing import Any

from tests.attacks.pairs import Pair

WORDS = "We add the two numbers first, since their sum is asked for, and then we divide it by three to get seven."
FRENCH = "Nous additionnons d'abord les deux nombres, car on demande leur somme, puis nous divisons par trois pour obtenir sept."
ENGLISH = WORDS + " A quick check by hand confirms that this is what the question wants."
RUSSIAN = "Сначала сложим два числа, потому что спрашивают их сумму, а затем разделим результат на три и получим семь."
UKRAINIAN = (
    "Спочатку додамо два числа, бо запитують їхню суму, а потім поділимо отриманий результат на три й матимемо сім."
)
CHINESE = "我们先把两个数相加，因为题目问的是和，然后把结果除以三，得到答案七。"
JAPANESE = "まず二つの数を足します。質問は合計を求めているからです。次に結果を三で割ると七になります。"
LEAST: dict[str, Any] = {"min": 15, "zero_below": 15}


def pair(use: str, title: str, attack: str, twin: str, params: Any = None, reference: Any = None) -> Pair:
    return Pair(title=title, use=use, attack=attack, twin=twin, params=params or {}, reference=reference)


def thought(one: str, other: str) -> str:
    return f"<think>{one}</think>{other}"


_TWICE_EACH = "".join(f"{word} {word} " for word in ("wait", "let", "me", "check", "this", "again")) * 20
_STRICT = {"measures": [{"kind": "ngrams", "full": 0.8}, {"kind": "longest", "allowed": 0.3, "full": 0.6}]}

PAIRS = [
    # length
    pair("length", "silence where short is good", " \n ", "Seven.", {"max": 10}),
    pair("length", "blanks for words", "word" + " " * 1000, WORDS, LEAST),
    pair("length", "invisible characters for words", "a" + " \u200b" * 200, WORDS, LEAST),
    pair(
        "length",
        "invisible characters for characters",
        "\u200b\u2060\ufeff" * 100,
        WORDS,
        {**LEAST, "unit": "characters"},
    ),
    pair(
        "length",
        "combining marks for characters",
        "a" + "\u0301" * 400,
        WORDS,
        {"min": 50, "zero_below": 50, "unit": "words"} | LEAST,
    ),
    pair("length", "punctuation for words", "! " * 400, WORDS, LEAST),
    pair("length", "blank lines for lines", "a" + "\n" * 400, "a\n" * 15, {**LEAST, "unit": "lines"}),
    pair("length", "lone dots for sentences", "Yes." + " ." * 400, "He ran. " * 15, {**LEAST, "unit": "sentences"}),
    pair("length", "blank paragraphs", "a" + "\n\n \n\n" * 100, "a\n\n" * 15, {**LEAST, "unit": "paragraphs"}),
    pair(
        "length",
        "steps that say nothing",
        "Step 1:\n" * 40,
        "".join(f"Step {n}: add {n}\n" for n in range(15)),
        {**LEAST, "unit": "steps"},
    ),
    pair(
        "length",
        "one step many times",
        "".join(f"Step {n}: think\n" for n in range(40)),
        "".join(f"Step {n}: add {n}\n" for n in range(15)),
        {**LEAST, "unit": "steps"},
    ),
    pair(
        "length",
        "fences around nothing",
        "```\n```\n" * 40,
        "```\n" + "x = 1; " * 8 + "\n```",
        {**LEAST, "unit": "code_characters"},
    ),
    pair("length", "an open thought", "<think>" + WORDS, WORDS, LEAST),
    pair("length", "twice the reference", WORDS * 3, WORDS, {"relative": True, "max": 1.2}, reference=WORDS),
    # repetition
    pair("repetition", "silence", "", ENGLISH),
    pair("repetition", "blanks", " \n\t" * 100, ENGLISH),
    pair("repetition", "what cannot be seen", "\u200b\u2060" * 100, ENGLISH),
    pair("repetition", "a loop", "I will check this again. " * 200, ENGLISH, _STRICT),
    pair(
        "repetition",
        "a loop in changing dress",
        "".join(("Wait, let me check! ", "wait LET me check... ", "*Wait* let me; check ")[n % 3] for n in range(150)),
        ENGLISH,
        _STRICT,
    ),
    pair(
        "repetition",
        "a loop with invisible characters",
        "".join("let me" + "\u200b" * (n % 7) + " check this " for n in range(150)),
        ENGLISH,
        _STRICT,
    ),
    pair(
        "repetition",
        "a loop in full-width letters in turn",
        "let me check ｌｅｔ ｍｅ ｃｈｅｃｋ " * 80,
        ENGLISH,
        _STRICT,
    ),
    pair(
        "repetition",
        "a loop with a counter",
        "".join(f"Check {n}: fine. " for n in range(200)),
        ENGLISH,
        {**_STRICT, "same_numbers": True},
    ),
    pair("repetition", "one endless word", "ha" * 500, ENGLISH, _STRICT),
    pair("repetition", "signs", "?!" * 500, ENGLISH, _STRICT),
    pair("repetition", "faces", "😂" * 500, ENGLISH, _STRICT),
    pair("repetition", "every word twice, the whole again and again", _TWICE_EACH, ENGLISH, _STRICT),
    pair(
        "repetition",
        "a page again and again",
        (ENGLISH + "\n") * 30,
        ENGLISH,
        {"measures": [{"kind": "longest", "allowed": 0.3, "full": 0.6}]},
    ),
    pair(
        "repetition",
        "lines in turn",
        "check the sum\ncheck the product\n" * 60,
        "check the sum\ncheck the product\n",
        {"measures": [{"kind": "lines", "full": 0.8}]},
    ),
    pair("repetition", "a Chinese loop", "再检查一遍。" * 100, CHINESE, _STRICT),
    pair("repetition", "more than can be looked at", "a b " * 200_000, ENGLISH),
    # language
    pair("language", "silence", "", FRENCH, {"language": "fr"}),
    pair("language", "digits alone", "42", FRENCH, {"language": "fr"}),
    pair("language", "a formula alone", "$$x^2 + y^2 = z^2$$", FRENCH, {"language": "fr"}),
    pair("language", "code alone", "```\nprint(1)\n```", FRENCH, {"language": "fr"}),
    pair("language", "one word that many languages have", "Paris", FRENCH, {"language": "fr"}),
    pair(
        "language",
        "a thought in another language",
        thought(ENGLISH, FRENCH),
        thought(FRENCH, FRENCH),
        {"language": "fr"},
    ),
    pair(
        "language",
        "an answer in another language",
        thought(FRENCH, ENGLISH),
        thought(FRENCH, FRENCH),
        {"language": "fr"},
    ),
    pair(
        "language",
        "a thought in a fence",
        thought(f"```\n{ENGLISH}\n```", FRENCH),
        thought("```\nx = 1\n```\n" + FRENCH, FRENCH),
        {"language": "fr"},
    ),
    pair(
        "language",
        "a thought in a formula",
        thought(f"$${ENGLISH}$$", FRENCH),
        thought(FRENCH + " $$x = y$$", FRENCH),
        {"language": "fr"},
    ),
    pair(
        "language",
        "a thought in backquotes",
        thought(f"`{ENGLISH[:250]}`", FRENCH),
        thought(FRENCH + " `code`", FRENCH),
        {"language": "fr"},
    ),
    pair("language", "a thought that never closes", "<think>" + FRENCH, thought(FRENCH, FRENCH), {"language": "fr"}),
    pair("language", "a thought and no answer", thought(FRENCH, " "), thought(FRENCH, "7"), {"language": "fr"}),
    pair(
        "language",
        "the other Cyrillic language",
        thought(UKRAINIAN, UKRAINIAN),
        thought(RUSSIAN, RUSSIAN),
        {"language": "ru"},
    ),
    pair("language", "Chinese for Japanese", CHINESE, JAPANESE, {"language": "ja"}),
    pair("language", "Japanese for Chinese", JAPANESE, CHINESE, {"language": "zh"}),
    pair(
        "language", "half and half is not enough", ENGLISH + " " + FRENCH, FRENCH, {"language": "fr", "graded": False}
    ),
    pair("language", "a short answer in another script", "不知道", FRENCH, {"language": "fr"}),
    pair("language", "more than can be looked at", ENGLISH * 2000, FRENCH, {"language": "fr"}),
]
