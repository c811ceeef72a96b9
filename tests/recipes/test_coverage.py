"""Coverage: every published system is in the table, the recipes that cover one take its parameters, and `rewarden
recipes coverage` prints that."""

from __future__ import annotations

import argparse
import json
import re
from typing import Any

import pytest

from rewarden_server.cli import recipes
from rewarden_verifiers.contract import VerifierSpec
from rewarden_verifiers.recipes.load import load_recipe
from rewarden_verifiers.recipes.model import Covered, Recipe
from rewarden_verifiers.recipes.systems import NEEDS, coverings, systems
from rewarden_verifiers.registry import GALLERY, Registry
from rewarden_verifiers.schema import parse_params
from rewarden_verifiers.summaries import summaries

SYSTEMS = 286
GALLERY_RECIPES = {path.stem: load_recipe(path) for path in sorted(GALLERY.glob("*.yaml"))}
COVERED = [(recipe, one) for recipe in GALLERY_RECIPES.values() for one in recipe.systems]


def called(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    parser = argparse.ArgumentParser()
    recipes.configure(parser)
    assert recipes.run(parser.parse_args(["coverage", *arguments])) == 0
    return capsys.readouterr().out.splitlines()


def as_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    return json.loads("\n".join(called(capsys, "--json", *arguments)))


# --- the data ----------------------------------------------------------------------------------------------------


def test_each_system_is_listed_once_with_its_title_domain_and_needs() -> None:
    assert len(systems()) == SYSTEMS
    for name, system in systems().items():
        assert re.fullmatch(r"[a-z0-9-]+", name)
        assert system.name
        assert system.title
        assert system.domain
        assert re.fullmatch(r"(\d{4}\.\d{4,5})?", system.arxiv)
        assert set(system.needs) <= set(NEEDS)


def test_each_system_is_covered_by_a_recipe_or_says_why_not() -> None:
    named = {one.system for _, one in COVERED}
    assert named <= set(systems()), "a recipe names a system that is not in systems.tsv"
    stated = {name for name, system in systems().items() if system.state == "covered"}
    assert stated == named, "the state of a system in systems.tsv must be `covered` if, and only if, a recipe covers it"
    for system in systems().values():
        assert system.state in ("covered", "open") or len(system.state.split()) > 3, system.id


def test_a_system_that_says_why_it_cannot_be_compared_has_a_part_that_is_not_verified() -> None:
    unverified = {one.system for recipe, one in COVERED if (one.parity or recipe.parity) != "verified"}
    for name, system in systems().items():
        if system.unverified:
            assert system.state == "covered", name
            assert name in unverified
            assert len(system.unverified.split()) > 2, name


@pytest.mark.parametrize(("recipe", "one"), COVERED, ids=[f"{one.system}-{recipe.name}" for recipe, one in COVERED])
def test_a_recipe_and_its_verifiers_take_the_parameters_of_the_systems_that_it_covers(
    recipe: Recipe, one: Covered
) -> None:
    registry = Registry()

    def take(spec: VerifierSpec, params: Any) -> None:
        parsed = parse_params(spec, {key: value for key, value in params.items() if key != "view"})
        for use in spec.children(parsed) if spec.children is not None else ():
            take(registry.resolve(use), use.params)

    take(registry.get(recipe.name), one.params)


def test_recipes_that_share_a_system_name_their_parts() -> None:
    for name, found in coverings().items():
        parts = [one.coverage.part for one in found]
        assert len(found) < 2 or (all(parts) and len(set(parts)) == len(parts)), name


def test_the_summaries_have_what_the_recipes_say_and_the_needs_of_these_parameters() -> None:
    for name, recipe in GALLERY_RECIPES.items():
        known = summaries()[name].systems
        assert [(one.id, one.params, one.part) for one in known] == [
            (one.system, one.params, one.part) for one in recipe.systems
        ]
    needs = {(one.coverage.id, one.coverage.part): one.needs for each in coverings().values() for one in each}
    assert needs["deepmath-103k", ""] == ()
    assert needs["klear-reasoner", "mathematics"] == ()
    assert needs["klear-reasoner", "programs"] == ("sandbox",)
    assert needs["open-agentrl", "programs"] == ("sandbox",)
    assert needs["agent-rlvr", "tests"] == ("sandbox",)
    assert needs["qwenlong-l1", ""] == ("judge",)
    assert needs["rlmt", ""] == ("model",)
    assert needs["deepresearcher", ""] == ("judge", "environment")


# --- the command -------------------------------------------------------------------------------------------------


def test_it_prints_a_line_for_each_system_and_recipe_and_the_counts_last(capsys: pytest.CaptureFixture[str]) -> None:
    *lines, _, last = called(capsys)
    assert {line.split()[0] for line in lines} == set(systems())
    split = [re.split(r"\s{2,}", line) for line in lines]
    assert ["ace-rl", "ace_rl", "mapped", "judge", "not verified: its public code could not be obtained"] in split
    assert ["ragen", 'accuracy {"verifier": "environment"} (Frozen Lake)', "verified", "environment"] in split
    assert ["synlogic", 'accuracy_format {"verifier": "text"} (one solution)', "mapped"] in split
    assert ["swe-rl", "swe_rl", "verified", "data"] in split
    assert any(each[1] == "outside" and len(each[-1]) > 20 for each in split)
    covered = {name for name, found in coverings().items() if found}
    counts = re.fullmatch(r"covered (\d+) of (\d+): (\d+) verified, (\d+) reading, (\d+) mapped", last)
    assert counts is not None
    total, among, *parities = map(int, counts.groups())
    assert (total, among) == (len(covered), SYSTEMS)
    assert sum(parities) == total


def test_json_has_the_use_to_send_for_each_system(capsys: pytest.CaptureFixture[str]) -> None:
    told = as_json(capsys)
    by_id = {each["id"]: each for each in told["systems"]}
    assert by_id["alphamed"]["recipes"] == [
        {"use": {"name": "accuracy", "params": {"verifier": "choice"}}, "part": None, "parity": "mapped", "needs": []}
    ]
    still_open = next(each for each in by_id.values() if each["state"] == "open")
    assert still_open["recipes"] == []
    assert told["counts"]["systems"] == SYSTEMS
    assert told["counts"]["covered"] == sum(told["counts"][parity] for parity in ("verified", "reading", "mapped"))


@pytest.mark.parametrize(
    ("arguments", "there", "absent"),
    [
        (["--find", "SEARCH QA"], "asearcher", "logic-rl"),
        (["--find", "logic-rl"], "logic-rl", "asearcher"),
        (["--recipe", "code_fraction"], "prorl", "logic-rl"),
        (["--state", "covered"], "logic-rl", "alpamayo-r1"),
        (["--state", "outside"], "alpamayo-r1", "logic-rl"),
        (["--parity", "reading"], "swe-rl", "rlmt"),
        (["--parity", "verified"], "swe-rl", "rlmt"),
        (["--have"], "logic-rl", "qwenlong-l1"),
        (["--have", "judge", "data"], "qwenlong-l1", "rlmt"),
        (["--have", "sandbox"], "klear-reasoner", "deepresearcher"),
    ],
)
def test_filters_narrow_the_table_and_the_counts(
    capsys: pytest.CaptureFixture[str], arguments: list[str], there: str, absent: str
) -> None:
    told = as_json(capsys, *arguments)
    found = {each["id"] for each in told["systems"]}
    assert there in found
    assert absent not in found
    assert told["counts"]["systems"] == len(found) < SYSTEMS


def test_a_recipe_that_does_not_ship_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    recipes.configure(parser)
    assert recipes.run(parser.parse_args(["coverage", "--recipe", "logic_lr"])) == 2
    assert "'logic_lr'" in capsys.readouterr().err


def test_filters_without_the_table_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    recipes.configure(parser)
    assert recipes.run(parser.parse_args(["logic_rl", "--have", "judge"])) == 2
    assert "rewarden recipes coverage" in capsys.readouterr().err


def test_long_parameters_leave_the_table_readable(capsys: pytest.CaptureFixture[str]) -> None:
    lines = called(capsys, "--find", "cls-rl")
    assert any("accuracy_plus_format {…}" in line for line in lines)
    assert lines[-2] == "{…}: parameters that are too long for a line; --json has them"
    assert max(line.find(" mapped") for line in called(capsys)) < 110


def test_the_reason_why_a_part_is_not_verified_stands_beside_that_part_alone(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = called(capsys, "--find", "miromind-m1")
    (answers,) = [line for line in lines if "(answers)" in line]
    (repetition,) = [line for line in lines if "(repetition)" in line]
    assert "not verified" not in answers
    assert "not verified: the published penalty" in repetition
