"""`choice`: letters in any dress, texts word for word, hedges refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarden.errors import InvalidParams
from rewarden.types import Outcome, Sample, Use
from rewarden_server.engine.plan import Planner
from rewarden_verifiers.answer.choice import ChoiceEquivalence, ChoiceParams, ChoiceReference, choice
from rewarden_verifiers.answer.labels import alphabet, expand
from rewarden_verifiers.answer.options import normal, options_of
from rewarden_verifiers.contract import spec_of
from rewarden_verifiers.registry import Registry
from rewarden_verifiers.schema import params_schema, reference_schema
from tests.verifiers.counting import HOSTILE, steps
from tests.verifiers.direct import outcome_of

PLANNER = Planner(Registry())
CITIES = ["Paris", "London", "Paris, Texas", "Berlin"]


async def judged(response: str, reference: Any, **params: Any) -> Outcome:
    return await outcome_of(PLANNER, Use(name="choice", params=params), Sample(response=response, reference=reference))


DRESSES = [
    "B",
    "(B)",
    "B.",
    "B)",
    "[B]",
    "b",
    "Ｂ",
    "（Ｂ）",
    "𝐁",
    "**B**",
    "**(B)**",
    "*B*",
    "`B`",
    "$B$",
    r"\(B\)",
    r"\text{B}",
    r"\textbf{(B)}",
    r"\mathrm{B}",
    r"\mathbf{\text{B}}",
    r"\textbf{(B) }12",
    "option B",
    "Option (B)",
    "choice B",
    "the correct answer is B",
    "B: the second",
    "B) the second",
    "B. the second",
    "B - the second",
    "B (the second)",
    "B because the first is wrong",
    "B, since A and C are wrong",
    '"B"',
    "选B",
]


@pytest.mark.parametrize("dress", DRESSES)
@pytest.mark.parametrize(
    "frame", ["\\boxed{%s}", "<answer>%s</answer>", "Answer: %s", "The answer is %s.", "The correct option is: **%s**"]
)
async def test_a_letter_is_read_in_any_dress(dress: str, frame: str) -> None:
    response = "First, A is too small and C too large.\n\n" + frame % dress
    outcome = await judged(response, "B")
    assert (outcome.score, outcome.extracted) == (1.0, "B")


@pytest.mark.parametrize(
    "line", ["B", "(B)", "B.", "**B**", "B) Paris", "**(B)** Paris", "Option B", "（Ｂ）", "Therefore, (B)."]
)
async def test_a_lone_line_is_an_answer_in_first_or_last_place(line: str) -> None:
    assert (await judged(f"All things considered:\n\n{line}\n", "B")).score == 1.0
    assert (await judged(f"{line}\n\nThe reason is the charge.", "B")).score == 1.0


@pytest.mark.parametrize(
    "line",
    [
        "So, B is the correct answer.",
        "Therefore, option B is correct.",
        "I choose B.",
        "I would go with option (B).",
        "**Option B** is the right one.",
        "The answer to this question is B.",
        "Well, that does it. So it's B.",
        "It must be (B).",
    ],
)
async def test_the_last_line_may_choose_in_words(line: str) -> None:
    assert (await judged(f"A is too small, C too large.\n{line}", "B")).score == 1.0
    assert (await judged(f"{line}\nBut let me check the units again, which", "B")).reason == "no_answer"


@pytest.mark.parametrize(
    "line",
    [
        "B is not the correct answer.",
        "I don't think that B is correct.",
        "If B is correct, the sum is 7.",
        "B might be right, so I could choose B.",
        "Option A is wrong. Option B is plausible.",
        "Consider option B",
        "It is not B.",
        "It is B or C.",
        "It is B minus.",
    ],
)
async def test_doubts_and_denials_are_no_choice(line: str) -> None:
    assert (await judged(f"Let us see.\n{line}", "B")).reason == "no_answer"


async def test_two_choices_in_words_are_a_hedge() -> None:
    assert (await judged("Well.\nB is correct and C is correct.", "B")).reason == "hedged"


@pytest.mark.parametrize(
    "response",
    [
        "A train leaves the station.",
        "Answer: A good approach is to try.",
        "The answer is a bit tricky.",
        "Answer: a matter of taste",
        "\\boxed{A level}",
        "\\boxed{A'}",
        "\\boxed{A = 5}",
        "\\boxed{A-level}",
        "I cannot say.",
    ],
)
async def test_a_word_is_no_label(response: str) -> None:
    for gold in ("A", "I"):
        outcome = await judged(response, gold)
        assert (outcome.score, outcome.passed) == (0.0, False)
        assert outcome.reason in ("no_answer", "unparseable_answer")


@pytest.mark.parametrize(
    "response",
    [
        "\\boxed{A or B}",
        "\\boxed{A} or \\boxed{B}",
        "\\boxed{B} \\boxed{A}",
        "\\boxed{A, B}",
        "\\boxed{A/B}",
        "\\boxed{AB}",
        "\\boxed{A and B}",
        "<answer>A</answer><answer>B</answer>",
        "<answer>A, B, C, D</answer>",
        "The answer is either A or B.",
        "The answer is A or possibly (B) or C",
        "Answer: (A) or (B)",
        "Answer: A) x B) y",
        "A or B",
        "A, B, C, D",
    ],
)
async def test_hedging_earns_nothing(response: str) -> None:
    for gold in ("A", "B"):
        outcome = await judged(response, gold)
        assert (outcome.score, outcome.reason) == (0.0, "hedged")
        assert "hedged" in outcome.flags


async def test_an_echoed_list_of_options_is_no_answer() -> None:
    for gold in "ABCD":
        echoed = "Question?\n" + "\n".join(f"{label}) {city}" for label, city in zip("ABCD", CITIES, strict=True))
        assert (await judged(echoed, {"answer": gold, "options": CITIES})).reason == "no_answer"
        assert (await judged("A\nB\nC\nD", gold)).reason == "no_answer"


async def test_a_list_that_is_followed_by_an_answer_is_fine() -> None:
    response = "A) too small\nB) right\nC) too large\n\nSo the answer:\nB"
    assert (await judged(response, "B")).score == 1.0


@pytest.mark.parametrize(
    ("response", "option"),
    [
        ("\\boxed{Paris}", "A"),
        ("\\boxed{ paris. }", "A"),
        ("\\boxed{\\text{Paris}}", "A"),
        ("The answer is Paris, Texas.", "C"),
        ("The answer is Paris, the capital.", "A"),
        ("The answer is London, not Paris.", "B"),
        ("<answer>Berlin (the capital of Germany)</answer>", "D"),
        ("The answer is definitely Paris, the capital.", "A"),
        ("\\boxed{B. London}", "B"),
        ("\\boxed{Berlin (D)}", "D"),
    ],
)
async def test_an_option_is_named_by_its_text(response: str, option: str) -> None:
    outcome = await judged(response, {"answer": option, "options": CITIES})
    assert (outcome.score, outcome.extracted) == (1.0, option)


@pytest.mark.parametrize(
    ("answer", "options"),
    [
        ("15", ["1.5", "150"]),
        ("5", ["-5", "-5.0"]),
        ("Paris, London", CITIES),
        ("the city of Paris", CITIES),
        ("1,500", ["1", "500"]),
        ("\\frac{1}{23}", ["\\frac{12}{3}", "1"]),
        ("x2", ["x^2", "x²"]),
        ("10", ["1", "0"]),
        ("not Paris", CITIES),
    ],
)
async def test_texts_that_are_merely_similar_name_no_option(answer: str, options: list[str]) -> None:
    for place in range(len(options)):
        outcome = await judged(f"\\boxed{{{answer}}}", {"answer": place, "options": options})
        assert (outcome.score, outcome.reason) == (0.0, "unparseable_answer")


LENGTHS = ["40 cm", "50 cm", r"$\frac{1}{2}$ cm"]


@pytest.mark.parametrize(
    ("answer", "options", "option"),
    [
        ("50", LENGTHS, "B"),
        (r"50\,\text{cm}", LENGTHS, "B"),
        ("50.0 cm", LENGTHS, "B"),
        ("1/2", LENGTHS, "C"),
        ("0.5", LENGTHS, "C"),
        ("x = 3.0", ["2", "3"], "B"),
        ("5 apples", ["4", "5"], "B"),
        (r"120^\circ", ["110°", "120°"], "B"),
        ("1200", ["1,200", "1,300"], "A"),
        ("\u22123", ["3", "-3"], "B"),
    ],
)
async def test_an_option_is_named_by_its_value(answer: str, options: list[str], option: str) -> None:
    outcome = await judged(rf"\boxed{{{answer}}}", {"answer": option, "options": options})
    assert (outcome.score, outcome.extracted) == (1.0, option)


@pytest.mark.parametrize(
    ("answer", "options"),
    [
        ("50 m", LENGTHS),
        ("-50", LENGTHS),
        ("5", ["5 m", "5 cm"]),
        ("50", ["50 cm", "50.0 cm"]),
        ("4 and 5", ["4", "5"]),
        ("4, 5", ["4", "5"]),
        ("5:30", ["5", "30"]),
        ("10/2", ["5", "6"]),
    ],
)
async def test_another_value_or_an_equivocal_one_names_no_option(answer: str, options: list[str]) -> None:
    for place in range(len(options)):
        assert (await judged(rf"\boxed{{{answer}}}", {"answer": place, "options": options})).score == 0.0


async def test_a_label_may_stand_before_its_own_text_in_brackets_alone() -> None:
    four = {"answer": "8", "options": ["15", "13", "11", "8"]}
    assert (await judged("因此，答案是D（8）。", four)).score == 1.0
    assert (await judged("因此，答案是C（8）。", four)).score == 0.0
    assert (await judged("The answer is C(5,2) = 10.", "C")).score == 0.0


async def test_a_sentence_may_end_in_an_options_value() -> None:
    lengths = {"answer": "3", "options": ["1", "2", "3", "6"]}
    assert (await judged("From the given figure, the length of AB is 3.0.", lengths)).score == 1.0
    assert (await judged("From the given figure, the length of AB is 3.5.", lengths)).score == 0.0


LISTED = [
    "Where?\nA. Paris\nB. London\nC. Rome\n\nAnswer with (A), (B) or (C).",
    "Where? (A) Paris (B) London (C) Rome",
    "What?\nA) 1\nB) 2\n\nWhere?\nA) Paris\nB) London\nC) Rome",
    "Where?\n**A.** Paris\n**B.** London\n**C.** Rome",
]


@pytest.mark.parametrize("prompt", LISTED)
async def test_options_are_read_from_the_prompt_where_nobody_gives_them(prompt: str) -> None:
    async def asked(response: str) -> Outcome:
        sample = Sample(response=response, reference="B", prompt=prompt)
        return await outcome_of(PLANNER, Use(name="choice"), sample)

    assert (await asked("The answer is London.")).score == 1.0
    assert (await asked("London")).score == 1.0
    assert (await asked("The answer is Rome.")).reason == "wrong"
    assert (await asked("The answer is Berlin.")).reason == "unparseable_answer"


@pytest.mark.parametrize("prompt", ["I am A. or so", "Answer (A) or (B).", "A. one\nC. three", "No list at all."])
async def test_what_is_no_list_of_options_is_not_read_as_one(prompt: str) -> None:
    sample = Sample(response="The answer is three.", reference="B", prompt=prompt)
    assert (await outcome_of(PLANNER, Use(name="choice"), sample)).reason == "unparseable_answer"


async def test_case_counts_where_options_differ_in_nothing_else() -> None:
    options = ["mW", "MW"]
    assert (await judged("\\boxed{MW}", {"answer": "B", "options": options})).score == 1.0
    assert (await judged("\\boxed{mW}", {"answer": "B", "options": options})).score == 0.0


async def test_a_label_with_another_options_text_contradicts_itself() -> None:
    for gold in ("A", "B"):
        outcome = await judged("\\boxed{A. London}", {"answer": gold, "options": CITIES})
        assert (outcome.score, outcome.reason) == (0.0, "contradictory")


@pytest.mark.parametrize(
    ("reference", "params"),
    [
        ("B", {}),
        ("(B)", {}),
        ("b", {}),
        ("\\text{B}", {}),
        (1, {}),
        (2, {"index_base": 1}),
        ("1", {"gold": "index"}),
        ("London", {"options": CITIES}),
        ("B. London", {"options": CITIES}),
        ({"answer": "B"}, {}),
        ({"answer": "London", "options": CITIES}, {}),
        ({"answer": 1, "options": CITIES}, {}),
        ({"answers": ["B"]}, {}),
        (["B"], {}),
        ({"answer": "B", "options": {"A": "Paris", "B": "London"}}, {}),
        ({"answer": "London", "options": CITIES}, {"gold": "text"}),
        ("B", {"labels": "A-J"}),
        ("B", {"labels": ["A", "B"], "options": ["x", "y"]}),
    ],
)
async def test_the_reference_comes_in_many_forms(reference: Any, params: dict[str, Any]) -> None:
    assert (await judged("\\boxed{B}", reference, **params)).score == 1.0
    assert (await judged("\\boxed{A}", reference, **params)).score == 0.0


@pytest.mark.parametrize(
    ("reference", "params"),
    [
        (None, {}),
        ("", {}),
        ("  ", {}),
        ([], {}),
        (True, {}),
        ([True], {}),
        ({"answer": True}, {}),
        ("maybe", {}),
        ("A or B", {}),
        ("E", {"options": CITIES}),
        (4, {"options": CITIES}),
        (-1, {}),
        (0, {"index_base": 1}),
        (99, {}),
        ("x", {"gold": "index"}),
        ("A", {"gold": "text", "options": CITIES}),
        ("B. Paris", {"options": CITIES}),
        ({"options": CITIES}, {}),
        ({"answer": "A", "answers": ["A"]}, {}),
        ({"answer": "A", "options": ["only"]}, {}),
        ({"answer": "A", "option": CITIES}, {}),
        ({"answer": "same", "options": ["same", "same"]}, {}),
        ({"answer": "A", "options": {"X": "1", "Y": "2"}}, {}),
        ({"answer": "A", "options": ["1", "2", "3"]}, {"labels": "A-B"}),
        (1.5, {}),
        ({}, {}),
    ],
)
async def test_a_bad_reference_is_never_the_policys_fault(reference: Any, params: dict[str, Any]) -> None:
    await judged("\\boxed{A}", [1])  # a cache must not take True for 1
    outcome = await judged("\\boxed{A}", reference, **params)
    assert (outcome.status, outcome.score, outcome.fault) == ("undecided", None, "reference")
    assert outcome.feedback


@pytest.mark.parametrize(
    "params",
    [
        {"labels": "Q"},
        {"labels": "Z-A"},
        {"labels": ["A"]},
        {"labels": ["A", "A"]},
        {"labels": ["A", " "]},
        {"options": ["one"]},
        {"options": ["x", "y", "z"], "labels": "A-B"},
        {"abstain_score": 2},
        {"several": "all"},
        {"extraction": "lose"},
        {"extraction": [{"regex": "("}]},
        {"optoins": CITIES},
    ],
)
async def test_wrong_parameters_are_told(params: dict[str, Any]) -> None:
    with pytest.raises(InvalidParams):
        PLANNER.bind(Use(name="choice", params=params))


@pytest.mark.parametrize(
    ("named", "exact", "any_", "subset", "jaccard"),
    [
        ("A, C", 1.0, 1.0, 1.0, 1.0),
        ("C and A", 1.0, 1.0, 1.0, 1.0),
        ("A", 0.0, 1.0, 0.5, 0.5),
        ("A, B", 0.0, 0.0, 0.0, 1 / 3),
        ("B", 0.0, 0.0, 0.0, 0.0),
        ("A, B, C, D", 0.0, 0.0, 0.0, 0.0),
    ],
)
async def test_several_right_options(named: str, exact: float, any_: float, subset: float, jaccard: float) -> None:
    reference = {"answers": ["A", "C"], "options": CITIES}
    for several, score in (("exact", exact), ("any", any_), ("subset", subset), ("jaccard", jaccard)):
        outcome = await judged(f"<answer>{named}</answer>", reference, several=several)
        assert outcome.score == pytest.approx(score)
        assert outcome.passed is (score == 1.0)


async def test_alternatives_are_no_set() -> None:
    assert (await judged("\\boxed{A or C}", ["A", "C"])).reason == "hedged"
    assert (await judged("\\boxed{A/C}", ["A", "C"])).reason == "hedged"
    assert (await judged("\\boxed{A} and \\boxed{C}", ["A", "C"])).score == 1.0


async def test_partial_credit_never_pays_for_a_hedge_where_one_is_right() -> None:
    for several in ("any", "subset", "jaccard"):
        outcome = await judged("\\boxed{A, B}", "B", several=several)
        assert (outcome.score, outcome.reason) == (0.0, "hedged")


async def test_abstaining_is_told_apart() -> None:
    outcome = await judged("\\boxed{I don't know}", "B", abstain=["i don't know"], abstain_score=0.25)
    assert (outcome.score, outcome.passed, outcome.reason) == (0.25, False, "abstained")
    right = await judged("\\boxed{E}", "E", abstain=["E"], abstain_score=0.25)
    assert (right.score, right.reason) == (1.0, None)
    hedge = await judged("\\boxed{E} or \\boxed{B}", "B", abstain=["E"], abstain_score=0.25)
    assert hedge.reason == "hedged"


async def test_the_chance_level_is_told_where_the_options_are_counted() -> None:
    assert (await judged("\\boxed{A}", {"answer": "A", "options": CITIES})).evidence["chance"] == 0.25
    assert (await judged("\\boxed{A}", ["A", "B"], labels="A-D")).evidence["chance"] == pytest.approx(1 / 15)
    assert "chance" not in (await judged("\\boxed{A}", "A")).evidence


async def test_strict_extraction_reads_boxes_and_tags_only() -> None:
    assert (await judged("Answer: B", "B", extraction="strict")).reason == "no_answer"
    assert (await judged("B", "B", extraction="strict")).reason == "no_answer"
    assert (await judged("B", "B", extraction=["boxed", "label_line"])).score == 1.0


@pytest.mark.parametrize(
    ("labels", "expanded"),
    [
        ("A-D", "A B C D"),
        ("a-c", "a b c"),
        ("1-4", "1 2 3 4"),
        ("0-2", "0 1 2"),
        ("i-v", "i ii iii iv v"),
        ("I-III", "I II III"),
    ],
)
def test_ranges_of_labels(labels: str, expanded: str) -> None:
    assert expand(labels) == tuple(expanded.split())


@given(
    st.sampled_from(["A-J", "1-9", "i-x", "a-d"])
    .map(expand)
    .flatmap(lambda own: st.tuples(st.just(own), st.sampled_from(own)))
)
def test_every_label_reads_as_itself(own: tuple[tuple[str, ...], str]) -> None:
    labels, label = own
    for dress in ("{}", "({})", "{}.", "**{}**", "\\text{{{}}}", "option {}", "({}) some text"):
        reading = alphabet(labels).read(dress.format(label))
        assert reading is not None
        assert reading.labels == (labels.index(label),)


@given(st.lists(st.text(min_size=1).filter(lambda text: normal(text) != ""), min_size=2, max_size=6, unique_by=normal))
def test_every_text_names_its_own_option(texts: list[str]) -> None:
    options = options_of(tuple(texts))
    assert [options.match(text) for text in texts] == list(range(len(texts)))


@given(st.text())
def test_normalisation_settles(text: str) -> None:
    once = normal(text)
    assert len(once) <= 4 * len(text)
    assert sum(char.isdigit() for char in once) == sum(char.isdigit() for char in text)


TEXTS = st.text() | st.lists(st.sampled_from([*HOSTILE, "A", "B", "\\boxed{B}", "(B)", ".", "Paris", "}"])).map("".join)


@given(TEXTS, st.sampled_from(["B", 2, ("A", "C"), ChoiceReference(answer="A", options=tuple(CITIES))]))
def test_no_text_raises_and_every_outcome_is_a_score(text: str, reference: Any) -> None:
    outcome = choice(text, reference, ChoiceParams(abstain=("D",)))
    assert outcome.score in (0.0, 1.0)
    assert (outcome.reason is None) == (outcome.score == 1.0)


@given(TEXTS)
def test_answers_are_equal_to_themselves(text: str) -> None:
    for params in (ChoiceParams(), ChoiceParams(options=tuple(CITIES))):
        equivalence = ChoiceEquivalence(params)
        answer = equivalence.extract(text)
        if answer is not None:
            assert equivalence.same(answer, answer) is True
            assert equivalence.key(answer) is not None


def test_sameness_sees_through_the_dress() -> None:
    equivalence = ChoiceEquivalence(ChoiceParams())
    dressed = {
        equivalence.key(equivalence.extract(text) or "")
        for text in ("\\boxed{B}", "Answer: (b)", "B", "<answer>B.</answer>")
    }
    assert len(dressed) == 1
    assert equivalence.extract("\\boxed{A, B}") == "A, B"
    assert equivalence.extract("\\boxed{A} or \\boxed{B}") is None
    assert equivalence.extract("\\boxed{A or B}") is None
    with_options = ChoiceEquivalence(ChoiceParams(options=tuple(CITIES)))
    assert with_options.extract("\\boxed{London}") == "B"
    assert with_options.extract("\\boxed{A. London}") is None


@pytest.mark.parametrize("piece", HOSTILE)
def test_the_work_grows_no_faster_than_the_text(piece: str) -> None:
    reference, params = ChoiceReference(answer="A", options=tuple(CITIES)), ChoiceParams()
    for frame in ("%s", "\\boxed{%s}", "Answer: %s"):
        small, large = frame % (piece * 100), frame % (piece * 1000)
        choice(small, reference, params)
        small_steps = steps(lambda text=small: choice(text, reference, params))  # type: ignore[misc]
        large_steps = steps(lambda text=large: choice(text, reference, params))  # type: ignore[misc]
        assert large_steps <= 11 * small_steps + 1000


def test_the_common_way_is_short() -> None:
    """The bound that keeps `choice` inline: a thousand steps, whatever the length of the reasoning."""
    params = ChoiceParams()
    for tail in ("\\boxed{B}", "<answer>B</answer>", "The answer is B."):
        response = "Let us see whether option A holds, or rather another. " * 40 + tail
        choice(response, "B", params)
        assert steps(lambda text=response: choice(text, "B", params)) < 1000  # type: ignore[misc]


def test_schemas_name_what_is_accepted() -> None:
    spec = spec_of(choice)
    assert spec is not None
    assert spec.inline
    assert {"options", "labels", "several", "abstain"} <= set(params_schema(spec)["properties"])
    assert {"string", "integer"} <= {form.get("type") for form in reference_schema(spec)["anyOf"]}
