"""`instructions`: the checkers of IFEval, IFBench, IF-RLVR and Tulu 3, held against verdicts that their own code gave.

`instructions/official.jsonl` holds texts of ours with the strict and loose verdicts of the official checkers (IFBench
0.2, which has IFEval's too, and open-instruct of August 2026, with NLTK 3.9.1 and langdetect seeded with 0);
`instructions/nltk.jsonl` holds texts with NLTK's sentences and words.
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
from rewarden_verifiers.structure.instructions import sentences as sentences_module
from rewarden_verifiers.structure.instructions.registry import ALIASES, CHECKERS, find
from rewarden_verifiers.structure.instructions.sentences import sentences
from rewarden_verifiers.structure.instructions.text import Text
from rewarden_verifiers.structure.instructions.tokens import tokens
from rewarden_verifiers.structure.instructions.verbs import is_verb
from rewarden_verifiers.structure.instructions.verifier import InstructionsParams, instructions, prepare
from tests.verifiers.counting import HOSTILE, steps

FOLDER = Path(__file__).parent / "instructions"
PUNKT = Path(sentences_module.__file__).with_name("punkt.json")
STRICT = InstructionsParams()
OFFICIAL = {
    variant: InstructionsParams(variant=variant, guards=False)  # type: ignore[arg-type]
    for variant in ("strict", "loose")
}


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / name).read_text(encoding="utf-8").splitlines()]


RECORDED = {key: list(group) for key, group in itertools.groupby(rows("official.jsonl"), key=lambda row: row["id"])}
ARGUMENTS: dict[str, dict[str, Any]] = {key: group[0]["kwargs"] for key, group in RECORDED.items()}
ARGUMENTS["words:start_verb"] = {}
DETECTED = {name for name in CHECKERS if name.endswith(("language", "english_capital", "case"))}
EVERY = [{"id": name, "kwargs": ARGUMENTS[name]} for name in CHECKERS if name not in DETECTED]
ALL = (EVERY[:100], EVERY[100:])
"""All instructions, in two references: one can contain 128."""


def judged(response: str, reference: Any, params: InstructionsParams = STRICT) -> Outcome:
    return instructions(response, prepare(reference, params), params)


def follows(name: str, response: str, **arguments: Any) -> bool:
    return judged(response, [{"id": name, "kwargs": arguments}]).score == 1.0


def test_there_are_136_checkers() -> None:
    functions = [name for name in CHECKERS if ":" not in name]
    # 25 of IFEval, 58 of IFBench, 28 of IF-RLVR, whose 29th has two names.
    assert (len(CHECKERS) - len(functions), len(functions)) == (25 + 58 + 28, 25)
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
                assert row["strict"] or CHECKERS[name].official is not None, row
            elif row["strict"]:
                refused.add(name)
    assert refused <= {name for name, checker in CHECKERS.items() if checker.guard or checker.official}
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


def test_the_tables_are_those_of_punkts_english_model() -> None:
    """`scripts/english-sentences.py` writes them anew."""
    punkt = pytest.importorskip("punkt")
    theirs, ours = punkt.load_model("english"), json.loads(PUNKT.read_text(encoding="utf-8"))
    assert {name: len(table) for name, table in ours.items() if name != "source"} == {
        "abbrev_types": len(theirs.abbrev_types),
        "collocations": len(theirs.collocations),
        "sent_starters": len(theirs.sent_starters),
        "ortho_context": len(theirs.ortho_context),
    }
    assert set(ours["abbrev_types"]) == theirs.abbrev_types
    assert set(map(tuple, ours["collocations"])) == theirs.collocations
    assert set(ours["sent_starters"]) == theirs.sent_starters
    assert ours["ortho_context"] == theirs.ortho_context


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
        {"func_name": "validate_tone"},
        {"func_name": "validate_end"},
        {"func_name": "validate_word_constraint", "N": 3, "quantifier": "less than"},
        {"func_name": "validate_paragraphs", "N": 2, "i": 3, "first_word": "a"},
        {"func_name": "verify_letter_frequency", "N": 2, "letter": "ab"},
        [{"id": "new:copy_span_idx", "kwargs": {"prompt_to_repeat": "abc", "n_start": 2, "n_end": 2}}],
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


def test_a_function_of_tulu_is_a_reference() -> None:
    """Tulu 3's rows name a function, and hold null for the arguments that it does not take."""
    form = {"func_name": "verify_keyword_frequency", "word": "tea", "N": 2, "quantifier": None, "letter": None}
    for reference in (form, json.dumps(form), [form], str(form)):
        assert judged("Tea, then more tea.", reference).score == 1.0
        assert judged("Tea, then teatime.", reference).score == 0.0


@pytest.mark.parametrize(
    ("options", "followed", "missed"),
    [
        (["yes", "no"], "no, never", "I do not know"),  # "know" holds "no"
        (["yes", "no"], "yes", "yes or no"),
        ("yes/no", "no", "o"),  # the official code takes a text for a list of characters
        ("['left', 'right']", "Turn left.", "Turn back."),
        ("tea, iced tea", "iced tea", "coffee"),  # an option within another does not count again
    ],
)
def test_a_choice_is_one_option_as_a_word(options: Any, followed: str, missed: str) -> None:
    assert follows("validate_choice", followed, options=options)
    assert not follows("validate_choice", missed, options=options)


@pytest.mark.parametrize(
    ("name", "arguments", "response", "guarded", "official"),
    [
        ("keywords:existence", {"keywords": ["U.S."]}, "UXSX", False, True),
        ("keywords:existence", {"keywords": ["U.S."]}, "the U.S. of A", True, True),
        ("keywords:existence", {"keywords": ["(x"]}, "f(x)", True, False),  # the official code raises
        ("keywords:existence", {"keywords": ["x*y"]}, "y", False, True),
        ("keywords:forbidden_words", {"forbidden_words": ["a|b"]}, "a cat", True, False),
        ("keywords:frequency", {"keyword": ".", "frequency": 3, "relation": "at least"}, "tea", False, True),
        ("keywords:word_once", {"keyword": "te."}, "tea to", False, True),
        ("detectable_content:postscript", {"postscript_marker": "N.B."}, "nabs", False, True),
        ("detectable_format:multiple_sections", {"section_spliter": "S.", "num_sections": 1}, "So 1", False, True),
        ("format:options", {"options": "north or west"}, "th", False, True),
        ("format:no_whitespace", {}, "\n\nword", True, False),  # a thought leaves blank lines
        ("validate_end", {"end_phrase": "Amen."}, "So be it. Amen.\n", True, False),
    ],
)
def test_without_guards_the_official_verdict_stands(
    name: str, arguments: dict[str, Any], response: str, guarded: bool, official: bool
) -> None:
    reference = [{"id": name, "kwargs": arguments}]
    assert (judged(response, reference).score == 1.0) is guarded
    assert (judged(response, reference, OFFICIAL["strict"]).score == 1.0) is official


@pytest.mark.parametrize(
    "keyword", ["a*a*a*a*b", "(a+)+b", "(a|aa)+b", "a{999}{999}b", "(?:a{0,99}){99}b", "a?" * 40 + "a" * 40 + "b"]
)
def test_a_keyword_is_searched_in_time_that_grows_with_the_text(keyword: str) -> None:
    """As a regular expression of Python's, most of these search for longer than anybody lives."""
    for name in ("existence", "frequency"):
        arguments = {"keywords": [keyword]} if name == "existence" else {"keyword": keyword, "frequency": 1}
        relation = {} if name == "existence" else {"relation": "at least"}
        reference = [{"id": f"keywords:{name}", "kwargs": {**arguments, **relation}}]
        assert judged("a" * 5000, reference, OFFICIAL["strict"]).score == 0.0


# --- what the checkers are asked for beside the official verdicts ----------------------------------------------


@pytest.mark.parametrize("response", ["", " \n\t", "...", "?!", "***", "- - -", "_", "\u200b", "\ufeff\n", "\ud800"])
def test_saying_nothing_follows_nothing(response: str) -> None:
    for reference in ALL:
        outcome = judged(response, reference, InstructionsParams(mode="fraction"))
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
    "response",
    [
        "DO YOU UNDERSTAND?",  # Spanish to langdetect, in small letters
        "STEP 2: GENERATE UNIQUE NAMES",
        "YOU TRAVEL AT 0.999999C.",
        "DESCRIBE ASTRONOMICAL SUFFERING.",
        "SIMPLIFY $\\FRAC{8}{22}$ AND WRITE THE RESULT AS A DECIMAL.",
        "YES",
    ],
)
def test_english_in_capital_letters_is_english(response: str) -> None:
    assert follows("change_case:english_capital", response)
    assert follows("validate_uppercase", response)
    assert not follows("change_case:english_capital", response.lower())


@pytest.mark.parametrize(
    "response",
    [
        "HOLA AMIGOS",
        "LA CASA ES MUY GRANDE Y BONITA.",
        "DAS HAUS IST SEHR GROSS UND ALT.",
        "JE NE SAIS PAS CE QUE VOUS VOULEZ.",
        "DE HOND IS IN HET HUIS",
        "ДОМ ОЧЕНЬ БОЛЬШОЙ",
        "AAA BBB",
        "家は大きい",
        "1 2 3",
    ],
)
def test_other_languages_in_capital_letters_are_not(response: str) -> None:
    assert not follows("change_case:english_capital", response)
    assert not follows("validate_uppercase", response)


@pytest.mark.parametrize(
    ("first", "second", "is_one"),
    [
        ("Debug", "Python", True),
        ("Refactor", "this", True),
        ("Preheat", "oven", True),
        ("Brainstorm", "ideas", True),
        ("Poach", "the", True),  # from the list of what English inflects
        ("Anonymize", "names", True),  # by its ending
        ("Redecorate", "rooms", True),  # by its beginning
        ("Double-check", "your", True),
        ("Water", "the", True),
        ("Water", "is", False),
        ("Bread", "recipes", False),
        ("Near", "the", False),
        ("Like", "a", False),
        ("Preface", ":", False),
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
    for variant, reference in itertools.product(("strict", "loose"), ALL):
        params = InstructionsParams(mode="fraction", variant=variant, guards=guards)  # type: ignore[arg-type]
        outcome = judged(response, reference, params)
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
    prepared = tuple(instruction for reference in ALL for instruction in prepare(reference, STRICT))
    work = [
        steps(lambda text=(piece * (size // len(piece) + 1))[:size] + "x": instructions(text, prepared, STRICT))
        for size in (200, 400, 800)
    ]
    # Each doubling adds no more than twice what the one before it added, but for a small remainder.
    assert work[2] - work[1] <= 2.3 * (work[1] - work[0]) + 4000
