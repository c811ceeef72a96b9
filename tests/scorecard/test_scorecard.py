"""The labelled sets: append-only, and judged at least as well as when they were last looked at."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import date
from pathlib import Path

import pytest
import pytest_asyncio

from rewarden.types import Batch, BatchResult, Sample
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.settings import EngineSettings
from rewarden_server.lean.settings import LeanSettings
from rewarden_server.studies.farm.figures import Figures, read_figures
from rewarden_server.studies.scorecard.cards import AT_ONCE, Row, load_rows, score
from rewarden_server.studies.scorecard.kinds import kind_of
from rewarden_server.studies.scorecard.render import farmability, farmability_table, misses, page, plain
from rewarden_verifiers.group.statistics import wilson
from rewarden_verifiers.judges.resources import JUDGING
from rewarden_verifiers.models.resources import MODELLED
from rewarden_verifiers.registry import BUILT_IN, Registry
from tests.lean.toolchain import TOOLCHAIN
from tests.programs import HARDWARE, LEAN, SANDBOXED, lacking, no_lean
from tests.scorecard import manifest

PAGE = Path(__file__).parents[2] / "docs/scorecard.md"
FARMED = Path(__file__).parents[2] / "benchmarks/farm.json"
FILES = sorted(manifest.FOLDER.glob("*.jsonl"))

UNLABELLED = {"output", "puzzle_rules", "task", "swe", *JUDGING, "cascade", *MODELLED, "diversity", "math_verify"}
LEAST = {name: 60 for name in BUILT_IN if name not in UNLABELLED} | {"math": 150, "sql": 240}
"""Rows that a labelled set has at least. What asks a judge is as right as the judge, which
`rewarden judge calibrate` says; what asks a model, as right as the model; `math_verify`, as the library that it is held
to. A distance (`diversity`) is neither right nor wrong. `task` and `swe` say what the
tests of a task or of a repository say."""

MISJUDGED = {
    # Labelled wrong for want of a box, which the default demanded then; rows are never changed.
    "math": {f"math-{number}-unboxed" for number in ("01", "09", "17", "25", "33")},
    # Labelled too imprecise; "14:00" has since been 14:00:00, which nothing but noughts tells apart.
    "time": {"time-039"},
    # Labelled when a fraction was no confidence; `1/2` has since been one half.
    "calibration": {"calibration-052"},
    # A negation and a paraphrase without a common word: words are compared, not meanings.
    "citation": {"citation-081", "citation-082", "citation-083", "citation-084"},
    # Paraphrases of archived sentences, which have hardly a word in common with them.
    "novelty": {"novelty-061", "novelty-062", "novelty-063", "novelty-064"},
    "sql": {  # docs/sql-peers.md explains each
        "shop-08/or-in-lucky",
        "school-10/class",
        "staff-05/not-distinct",
        "flights-05/datetime",
        "clinic-06/ge-lucky",
    },
}
"""Rows that a verifier is known to misjudge; each may turn out right one day."""


def test_the_sets_are_append_only() -> None:
    assert manifest.moved(json.loads(manifest.MANIFEST.read_text(encoding="utf-8")), manifest.current()) == []


def test_every_row_is_in_the_manifest() -> None:
    assert json.loads(manifest.MANIFEST.read_text(encoding="utf-8")) == manifest.current()


@pytest.mark.parametrize("name", sorted(LEAST))
def test_every_verifier_has_its_labelled_rows(name: str) -> None:
    assert len(load_rows(manifest.FOLDER / f"{name}.jsonl")) >= LEAST[name]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engine() -> AsyncIterator[Engine]:
    """One engine for all files: to start it takes longer than to judge most of them."""
    lean = LeanSettings(projects={"tests": str(TOOLCHAIN)}) if no_lean() is None else None
    made = Engine(settings=EngineSettings(workers=2), lean=lean)
    await made.start()
    yield made
    await made.close()


@pytest.mark.needs_server
@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
async def test_the_labelled_rows_are_judged_right(engine: Engine, path: Path) -> None:
    kind = (
        "proofs"
        if path.stem in LEAN
        else "designs"
        if path.stem in HARDWARE
        else "programs"
        if path.stem in SANDBOXED
        else "texts"
    )
    if (problem := lacking(kind)) is not None:
        pytest.skip(problem)
    card = await score(engine, path.stem, load_rows(path))
    known = MISJUDGED.get(path.stem, set())
    wrong = [(row, label, verdict.status, verdict.score) for row, label, verdict, _ in card.misses if row not in known]
    assert wrong == []


@pytest.mark.parametrize(
    ("reference", "kind"),
    [
        (None, "none"),
        (True, "truth value"),
        (12, "integer"),
        ("$-1,234$", "integer"),
        ("12\\%", "integer"),
        (0.5, "decimal"),
        ("3/4", "fraction"),
        ("\\frac{3}{4}", "fraction"),
        ("\\frac{\\pi}{4}", "expression"),
        ("x", "expression"),
        ("(B)", "letter"),
        ("(1, 2)", "tuple or interval"),
        ("\\{1, 2\\}", "set"),
        ("x^2 + y = 3", "equation or inequality"),
        ("Paris", "text"),
        (["Paris", "Lutetia"], "several: text"),
        (["A", "12"], "list"),
        ({"answer": "B"}, "letter"),
        ({"tests": []}, "object"),
    ],
)
def test_the_kind_of_an_answer_is_its_form(reference: object, kind: str) -> None:
    assert kind_of(reference) == kind


async def test_a_card_counts_by_kind_and_lists_what_is_wrong(tmp_path: Path) -> None:
    rows = [
        {"id": "a", "sample": {"response": "\\boxed{4}", "reference": "4"}, "label": True},
        {"id": "b", "sample": {"response": "\\boxed{5}", "reference": "4"}, "label": True, "why": "a wrong label"},
        {"id": "c", "sample": {"response": "\\boxed{4}", "reference": "4"}, "label": False, "kind": "odd"},
        {"id": "d", "sample": {"response": "\\boxed{5}", "reference": "4"}, "label": 0.0},
        {"id": "e", "sample": {"response": "\\boxed{5}", "reference": ""}, "label": False},
    ]
    path = tmp_path / "math.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    engine = Engine(settings=EngineSettings(workers=1))
    await engine.start()
    try:
        card = await score(engine, "math", load_rows(path))
    finally:
        await engine.close()
    assert (card.true_positive, card.false_negative, card.false_positive, card.score_right) == (1, 1, 1, 1)
    assert (card.undecided, card.right, card.rows) == (1, 2, 5)
    assert {kind: counts.rows for kind, counts in card.kinds.items()} == {"integer": 3, "odd": 1, "none": 1}
    assert [row for row, *_ in card.misses] == ["b", "c", "e"]
    assert "| label: pass | 1 | 1 |" in page([card], Figures({}), {})
    assert "a wrong label" in misses([card])
    assert plain(card)["kinds"]["odd"]["false_positive"] == 1


@pytest.mark.needs_server
@pytest.mark.asyncio(loop_scope="module")
async def test_rows_are_judged_side_by_side_and_counted_in_their_order(
    engine: Engine,
) -> None:
    rows = [
        Row(str(number), (Sample(response="\\boxed{5}", reference=str(number)),), (True,), {}, "integer", "")
        for number in range(2 * AT_ONCE)
    ]
    beside = asyncio.Barrier(AT_ONCE)

    class Waiting(Engine):
        """Judges a row once as many as may run at a time are asked for."""

        async def verify(self, batch: Batch, source: str = "local") -> BatchResult:
            async with asyncio.timeout(60):
                await beside.wait()
            return await engine.verify(batch, source)

    card = await score(Waiting(), "math", rows)
    assert [row for row, *_ in card.misses] == [str(number) for number in range(2 * AT_ONCE) if number != 5]


def test_the_page_of_the_documentation_has_every_set_with_its_rows() -> None:
    text = PAGE.read_text(encoding="utf-8")
    missing = [path.stem for path in FILES if f"| [{path.stem}](#{path.stem}) | {labels(path)} |" not in text]
    assert missing == []  # else: rewarden scorecard --page docs/scorecard.md


def test_the_page_shows_the_farmability_that_was_last_measured() -> None:
    text = PAGE.read_text(encoding="utf-8")
    farmed = read_figures(FARMED)
    for line in farmability_table(farmed):
        assert line in text
    for path in FILES:
        row = next(line for line in text.splitlines() if line.startswith(f"| [{path.stem}](#{path.stem}) |"))
        assert row.endswith(f"| {farmability(farmed.rows.get(path.stem))} |")


def test_the_farmability_of_every_verifier_and_recipe_is_on_record() -> None:
    rows = read_figures(FARMED).rows
    assert set(rows) == set(Registry())  # else: make farm USE=NAME JSON=benchmarks/farm.json
    for name, row in rows.items():
        date.fromisoformat(row.date)
        assert (row.untried is None) == (row.tries > 0), name
        assert 0 <= row.unscored + row.paid + row.flagged + row.free_text <= row.tries, name


def labels(path: Path) -> int:
    return sum(len(row.labels) for row in load_rows(path))


def test_the_interval_is_wilsons() -> None:
    low, high = wilson(8, 10)
    assert (round(low, 4), round(high, 4)) == (0.4902, 0.9433)
    assert wilson(0, 0) == (0.0, 1.0)
