"""`retrieval`: agreement with scikit-learn and with the published definitions, forms of lists, and bounds."""

from __future__ import annotations

import json
import math
import random
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarden.errors import InvalidParams
from rewarden.types import Outcome, Sample, Use
from rewarden_server.engine.plan import Planner
from rewarden_verifiers.registry import Registry
from rewarden_verifiers.retrieval import measures
from rewarden_verifiers.retrieval.lists import ranking
from rewarden_verifiers.retrieval.retrieval import RetrievalParams, expect, retrieval
from rewarden_verifiers.retrieval.scores import scores
from tests.verifiers.counting import HOSTILE, steps
from tests.verifiers.direct import outcome_of

PLANNER = Planner(Registry())


async def judged(response: str, reference: Any, **params: Any) -> Outcome:
    return await outcome_of(
        PLANNER, Use(name="retrieval", params=params), Sample(response=response, reference=reference)
    )


def shuffled(seed: int, size: int = 9) -> tuple[list[str], dict[str, float]]:
    rng = random.Random(seed)
    ids = [f"d{n}" for n in range(size)]
    qrels = {one: float(rng.randint(0, 3)) for one in ids}
    qrels[rng.choice(ids)] = 3.0
    rng.shuffle(ids)
    return ids, qrels


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("cut", [None, 1, 3, 5, 20])
@pytest.mark.parametrize("gain", ["linear", "exponential"])
async def test_ndcg_is_scikit_learns(seed: int, cut: int | None, gain: str) -> None:
    sklearn = pytest.importorskip("sklearn.metrics")
    ids, qrels = shuffled(seed)
    truth = [[qrels[one] if gain == "linear" else 2 ** qrels[one] - 1 for one in ids]]
    scores = [[-float(rank) for rank in range(len(ids))]]
    theirs = sklearn.ndcg_score(truth, scores, k=cut)
    name = "ndcg" if cut is None else f"ndcg@{cut}"
    assert (await judged(json.dumps(ids), qrels, metrics=name, gain=gain)).score == pytest.approx(theirs)


@pytest.mark.parametrize("seed", range(12))
async def test_average_precision_is_scikit_learns(seed: int) -> None:
    sklearn = pytest.importorskip("sklearn.metrics")
    ids, qrels = shuffled(seed)
    theirs = sklearn.average_precision_score([qrels[one] > 0 for one in ids], [-rank for rank in range(len(ids))])
    assert (await judged(json.dumps(ids), qrels, metrics="map")).score == pytest.approx(theirs)


@pytest.mark.parametrize("seed", range(12))
async def test_the_other_measures_by_their_definitions(seed: int) -> None:
    ids, qrels = shuffled(seed)
    relevant = {one for one, gain in qrels.items() if gain > 0}
    first = next(rank for rank, one in enumerate(ids, 1) if one in relevant)
    for cut in (1, 3, 20):
        top = ids[:cut]
        found = len(relevant & set(top))
        response = json.dumps(ids)
        assert (await judged(response, qrels, metrics=f"recall@{cut}")).score == pytest.approx(found / len(relevant))
        assert (await judged(response, qrels, metrics=f"precision@{cut}")).score == pytest.approx(found / cut)
        assert (await judged(response, qrels, metrics=f"hit@{cut}")).score == float(found > 0)
        assert (await judged(response, qrels, metrics=f"mrr@{cut}")).score == pytest.approx(
            1 / first if first <= cut else 0.0
        )


@pytest.mark.parametrize("p", [0.5, 0.9, 0.98])
def test_rank_biased_overlap_by_its_definition(p: float) -> None:
    rng = random.Random(1)
    for _ in range(60):
        size = rng.randint(1, 8)
        a, b = ([f"{n}" for n in rng.sample(range(12), size)] for _ in "ab")
        shared = [len(set(a[:d]) & set(b[:d])) for d in range(1, size + 1)]
        # Equation 30 of the paper, for lists of one length; the agreement at the end goes on forever.
        expected = shared[-1] / size * p**size
        expected += (1 - p) / p * math.fsum(x / d * p**d for d, x in enumerate(shared, 1))
        assert measures.overlap(a, b, p, None) == pytest.approx(expected)
        assert measures.overlap(a, a, p, None) == pytest.approx(1.0)
        longer = [*b, "x", "y", "z"]
        assert measures.overlap(a, longer, p, None) == pytest.approx(measures.overlap(longer, a, p, None))


def test_overlap_of_lists_of_different_length_is_worked_out_by_hand() -> None:
    # S = (a, b), L = (a, c, b, d), p = 1/2: X = 1, 1, 2, 2; s = 2, l = 4, X_s = 1.
    p = 0.5
    seen = 1 / 1 * p + 1 / 2 * p**2 + 2 / 3 * p**3 + 2 / 4 * p**4
    more = 1 * 1 / (2 * 3) * p**3 + 1 * 2 / (2 * 4) * p**4
    expected = (1 - p) / p * (seen + more) + ((2 - 1) / 4 + 1 / 2) * p**4
    assert measures.overlap(["a", "b"], ["a", "c", "b", "d"], p, None) == pytest.approx(expected)


def test_average_overlap_weighs_all_ranks_the_same() -> None:
    # Shares of common ids at depths 1 to 3: 0, 2/2, 3/3; a list of one id has 1/1, 1/2 and 1/3 of three.
    assert measures.overlap(["b", "a", "c"], ["a", "b", "c"], 1, None) == pytest.approx(2 / 3)
    assert measures.overlap(["a"], ["a", "b", "c"], 1, None) == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)


async def test_the_order_for_overlap_can_hold_ids_that_are_not_relevant() -> None:
    reference = {"relevant": ["b"], "order": ["b", "a", "c"]}
    assert (await judged("[b] > [a] > [c]", reference, metrics="rbo")).score == pytest.approx(1)
    assert (await judged("[b] > [c] > [a]", reference, metrics="rbo", rbo_p=1)).score == pytest.approx(
        (1 + 1 / 2 + 1) / 3
    )


IDS = st.lists(st.from_regex(r"[A-Za-z][A-Za-z0-9]{0,6}", fullmatch=True), min_size=2, max_size=8, unique=True)


@given(IDS)
def test_every_form_of_a_list_is_read(ids: list[str]) -> None:
    forms = (
        json.dumps(ids),
        json.dumps({"ranking": ids}),
        json.dumps([{"id": one, "score": 1} for one in ids]),
        f"```json\n{json.dumps(ids, indent=1)}\n```",
        " > ".join(f"[{one}]" for one in ids),
        ">".join(f"[{one}]" for one in ids),
        " > ".join(ids),
        "Ranking: " + " > ".join(ids),
        "\n".join(f"{rank}. {one}" for rank, one in enumerate(ids, 1)),
        "\n".join(f"{rank}) **{one}**" for rank, one in enumerate(ids, 1)),
        "\n".join(f"- `{one}`" for one in ids),
        "\n\n".join(f"* {one}" for one in ids),
        ", ".join(ids),
        "、".join(ids),
        ", ".join(f"[{one}]" for one in ids),
        "\n".join(ids),
        "I compared them.\n\n" + "\n".join(f"{rank}. {one}" for rank, one in enumerate(ids, 1)) + "\n\nThat is all.",
        "Sorted: " + json.dumps(ids) + " as asked.",
    )
    assert [ranking(form) for form in forms] == [ids] * len(forms)


@pytest.mark.parametrize("text", ["", "  ", "[]", "``` ```", "[ ]", "[null]"])
def test_what_holds_no_list(text: str) -> None:
    assert ranking(text) in (None, ["null"])


async def test_the_vector_of_ranks() -> None:
    outcome = await judged('["a", "a", "x", "b"]', {"qrels": {"a": 2, "b": 1}, "catalogue": ["a", "b", "c"]})
    assert [(step.index, step.score, step.label, step.feedback) for step in outcome.steps] == [
        (0, 1.0, "a", None),
        (1, 0.0, "a", "duplicate"),
        (2, 0.0, "x", "unknown"),
        (3, 0.5, "b", None),
    ]


@given(st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=12))
def test_repeating_an_id_never_pays(ids: list[str]) -> None:
    reference = {"a": 3.0, "b": 2.0, "c": 1.0}
    for metric in ("ndcg", "ndcg@3", "recall@3", "precision@3", "mrr", "map", "map@2", "rbo", "hit@2"):
        params = RetrievalParams(metrics=metric)
        expected = expect(reference, params)
        once = list(dict.fromkeys(ids))
        with_repeats = retrieval(json.dumps(ids), expected, params)
        without = retrieval(json.dumps(once), expected, params)
        assert with_repeats.score is not None
        assert without.score is not None
        assert with_repeats.score <= without.score + 1e-12


@given(st.permutations(["a", "b", "c", "d"]))
def test_the_ideal_order_is_the_best(ids: list[str]) -> None:
    params = RetrievalParams(metrics={"ndcg": 1, "map": 1, "rbo": 1, "mrr": 1})
    expected = expect({"a": 3, "b": 2, "c": 1}, params)
    outcome = retrieval(json.dumps(ids), expected, params)
    assert outcome.score is not None
    assert (outcome.score == 1.0) is (ids[:3] == ["a", "b", "c"]) or ids == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    "params",
    [
        {"metrics": []},
        {"metrics": "accuracy"},
        {"metrics": "recall"},
        {"metrics": "hit"},
        {"metrics": "ndcg@0"},
        {"metrics": "ndcg@x"},
        {"metrics": "ndcg@²"},
        {"metrics": ["ndcg@3", "NDCG@3"]},
        {"metrics": {"ndcg": -1}},
        {"rbo_p": 1.5},
        {"relevant_from": 0},
        {"length": 0},
        {"threshold": 2},
        {"extraction": []},
        {"metric": "ndcg"},
    ],
)
def test_wrong_parameters_are_told(params: dict[str, Any]) -> None:
    with pytest.raises(InvalidParams):
        PLANNER.bind(Use(name="retrieval", params=params))


@pytest.mark.parametrize(
    ("reference", "params"),
    [
        ([], {}),
        ({}, {}),
        ({"a": 0}, {}),
        ({"a": -1, "b": 1}, {}),
        ({"a": float("inf")}, {}),
        ({"a": float("nan")}, {}),
        ({"a": 100}, {"gain": "exponential"}),
        ({"a": 1}, {"relevant_from": 2}),
        ({"qrels": {"a": 1}, "relevant": ["a"]}, {}),
        ({"catalogue": ["a"]}, {}),
        ({"qrels": {"a": 1}, "catalogue": ["b"]}, {}),
        ({"a": 1}, {"complete": True}),
        ({"a": 1}, {"unknown": "refuse"}),
        ("a", {}),
        (None, {}),
    ],
)
async def test_a_reference_that_cannot_be_used_is_not_the_policys_fault(reference: Any, params: dict[str, Any]) -> None:
    outcome = await judged('["a"]', reference, **params)
    assert (outcome.status, outcome.fault) == ("undecided", "reference")


async def test_far_too_many_ids() -> None:
    assert (await judged(json.dumps(list(range(10_001))), ["5"])).reason == "too_expensive"
    assert (await judged("a" * 300_000, ["5"])).reason == "too_expensive"


PIECES = ("[3]", " > ", "1. a\n", "- b\n", ",", '["a"]', "{", "[", "]", ": ", "a (b", "```", "、", "\n")
PARAMS = RetrievalParams(
    metrics=("ndcg@10", "recall@5", "precision@5", "mrr", "map", "rbo", "hit@1"), catalogue=("a", "b", "3", "A")
)
EXPECTED = expect({"a": 1.0, "3": 2.0}, PARAMS)


@given(st.text() | st.lists(st.sampled_from([*PIECES, *HOSTILE])).map("".join))
def test_no_text_raises_and_every_outcome_is_a_score(text: str) -> None:
    outcome = retrieval(text, EXPECTED, PARAMS)
    assert outcome.score is not None
    assert 0.0 <= outcome.score <= 1.0
    assert (outcome.score == 1.0) is bool(outcome.passed)


@pytest.mark.parametrize("piece", [*PIECES, "[[", "[3] >", "a > b ", " ", '{"a":[', "<answer>a</answer>", "\\boxed{a}"])
def test_the_work_grows_no_faster_than_the_text(piece: str) -> None:
    retrieval(piece, EXPECTED, PARAMS)
    counts = [steps(lambda size=size: retrieval(piece * size, EXPECTED, PARAMS)) for size in (60, 240, 960)]  # type: ignore[misc]
    assert counts[1] <= 4.5 * counts[0] + 4000
    assert counts[2] <= 4.5 * counts[1] + 4000


@pytest.mark.parametrize("seed", range(12))
async def test_pairs_and_tau_are_those_of_the_definition(seed: int) -> None:
    ids, qrels = shuffled(seed)
    listed = ids[: 9 - seed % 3]
    rank = {one: place for place, one in enumerate(listed)}
    wanted = [(one, other) for one in ids for other in ids if qrels[one] > qrels[other]]
    found = [1 for one, other in wanted if one in rank and other in rank and rank[one] < rank[other]]
    share = len(found) / len(wanted)
    assert (await judged(json.dumps(listed), qrels, metrics="pairs")).score == pytest.approx(share)
    assert (await judged(json.dumps(listed), qrels, metrics="tau")).score == pytest.approx(max(0, 2 * share - 1))


@pytest.mark.parametrize("seed", range(12))
async def test_tau_is_scipys(seed: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    wanted = [f"d{place}" for place in range(12)]
    found = list(wanted)
    rng = random.Random(seed)
    for _ in range(seed):
        place = rng.randrange(11)
        found[place], found[place + 1] = found[place + 1], found[place]
    theirs = stats.kendalltau(range(12), [found.index(one) for one in wanted]).statistic
    assert (await judged(json.dumps(found), wanted, metrics="tau")).score == pytest.approx(max(0.0, theirs))


@given(st.lists(st.sampled_from("abcdef"), max_size=12))
def test_no_order_but_the_right_one_is_exact(ids: list[str]) -> None:
    params = RetrievalParams(metrics="exact")
    found = retrieval(json.dumps(ids), prepared=expect(("a", "b", "c"), params), params=params)
    assert (found.score == 1.0) == (ids == ["a", "b", "c"])


@given(st.permutations("abcdef"), st.lists(st.integers(-3, 3), min_size=6, max_size=6))
def test_scores_earn_what_their_worst_order_earns(ids: list[str], numbers: list[int]) -> None:
    wanted = tuple("abcdef")
    scored = dict(zip(ids, numbers, strict=True))
    params = RetrievalParams(metrics="pairs", answers="scores")
    found = retrieval(json.dumps(scored), prepared=expect(wanted, params), params=params)
    strict = sum(scored[one] > scored[other] for place, one in enumerate(wanted) for other in wanted[place + 1 :])
    assert found.score == pytest.approx(strict / 15)


@given(st.lists(st.sampled_from((*HOSTILE, '{"a": ', "[", "]", "}", "a: 1\n", "NaN", "1e999")), max_size=30))
def test_reading_scores_never_raises(parts: list[str]) -> None:
    found = scores("".join(parts))
    assert found is None or all(math.isfinite(number) for _, number in found)


def test_reading_scores_is_linear() -> None:
    for unit in ("a: 1\n", "[", '{"a": ', "a: ", ": : ", "1. "):
        small, large = (steps(partial(scores, unit * count)) for count in (500, 2000))
        assert large <= 6 * small + 2000


async def test_a_cut_off_rank_of_an_order_is_refused() -> None:
    with pytest.raises((InvalidParams, ValueError), match="takes no rank"):
        RetrievalParams(metrics="tau@3")
