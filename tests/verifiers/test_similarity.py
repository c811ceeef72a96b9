"""`similarity`: agreement with sacrebleu and with ROUGE as it is published, degenerate texts, and bounds."""

from __future__ import annotations

import random
import re
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewarden.errors import InvalidParams, MissingDependency
from rewarden.types import Outcome, Sample, Use
from rewarden_server.engine.plan import Planner
from rewarden_verifiers.generation import metrics, rouge
from rewarden_verifiers.generation.similarity import SimilarityParams, expect, similarity
from rewarden_verifiers.generation.ter import edits
from rewarden_verifiers.generation.texts import read
from rewarden_verifiers.registry import Registry
from tests.verifiers.counting import HOSTILE, steps
from tests.verifiers.direct import outcome_of

sacrebleu = pytest.importorskip("sacrebleu.metrics")
translation_edit_rate = pytest.importorskip("sacrebleu.metrics.lib_ter").translation_edit_rate

PLANNER = Planner(Registry())
ALL = ("bleu", "chrf", "chrf++", "ter", "rouge1", "rouge2", "rougeL", "rougeLsum", "edit")
WORDS = [
    "the",
    "a",
    "cat",
    "dog",
    "sat",
    "ran",
    "on",
    "under",
    "mat,",
    "house.",
    "Big",
    "small",
    "and",
    "then",
    "because",
    "it",
    "didn't",
    "3.14",
    "—",
    "again!",
]
OTHER = ["кошка", "собака", "猫坐在垫子上", "コーヒー", "बिल्ली", "चटाई", "café", "naïve", "ça"]


async def judged(response: str, reference: Any, prompt: str | None = None, **params: Any) -> Outcome:
    sample = Sample(response=response, reference=reference, prompt=prompt)
    return await outcome_of(PLANNER, Use(name="similarity", params=params), sample)


def texts(seed: int, words: Sequence[str], length: int = 14) -> list[str]:
    rng = random.Random(seed)
    base = [rng.choice(words) for _ in range(rng.randint(4, length))]
    made = []
    for _ in range(4):
        other = [word if rng.random() < 0.7 else rng.choice(words) for word in base]
        cut = rng.randint(0, len(other))
        made.append(" ".join(other[cut:] + other[:cut]) if rng.random() < 0.4 else " ".join(other))
    return made


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize(
    ("name", "params", "theirs"),
    [
        ("bleu", {}, sacrebleu.BLEU(effective_order=True)),
        ("bleu", {"bleu_tokenizer": "char"}, sacrebleu.BLEU(effective_order=True, tokenize="char")),
        ("bleu", {"bleu_tokenizer": "intl"}, sacrebleu.BLEU(effective_order=True, tokenize="intl")),
        ("bleu", {"bleu_tokenizer": "zh"}, sacrebleu.BLEU(effective_order=True, tokenize="zh")),
        (
            "bleu",
            {"bleu_smoothing": "add-k", "bleu_smoothing_value": 2, "bleu_order": 3},
            sacrebleu.BLEU(effective_order=True, smooth_method="add-k", smooth_value=2, max_ngram_order=3),
        ),
        ("bleu", {"bleu_smoothing": "none"}, sacrebleu.BLEU(effective_order=True, smooth_method="none")),
        ("bleu", {"lowercase": True}, sacrebleu.BLEU(effective_order=True, lowercase=True)),
        ("chrf", {}, sacrebleu.CHRF()),
        ("chrf++", {}, sacrebleu.CHRF(word_order=2)),
        ("chrf", {"lowercase": True}, sacrebleu.CHRF(lowercase=True)),
    ],
)
async def test_bleu_and_chrf_are_sacrebleus(seed: int, name: str, params: dict[str, Any], theirs: Any) -> None:
    hypothesis, *references = texts(seed, WORDS if seed % 2 else [*WORDS, *OTHER])
    for chosen in ([references[0]], references):
        outcome = await judged(hypothesis, chosen, metrics=name, **params)
        expected = theirs.sentence_score(hypothesis, chosen).score / 100
        assert outcome.score == pytest.approx(min(1.0, expected), abs=1e-9)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("lowercase", [False, True])
async def test_ter_is_sacrebleus(seed: int, lowercase: bool) -> None:
    hypothesis, *references = texts(seed, WORDS, 9)
    theirs = sacrebleu.TER(case_sensitive=not lowercase)
    for chosen in ([references[0]], references):
        expected = 1 - theirs.sentence_score(hypothesis, chosen).score / 100
        ours = await judged(hypothesis, chosen, metrics="ter", lowercase=lowercase)
        assert ours.score == pytest.approx(max(0.0, expected), abs=1e-9)


def moved(words: list[str], rng: random.Random) -> list[str]:
    """The words with some blocks moved, left out, put in and replaced."""
    found = list(words)
    for _ in range(rng.randint(1, 6)):
        at, length = rng.randrange(len(found)), rng.randint(1, 12)
        block = found[at : at + length]
        rest = [*found[:at], *found[at + length :]]
        to = rng.randint(0, len(rest))
        found = [*rest[:to], *rng.choice((block, block, [], ["other"], [*block, "more"])), *rest[to:]] or ["rest"]
    return found


@pytest.mark.parametrize("kinds", [1, 2, 5, 20, 300])
@pytest.mark.parametrize("seed", range(6))
def test_ter_of_long_texts_is_sacrebleus(seed: int, kinds: int) -> None:
    rng = random.Random(seed)
    reference = [f"w{rng.randrange(kinds)}" for _ in range(rng.randint(41, 90))]
    for hypothesis in (moved(reference, rng), [f"w{rng.randrange(kinds)}" for _ in range(rng.randint(30, 90))]):
        assert edits(hypothesis, reference) == translation_edit_rate(hypothesis, reference)[0]


@pytest.mark.parametrize(
    ("hypothesis", "reference"),
    [
        ([f"w{n ^ 1}" for n in range(120)], [f"w{n}" for n in range(120)]),  # as many shifts as are tried
        ([f"w{n}" for n in range(60, 0, -1)], [f"w{n}" for n in range(60)]),
        (["a"] * 60, ["a"] * 45),
        (["a", "b"] * 50, ["b", "a"] * 50),
        ([f"w{n}" for n in range(90)], ["w0", "w89"]),
        (["w0", "w89"], [f"w{n}" for n in range(90)]),  # a beam wider than usual
        ([f"w{n}" for n in (*range(60, 70), *range(60))], [f"w{n}" for n in range(70)]),  # beyond the farthest shift
        (["x"], ["x"]),
        ([], ["x", "y"]),
    ],
)
def test_ter_searches_within_sacrebleus_bounds(hypothesis: list[str], reference: list[str]) -> None:
    assert edits(hypothesis, reference) == translation_edit_rate(hypothesis, reference)[0]


async def test_a_moved_block_of_a_long_text_is_one_edit() -> None:
    words = [f"w{n}" for n in range(200)]
    swapped = [*words[:40], *words[50:60], *words[40:50], *words[60:]]
    outcome = await judged(" ".join(swapped), " ".join(words), metrics="ter")
    assert outcome.score == pytest.approx(1 - 1 / 200)
    other = [*words[:40], *(f"x{n}" for n in range(20)), *words[60:]]
    assert (await judged(" ".join(other), " ".join(words), metrics="ter")).score == pytest.approx(1 - 20 / 200)


async def test_ter_need_not_search_where_too_much_is_written() -> None:
    reference = " ".join(WORDS[:6])
    for count in (12, 13, 30):
        hypothesis = " ".join(f"x{n}" for n in range(count))
        assert sacrebleu.TER(case_sensitive=True).sentence_score(hypothesis, [reference]).score >= 100
        assert (await judged(hypothesis, reference, metrics="ter")).score == 0.0


# --- ROUGE as it is published, written plainly --------------------------------------------------------------------


def plain_words(text: str) -> list[str]:
    return [word for word in re.split(r"[^a-z0-9]+", text.lower()) if word]


def f1(shared: float, found: int, wanted: int) -> float:
    if not found or not wanted or not shared:
        return 0.0
    precision, recall = shared / found, shared / wanted
    return 2 * precision * recall / (precision + recall)


def plain_rouge_n(hypothesis: str, reference: str, n: int) -> float:
    found, wanted = plain_words(hypothesis), plain_words(reference)
    a = Counter(tuple(found[i : i + n]) for i in range(len(found) - n + 1))
    b = Counter(tuple(wanted[i : i + n]) for i in range(len(wanted) - n + 1))
    return f1(sum(min(count, b[gram]) for gram, count in a.items()), sum(a.values()), sum(b.values()))


def table(a: Sequence[str], b: Sequence[str]) -> list[list[int]]:
    rows = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, one in enumerate(a, 1):
        for j, other in enumerate(b, 1):
            rows[i][j] = rows[i - 1][j - 1] + 1 if one == other else max(rows[i - 1][j], rows[i][j - 1])
    return rows


def plain_rouge_l(hypothesis: str, reference: str) -> float:
    found, wanted = plain_words(hypothesis), plain_words(reference)
    return f1(table(wanted, found)[-1][-1], len(found), len(wanted))


def plain_rouge_lsum(hypothesis: str, reference: str) -> float:
    found = [words for line in hypothesis.split("\n") if (words := plain_words(line))]
    wanted = [words for line in reference.split("\n") if (words := plain_words(line))]
    left, right = Counter(w for s in found for w in s), Counter(w for s in wanted for w in s)
    sizes = sum(left.values()), sum(right.values())
    hits = 0
    for sentence in wanted:
        union: set[int] = set()
        for other in found:
            rows = table(sentence, other)
            i, j = len(sentence), len(other)
            while i and j:
                if sentence[i - 1] == other[j - 1]:
                    union.add(i - 1)
                    i, j = i - 1, j - 1
                elif rows[i][j - 1] > rows[i - 1][j]:
                    j -= 1
                else:
                    i -= 1
        for place in sorted(union):
            if left[sentence[place]] and right[sentence[place]]:
                hits += 1
                left[sentence[place]] -= 1
                right[sentence[place]] -= 1
    return f1(hits, *sizes)


@pytest.mark.parametrize("seed", range(40))
def test_rouge_is_the_published_one_on_ascii(seed: int) -> None:
    words = ["the", "a", "cat", "sat", "on", "mat", "Don't", "3.14", "re-do"]
    rng = random.Random(seed)
    a, b = (
        " ".join(rng.choice(words) + rng.choice(["", "", ".\n", ","]) for _ in range(rng.randint(1, 30))) for _ in "ab"
    )
    one, other = read(a), read(b)
    assert rouge.rouge_n(one.words, other.words, 1).f1 == pytest.approx(plain_rouge_n(a, b, 1))
    assert rouge.rouge_n(one.words, other.words, 2).f1 == pytest.approx(plain_rouge_n(a, b, 2))
    assert rouge.rouge_l(one.words, other.words).f1 == pytest.approx(plain_rouge_l(a, b))
    assert rouge.rouge_lsum(one.lines, other.lines).f1 == pytest.approx(plain_rouge_lsum(a, b))


async def test_rouge_works_in_any_script() -> None:
    for text in (
        "кошка сидела на коврике",
        "猫坐在垫子上看着窗外",
        "コーヒーを飲みながら本を読む",
        "बिल्ली चटाई पर बैठी",
        "แมวนั่งบนเสื่อ",
        "고양이가 매트에 앉았다",
    ):
        for name in ("rouge1", "rouge2", "rougeL", "rougeLsum"):
            assert (await judged(text, text, metrics=name)).score == 1.0
        assert 0 < (await judged(text[: len(text) // 2], text, metrics="rouge1")).score < 1  # type: ignore[operator]


@given(st.text(max_size=30), st.text(max_size=30))
def test_edit_similarity_is_levenshteins(a: str, b: str) -> None:
    one, other = read(a), read(b)
    x, y = one.text, other.text
    rows = list(range(len(y) + 1))
    for i, char in enumerate(x, 1):
        last, rows[0] = rows[0], i
        for j, another in enumerate(y, 1):
            last, rows[j] = rows[j], min(rows[j] + 1, rows[j - 1] + 1, last + (char != another))
    longest = max(len(x), len(y))
    expected = 1 - rows[-1] / longest if longest else 1.0
    assert metrics.edit(lowercase=False)(one, [other]) == pytest.approx(expected)


# --- references, weights, thresholds ------------------------------------------------------------------------------


async def test_several_references() -> None:
    near, far = "The cat sat on the mat.", "A dog ran away quickly."
    for name in ALL:
        best = await judged(near, [far, near], metrics=name, references="best")
        mean = await judged(near, [far, near], metrics=name, references="mean")
        lone = await judged(near, far, metrics=name)
        assert best.score == 1.0
        assert mean.score == pytest.approx((1 + lone.score) / 2)  # type: ignore[operator]


async def test_weights_are_a_mean_and_stand_in_the_components() -> None:
    outcome = await judged("The cat is on the mat.", "The cat sat on the mat.", metrics={"rouge1": 3, "rouge2": 1})
    parts = {name: part.score for name, part in outcome.components.items()}
    assert parts == {"rouge1": pytest.approx(5 / 6), "rouge2": pytest.approx(0.6)}
    assert outcome.score == pytest.approx((3 * 5 / 6 + 0.6) / 4)


@pytest.mark.parametrize("metric", ALL)
@pytest.mark.parametrize(
    ("response", "reason"),
    [
        ("", "no_answer"),
        (" \n", "no_answer"),
        ("...", "no_answer"),
        ("cat sat " * 20, "repeated"),
        ("cat " * 40, "repeated"),
    ],
)
async def test_degenerate_texts_earn_nothing(metric: str, response: str, reason: str) -> None:
    outcome = await judged(response, "The cat sat on the mat and looked at the dog there.", metrics=metric)
    assert outcome.score == 0.0
    assert outcome.reason in (reason, "too_expensive")


async def test_copies_of_the_source_earn_nothing() -> None:
    source = "Der alte Mann sass lange auf der Bank am Fluss."
    reference = {"texts": "The old man sat on the bank by the river for a long time.", "source": source}
    assert (await judged(source, reference, metrics="chrf")).reason == "copied"
    assert (await judged(source.replace("lange", "lang"), reference, metrics="chrf")).reason == "copied"
    assert (await judged("The old man sat on the bank.", reference, metrics="chrf")).score > 0.3  # type: ignore[operator]
    prompted = await judged(source, reference["texts"], f"Translate: {source}", metrics="chrf", copied=0.9)
    assert prompted.reason == "copied"
    assert (await judged(source, reference["texts"], f"Translate: {source}", metrics="chrf")).score > 0  # type: ignore[operator]


@pytest.mark.parametrize(
    "params",
    [
        {"metrics": []},
        {"metrics": "meteor"},
        {"metrics": ["bleu", "bleu"]},
        {"metrics": {"bleu": 0}},
        {"bleu_order": 0},
        {"bleu_smoothing_value": 1},
        {"bleu_smoothing": "add-k", "bleu_smoothing_value": float("nan")},
        {"bleu_tokenizer": "ja-mecab"},
        {"copied": 0.1},
        {"threshold": 0},
        {"extraction": "nowhere"},
        {"metric": "bleu"},
    ],
)
def test_wrong_parameters_are_told(params: dict[str, Any]) -> None:
    with pytest.raises(InvalidParams):
        PLANNER.bind(Use(name="similarity", params=params))


@pytest.mark.parametrize("reference", ["", " ", [], ["a", ""], {"texts": []}, {"text": "a"}, 7, "x" * 60_000])
async def test_a_reference_that_cannot_be_used_is_not_the_policys_fault(reference: Any) -> None:
    outcome = await judged("a", reference, metrics=["rougeL", "edit"])
    assert (outcome.status, outcome.fault) == ("undecided", "reference")


async def test_without_sacrebleu_the_pip_command_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    metrics._sacrebleu.cache_clear()
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    with pytest.raises(MissingDependency, match="text"):
        metrics.chrf(word_order=0, lowercase=False)(read("a"), [read("a")])
    metrics.load()
    assert (await judged("a b", "a b", metrics="rougeL")).score == 1.0


# --- never raises, bounded ------------------------------------------------------------------------------------------

EVERYTHING = SimilarityParams(metrics=ALL, copied=0.9)
EXPECTED = expect(("The cat sat on the mat.", "猫坐在垫子上"), EVERYTHING)


@settings(deadline=None)
@given(st.text(max_size=80) | st.lists(st.sampled_from([*HOSTILE, *WORDS]), max_size=30).map(" ".join))
def test_no_text_raises_and_every_outcome_is_a_score(text: str) -> None:
    outcome = similarity(text, EXPECTED, EVERYTHING, "Say where the cat sat.")
    assert outcome.score is not None
    assert 0.0 <= outcome.score <= 1.0
    assert (outcome.score == 1.0) is bool(outcome.passed)


LINEAR = SimilarityParams(metrics=("rouge1", "rouge2", "rougeL", "edit"))


@pytest.mark.parametrize("piece", ["cat ", "猫", "x\n", "\u200b", "a'", "\ud800", "é"])
def test_the_work_grows_no_faster_than_the_text(piece: str) -> None:
    expected = expect("The cat sat on the mat.", LINEAR)
    similarity(piece, expected, LINEAR)
    counts = [steps(lambda size=size: similarity(piece * size, expected, LINEAR)) for size in (100, 400, 1600)]  # type: ignore[misc]
    assert counts[1] <= 4.5 * counts[0] + 2000
    assert counts[2] <= 4.5 * counts[1] + 2000


async def test_what_takes_more_than_linear_time_is_bounded() -> None:
    long = " ".join(f"w{n}" for n in range(600))
    assert (await judged(long, " ".join(f"v{n}" for n in range(350)), metrics="ter")).reason == "too_expensive"
    lines = "".join(f"x{n} y{n}\n" for n in range(3000))
    wanted = "".join(f"a{n} b{n} c{n}\n" for n in range(50))
    assert (await judged(lines, wanted, metrics="rougeLsum")).reason == "too_expensive"
    assert (await judged("a" * 60_000, "a", metrics="edit")).reason == "too_expensive"


@given(st.text(max_size=60), st.floats(1, 4))
def test_no_response_beyond_the_longest_is_paid(extra: str, longest: float) -> None:
    params = SimilarityParams(metrics="chrf", longest=longest)
    reference = "The cat sat on the mat."
    response = f"{reference} {extra}"
    found = similarity(response, prepared=expect(reference, params), params=params)
    letters = [sum(map(len, read(text).words)) for text in (response, reference)]
    assert bool(found.score) == (letters[0] <= longest * letters[1])


@pytest.mark.parametrize("bounds", [{"shortest": 0.0}, {"shortest": 1.1}, {"longest": 0.9}, {"longest": 1e9}])
def test_bounds_of_the_length_that_exclude_the_reference_are_refused(bounds: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"shortest|longest"):
        SimilarityParams(**bounds)
