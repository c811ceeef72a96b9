"""`label`: classes, sets as scikit-learn counts them, hierarchies, verdicts; hedges and unknown labels refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, fbeta_score, jaccard_score, precision_recall_fscore_support

from rewarden.errors import InvalidParams
from rewarden.types import Outcome, Sample, Use
from rewarden_server.engine.plan import Planner
from rewarden_verifiers.answer.label.equivalence import LabelEquivalence
from rewarden_verifiers.answer.label.params import VERDICTS, Label, LabelParams
from rewarden_verifiers.answer.label.verifier import label, prepare
from rewarden_verifiers.contract import spec_of
from rewarden_verifiers.registry import Registry
from rewarden_verifiers.schema import params_schema, parse_params, reference_schema
from tests.verifiers.counting import HOSTILE, steps
from tests.verifiers.direct import outcome_of

PLANNER = Planner(Registry())
MOODS = ["positive", "negative", "neutral"]
TOPICS = ["sports", "politics", "science", "health", "art"]
CODED = [
    {"name": "World", "code": 0, "definition": "news from abroad"},
    {"name": "Sports", "code": 1, "aliases": ["athletics"]},
    {"name": "Business", "code": 2},
    {"name": "Sci/Tech", "code": 3, "aliases": ["science", "technology"]},
]
TREE = {"dog": "mammal", "cat": "mammal", "mammal": "animal", "trout": "fish", "fish": "animal"}


async def responded(response: str, reference: Any, **params: Any) -> Outcome:
    return await outcome_of(PLANNER, Use(name="label", params=params), Sample(response=response, reference=reference))


async def judged(answer: str, reference: Any, **params: Any) -> Outcome:
    return await responded(f"<answer>{answer}</answer>", reference, **params)


# --- one label ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [
        "positive",
        "Positive.",
        "**POSITIVE**",
        '"positive"',
        r"\text{positive}",
        "ｐositive",
        "Label: positive",
        "The label is positive.",
        "The sentiment of the text is: positive",
        "positive, because everybody smiles",
        "positive (as everybody smiles)",
        "positive - nothing is blamed",
        "positive\nThe review praises the food.",
        "positive, not negative",
        "positive rather than negative",
        "Positive. Rather than blame, it praises.",
    ],
)
async def test_a_label_is_read_in_any_dress(answer: str) -> None:
    if answer.startswith(("The sentiment of", "positive rather")):
        # Words between, or without a stop: a sentence that mentions a label.
        assert (await judged(answer, "positive", labels=MOODS)).score == 0.0
        return
    assert (await judged(answer, "positive", labels=MOODS)).score == 1.0
    assert (await judged(answer, "negative", labels=MOODS)).score == 0.0


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("positive or negative", "hedged"),
        ("positive/negative", "hedged"),
        ("positive, negative", "hedged"),
        ("positive (or negative)", "hedged"),
        ("positive and negative", "hedged"),
        ("either positive or neutral", "hedged"),
        ("positive. " + "x " * 300 + "or negative", "hedged"),
        ("not positive", "unknown_label"),
        ("unpositive", "unknown_label"),
        ("positively", "unknown_label"),
        ("happy", "unknown_label"),
        ("it might be positive", "unknown_label"),
        ("positive " + "x" * 6000, "unknown_label"),
        ("", "no_answer"),
    ],
)
async def test_what_is_no_label(answer: str, reason: str) -> None:
    for match in ("normalised", "mention"):
        outcome = await judged(answer, "positive", labels=MOODS, match=match)
        assert (outcome.score, outcome.reason) == (0.0, reason)


async def test_a_mention_counts_only_where_asked() -> None:
    sentence = "I would call this review positive on the whole"
    assert (await judged(sentence, "positive", labels=MOODS)).reason == "unknown_label"
    assert (await judged(sentence, "positive", labels=MOODS, match="mention")).score == 1.0
    for doubt in ("I cannot say whether this is positive", "It isn't positive", "Perhaps positive on the whole"):
        assert (await judged(doubt, "positive", labels=MOODS, match="mention")).score == 0.0
    assert (await judged("positive here, negative there", "positive", labels=MOODS, match="mention")).reason == "hedged"


@pytest.mark.parametrize(
    ("answer", "reference"),
    [
        ("Sci/Tech", "Sci/Tech"),
        ("technology", "Sci/Tech"),
        ("3", "Sci/Tech"),
        ("Class 3", "Sci/Tech"),
        ("3: Sci/Tech", "science"),
        ("3. science", 3),
        ("Sci/Tech (3)", 3),
        ("3 - technology", 3),
        ("0", 0),
        ("World", "0"),
    ],
)
async def test_names_aliases_and_codes_are_one_label(answer: str, reference: Any) -> None:
    outcome = await judged(answer, reference, labels=CODED)
    assert outcome.score == 1.0
    assert outcome.extracted in ("Sci/Tech", "World")


async def test_a_code_with_another_name_is_contradictory() -> None:
    for answer in ("1: Business", "Sports (2)", "2. athletics"):
        for reference in ("Sports", "Business"):
            assert (await judged(answer, reference, labels=CODED)).reason == "contradictory"


async def test_signs_and_points_survive() -> None:
    stance = ["-1", "0", "1", "+2", "1.5", "C", "C++", "C#"]
    for one in stance:
        for other in stance:
            assert (await judged(one, other, labels=stance)).score == float(one == other)
    for answer in ("1.0", "1:1", "<1", ".1", "1,5", "10"):
        assert (await judged(answer, "1", labels=["-1", "0", "1"])).score == 0.0


async def test_ties_and_underscores_are_blanks() -> None:
    labels = ["not_entailment", "entailment"]
    for answer in ("not entailment", "not-entailment", "Not_Entailment"):
        assert (await judged(answer, "not_entailment", labels=labels)).score == 1.0
        assert (await judged(answer, "entailment", labels=labels)).score == 0.0


async def test_the_whole_output_by_the_letter() -> None:
    strict = {"extraction": "whole", "match": "exact"}
    assert (await responded("husky", "husky", **strict)).score == 1.0
    for response in ("Husky", "husky.", "It is a husky", "<answer>husky</answer>"):
        assert (await responded(response, "husky", **strict)).score == 0.0
        assert (await responded(response, "husky", labels=["husky", "pug"], **strict)).score == 0.0


@pytest.mark.parametrize(
    ("response", "rule", "score"),
    [
        ("positive", "label_line", 1.0),
        ("It praises the food.\n\nLabel: positive\n", "label_line", 1.0),
        ("It praises the food, so positive it is", None, 0.0),
        ("positive\nIt praises the food.", None, 0.0),
        ("The answer is positive.", "phrase", 1.0),
        ("\\boxed{positive}", "boxed", 1.0),
        ("\\boxed{positive} \\boxed{negative}", "boxed", 0.0),
        ("\\boxed{negative}. Wait, that is wrong: \\boxed{positive}", "boxed", 1.0),
    ],
)
async def test_where_a_label_is_found(response: str, rule: str | None, score: float) -> None:
    outcome = await responded(response, "positive", labels=MOODS)
    assert (outcome.score, outcome.evidence.get("rule")) == (score, rule)


async def test_without_a_set_any_text_is_a_label() -> None:
    assert (await judged("Golden Retriever", "golden retriever")).score == 1.0
    assert (await judged("Labrador", "golden retriever")).reason == "wrong"
    assert (await judged("golden retriever or Labrador", "golden retriever")).reason == "hedged"
    assert (await responded("golden retriever", "golden retriever")).score == 1.0
    assert (await responded("It barks.\ngolden retriever", "golden retriever")).reason == "no_answer"


async def test_any_of_several_labels_may_be_right() -> None:
    assert (await judged("joy", ["joy", "amusement"], labels=["joy", "amusement", "anger"])).score == 1.0
    assert (await judged("joy, amusement", ["joy", "amusement"], labels=["joy", "amusement"])).reason == "hedged"


@pytest.mark.parametrize("word", ["true", "Yes.", "correct", "PROVED", "valid", "not false", "是"])
async def test_verdicts_have_many_names(word: str) -> None:
    for reference, params in ((True, {}), ("yes", {"labels": "verdicts"}), ("proved", {"labels": "verdicts"})):
        assert (await judged(word, reference, **params)).score == 1.0
    for reference in (False, [False]):
        assert (await judged(word, reference)).score == 0.0


async def test_what_is_not_proved_is_no_verdict() -> None:
    for answer in ("not proved", "unknown", "cannot be proved", "true or false", "true false", "not"):
        assert (await judged(answer, False)).score == 0.0
        assert (await judged(answer, True)).score == 0.0
    assert (await judged("The theorem is not true.", False)).score == 1.0


async def test_uncertainty_has_a_score_of_its_own() -> None:
    params = {"labels": MOODS, "uncertain": ["unsure"], "uncertain_score": 0.3}
    outcome = await judged("Unsure", "positive", **params)
    assert (outcome.score, outcome.passed, outcome.reason) == (0.3, False, "uncertain")
    assert (await judged("unsure", "unsure", **params)).score == 1.0
    assert (await judged("unsure, positive", "positive", **params)).reason == "hedged"
    assert (await judged("unsure", ["positive"], mode="multi", **params)).score == 0.3
    assert (await judged("unsure, positive", ["positive"], mode="multi", **params)).reason == "hedged"
    assert (await judged("True, unsure", [True, False], mode="vector", labels="verdicts", uncertain=["unsure"],
                         uncertain_score=0.3)).score == pytest.approx(0.65)  # fmt: skip


async def test_a_label_may_weigh_more_than_another() -> None:
    labels = ["keep", "accelerate", {"name": "stop", "weight": 4}]
    for reference, score in (("keep", 0.25), ("stop", 1.0)):
        outcome = await judged(reference, reference, labels=labels)
        assert (outcome.score, outcome.passed) == (score, True)
    assert (await judged("keep", "keep", labels=["keep", "stop"], weights={"keep": 3, "stop": 3})).score == 1.0
    assert (await judged("stop", "stop", weights={"stop": 2})).score == 1.0


# --- sets --------------------------------------------------------------------------------------------------------

SETS = st.sets(st.sampled_from(TOPICS), min_size=1, max_size=4)


def indicator(labels: set[str], among: list[str] = TOPICS) -> Any:
    return np.array([[int(name in labels) for name in among]])


@settings(max_examples=60)
@given(SETS, SETS, st.sampled_from([0.5, 1.0, 2.0]))
def test_metrics_of_sets_are_scikit_learns(named: set[str], wanted: set[str], beta: float) -> None:
    true, predicted = indicator(wanted), indicator(named)
    precision, recall, f1, _ = precision_recall_fscore_support(true, predicted, average="samples", zero_division=0.0)
    expected = {
        "precision": precision,
        "recall": recall,
        "f1": f1,
        "fbeta": fbeta_score(true, predicted, beta=beta, average="samples", zero_division=0.0),
        "jaccard": jaccard_score(true, predicted, average="samples", zero_division=0.0),
        "exact": accuracy_score(true, predicted),
    }
    for metric, score in expected.items():
        outcome = _multi(named, wanted, metric=metric, beta=beta, most=100)
        assert outcome.score == pytest.approx(float(score), abs=1e-12)
        if metric != "exact" and named != wanted:
            assert outcome.evidence["precision"] == pytest.approx(precision)
            assert outcome.evidence["recall"] == pytest.approx(recall)


@settings(max_examples=60)
@given(SETS, SETS, st.lists(st.sampled_from([0.25, 1.0, 2.0, 7.5]), min_size=5, max_size=5))
def test_weights_are_scikit_learns_sample_weights(named: set[str], wanted: set[str], weights: list[float]) -> None:
    # One sample's labels are the samples of a binary problem, and the labels' weights theirs.
    true, predicted = indicator(wanted)[0], indicator(named)[0]
    precision, recall, f1, _ = precision_recall_fscore_support(
        true, predicted, average="binary", sample_weight=weights, zero_division=0.0
    )
    expected = {
        "precision": precision,
        "recall": recall,
        "f1": f1,
        "jaccard": jaccard_score(true, predicted, sample_weight=weights, zero_division=0.0),
    }
    weighed = dict(zip(TOPICS, weights, strict=True))
    for metric, score in expected.items():
        outcome = _multi(named, wanted, metric=metric, weights=weighed, most=100)
        assert outcome.score == pytest.approx(float(score), abs=1e-12)


@settings(max_examples=60)
@given(*(st.sets(st.sampled_from(["a", "a/x", "a/y", "a/x/1", "b", "b/x"]), min_size=1, max_size=3) for _ in range(2)))
def test_hierarchical_metrics_are_those_of_sets_of_ancestors(named: set[str], wanted: set[str]) -> None:
    def ancestors(paths: set[str]) -> set[str]:
        return {path[:end] for path in paths for end in range(1, len(path) + 1, 2)}

    nodes = ["", *sorted(ancestors(named) | ancestors(wanted))]  # a column more: scikit-learn wants two
    true, predicted = indicator(ancestors(wanted), nodes), indicator(ancestors(named), nodes)
    precision, recall, f1, _ = precision_recall_fscore_support(true, predicted, average="samples", zero_division=0.0)
    for metric, score in (("precision", precision), ("recall", recall), ("f1", f1)):
        params = parse_params(SPEC, {"mode": "multi", "separator": "/", "metric": metric, "most": 100})
        outcome = label(f"<answer>{'; '.join(sorted(named))}</answer>", prepare(tuple(wanted), params), params)
        assert outcome.score == pytest.approx(float(score), abs=1e-12)


_FOUND = spec_of(label)
assert _FOUND is not None
SPEC = _FOUND


def _multi(named: set[str], wanted: set[str], **params: Any) -> Outcome:
    # A sixth label, so that naming the five others is not naming all.
    made = parse_params(SPEC, {"labels": [*TOPICS, "weather"], "mode": "multi", **params})
    return label(f"<answer>{', '.join(sorted(named))}</answer>", prepare(tuple(sorted(wanted)), made), made)


@pytest.mark.parametrize(
    "answer",
    [
        "sports, health",
        "health and sports",
        "Sports; Health",
        "sports\nhealth",
        "- sports\n- health",
        "1. health\n2. sports",
        "1) sports 2) health",
        '["sports", "health"]',
        "['sports', 'health']",
        "[sports, health]",
        "{sports, health}",
        "sports, sports, health",
        "sports, and health",
        "Labels: sports, health",
        "The labels are sports and health.",
        "sports、health",
        "sports & health",
    ],
)
async def test_a_set_is_read_in_any_form(answer: str) -> None:
    outcome = await judged(answer, ["sports", "health"], labels=TOPICS, mode="multi")
    assert (outcome.score, outcome.extracted) == (1.0, ["health", "sports"])


async def test_a_set_may_stand_in_boxes_or_lines() -> None:
    params = {"labels": TOPICS, "mode": "multi"}
    for response in ("\\boxed{sports}, \\boxed{health}", "It is about both.\n\n- sports\n- health\n", "sports\nhealth"):
        assert (await responded(response, ["sports", "health"], **params)).score == 1.0
    lists = "\\boxed{sports, health} or \\boxed{sports, art}"
    assert (await responded(lists, ["sports", "health"], **params)).reason == "hedged"


async def test_names_may_hold_what_separates() -> None:
    labels = ["search and rescue", "Paris, Texas", "Paris", "rock or pop", "a/b", "a", "b"]
    for name in labels:
        assert (await judged(name, [name], labels=labels, mode="multi")).score == 1.0
        assert (await judged(name, name, labels=labels)).score == 1.0
    both = await judged("Paris, Texas, search and rescue, rock or pop", labels[:2] + labels[3:4], labels=labels,
                        mode="multi")  # fmt: skip
    assert both.score == 1.0


@pytest.mark.parametrize("answer", ["sports or health", "sports, or health", "sports/health", "sports and/or health"])
async def test_alternatives_are_no_set(answer: str) -> None:
    assert (await judged(answer, ["sports", "health"], labels=TOPICS, mode="multi")).reason == "hedged"


async def test_naming_more_does_not_pay() -> None:
    everything = ", ".join(TOPICS)
    for metric in ("precision", "recall", "f1", "fbeta", "jaccard", "exact"):
        params = {"labels": TOPICS, "mode": "multi", "metric": metric}
        assert (await judged(everything, ["sports"], **params)).reason == "hedged"
        assert (await judged(everything, TOPICS, **params)).score == 1.0
    recall = {"labels": TOPICS, "mode": "multi", "metric": "recall"}
    assert (await judged("sports, art", ["sports"], **recall)).score == 1.0
    assert (await judged("sports, art, health", ["sports"], **recall)).reason == "hedged"
    assert (await judged("sports, art, health", ["sports"], most=4, **recall)).score == 1.0
    assert (await judged("sports, x, y, z", ["sports"], **recall)).reason == "hedged"


async def test_unknown_labels_count_as_wrong_ones() -> None:
    outcome = await judged("sports, chess", ["sports"], labels=TOPICS, mode="multi")
    assert (outcome.score, outcome.evidence["unknown"]) == (pytest.approx(2 / 3), ["chess"])
    assert (await judged("chess, go", ["sports"], labels=TOPICS, mode="multi")).reason == "unknown_label"
    exact = await judged("sports, chess", ["sports"], labels=TOPICS, mode="multi", metric="exact")
    assert exact.score == 0.0


async def test_the_empty_set() -> None:
    params = {"labels": TOPICS, "mode": "multi"}
    for answer in ("none", "[]", "No labels", "nothing"):
        for metric in ("f1", "jaccard", "recall", "exact"):
            assert (await judged(answer, [], metric=metric, **params)).score == 1.0
            assert (await judged(answer, ["sports"], metric=metric, **params)).score == 0.0
    assert (await judged("sports", [], **params)).score == 0.0
    assert (await responded("Nothing fits.\nnone", [], **params)).score == 1.0
    assert (await judged("none", ["none"], labels=["none", "some"], mode="multi")).score == 1.0


# --- hierarchies -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "f1", "depth"),
    [
        ("animal/dog/poodle", 1.0, 1.0),
        ("Animal / Dog / Poodle", 1.0, 1.0),
        ("animal/dog", 0.8, 2 / 3),
        ("animal/dog/pug", 2 / 3, 2 / 3),
        ("animal/dog/poodle/toy", 6 / 7, 3 / 4),
        ("animal", 0.5, 1 / 3),
        ("plant/dog/poodle", 0.0, 0.0),
        ("dog/poodle", 0.0, 0.0),
    ],
)
async def test_paths(answer: str, f1: float, depth: float) -> None:
    reference = "animal/dog/poodle"
    assert (await judged(answer, reference, separator="/")).score == pytest.approx(f1)
    assert (await judged(answer, reference, separator="/", metric="depth")).score == pytest.approx(depth)
    assert (await judged(answer, reference, separator="/", metric="exact")).score == float(f1 == 1.0)


@pytest.mark.parametrize(
    ("answer", "f1", "depth"),
    [("dog", 1.0, 1.0), ("cat", 0.5, 0.5), ("mammal", 2 / 3, 0.5), ("trout", 0.0, 0.0), ("animal", 0.0, 0.0)],
)
async def test_a_tree_whose_root_earns_nothing(answer: str, f1: float, depth: float) -> None:
    assert (await judged(answer, "dog", parents=TREE)).score == pytest.approx(f1)
    assert (await judged(answer, "dog", parents=TREE, metric="depth")).score == pytest.approx(depth)
    assert (await judged("shark", "dog", parents=TREE)).reason == "unknown_label"


async def test_inner_nodes_of_listed_paths_are_labels() -> None:
    labels = ["thing/animal/dog", "thing/animal/cat", "thing/plant/oak"]
    assert (await judged("thing/animal", labels[0], labels=labels, separator="/")).score == pytest.approx(2 / 3)
    assert (await judged("thing", labels[0], labels=labels, separator="/")).score == 0.0
    assert (await judged("thing/mineral", labels[0], labels=labels, separator="/")).reason == "unknown_label"


# --- vectors -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    ["True, False, True", "true false true", "1. True\n2. False\n3. True", "1. True 2. False 3. True",
     "[true, false, true]", "yes; no; yes", "proved\ndisproved\nproved"],
)  # fmt: skip
async def test_a_vector_of_verdicts(answer: str) -> None:
    if answer == "true false true":
        assert (await judged(answer, [True, False, True], mode="vector")).score == 0.0
        return
    assert (await judged(answer, [True, False, True], mode="vector")).score == 1.0
    assert (await judged(answer, [True, True, True], mode="vector")).score == pytest.approx(2 / 3)
    assert (await judged(answer, [True, True, True], mode="vector", aggregate="all")).score == 0.0
    assert (await judged(answer, [True, False], mode="vector")).reason == "too_many"
    assert (await judged(answer, [True, False, True, True], mode="vector")).score == 0.75
    assert (await judged(answer, [True, False, True, True], mode="vector", aggregate="all")).score == 0.0


async def test_a_vector_in_boxes() -> None:
    response = "\\boxed{True}, \\boxed{False} and \\boxed{True}"
    assert (await responded(response, [True, False, True], mode="vector")).score == 1.0
    weighted = await judged("a, b", ["a", "a"], mode="vector", labels=["a", "b"], weights={"a": 2})
    assert weighted.score == 0.5
    assert (await judged("True or False, True", [True, True], mode="vector")).reason == "hedged"
    assert (await judged("x, y", [True, True], mode="vector")).reason == "unknown_label"
    assert (await judged("True, x", [True, True], mode="vector")).score == 0.5


# --- references and parameters -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reference", "params"),
    [
        ("pos", {"labels": MOODS}),
        (True, {"labels": MOODS}),
        ([], {}),
        ([], {"mode": "vector"}),
        ("", {}),
        ([" "], {"mode": "multi"}),
        (None, {}),
        (1.5, {}),
        ({"label": "x"}, {}),
        (["x"] * 1001, {"mode": "vector"}),
        ("maybe", {"labels": "verdicts"}),
    ],
)
async def test_a_bad_reference_is_undecided(reference: Any, params: dict[str, Any]) -> None:
    outcome = await judged("positive", reference, **params)
    assert (outcome.status, outcome.score, outcome.fault) == ("undecided", None, "reference")


@pytest.mark.parametrize(
    "params",
    [
        {"labels": ["one"]},
        {"labels": ["a", "a"]},
        {"labels": ["a", "A"]},
        {"labels": ["a", " "]},
        {"labels": ["a", {"name": "b", "aliases": ["a"]}]},
        {"labels": "booleans"},
        {"labels": MOODS, "weights": {"happy": 2}},
        {"weights": {"a": 0}},
        {"weights": {"a": float("inf")}},
        {"weights": {"a": float("nan")}},
        {"uncertain_score": 2},
        {"beta": 0},
        {"metric": "depth"},
        {"metric": "depth", "separator": "/", "mode": "multi"},
        {"separator": " "},
        {"separator": "/", "parents": TREE},
        {"parents": {"a": "b", "b": "a"}},
        {"parents": {str(n): str(n + 1) for n in range(70)}},
        {"most": 3},
        {"most": 0, "mode": "multi"},
        {"extraction": "lose"},
        {"extraction": [{"regex": "("}]},
        {"lables": MOODS},
    ],
)
def test_wrong_parameters_are_told(params: dict[str, Any]) -> None:
    with pytest.raises(InvalidParams):
        PLANNER.bind(Use(name="label", params=params))


def test_the_schemas_say_what_is_taken() -> None:
    properties = params_schema(SPEC)["properties"]
    assert all(field["description"] for field in properties.values())
    assert SPEC.inline
    assert {"string", "integer", "boolean"} <= {form.get("type") for form in reference_schema(SPEC)["anyOf"]}
    assert [item.name for item in VERDICTS] == ["true", "false"]


async def test_answers_beyond_the_limits_are_expensive() -> None:
    for response in ("\\boxed{" + "x, " * 7000 + "}", " ".join(["\\boxed{" + "x" * 15_000 + "}"] * 3)):
        assert (await responded(response, "positive", labels=MOODS)).reason == "too_expensive"
        assert LabelEquivalence(LabelParams()).extract(response) is None


# --- properties --------------------------------------------------------------------------------------------------

PIECES = [*HOSTILE, "positive", "negative", "or", "and", ",", ";", "not", "1. ", "- ", "[", '["a"', "]", "true", "a/b"]
TEXTS = st.text() | st.lists(st.sampled_from(PIECES)).map("".join) | st.lists(st.sampled_from(PIECES)).map(" ".join)
PARAMS = [
    (LabelParams(labels=tuple(MOODS)), "positive"),
    (LabelParams(labels=tuple(MOODS), match="mention", uncertain=("neutral",), uncertain_score=0.5), "negative"),
    (LabelParams(labels=tuple(MOODS), match="exact", extraction="whole"), "negative"),
    (LabelParams(), True),
    (LabelParams(extraction="whole"), "x"),
    (LabelParams(mode="multi", labels=tuple(MOODS), weights={"positive": 3.3}, extraction="whole"), ("positive",)),
    (LabelParams(mode="multi", metric="jaccard"), ("positive", "x")),
    (LabelParams(mode="multi", separator="/", extraction="whole"), ("a/b", "x")),
    (LabelParams(mode="vector", labels="verdicts", extraction="whole"), (True, False)),
    (LabelParams(separator="/", metric="depth", extraction="whole"), "a/b"),
    (LabelParams(parents=TREE), "dog"),
    (LabelParams(labels=(Label(name="a,b", code=1), Label(name="b")), mode="multi", extraction="whole"), ("b",)),
]


@given(TEXTS, st.sampled_from(PARAMS))
def test_no_text_raises_and_every_outcome_is_a_score(answer: str, use: tuple[LabelParams, Any]) -> None:
    params, reference = use
    prepared = prepare(reference, params)
    for response in (answer, f"<answer>{answer}</answer>", f"\\boxed{{{answer}}}"):
        outcome = label(response, prepared, params)
        assert outcome.score is not None
        assert 0.0 <= outcome.score <= 1.0
        assert (outcome.reason is None) == (outcome.passed is True)


@given(TEXTS, TEXTS, st.sampled_from(PARAMS))
def test_sameness_is_reflexive_and_symmetric(one: str, other: str, use: tuple[LabelParams, Any]) -> None:
    equivalence = LabelEquivalence(use[0])
    for answer in (one, other):
        assert equivalence.same(answer, answer) is True
        found = equivalence.extract(answer)
        assert found is None or equivalence.key(found) is not None
    assert equivalence.same(one, other) == equivalence.same(other, one)


@given(st.permutations(TOPICS), st.integers(1, 5))
def test_sets_are_the_same_in_any_order(topics: list[str], size: int) -> None:
    assume(size <= len(topics))
    equivalence = LabelEquivalence(parse_params(SPEC, {"labels": TOPICS, "mode": "multi"}))
    chosen = topics[:size]
    one, other = (equivalence.extract(f"<answer>{', '.join(order)}</answer>") for order in (chosen, chosen[::-1]))
    assert one is not None
    assert one == other
    assert equivalence.key(one) == equivalence.key(", ".join(chosen))


def test_sameness_leaves_out_hedges_and_the_uncertain() -> None:
    equivalence = LabelEquivalence(parse_params(SPEC, {"labels": MOODS, "uncertain": ["unsure"]}))
    assert equivalence.extract("<answer>Positive, because</answer>") == "positive"
    for response in ("<answer>positive or negative</answer>", "<answer>unsure</answer>", "<answer>happy</answer>", ""):
        assert equivalence.extract(response) is None
    vector = LabelEquivalence(parse_params(SPEC, {"labels": "verdicts", "mode": "vector"}))
    assert vector.same("true; false", "yes; no") is True
    assert vector.same("true; false", "false; true") is False


@pytest.mark.parametrize("use", [PARAMS[1], PARAMS[5], PARAMS[8]], ids=["single", "multi", "vector"])
@pytest.mark.parametrize(
    "piece", [*HOSTILE, "positive, ", "true, ", "positive or ", "not ", "1. ", "[", "label: ", "x\n"]
)
def test_the_work_grows_no_faster_than_the_text(piece: str, use: tuple[LabelParams, Any]) -> None:
    params, reference = use
    prepared = prepare(reference, params)

    def work(size: int) -> int:
        answer = (piece * size)[:19_000]
        return steps(lambda: label(answer, prepared, params))

    work(10)
    counts = [work(size) for size in (10, 100, 1000)]
    assert counts[1] <= 11 * counts[0] + 4000
    assert counts[2] <= 11 * counts[1] + 4000


def test_the_common_way_is_short() -> None:
    """The bound that keeps `label` inline: a few hundred steps, whatever the length of the reasoning."""
    params = LabelParams(labels=tuple(MOODS))
    prepared = prepare("positive", params)
    response = "Some reasoning about moods. " * 300 + "<answer>positive</answer>"
    label(response, prepared, params)
    assert steps(lambda: label(response, prepared, params)) < 1000
