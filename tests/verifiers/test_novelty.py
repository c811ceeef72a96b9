"""`novelty`: how new a response is beside an archive."""

from __future__ import annotations

import random
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarden.errors import InvalidParams
from rewarden.types import Outcome, Sample, Use
from rewarden_server.engine.plan import Planner
from rewarden_verifiers.archives.archive import archive, entry
from rewarden_verifiers.archives.folding import folded
from rewarden_verifiers.archives.known_texts import MOST_CHARACTERS, MOST_TEXTS
from rewarden_verifiers.registry import Registry
from tests.verifiers.direct import outcome_of

PLANNER = Planner(Registry())
WORD = st.text("abcdefgh", min_size=2, max_size=4)
SENTENCES = st.lists(
    st.sampled_from([f"{a}{b}" for a in "bcdfghjklm" for b in "aeiou"]), min_size=8, max_size=14, unique=True
)
TEXTS = st.lists(st.text(max_size=40).filter(lambda text: text.strip() != ""), max_size=4)
SENTENCE = "The fox crossed the frozen river at night to reach the henhouse."


async def judged(response: str, known: Any, **params: Any) -> Outcome:
    return await outcome_of(PLANNER, Use(name="novelty", params=params), Sample(response=response, reference=known))


@given(response=st.text(max_size=60), known=TEXTS, order=st.integers(1, 5))
async def test_every_text_has_a_score_from_0_to_1(response: str, known: list[str], order: int) -> None:
    outcome = await judged(response, known, n=order)
    assert outcome.status == "scored"
    assert outcome.score is not None
    assert 0 <= outcome.score <= 1


@given(words=SENTENCES, seed=st.integers(0, 2**32))
async def test_words_in_any_order_are_known(words: list[str], seed: int) -> None:
    other = random.Random(seed).sample(words, len(words))
    assert (await judged(" ".join(other), [" ".join(words)])).reason == "known"


@given(words=SENTENCES, before=st.lists(WORD, max_size=30), after=st.lists(WORD, max_size=30))
async def test_no_padding_makes_a_copy_new(words: list[str], before: list[str], after: list[str]) -> None:
    outcome = await judged(" ".join([*before, *words, *after]), [" ".join(words)])
    assert outcome.score == 0


@given(words=SENTENCES, others=st.lists(SENTENCES, max_size=3))
async def test_more_known_texts_make_nothing_newer(words: list[str], others: list[list[str]]) -> None:
    known = [" ".join(other) for other in others]
    alone, more = [await judged(" ".join(words), texts) for texts in (known, [*known, SENTENCE])]
    assert alone.score is not None
    assert more.score is not None
    assert more.score <= alone.score


@given(words=SENTENCES, others=st.lists(SENTENCES, min_size=1, max_size=3))
async def test_the_order_of_the_archive_changes_no_score(words: list[str], others: list[list[str]]) -> None:
    known = [" ".join(other) for other in others]
    one, other = [await judged(" ".join(words), texts) for texts in (known, known[::-1])]
    assert one.score == other.score


@given(text=st.text(max_size=60))
def test_folding_a_folded_text_changes_nothing(text: str) -> None:
    assert folded(folded(text)) == folded(text)


@pytest.mark.parametrize("text", ["हिन्दी", "ภาษาไทย", "がぎぐ", "한국어"])
def test_marks_that_tell_words_apart_stay(text: str) -> None:
    assert folded(text) == unicodedata.normalize("NFC", text)


@pytest.mark.parametrize("text", ["CROSSED", "сrоssеd", "ｃｒｏｓｓｅｄ", "cróssèd", "𝐜𝐫𝐨𝐬𝐬𝐞𝐝"])
async def test_a_word_in_another_dress_is_no_new_word(text: str) -> None:
    assert (await judged(SENTENCE.replace("crossed", text), [SENTENCE])).score == 0


def test_the_digest_is_that_of_the_texts_in_order() -> None:
    assert archive(["ab", "c"], 4).digest != archive(["a", "bc"], 4).digest
    assert archive(["a", "b"], 4).digest != archive(["b", "a"], 4).digest
    assert archive(["a", "b"], 4).digest == archive(["a", "b"], 2).digest


def test_n_grams_end_with_the_text() -> None:
    assert [own.total() for own in entry("one two three", 8).grams] == [3, 2, 1]


@pytest.mark.parametrize("known", [["word"] * (MOST_TEXTS + 1), ["a" * (MOST_CHARACTERS + 1)]])
async def test_an_archive_beyond_the_bounds_is_the_callers_fault(known: list[str]) -> None:
    outcome = await judged("red fox", known)
    assert (outcome.status, outcome.fault) == ("undecided", "reference")


async def test_a_response_beyond_the_bounds_scores_0() -> None:
    """Attack: a text that takes too long to compare, so that it goes unscored."""
    words = " ".join(f"w{number}" for number in range(20_000))
    assert (await judged(words, [SENTENCE])).reason == "too_expensive"


async def test_a_short_archived_answer_makes_no_long_text_known() -> None:
    outcome = await judged(f"Therefore the answer is 12, because {SENTENCE}", ["12"], n=1)
    assert outcome.score is not None
    assert outcome.score > 0.9


@pytest.mark.parametrize(
    "params",
    [{"n": 0}, {"n": 6}, {"same": 0.4}, {"same": 1.1}, {"passing": 0}, {"passing": 1.5}, {"archive": "metadata"}],
)
async def test_parameters_out_of_range_are_refused(params: dict[str, Any]) -> None:
    with pytest.raises(InvalidParams):
        PLANNER.bind(Use(name="novelty", params=params))
