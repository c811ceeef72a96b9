"""The search for what a policy can farm: its grounds, its candidates, and what it finds where there is something."""

from __future__ import annotations

import pytest

from rewarden.types import Outcome, Sample, Use
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.settings import EngineSettings
from rewarden_server.studies.farm.candidates import PIECES, Pieces, candidate
from rewarden_server.studies.farm.grounds import Ground, grounds_of
from rewarden_server.studies.farm.search import Tally, farm
from rewarden_verifiers.contract import spec_of, verifier
from rewarden_verifiers.outcome import right, undecided, wrong
from rewarden_verifiers.registry import Registry


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


async def tallied(name: str, *, reference: str = "four and twenty", seed: str = "s") -> Tally:
    registry = Registry()
    for function in (sound, masked, generous):
        spec = spec_of(function)
        assert spec is not None
        registry.add(spec)
    sample = Sample(response="", reference=reference)
    ground = Ground(verifier=name, title="toy", use=Use(name=name), sample=sample, right=["It is four and twenty."])
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


@pytest.mark.parametrize("name", ["choice", "number", "text", "label"])
async def test_a_short_search_finds_nothing(name: str) -> None:
    engine = Engine(settings=EngineSettings(workers=1, cache_bytes=0))
    await engine.start()
    try:
        tally = await farm(engine, name, grounds_of(engine.registry.get(name)), 200, f"ci:{name}")
    finally:
        await engine.close()
    assert tally.tries == 200
    assert [(find.kind, find.seed, find.text[:200]) for find in tally.finds] == []


def test_no_piece_stands_twice() -> None:
    assert len(set(PIECES)) == len(PIECES)
