"""Attacks on checkable instructions: responses that pass a checker by doing nothing, each with an honest twin."""

from __future__ import annotations

from typing import Any

from tests.attacks.pairs import Pair


def told(*instructions: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """A reference of these ids and arguments."""
    return [{"id": name, "kwargs": arguments} for name, arguments in instructions]


_PROHIBITIONS = told(
    ("punctuation:no_comma", {}),
    ("keywords:forbidden_words", {"forbidden_words": ["very"]}),
    ("words:no_consecutive", {}),
    ("words:repeats", {"small_n": 2}),
    ("length_constraints:number_words", {"num_words": 20, "relation": "less than"}),
)
_ALL_OF_THESE = "Big dogs run past old trees."

# title, reference, attack, twin
_TABLE: list[tuple[str, Any, str, str]] = [
    # Prohibitions met by saying nothing
    ("blanks", _PROHIBITIONS, " \n ", _ALL_OF_THESE),
    ("a full stop", _PROHIBITIONS, ".", _ALL_OF_THESE),
    ("marks", _PROHIBITIONS, "*** ... !!!", _ALL_OF_THESE),
    ("zero-width characters", _PROHIBITIONS, "\u200b\u200b", _ALL_OF_THESE),
    ("a NUL", _PROHIBITIONS, "\x00", _ALL_OF_THESE),
    ("a thought and no answer", _PROHIBITIONS, f"<think>{_ALL_OF_THESE}</think>", f"<think>Hm, so, well</think>{_ALL_OF_THESE}"),
    ("a thought that never closes", _PROHIBITIONS, f"<think>{_ALL_OF_THESE}", f"<think></think>\n\n{_ALL_OF_THESE}"),
    ("brackets alone", told(("format:parentheses", {})), "((((((()))))))", "So (it [goes {on (and [on])}])."),
    ("quotation marks alone", told(("startend:quotation", {})), '""', '"Time flies."'),
    # Vacuous: nothing is there that could be wrong
    ("stairs of one step", told(("format:line_indent", {})), "one two three", "one\n two\n  three"),
    ("a chain of one sentence", told(("words:last_first", {})), "We went on and on", "We went on. On it went."),
    ("one sentence that grows", told(("sentence:increment", {"small_n": 1})), "Rain fell.", "Rain fell. Nobody went out."),
    ("one sentence that alliterates more", told(("sentence:alliteration_increment", {})), "It rained.", "It rained. Silly swans sang."),
    ("no bullets", told(("format:sub-bullets", {})), "Fruit and nuts", "* Fruit\n  - apple"),
    ("no questions, no statements", told(("ratio:sentence_type", {})), "Some fruit", "I ate. You drank. Who paid?"),
    ("no sentences in balance", told(("ratio:sentence_balance", {})), "Some fruit", "I ate. Who paid? You did!"),
    ("no quotation", told(("format:quote_unquote", {})), "Nobody said that", '"Nobody" is a word for no person.'),
    ("too short for the third word", told(("count:words_japanese", {"N": 3})), "Hello there", "Hello there 猫"),
    ("one word of one parity", told(("words:odd_even_syllables", {})), "No", "No money left"),
    ("a paragraph of one word", told(("words:paragraph_last_first", {})), "No", "No means no"),
    # Counted more than once
    ("one conjunction in three coats", told(("count:conjunctions", {"small_n": 3})), "and And and,", "this and that or so"),
    ("one sentence three times", told(("ratio:sentence_words", {})), "Dogs bark. Dogs bark. Dogs bark.", "Dogs bark. Cats purr. Bees buzz."),
    ("one word many times", told(("count:unique_word_count", {"N": 4})), "word word word word", "four words that differ"),
    ("one response twice", told(("combination:two_responses", {})), "Go by train.\n******\nGo by train.", "Go by train.\n******\nGo by bus."),
    ("one name three times", told(("count:person_names", {"N": 2})), "Emma, Emma and Emma", "Emma and Liam"),
    # Hedges
    ("every answer at once", told(("detectable_format:constrained_response", {})), "My answer is yes. My answer is no.", "My answer is no."),
    ("every option at once", told(("format:options", {"options": "yes/no/maybe"})), "yes/no/maybe", "Maybe."),
    ("every letter at once", told(("format:options", {"options": "a), b), c), d)"})), "a), b), c), d)", "b)"),
    # Look-alikes
    ("the request as it was, a blank added", told(("repeat:repeat_change", {"prompt_to_repeat": "Name a river."})), "Name a river. ", "Give a river."),
    ("no language", told(("language:response_language", {"language": "fr"})), "42 17 2024", "Le fleuve traverse la ville et rejoint la mer."),
    ("capital letters of no language", told(("change_case:english_capital", {})), "XQZJ", "THE RIVER RUNS THROUGH THE VALLEY TO THE SEA."),
    ("a keyword's pattern", told(("keywords:existence", {"keywords": ["e.g."]})), "egg!", "Fruit, e.g. apples"),
    ("a forbidden word behind a mark", told(("keywords:forbidden_words", {"forbidden_words": ["C++"]})), "I use C++.", "I use C."),
    ("a forbidden word in capitals", told(("keywords:forbidden_words", {"forbidden_words": ["moon"]})), "The MOON", "The moonlight"),
    ("a full-width comma is none", told(("keywords:existence", {"keywords": [","]})), "one，two", "one, two"),
    ("a blank title", told(("detectable_format:title", {})), "<< >> and more", "<<On Rivers>> and more"),
    ("JSON in words around it", told(("detectable_format:json_format", {})), 'Here: {"a": 1}', '{"a": 1}'),
    ("an answer before the request is repeated", told(("combination:repeat_prompt", {"prompt_to_repeat": "Name a river."})), "The Ebro. Name a river.", "Name a river. The Ebro."),
    ("words after the end", told(("startend:end_checker", {"end_phrase": "That is all."})), "That is all. Or not.", "It rained. That is all."),
    ("a tab for a blank", told(("format:no_whitespace", {})), "one\ttwo", "one-two"),
    ("a no-break space for a blank", told(("format:no_whitespace", {})), "one\xa0two", "one_two"),
    ("a noun where a verb is asked", told(("words:start_verb", {})), "Plan B is better.", "Plan your day."),
    ("what raises in the official checker", told(("custom:csv_quotes", {})), '"StudentID"\t"Subject"\t"Grade"\t"Semester"\t"Score"\n\t\t\t\t\n\t\t\t\t\n\t\t\t\t', "\n".join('"{}"\t"{}"\t"{}"\t"{}"\t"{}"'.format(*row) for row in (("StudentID", "Subject", "Grade", "Semester", "Score"), *[("1", "Art", "A", "Fall", "9")] * 3))),
    # Expensive
    ("brackets without end", told(("detectable_content:number_placeholders", {"num_placeholders": 1})), "x" + "[" * 100_000, "x" + "[" * 1000 + "]"),
    ("angles without end", told(("detectable_format:title", {})), "x" + "<" * 100_000, "x" + "<" * 1000 + "t>>"),
    ("blank lines without end", told(("detectable_format:number_bullet_lists", {"num_bullets": 1})), "x" + "\n" * 100_000, "x" + "\n" * 1000 + "* y"),
    ("combining marks without end", told(("custom:european_capitals_sort", {})), "e" + "\u0315\u0300" * 50_000, "Reykjavik, Helsinki, Oslo, Tallinn, Stockholm, Riga, Moscow, Copenhagen, Vilnius, Minsk, Dublin, Berlin, Amsterdam, Warsaw, London, Brussels, Prague, Luxembourg, Paris, Vienna, Bratislava, Budapest, Vaduz, Chi\u0219in\u0103u, Bern, Ljubljana, Zagreb"),
    ("periods without end", told(("sentence:keyword", {"word": "end", "N": 2})), "a." * 50_000, "a" + "?" * 1000 + " And the end."),
    ("JSON nested without end", told(("detectable_format:json_format", {})), "[1" * 50_000, "[1" + "]"),
    ("a very long text", told(("punctuation:no_comma", {})), "word " * 50_000, "word " * 1000),
]  # fmt: skip

PAIRS = [
    Pair(title=title, use="instructions", attack=attack, twin=twin, reference=reference)
    for title, reference, attack, twin in _TABLE
] + [
    Pair(
        title="loose: asterisks taken away, and the bullets with them",
        use="instructions",
        attack="* Fruit\n* Nuts",
        twin="Sure!\n* Fruit\n  - apple",
        reference=told(("format:sub-bullets", {})),
        params={"variant": "loose"},
    ),
    Pair(
        title="a fraction for saying nothing",
        use="instructions",
        attack="...",
        twin=_ALL_OF_THESE,
        reference=_PROHIBITIONS,
        params={"mode": "fraction"},
    ),
]
