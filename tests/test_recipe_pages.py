"""The recipes' pages: the drawings show the whole formula, and every number on them is the recipe's score."""

from __future__ import annotations

import importlib
import sys
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import pytest

from rewarden_verifiers.recipes.load import load_recipe, parse_recipe, recipe_spec
from rewarden_verifiers.registry import GALLERY, Registry

ROOT = Path(__file__).parent.parent
SVG = "{http://www.w3.org/2000/svg}"
REGISTRY = Registry()

GATED = {
    "name": "gated",
    "version": "1",
    "description": "A gate of format, an answer, and a cost of length.",
    "range": [-2, 1],
    "params": {"cost": {"default": 0.5}},
    "uses": {"format": {"name": "format", "params": {"template": "think_answer"}}, "answer": "math"},
    "score": (
        "format.passed ? (answer.passed ? 1.0 : 0.0) - params.cost * min(1.0, sample.token_count / 1000.0) : -2.0"
    ),
    "main": "answer",
    "passed": "format.passed && answer.passed",
}


@pytest.fixture(scope="module")
def making() -> Any:
    """Imports a module of the pages' makers by its name."""
    sys.path.insert(0, str(ROOT / "docs"))

    def module(name: str) -> ModuleType:
        return importlib.import_module(f"making.{name}")

    yield module
    sys.path.remove(str(ROOT / "docs"))


def rehearsal(making: Any, **changed: Any) -> Any:
    recipe = parse_recipe({**GATED, **changed})
    return making("rehearsal").Rehearsal(recipe, recipe_spec(recipe, REGISTRY), REGISTRY)


def texts(svg: str) -> list[str]:
    return ["".join(text.itertext()) for text in ElementTree.fromstring(svg).iter(f"{SVG}text")]


@pytest.mark.parametrize(
    ("states", "score"),
    [
        ({}, 0.5),
        ({"answer": "wrong"}, -0.5),
        ({"answer": "no_answer"}, -0.5),
        ({"format": "wrong"}, -2.0),
        ({"answer": "fails"}, None),
    ],
)
def test_a_part_earns_what_the_formula_pays(making: Any, states: dict[str, Any], score: float | None) -> None:
    one = rehearsal(making)
    assert one.run(states, one.sample(token_count=1000)).outcome.score == score


def test_a_closed_gate_asks_no_further_part(making: Any) -> None:
    assert rehearsal(making).run({"format": "wrong"}).asked == ("format",)


def test_what_cannot_be_made_up_is_no_number(making: Any) -> None:
    strange = rehearsal(making, params={}, score='answer.score - double(format.evidence["layers"])')
    assert strange.run({}) is None


def test_the_curve_over_length_has_both_answers_and_ends_where_nothing_changes(making: Any) -> None:
    found = making("shape").shape(rehearsal(making))
    assert found.variable == "length of the response in tokens"
    curves = dict(found.curves)
    assert curves["right answer"][0] == (0.0, 1.0)
    assert curves["right answer"][-1][1] == pytest.approx(0.5)
    assert curves["wrong answer"][-1][1] == pytest.approx(-0.5)
    assert 1000 <= curves["right answer"][-1][0] <= 2000


def test_a_schedule_is_drawn_over_the_steps_of_training(making: Any) -> None:
    found = making("shape").shape(
        rehearsal(making, params={}, score="answer.passed && format.passed ? progress.fraction : 0.0")
    )
    assert found.variable == "step of training, of 1000"
    assert dict(found.curves)["right answer"][-1] == (1000.0, 1.0)


def test_a_score_that_depends_on_right_and_wrong_alone_has_no_curve(making: Any) -> None:
    assert (
        making("shape").shape(rehearsal(making, params={}, score="answer.passed && format.passed ? 1.0 : 0.0")) is None
    )


def test_a_plot_keeps_its_curves_within_its_field(making: Any) -> None:
    shape = making("shape")
    svg = ElementTree.fromstring(shape.drawing("gated", shape.shape(rehearsal(making))))
    field = next(box for box in svg.iter(f"{SVG}rect") if box.get("class") == "field").attrib
    left, top = float(field["x"]), float(field["y"])
    points = [
        tuple(map(float, point.split(",")))
        for line in svg.iter(f"{SVG}polyline")
        for point in line.attrib["points"].split()
    ]
    assert len(points) >= 4
    assert all(left <= x <= left + float(field["width"]) for x, _ in points)
    assert all(top <= y <= top + float(field["height"]) for _, y in points)


def test_the_tree_takes_a_formula_apart(making: Any) -> None:
    recipe = parse_recipe(GATED)
    assert texts(making("tree").drawing(recipe)) == [
        "score, -2 to 1",
        "choice",
        *("if", "format.passed", "pays", "sum"),
        "1.0 if answer.passed, else 0.0",
        *("\N{MINUS SIGN}", "product", "params.cost", "×", "min(1.0, sample.token_count / 1000.0)"),
        *("otherwise", "-2.0"),
        *("passes if", "format.passed && answer.passed"),
    ]


NAMES = sorted(path.stem for path in GALLERY.glob("*.yaml"))


@pytest.mark.parametrize("name", NAMES)
def test_the_tree_of_a_recipe_loses_nothing_and_overlaps_nowhere(making: Any, name: str) -> None:
    recipe = load_recipe(GALLERY / f"{name}.yaml")
    svg = ElementTree.fromstring(making("tree").drawing(recipe))
    said = "".join("".join(text.itertext()) for text in svg.iter(f"{SVG}text")).replace(" ", "")
    formulas = [one for row in recipe.rows for one in (row.score, row.when)]
    formulas += [recipe.passed, recipe.fallback, *recipe.schedule.values(), *(one.when for one in recipe.exclude)]
    for read in {read for formula in formulas if formula is not None for read in formula.reads}:
        assert read.path[-1] in said, read
    width, height = float(svg.attrib["width"]), float(svg.attrib["height"])
    assert width <= 1000
    boxes = [box.attrib for box in svg.iter(f"{SVG}rect") if box.get("class", "").startswith("box")]
    edges = [(float(box["y"]), float(box["y"]) + float(box["height"])) for box in boxes]
    assert all(above[1] < below[0] for above, below in pairwise(edges))
    assert edges[-1][1] < height
    assert all(float(box["x"]) + float(box["width"]) < width for box in boxes)


def test_a_page_answers_what_a_trainer_asks(making: Any) -> None:
    made = making("recipe").make(REGISTRY, "logic_rl")
    for heading in ("Formula", "What each part earns", "In a trainer", "Needs and costs", "Weaknesses", "Parameters"):
        assert f"## {heading}\n" in made.page
    assert "reward_kwargs.use=logic_rl" in made.page
    assert "| `answer` | by `params.verifier` | 3 | -0.5 | -1 | none |" in made.page
    assert "https://arxiv.org/abs/2502.14768" in made.page
    assert made.curve is None


@pytest.mark.parametrize(
    ("expected", "shown"),
    [
        (0.5, "0.5"),
        ({"min": 1.7999999, "max": 1.8000001}, "1.8"),
        ({"min": -1e-9, "max": 1e-9}, "0"),
        ({"min": 0.25, "max": 0.5}, "0.25 to 0.5"),
        ({"min": 0.25}, "at least 0.25"),
        ({"max": 0.5}, "at most 0.5"),
    ],
)
def test_a_case_s_bounds_are_one_number_if_they_only_allow_for_rounding(making: Any, expected: Any, shown: str) -> None:
    assert making("verifier").score_of(expected) == shown


def test_a_page_shows_the_curve_where_there_is_one(making: Any) -> None:
    made = making("recipe").make(REGISTRY, "cosine_length")
    assert "(cosine_length.shape.svg)" in made.page
    assert "length of the response in tokens" in texts(made.curve)
