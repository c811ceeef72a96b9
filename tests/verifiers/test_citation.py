"""`citation`: how citations are read, and which of them count."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarden.errors import InvalidParams, InvalidReference
from rewarden.types import Outcome, Use
from rewarden_server.engine.plan import Planner
from rewarden_verifiers.registry import Registry
from rewarden_verifiers.retrieval.citation import CitationReference, Reference, Source, citation, shelf
from rewarden_verifiers.retrieval.citations import cited_sentences
from tests.verifiers.counting import HOSTILE, steps

PLANNER = Planner(Registry())
SOURCES = {
    "d1": "Albert Einstein was born in Ulm in 1879 and grew up in Munich.",
    "d2": "Einstein received the Nobel Prize in Physics in 1921.",
}
STYLES = ("brackets", "tags", "footnotes")


def judged(response: str, reference: Reference = SOURCES, **params: Any) -> Outcome:
    checked = PLANNER.bind(Use(name="citation", params=params)).params
    return citation(response, shelf(reference, checked), checked)


def read(response: str, styles: Sequence[Any] = STYLES) -> list[tuple[str, list[str], list[str]]]:
    found = cited_sentences(response, styles, {"d1": "d1", "d2": "d2"}.get)
    return [(" ".join(one.words), one.cited, one.unknown) for one in found]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One is so [d1]. Two is so [d2].", [("one is so", ["d1"], []), ("two is so", ["d2"], [])]),
        ("One is so. [d1] Two is so.[d2]", [("one is so", ["d1"], []), ("two is so", ["d2"], [])]),
        ("[d1] says that it is so. Two.", [("says that it is so", ["d1"], []), ("two", [], [])]),
        ("As [d1] says, it is so [d2][d1].", [("as says it is so", ["d1", "d2"], [])]),
        ("It is so [d1, d2].", [("it is so", ["d1", "d2"], [])]),
        ("It is so [d1 and d2].", [("it is so", ["d1", "d2"], [])]),
        ("It is so [d1; doc9].", [("it is so", ["d1"], ["doc9"])]),
        ("It is so [citation needed].", [("it is so citation needed", [], [])]),
        ("It is so [d1](https://a.example/b).", [("it is so", ["d1"], [])]),
        ("It is so [here](https://a.example/b).", [("it is so here https a example b", [], [])]),
        ("It is so 【D1†L1-L4】.", [("it is so", ["d1"], [])]),
        ("It is so <cite>d1</cite>. Two.", [("it is so", ["d1"], []), ("two", [], [])]),
        ("One. <cite id='d2'>It is so.</cite> Two.", [("one", [], []), ("it is so", ["d2"], []), ("two", [], [])]),
        ("It is so[^a].\n\n[^a]: d2, page 7", [("it is so", ["d2"], [])]),
        ("It is so[^d1].", [("it is so", ["d1"], [])]),
        ("It is so[^b].\n\n[^b]: Some other book", [("it is so", [], ["some other book"])]),
        ('He says "One. Two." [d1] Three.', [("he says one two", ["d1"], []), ("three", [], [])]),
        ("- One is [d1]\n- Two is [d2]", [("one is", ["d1"], []), ("two is", ["d2"], [])]),
        ("One is\nso [d1].", [("one is so", ["d1"], [])]),
        ("Dr. Who met J. R. Smith [d1].", [("dr who met j r smith", ["d1"], [])]),
        ("甲是。[d1]乙是。[d2]", [("甲 是", ["d1"], []), ("乙 是", ["d2"], [])]),
        ("It is so [d1].\n\n## Sources\n1. [d1] A\n2. [d2] B", [("it is so", ["d1"], [])]),
        ("It is so [d1].\n\nSources:\n[d2] B\n\nTwo.", [("it is so", ["d1"], []), ("two", [], [])]),
        ("See `x[d1]` there.", [("see x d1 there", [], [])]),
    ],
)  # fmt: skip
def test_sentences_are_read_with_what_they_cite(text: str, sentences: list[tuple[str, list[str], list[str]]]) -> None:
    assert read(text) == sentences


def test_forms_that_are_not_accepted_are_text() -> None:
    assert read("It is so [d1].", ["tags"]) == [("it is so d1", [], [])]
    assert read("It is so <cite>d1</cite>[^d1].", ["brackets"])[0][1:] == ([], [])


def test_a_number_is_an_id_where_one_is_a_number_and_else_a_place() -> None:
    text = "Albert Einstein was born in Ulm [2]."
    by_place = {"z": SOURCES["d2"], "a": SOURCES["d1"]}
    by_id = (Source(id=2, text=SOURCES["d2"]), Source(id=1, text=SOURCES["d1"]))
    assert judged(text, by_place).extracted == ["a"]
    assert (judged(text, by_id).extracted, judged(text, by_id).reason) == (["2"], "unsupported")


def test_sources_are_needed_together_or_alone() -> None:
    text = "Albert Einstein, born in Ulm in 1879, received the Nobel Prize in 1921 [d1][d2]."
    assert judged(text).score == 1.0
    more = judged("Albert Einstein was born in Ulm in 1879 [d1][d2].")
    assert more.components["precision"].score == 0.5
    assert more.components["coverage"].score == 1.0


def test_the_score_is_the_harmonic_mean_of_the_measures() -> None:
    gold = CitationReference(sources=SOURCES, gold=("d1",))
    outcome = judged("Einstein was born in Ulm [d1]. He received the Nobel Prize [d2].", gold)
    values = {name: part.score for name, part in outcome.components.items()}
    assert values == {"precision": 1.0, "coverage": 1.0, "gold_precision": 0.5, "gold_recall": 1.0}
    assert outcome.score == pytest.approx(4 / (1 + 1 + 2 + 1))


def test_steps_say_which_sentence_is_at_fault() -> None:
    outcome = judged("Einstein was born in Ulm [d1]. He was a baker in Paris [d2]. He liked bread very much.")
    assert [(step.score, step.feedback) for step in outcome.steps] == [
        (1.0, None),
        (0.0, "unsupported"),
        (0.0, "no_citations"),
    ]


@pytest.mark.parametrize(
    "reference",
    [
        {},
        (),
        (Source(id="a", text="x"), Source(id=" A", text="y")),
        CitationReference(sources=SOURCES, gold=()),
        CitationReference(sources=SOURCES, gold=("d3",)),
        {"a": "x" * 4_000_001},
    ],
)
def test_bad_references_are_refused(reference: Any) -> None:
    with pytest.raises(InvalidReference):
        judged("It is so [a].", reference)


def test_measures_of_gold_need_gold() -> None:
    with pytest.raises(InvalidReference):
        judged("It is so [d1].", measures=["gold_recall"])


@pytest.mark.parametrize(
    "params",
    [
        {"styles": []},
        {"measures": []},
        {"support": 1.5},
        {"threshold": 0},
        {"most": 0},
        {"quote_words": 0},
        {"least_words": 0},
    ],
)
def test_bad_parameters_are_refused(params: dict[str, Any]) -> None:
    with pytest.raises(InvalidParams):
        judged("It is so [d1].", **params)


PIECES = (
    *HOSTILE,
    "[d1]",
    "[1, 2]",
    "[^a]",
    "[^a]: d1\n",
    "<cite>",
    "</cite>",
    '<cite id="d1">',
    '"',
    "“",
    "。",
    "Sources:\n",
    "```\n",
    "`",
    ". ",
    "a b c d. ",
)


@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=8)), max_size=30).map("".join))
def test_every_text_has_a_score(text: str) -> None:
    outcome = judged(text)
    assert outcome.score is not None
    json.dumps([outcome.extracted, dict(outcome.evidence)], allow_nan=False)


@given(
    st.lists(st.sampled_from(["[d1]", "[d2]", "[d9]", " It was in Ulm and so on", ". ", "\n"]), max_size=20).map(
        "".join
    )
)
def test_a_citation_of_nothing_never_raises_the_score(text: str) -> None:
    more, less = judged(f"{text} [d9]").score, judged(text).score
    assert more is not None
    assert less is not None
    assert more <= less


@pytest.mark.parametrize("piece", PIECES)
def test_the_work_grows_no_faster_than_the_text(piece: str) -> None:
    def work(times: int) -> int:
        return steps(lambda: cited_sentences(piece * times, STYLES, {"d1": "d1"}.get))

    work(3)
    small, large = (work(max(1, size // len(piece))) for size in (600, 3000))
    assert large <= 6 * small + 5000
