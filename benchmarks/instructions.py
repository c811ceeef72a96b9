"""Checkable instructions: verdicts per second on one core, next to the library of the sentence splitter.

Load: 200 different responses of about 1,600 characters (paragraphs, a list, quotations, abbreviations), each with two
of 61 instructions, in turn: all instructions that need no language detection, except those that need only one look (a
repeated request, a fixed sentence). References prepared once, functions called in this process: no engine, no cache, no
transport. Language detection is measured separately. The best of several short runs counts, to exclude the machine's
other load.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from typing import Any

import punkt

from benchmarks.report import Report
from rewarden_verifiers.structure.instructions.sentences import sentences
from rewarden_verifiers.structure.instructions.tokens import tokens
from rewarden_verifiers.structure.instructions.verifier import InstructionsParams, instructions, prepare, warm

_RUNS = 8
_RESPONSES = 200
_CHARACTERS = 1600
_RELATION = {"relation": "at least"}
_ARGUMENTS: dict[str, dict[str, Any]] = {
    "keywords:existence": {"keywords": ["river", "harbour"]},
    "keywords:frequency": {"keyword": "river", "frequency": 3, **_RELATION},
    "keywords:forbidden_words": {"forbidden_words": ["very", "really"]},
    "keywords:letter_frequency": {"letter": "q", "let_frequency": 3, "let_relation": "less than"},
    "length_constraints:number_sentences": {"num_sentences": 12, **_RELATION},
    "length_constraints:number_paragraphs": {"num_paragraphs": 3},
    "length_constraints:number_words": {"num_words": 200, **_RELATION},
    "length_constraints:nth_paragraph_first_word": {"num_paragraphs": 4, "nth_paragraph": 2, "first_word": "later"},
    "detectable_content:number_placeholders": {"num_placeholders": 2},
    "detectable_content:postscript": {"postscript_marker": "P.S."},
    "detectable_format:number_bullet_lists": {"num_bullets": 3},
    "detectable_format:number_highlighted_sections": {"num_highlights": 2},
    "detectable_format:multiple_sections": {"section_spliter": "Section", "num_sections": 2},
    "detectable_format:json_format": {},
    "detectable_format:title": {},
    "startend:end_checker": {"end_phrase": "That is all."},
    "change_case:capital_word_frequency": {"capital_frequency": 3, "capital_relation": "at least"},
    "punctuation:no_comma": {},
    "count:word_count_range": {"min_words": 200, "max_words": 300},
    "count:unique_word_count": {"N": 120},
    "count:conjunctions": {"small_n": 4},
    "count:person_names": {"N": 3},
    "count:numbers": {"N": 5},
    "count:punctuation": {},
    "count:pronouns": {"N": 20},
    "count:words_japanese": {"N": 5},
    "ratio:stop_words": {"percentage": 40},
    "ratio:sentence_type": {},
    "ratio:sentence_balance": {},
    "ratio:overlap": {"reference_text": "The river runs through the old harbour. " * 10, "percentage": 30},
    "ratio:sentence_words": {},
    "words:alphabet": {},
    "words:consonants": {},
    "words:palindrome": {},
    "words:prime_lengths": {},
    "words:start_verb": {},
    "words:repeats": {"small_n": 5},
    "words:odd_even_syllables": {},
    "words:last_first": {},
    "words:paragraph_last_first": {},
    "words:no_consecutive": {},
    "words:keywords_specific_position": {"keyword": "river", "n": 3, "m": 4},
    "words:words_position": {"keyword": "river"},
    "sentence:alliteration_increment": {},
    "sentence:keyword": {"word": "river", "N": 3},
    "sentence:increment": {"small_n": 2},
    "format:parentheses": {},
    "format:quotes": {},
    "format:newline": {},
    "format:emoji": {},
    "format:line_indent": {},
    "format:quote_unquote": {},
    "format:list": {"sep": "-"},
    "format:sub-bullets": {},
    "format:no_bullets_bullets": {},
    "format:title_case": {},
    "format:no_whitespace": {},
    "custom:reverse_newline": {},
    "custom:sentence_alphabet": {},
    "custom:european_capitals_sort": {},
    "custom:csv_city": {},
}
_LINES = (
    "The river runs past the old harbour, and nobody in the U.S. knows its name.",
    'Dr. Ellis said, "We cannot stay here!" but Emma laughed (as she often does).',
    "Why did the boats leave at 5 p.m. on Jan. 3? It rained for 12 days.",
    "- They're bringing lamps, ropes, and a map of the coast.\n",
    "* **Liam** sold his share; Noah kept 3.5 percent of it.\n",
    "However, the level of the water didn't fall until spring.\n\n",
    "Those who waited saw it all: the flood, the thaw, the first green fields...",
    "NASA and ESA took pictures of the delta, which you can find at [address].",
)


def _responses() -> list[str]:
    rng = random.Random(4)
    found = []
    for _ in range(_RESPONSES):
        parts: list[str] = []
        while sum(map(len, parts)) < _CHARACTERS:
            parts.append(rng.choice(_LINES))
        found.append(" ".join(parts))
    return found


def _a_second(calls: Sequence[Callable[[], object]]) -> float:
    """Returns the number of calls per second: the best of several runs over all of them."""
    best = float("inf")
    for _ in range(_RUNS):
        start = time.perf_counter()
        for call in calls:
            call()
        best = min(best, time.perf_counter() - start)
    return len(calls) / best


def _judging(responses: Sequence[str], names: Sequence[str], **params: Any) -> list[Callable[[], object]]:
    checked = InstructionsParams(**params)
    pairs = [
        prepare([{"id": name, "kwargs": _ARGUMENTS.get(name)} for name in (one, other)], checked)
        for one, other in zip(names, [*names[7:], *names[:7]], strict=True)
    ]
    return [
        lambda text=text, gold=pairs[place % len(pairs)]: instructions(text, gold, checked)  # type: ignore[misc]
        for place, text in enumerate(responses)
    ]


def run() -> list[str]:
    """Runs and reports; returns the broken promises."""
    report = Report("instructions: verdicts per second on one core, two instructions each")
    warm()
    responses = _responses()
    names = list(_ARGUMENTS)
    library = _a_second([lambda text=text: punkt.sent_tokenize(text) for text in responses])  # type: ignore[misc]
    strict = _a_second(_judging(responses, names))
    loose = _a_second(_judging(responses, names, variant="loose"))
    report.figure("strict", strict, "/s", least=1000)
    report.figure("loose, up to eight variants of each response", loose, "/s")
    report.figure("the library's own sentence splitter, alone", library, "/s")
    split = _a_second([lambda text=text: sentences(text) for text in responses])  # type: ignore[misc]
    cut = _a_second([lambda text=text: tokens(sentences(text)) for text in responses])  # type: ignore[misc]
    report.figure("sentences alone, ours", split, "/s")
    report.figure("sentences and words alone, ours", cut, "/s")
    report.figure("a strict verdict, in the library's splits", library / strict, "x")
    gold = prepare([{"id": "language:response_language", "kwargs": {"language": "en"}}], InstructionsParams())
    told = [lambda text=text: instructions(text, gold, InstructionsParams()) for text in responses[:10]]  # type: ignore[misc]
    report.figure("language detection", _a_second(told), "/s")
    return report.broken
