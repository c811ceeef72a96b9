"""`instructions`: checks that a response follows verifiable instructions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from rewarden.types import Component, Outcome
from rewarden_verifiers.contract import verifier
from rewarden_verifiers.outcome import no_answer, right, scored, too_expensive
from rewarden_verifiers.structure import languages
from rewarden_verifiers.structure.instructions import sentences
from rewarden_verifiers.structure.instructions.reference import Instruction, Reference, read
from rewarden_verifiers.structure.instructions.text import Text

_BLANK_LINES = re.compile(r"(?:[^\S\n]*\n)+")
_SAYS = re.compile(r"[^\W_]|[\u2190-\u2bff\U0001f000-\U0001faff]")
"""A letter or digit of any script, or a pictograph."""
_LONGEST = 200_000
"""The maximum length of a response in characters."""
_MET = Component(status="scored", score=1.0)
_MISSED = Component(status="scored", score=0.0, reason="not_followed", fault="policy")
_UNGUARDED = Component(status="scored", score=0.0, reason="guarded", fault="policy")


@dataclass(frozen=True, kw_only=True)
class InstructionsParams:
    """Options of `instructions`.

    mode: `all`: 1 if every instruction is followed, else 0 (Tulu 3); `fraction`: the share followed (Light-IF).
    variant: `strict`: the response unchanged; `loose`: also without its first line, its last line, or both, and each of
        these four without asterisks. An instruction is followed if one of the eight variants follows it.
    guards: Rejects responses that the official checkers pass although they do nothing of what was asked (a single
        sentence, if each must begin with the last word of the one before it), and reads keywords as texts. False
        reproduces the official verdicts, to compare with published results; do not train with it.
    """

    mode: Literal["all", "fraction"] = "all"
    variant: Literal["strict", "loose"] = "strict"
    guards: bool = True


def prepare(reference: Reference, params: InstructionsParams) -> tuple[Instruction, ...]:
    """Parses the instructions and their arguments."""
    return read(reference, params.guards)


def warm() -> None:
    """Loads the tables for sentences, syllables and languages."""
    import syllapy  # noqa: F401 - its table of words is read when it is imported

    sentences.warm()
    languages.warm()


def _variants(response: str, loose: bool) -> Iterator[Text]:
    """Yields the variants of the text, one of which must follow an instruction."""
    yield Text(response)
    if not loose:
        return
    seen = {response}
    lines = response.split("\n")
    cuts = (response, *("\n".join(cut).strip() for cut in (lines[1:], lines[:-1], lines[1:-1])))
    for value in (*cuts, *(cut.replace("*", "") for cut in cuts)):
        if value not in seen and value.strip():
            seen.add(value)
            yield Text(value)


def _judge(instruction: Instruction, variants: list[Text], guards: bool) -> Component:
    judged = _MISSED
    for text in variants:
        if instruction.check(text):
            if not guards or instruction.guard is None or instruction.guard(text):
                return _MET
            judged = _UNGUARDED
    return judged


@verifier(
    version="2",
    graded=True,
    prepare=prepare,
    warm=warm,
)
def instructions(response: str, prepared: tuple[Instruction, ...], params: InstructionsParams) -> Outcome:
    """Checks that the response follows verifiable instructions, by the ids of IFEval, IFBench, IF-RLVR and Tulu 3.

    The reference is a list of `{"id", "kwargs"}` (or `"instruction_id"`), or has the form of the data sets:
    `{"instruction_id_list": [...], "kwargs": [...]}`, also as JSON or Python text as in open-instruct, or Tulu 3's
    `{"func_name": "...", ...}`, with the arguments next to the name. Null arguments count as not given.

    An unknown id, or an argument that is missing, unknown or of the wrong type, makes the reference invalid, and
    nothing is scored. Unlike the official code, the verifier never draws a missing argument at random.

    IFEval (arXiv 2311.07911), with arguments: `keywords:existence` keywords; `keywords:frequency` keyword, frequency,
    relation ("at least", "less than"); `keywords:forbidden_words` forbidden_words; `keywords:letter_frequency` letter,
    let_frequency, let_relation; `language:response_language` language; `length_constraints:number_sentences`
    num_sentences, relation; `length_constraints:number_paragraphs` num_paragraphs; `length_constraints:number_words`
    num_words, relation; `length_constraints:nth_paragraph_first_word` num_paragraphs, nth_paragraph, first_word;
    `detectable_content:number_placeholders` num_placeholders; `detectable_content:postscript` postscript_marker;
    `detectable_format:number_bullet_lists` num_bullets; `detectable_format:number_highlighted_sections` num_highlights;
    `detectable_format:multiple_sections` section_spliter, num_sections; `detectable_format:constrained_response`;
    `detectable_format:json_format`; `detectable_format:title`; `combination:two_responses`; `combination:repeat_prompt`
    prompt_to_repeat; `startend:end_checker` end_phrase; `startend:quotation`; `change_case:capital_word_frequency`
    capital_frequency, capital_relation; `change_case:english_capital`; `change_case:english_lowercase`;
    `punctuation:no_comma`.

    IFBench (arXiv 2507.02833): `count:word_count_range` min_words, max_words; `count:unique_word_count`,
    `count:person_names`, `count:numbers`, `count:pronouns`, `count:words_japanese` N; `count:conjunctions` small_n;
    `count:punctuation`; `count:keywords_multiple` keyword1 to keyword5; `ratio:stop_words` percentage; `ratio:overlap`
    reference_text, percentage; `ratio:sentence_type`; `ratio:sentence_balance`; `ratio:sentence_words`;
    `words:alphabet`; `words:vowel`; `words:consonants`; `words:palindrome`; `words:prime_lengths`; `words:start_verb`;
    `words:repeats` small_n; `words:odd_even_syllables`; `words:last_first`; `words:paragraph_last_first`;
    `words:no_consecutive`; `words:keywords_specific_position` keyword, n, m; `words:words_position` keyword;
    `sentence:alliteration_increment`; `sentence:keyword` word, N; `sentence:increment` small_n; `format:parentheses`;
    `format:quotes`; `format:options` options; `format:newline`; `format:emoji`; `format:line_indent`;
    `format:quote_unquote`; `format:list` sep; `format:thesis`; `format:sub-bullets`; `format:no_bullets_bullets`;
    `format:title_case`; `format:output_template`; `format:no_whitespace`; `repeat:repeat_change` prompt_to_repeat;
    `repeat:repeat_simple`; `repeat:repeat_span` prompt_to_repeat, n_start, n_end; and, without arguments, `custom:`
    multiples, mcq_count_length, reverse_newline, word_reverse, character_reverse, sentence_alphabet,
    european_capitals_sort, csv_city, csv_special_character, csv_quotes, date_format_list.

    IF-RLVR (as in open-instruct) uses IFEval's instructions and these: `keywords:word_once`,
    `keywords:exclude_word_harder` keyword; `keywords:word_count_different_numbers` keyword, frequency, relation;
    `keywords:keyword_specific_position` keyword, n, m; `keywords:palindrome`; `keywords:no_adjacent_consecutive`;
    `keywords:start_end`; `copy:repeat_phrase` phrase, small_n; `copy:copy`, `copy:copying_simple` prompt_to_repeat;
    `copy:copying_multiple` prompt_to_repeat, N; `new:copy_span_idx` prompt_to_repeat, n_start, n_end;
    `paragraphs:paragraphs`; `paragraphs:paragraphs2`; `first_word:first_word_sent`, `first_word:first_word_answer`
    first_word; `last_word:last_word_sent`, `last_word:last_word_answer` last_word;
    `detectable_format:sentence_hyphens`; `detectable_format:square_brackets`; `detectable_format:bigram_wrapping`;
    `punctuation:punctuation_dot`; `punctuation:punctuation_exclamation`; `count:lowercase_counting` N;
    `count:counting_composition` n_sent, n_words; `count:count_unique`; `count:count_increment_word` keyword1, keyword2;
    `letters:letter_counting` N, relation; and `letters:letter_counting2`, which is `keywords:letter_frequency`.

    Tulu 3's functions (arXiv 2411.15124), with arguments: `verify_keywords` keyword_list; `verify_keyword_frequency`
    word, N; `validate_forbidden_words` forbidden_words; `verify_letter_frequency` letter, N;
    `validate_response_language` language; `verify_paragraph_count`, `validate_placeholders`, `verify_bullet_points`,
    `validate_highlighted_sections` N; `validate_word_constraint`, `verify_sentence_constraint`,
    `validate_frequency_capital_words` N, quantifier ("at least", "around", "at most"); `validate_paragraphs` N,
    first_word, i; `verify_postscript` postscript_marker; `validate_choice` options; `validate_sections` N,
    section_splitter; `validate_repeat_prompt` original_prompt; `validate_end` end_phrase; and, without arguments,
    `validate_title`, `validate_json_format`, `validate_two_responses`, `validate_uppercase`, `validate_lowercase`,
    `validate_quotation`, `validate_no_commas`.

    Verdicts equal those of the official code, oddities included, with these exceptions:

    - Guards reject responses that pass by doing nothing (see `guards`; the evidence lists them with the cause).
    - A response without a letter, a digit or a pictograph follows no instruction.
    - Blank lines at the beginning, left over after the reasoning, are ignored.
    - Keywords, section marks and postscripts are texts, not regular expressions.
    - "or" separates options only as a word.
    - A text in capital letters is English if its lower-case form is.

    With `guards: false` none of these apply; then 135 of 136 checkers gave the official verdict on 111,000 generated
    responses. Two differences remain: an instruction for which the official code raises an exception counts as not
    followed, and `words:start_verb` uses a list of verbs instead of a tagger whose weights must be downloaded. Punkt
    splits sentences and the Penn Treebank's rules split words, as in NLTK 3.9; langdetect identifies languages with a
    fixed seed. A response longer than 200,000 characters is `too_expensive`.

    Each instruction is a component, 1 or 0 (a second one with the same id is named `id#2`). A response passes if it
    follows all of them.
    """
    # The reasoning leaves blank lines behind. The official checkers get the remaining text as it is.
    blank = _BLANK_LINES.match(response) if params.guards else None
    value = response[blank.end() :] if blank is not None else response
    number = len(prepared)
    if not value.strip() or (params.guards and not _SAYS.search(value)):
        # An empty response violates no prohibition, and must not be rewarded for that.
        return no_answer(evidence={"instructions": number, "followed": 0})
    if len(value) > _LONGEST:
        return too_expensive(evidence={"characters": len(value), "most": _LONGEST})
    variants = list(_variants(value, params.variant == "loose"))
    components: dict[str, Component] = {}
    missed: list[str] = []
    guarded: dict[str, str] = {}
    for instruction in prepared:
        name, same = instruction.name, 1
        while name in components:
            same += 1
            name = f"{instruction.name}#{same}"
        judged = _judge(instruction, variants, params.guards)
        components[name] = judged
        if judged is not _MET:
            missed.append(name)
        if judged is _UNGUARDED:
            guarded[name] = instruction.why
    evidence = {"instructions": number, "followed": number - len(missed), "variant": params.variant}
    if not missed:
        return right(components=components, evidence=evidence)
    return scored(
        (number - len(missed)) / number if params.mode == "fraction" else 0.0,
        passed=False,
        reason="not_followed",
        feedback=f"not followed: {', '.join(missed[:8])}",
        components=components,
        evidence={**evidence, "missed": missed, **({"guarded": guarded} if guarded else {})},
    )
