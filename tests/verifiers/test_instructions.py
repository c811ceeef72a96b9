"""`instructions`: the checkers of IFEval and IFBench, held against verdicts that their own code gave.

`instructions/official.jsonl` holds texts of ours with the strict and loose verdicts of the official checkers (IFBench
0.2, which has IFEval's too, with NLTK 3.9.1 and langdetect seeded with 0); `instructions/nltk.jsonl` holds texts with
NLTK's sentences and words.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewarden.errors import InvalidReference
from rewarden.types import Outcome
from rewarden_verifiers.structure.instructions.registry import ALIASES, CHECKERS, find
from rewarden_verifiers.structure.instructions.sentences import sentences
from rewarden_verifiers.structure.instructions.text import Text
from rewarden_verifiers.structure.instructions.tokens import tokens
from rewarden_verifiers.structure.instructions.verbs import is_verb
from rewarden_verifiers.structure.instructions.verifier import InstructionsParams, instructions, prepare
from tests.verifiers.counting import HOSTILE, steps

FOLDER = Path(__file__).parent / "instructions"
STRICT = InstructionsParams()
OFFICIAL = {
    variant: InstructionsParams(variant=variant, guards=False)  # type: ignore[arg-type]
    for variant in ("strict", "loose")
}
IFEVAL = ("keywords", "language", "length_constraints", "detectable_content", "detectable_format", "combination")
IFEVAL_TOO = ("startend", "change_case", "punctuation")


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / name).read_text(encoding="utf-8").splitlines()]


RECORDED = {key: list(group) for key, group in itertools.groupby(rows("official.jsonl"), key=lambda row: row["id"])}
ARGUMENTS: dict[str, dict[str, Any]] = {key: group[0]["kwargs"] for key, group in RECORDED.items()}
ARGUMENTS["words:start_verb"] = {}
DETECTED = {"language:response_language", "change_case:english_capital", "change_case:english_lowercase"}
ALL = [{"id": name, "kwargs": ARGUMENTS[name]} for name in CHECKERS if name not in DETECTED]


def judged(response: str, reference: Any, params: InstructionsParams = STRICT) -> Outcome:
    return instructions(response, prepare(reference, params), params)


def follows(name: str, response: str, **arguments: Any) -> bool:
    return judged(response, [{"id": name, "kwargs": arguments}]).score == 1.0


def test_there_are_83_checkers() -> None:
    families = [name.partition(":")[0] for name in CHECKERS]
    ifeval = sum(family in (*IFEVAL, *IFEVAL_TOO) for family in families)
    assert (ifeval, len(families) - ifeval) == (25, 58)
    assert all(find(alias) is CHECKERS[name] for alias, name in ALIASES.items())


@pytest.mark.parametrize("name", RECORDED)
def test_verdicts_are_the_official_ones(name: str) -> None:
    for row in RECORDED[name]:
        reference = [{"id": name, "kwargs": row["kwargs"]}]
        for variant, params in OFFICIAL.items():
            got = judged(row["response"], reference, params).score == 1.0
            assert got is row[variant], (variant, row)


def test_both_verdicts_are_recorded_of_each_checker() -> None:
    assert set(RECORDED) == set(CHECKERS) - {"words:start_verb"}  # which departs on purpose
    assert all({row["strict"] for row in group} == {True, False} for group in RECORDED.values())


def test_guards_only_refuse() -> None:
    refused = set()
    for name, group in RECORDED.items():
        for row in group:
            reference = [{"id": name, "kwargs": row["kwargs"]}]
            if judged(row["response"], reference).score == 1.0:
                assert row["strict"], row
            elif row["strict"]:
                refused.add(name)
    assert refused <= {name for name, checker in CHECKERS.items() if checker.guard is not None}
    assert all(checker.why for checker in CHECKERS.values() if checker.guard is not None)


def test_loose_follows_wherever_strict_does() -> None:
    loose = InstructionsParams(variant="loose")
    for name, group in RECORDED.items():
        if name in DETECTED:
            continue
        for row in group:
            reference = [{"id": name, "kwargs": row["kwargs"]}]
            strict = judged(row["response"], reference).score
            assert strict is not None
            assert (judged(row["response"], reference, loose).score or 0.0) >= strict


def test_sentences_and_words_are_nltks() -> None:
    for row in rows("nltk.jsonl"):
        assert sentences(row["text"]) == row["sentences"], row["text"]
        assert tokens(sentences(row["text"])) == row["tokens"], row["text"]


# --- references ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "reference",
    [
        [{"id": "punctuation:no_comma"}, {"id": "count:numbers", "kwargs": {"N": 1}}],
        [{"instruction_id": "punctuation:no_comma"}, {"instruction_id": "count:numbers", "kwargs": '{"N": 1}'}],
        {"instruction_id_list": ["punctuation:no_comma", "count:numbers"], "kwargs": [{"N": None}, {"N": 1.0}]},
        {"instruction_id": ["punctuation:no_comma", "count:numbers"], "kwargs": '[null, {"N": 1}]'},
        [{"instruction_id": ["punctuation:no_comma", "count:numbers"], "kwargs": [None, {"N": 1}]}],
        "[{'instruction_id': ['punctuation:no_comma', 'count:numbers'], 'kwargs': [None, {'N': 1}]}]",
        json.dumps(
            [json.dumps({"instruction_id": ["punctuation:no_comma", "count:numbers"], "kwargs": [None, {"N": 1}]})]
        ),
    ],
)
def test_every_form_of_a_reference_says_the_same(reference: Any) -> None:
    assert judged("There are 7 of them", reference).score == 1.0
    missed = judged("There are 7, or 8", reference)
    assert {name: part.score for name, part in missed.components.items()} == {
        "punctuation:no_comma": 0.0,
        "count:numbers": 0.0,
    }


@pytest.mark.parametrize(
    "reference",
    [
        [],
        {},
        "",
        "[",
        "no commas",
        "__import__('os')",
        "7",
        [7],
        [[[[[{"id": "punctuation:no_comma"}]]]]],
        [{"id": ["a"], "kwargs": {}}],
        [{"id": "punctuation:no_comma", "kwargs": 7}],
        [{"id": "punctuation:no_comma", "kwargs": "{"}],
        [{"kwargs": {}}],
        {"instruction_id_list": ["punctuation:no_comma"], "kwargs": 7},
        {"instruction_id_list": [None], "kwargs": [None]},
        [{"id": "punctuation:no_comma"}] * 129,
        [{"id": "keywords:existence", "kwargs": {"keywords": ["a", " "]}}],
        [{"id": "count:numbers", "kwargs": {"N": True}}],
        [{"id": "count:numbers", "kwargs": {"N": "3"}}],
        [{"id": "count:numbers", "kwargs": {"N": float("nan")}}],
        [{"id": "count:numbers", "kwargs": {"N": float("inf")}}],
        [{"id": "count:words_japanese", "kwargs": {"N": 0}}],
        [{"id": "ratio:stop_words", "kwargs": {"percentage": float("inf")}}],
        [
            {
                "id": "keywords:letter_frequency",
                "kwargs": {"letter": "ab", "let_frequency": 1, "let_relation": "at least"},
            }
        ],
        [{"id": "language:response_language", "kwargs": {"language": "klingon"}}],
        [
            {
                "id": "length_constraints:nth_paragraph_first_word",
                "kwargs": {"num_paragraphs": 2, "nth_paragraph": 3, "first_word": "a"},
            }
        ],
        [{"id": "repeat:repeat_span", "kwargs": {"prompt_to_repeat": "abc", "n_start": 5, "n_end": 7}}],
    ],
    ids=lambda reference: str(reference)[:60],
)
def test_bad_references_are_refused(reference: Any) -> None:
    with pytest.raises(InvalidReference):
        prepare(reference, STRICT)


@pytest.mark.parametrize(
    ("name", "argument"), [(name, argument) for name, arguments in ARGUMENTS.items() for argument in arguments]
)
def test_nothing_is_drawn_for_a_missing_argument(name: str, argument: str) -> None:
    for left in (
        {key: value for key, value in ARGUMENTS[name].items() if key != argument},
        {**ARGUMENTS[name], argument: None},
    ):
        with pytest.raises(InvalidReference, match=argument):
            prepare([{"id": name, "kwargs": left}], STRICT)


@pytest.mark.parametrize("name", [name for name in CHECKERS if not name.startswith("custom:")])
def test_arguments_of_another_instruction_are_refused(name: str) -> None:
    with pytest.raises(InvalidReference, match="knows no argument 'surplus'"):
        prepare([{"id": name, "kwargs": {**ARGUMENTS[name], "surplus": 1}}], STRICT)


def test_the_message_names_the_nearest_id() -> None:
    with pytest.raises(InvalidReference, match="did you mean 'punctuation:no_comma'") as caught:
        prepare([{"id": "punctuation:no_coma"}], STRICT)
    assert caught.value.details["path"] == "reference[0]"


# --- what the checkers are asked for beside the official verdicts ----------------------------------------------


@pytest.mark.parametrize("response", ["", " \n\t", "...", "?!", "***", "- - -", "_", "\u200b", "\ufeff\n", "\ud800"])
def test_saying_nothing_follows_nothing(response: str) -> None:
    outcome = judged(response, ALL, InstructionsParams(mode="fraction"))
    assert (outcome.score, outcome.reason) == (0.0, "no_answer")


@pytest.mark.parametrize("response", ["7", "é", "日", "😀", "→"])
def test_any_script_and_pictographs_say_something(response: str) -> None:
    assert follows("punctuation:no_comma", response)


def test_the_blank_lines_that_a_thought_leaves_are_not_judged() -> None:
    assert follows("format:no_whitespace", "\n\nword")
    assert follows("custom:multiples", " \n14,21,28,35,42,49")
    assert follows("format:line_indent", "\n  one\n   two")  # the first line keeps its indent
    assert not follows("format:no_whitespace", " word")


def test_fraction_and_all() -> None:
    reference = [{"id": "punctuation:no_comma"}, {"id": "startend:quotation"}, {"id": "format:no_whitespace"}]
    every = judged("one word", reference)
    share = judged("one word", reference, InstructionsParams(mode="fraction"))
    assert (every.score, every.passed, share.score, share.passed) == (0.0, False, 1 / 3, False)
    assert share.evidence == {
        "instructions": 3,
        "followed": 1,
        "variant": "strict",
        "missed": ["startend:quotation", "format:no_whitespace"],
    }
    assert every.components == share.components


def test_a_response_too_long_is_the_policys_doing() -> None:
    outcome = judged("a " * 150_000, [{"id": "punctuation:no_comma"}])
    assert (outcome.score, outcome.reason, outcome.flags) == (0.0, "too_expensive", ("too_expensive",))


def test_languages_are_told_the_same_every_time() -> None:
    text = "Hello, Hola, Bonjour, Ciao, Olá"  # an unseeded langdetect wavers here
    assert len({Text(text).language for _ in range(5)}) == 1


@pytest.mark.parametrize(
    ("first", "second", "is_one"),
    [
        ("Explore", "the", True),
        ("Write", "python", True),
        ("Running", "is", True),
        ("Given", "that", True),
        ("Is", "this", True),
        ("Plan", "your", True),
        ("PLAN", "A", True),
        ("Carried", "by", True),
        ("Goes", "well", True),
        ("Plan", "B", False),
        ("Step", "1", False),
        ("The", "plan", False),
        ("Across", "the", False),
        ("Certainly", "!", False),
        ("Report", "", False),
    ],
)
def test_verbs(first: str, second: str, is_one: bool) -> None:
    assert is_verb(first, second) is is_one
    assert follows("words:start_verb", f"{first} {second}") is is_one


PIECES = st.sampled_from([*HOSTILE, "a", "The ", ". ", "* x\n", "- ", "Question 1. ", "P.S.", "😀", "{", "\t", "Dr. "])


@given(st.one_of(st.text(max_size=80), st.lists(PIECES, max_size=25).map("".join)), st.booleans())
@settings(max_examples=150, deadline=None)
def test_no_text_makes_a_checker_raise(response: str, guards: bool) -> None:
    for variant in ("strict", "loose"):
        params = InstructionsParams(mode="fraction", variant=variant, guards=guards)  # type: ignore[arg-type]
        outcome = judged(response, ALL, params)
        assert outcome.score is not None
        assert 0.0 <= outcome.score <= 1.0
        json.dumps(outcome.evidence, allow_nan=False)


@given(
    st.lists(st.sampled_from(["a", "b. ", "? ", ".", "(", ")", '"', " ", "\n", "J. ", "…", "é"]), max_size=40).map(
        "".join
    )
)
@settings(max_examples=100, deadline=None)
def test_sentences_hold_all_that_is_not_blank(text: str) -> None:
    assert "".join("".join(sentences(text)).split()) == "".join(text.split())


@pytest.mark.parametrize("piece", [*HOSTILE, "a. ", ". . ", "?!", "I. ", '." ', "* ", "\n", "[", "<<", "Question 1\n"])
def test_work_grows_with_the_text_and_no_faster(piece: str) -> None:
    prepared = prepare(ALL, STRICT)
    work = [
        steps(lambda text=(piece * (size // len(piece) + 1))[:size] + "x": instructions(text, prepared, STRICT))
        for size in (200, 400, 800)
    ]
    # Each doubling adds no more than twice what the one before it added, but for a small remainder.
    assert work[2] - work[1] <= 2.3 * (work[1] - work[0]) + 4000
