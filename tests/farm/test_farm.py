"""The search for rewards that a policy can farm: its grounds, its candidates, and its finds."""

from __future__ import annotations

import ast
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from rewarden.errors import SampleError
from rewarden.types import Outcome, Sample, Use
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.settings import EngineSettings
from rewarden_server.processes.settings import SandboxSettings
from rewarden_server.studies.farm.candidates import PIECES, Pieces, candidate
from rewarden_server.studies.farm.figures import Figures, read_figures
from rewarden_server.studies.farm.grounds import Ground, grounds_of
from rewarden_server.studies.farm.programs import program
from rewarden_server.studies.farm.search import Tally, farm, replay
from rewarden_verifiers.contract import Context, Member, spec_of, verifier
from rewarden_verifiers.outcome import right, undecided, wrong
from rewarden_verifiers.registry import Registry
from tests.programs import LAUNCHERS, problem_of


@verifier(version="1", inline=True)
def sound(response: str, reference: str) -> Outcome:
    """The reference's words stand in the response."""
    return right(extracted=reference) if reference in response else wrong()


@verifier(version="1", inline=True)
def masked(response: str, reference: str) -> Outcome:
    """As `sound`; but a brace leaves it undecided."""
    return undecided("braces") if "{" in response else sound(response, reference)


@verifier(version="1", inline=True)
def generous(response: str, reference: str) -> Outcome:
    """As `sound`; but who says many things is believed."""
    return right(extracted=reference) if reference in response or response.count("\n\n") > 1 else wrong()


@verifier(version="1")
async def together(samples: list[Member], ctx: Context) -> list[Outcome | SampleError]:
    """As `sound`, of each of a group."""
    return [sound(one.response or "", str(one.sample.reference)) for one in samples]


@verifier(version="1")
async def infectious(samples: list[Member], ctx: Context) -> list[Outcome | SampleError]:
    """As `together`; but a brace leaves the neighbours undecided."""
    told = await together(samples, ctx)
    braces = {one.index for one in samples if "{" in (one.response or "")}
    return [undecided("braces") if braces - {one.index} else own for one, own in zip(samples, told, strict=True)]


async def tallied(name: str, *, reference: str = "four and twenty", seed: str = "s") -> Tally:
    registry = Registry()
    for function in (sound, masked, generous, together, infectious):
        spec = spec_of(function)
        assert spec is not None
        registry.add(spec)
    sample = Sample(response="", reference=reference)
    group = registry.get(name).group
    ground = Ground(
        verifier=name,
        title="toy",
        use=Use(name=name),
        sample=sample,
        beside=(replace(sample, response="It is four."),) if group else (),
        right=["It is four and twenty."],
    )
    engine = Engine(registry, EngineSettings(workers=1, cache_bytes=0), warm=())
    await engine.start()
    try:
        return await farm(engine, name, [ground], 300, seed)
    finally:
        await engine.close()


async def test_nothing_is_farmed_of_a_sound_verifier() -> None:
    tally = await tallied("sound")
    assert (tally.tries, tally.unscored, tally.paid, tally.per_ten_thousand) == (300, 0, 0, 0.0)


async def test_what_goes_unscored_is_found_with_the_seed_that_makes_it_again() -> None:
    tally = await tallied("masked")
    assert tally.unscored > 0
    assert tally.paid == 0
    again = await tallied("masked")
    assert [(find.seed, find.text) for find in tally.finds] == [(find.seed, find.text) for find in again.finds]
    assert {find.kind for find in tally.finds} == {"unscored"}


async def test_what_is_paid_for_nothing_is_found() -> None:
    tally = await tallied("generous")
    assert (tally.unscored, tally.paid > 0) == (0, True)


async def test_of_a_group_nothing_is_farmed_of_a_sound_verifier_and_no_neighbour_may_go_unscored() -> None:
    tally = await tallied("together")
    assert (tally.tries, tally.unscored, tally.paid) == (300, 0, 0)
    tally = await tallied("infectious")
    assert (tally.unscored > 0, tally.paid) == (True, 0)
    assert all("{" in find.text for find in tally.finds)


def test_grounds_of_groups_are_what_their_first_responses_are_judged_with() -> None:
    grounds = grounds_of(Registry().get("consensus"))
    assert grounds
    assert all(ground.beside for ground in grounds)
    assert not any(ground.beside for ground in grounds_of(Registry().get("math")))


async def test_where_no_right_response_passes_nothing_is_claimed() -> None:
    tally = await tallied("sound", reference="something else")
    assert (tally.tries, tally.untried) == (0, "no case in text whose right response passes here")


@pytest.mark.parametrize("joined", [True, False])
def test_a_candidate_of_several_pieces_is_empty_handed_only_where_an_answer_is_wanted(joined: bool) -> None:
    ground = Ground(verifier="text", title="", use=Use(name="text"), sample=Sample(response=""))
    made = [candidate(ground, Pieces(("abc",), joined), str(seed)) for seed in range(50)]
    assert all(one.empty_handed == (joined or one.text == "abc") for one in made)
    assert any(one.text != "abc" for one in made)


def test_grounds_have_a_reference_that_a_response_of_the_cases_earns_all_of() -> None:
    grounds = grounds_of(Registry().get("math"))
    assert grounds
    assert all(ground.right and ground.sample.reference is not None for ground in grounds)
    assert any(ground.wrong for ground in grounds)


def finds_of(tally: Tally) -> list[tuple[str, str, str]]:
    return [(find.kind, find.seed, find.text[-200:]) for find in tally.finds]


async def searched(name: str, tries: int, grounds: Sequence[Ground] | None = None, launcher: str = "none") -> Tally:
    settings = EngineSettings(workers=1, query_workers=1, cache=False)
    engine = Engine(settings=settings, sandbox=SandboxSettings(launcher=cast("Any", launcher)))
    await engine.start()
    try:
        spec = engine.registry.get(name)
        return await farm(engine, name, grounds_of(spec) if grounds is None else grounds, tries, f"ci:{name}")
    finally:
        await engine.close()


@pytest.mark.parametrize(
    "name", ["choice", "number", "text", "label", "math", "accuracy_format", "logic_rl", "sql_r1", "consensus"]
)
async def test_a_short_search_finds_nothing(name: str) -> None:
    tally = await searched(name, 200, grounds_of(Registry().get(name))[:4])
    assert tally.tries == 200
    assert finds_of(tally) == []


MODES = {
    "reads stdin, prints to stdout",
    "a call",
    "a method",
    "assertions",
    "HumanEval's check",
    "a test file",
    "a judge that is a program",
    "a judge that talks",
    "tests in the same process",
}
"""Grounds of `code`, one for each way in which a program is judged."""


@pytest.mark.needs_server
@pytest.mark.parametrize("launcher", LAUNCHERS)
async def test_a_short_search_of_programs_finds_nothing(launcher: str) -> None:
    if (problem := await problem_of(launcher)) is not None:
        pytest.skip(problem)
    grounds = [ground for ground in grounds_of(Registry().get("code")) if ground.title in MODES]
    assert {ground.title for ground in grounds} == MODES
    tally = await searched("code", 18, grounds, launcher)
    assert (tally.tries, tally.untried) == (18, None)
    assert finds_of(tally) == []


@pytest.mark.parametrize("names", [(), ("f",), ("f", "Solution.g", "Solution.h")])
def test_hostile_programs_parse_and_define_what_the_tests_call(names: tuple[str, ...]) -> None:
    """A program that does not parse tries nothing but the parser."""
    for seed in range(300):
        response = program("python", names, random.Random(seed))
        code = response.partition("import atexit")[2].rpartition("\n```")[0]
        if "import atexit" in response and response.count("```") == 2:
            tree = ast.parse("import atexit" + code.partition("\n```")[0])
            defined = {node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
            assert {name.partition(".")[0] for name in names[:1]} <= defined


def test_a_ground_of_programs_says_what_its_tests_call_and_has_short_limits() -> None:
    grounds = {ground.title: ground for ground in grounds_of(Registry().get("code"))}
    assert grounds["a method"].names == ("Solution.pairs",)
    assert grounds["HumanEval's check"].names == ("largest",)
    assert grounds["C++"].language == "cpp"
    assert all(ground.sample.reference["limits"]["wall_s"] < 1 for ground in grounds.values() if ground.language)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("judge", "learned: no judge and no model is configured"),
        ("rm_scalar", "learned: no judge and no model is configured"),
        ("asearcher", "learned: no judge and no model is configured"),
        ("listwise", "learned: no judge and no model is configured"),
    ],
)
async def test_what_cannot_be_searched_says_why(name: str, reason: str) -> None:
    assert (await searched(name, 10)).untried == reason


async def test_a_seed_is_replayed_on_the_ground_that_it_was_tried_on() -> None:
    engine = Engine(settings=EngineSettings(workers=1, cache=False))
    await engine.start()
    try:
        found = await replay(engine, "7:choice:17")
        again = await replay(engine, "7:choice:17")
        with pytest.raises(ValueError, match="not a seed of a find"):
            await replay(engine, "17")
    finally:
        await engine.close()
    assert (found.kind, found.verdict.status) == ("", "scored")
    assert (found.text, found.title) == (again.text, again.title)


def test_figures_of_one_name_leave_those_of_others(tmp_path: Path) -> None:
    file = tmp_path / "farm.json"
    figures = Figures({})
    figures.add(Tally("math", tries=400, paid=2), seed="1")
    figures.write(file)
    figures = read_figures(file)
    figures.add(Tally("lean", untried="no case in text"), seed="2")
    figures.write(file)
    rows = read_figures(file).rows
    assert rows == figures.rows
    assert rows["math"].per_ten_thousand(rows["math"].paid) == 50.0
    assert (rows["lean"].untried, rows["lean"].seed) == ("no case in text", "2")
    file.write_text('{"math": {"tries": 1}}')
    with pytest.raises(ValueError, match="no figures"):
        read_figures(file)


def test_no_piece_stands_twice() -> None:
    assert len(set(PIECES)) == len(PIECES)
