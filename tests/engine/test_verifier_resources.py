"""A server's resources for a verifier, verifiers that wait, and fields of a reference that are in `shared`."""

from __future__ import annotations

from typing import Any

import pytest

from rewarden.types import Batch, Sample, Use
from rewarden_verifiers.contract import call_prepare, spec_of, verifier
from rewarden_verifiers.outcome import right
from tests.engine.conftest import Make
from tests.engine.toys import Garden

GARDEN = Use(name="toy_garden")


def batch(*references: Any, shared: dict[str, Any] | None = None) -> Batch:
    """Samples with these references."""
    return Batch(samples=[Sample(response="x", reference=item) for item in references], use=GARDEN, shared=shared or {})


async def test_a_verifier_has_what_the_server_provides_in_its_own_lane(make_engine: Make) -> None:
    engine = await make_engine(
        workers=1, query_workers=1, slow_query_workers=1, resources={"toy_garden": Garden("roses")}
    )
    (verdict,) = (await engine.verify(batch("plain"))).verdicts
    assert verdict.evidence["grows"] == "roses"
    assert verdict.evidence["prepared_for"] == "roses"
    assert verdict.evidence["pid"] in engine.info()["lanes"]["queries"]["pids"]
    assert verdict.evidence["pid"] not in engine.info()["lanes"]["cpu"]["pids"]


async def test_without_one_it_has_its_own_default(make_engine: Make) -> None:
    engine = await make_engine(workers=1, query_workers=1)
    (verdict,) = (await engine.verify(batch("plain"))).verdicts
    assert verdict.evidence["grows"] == "grass"


async def test_the_fingerprint_moves_with_what_is_provided(make_engine: Make) -> None:
    prints = set()
    for plant in ("roses", "tulips"):
        engine = await make_engine(workers=1, query_workers=1, resources={"toy_garden": Garden(plant)})
        prints.add(engine.planner.bind(GARDEN).ref.fingerprint)
    assert len(prints) == 2


async def test_what_takes_long_begins_anew_where_it_harms_nobody(make_engine: Make) -> None:
    engine = await make_engine(workers=1, query_workers=1, slow_query_workers=1)
    (verdict,) = (await engine.verify(batch("long"))).verdicts
    assert verdict.evidence["quick_s"] is None


@pytest.mark.parametrize("clock", ["cpu", "wall"])
async def test_what_never_comes_back_is_killed_at_the_limit_that_it_set_itself(make_engine: Make, clock: str) -> None:
    engine = await make_engine(workers=1, query_workers=1, slow_query_workers=1)
    hanging, after = (await engine.verify(batch(f"hang {clock}", "plain"))).verdicts
    assert (hanging.status, hanging.score, hanging.reason) == ("scored", 0.0, "too_expensive")
    assert after.score == 1.0


@pytest.mark.parametrize("what", ["hang", "memory"])
async def test_what_ends_at_the_references_expense_is_no_score(make_engine: Make, what: str) -> None:
    engine = await make_engine(workers=1, query_workers=1, slow_query_workers=1)
    ended, after = (await engine.verify(batch(f"preparing {what}", "plain"))).verdicts
    assert (ended.status, ended.score, ended.fault) == ("undecided", None, "reference")
    assert after.score == 1.0


async def test_what_ends_behind_that_is_the_responses_again(make_engine: Make) -> None:
    engine = await make_engine(workers=1, query_workers=1, slow_query_workers=1)
    (ended,) = (await engine.verify(batch("preparing failed"))).verdicts
    assert (ended.status, ended.score, ended.fault) == ("scored", 0.0, "policy")


async def test_a_field_of_a_reference_may_be_shared(make_engine: Make) -> None:
    engine = await make_engine(workers=1, query_workers=1)
    shared = {"k": "bed"}
    result = await engine.verify(
        batch({"plot": {"$shared": "k"}}, {"plot": {"$shared": "nope"}}, {"plot": "own"}, shared=shared)
    )
    found, missing, own = result.verdicts
    assert found.evidence["reference"] == {"plot": "bed"}
    assert (missing.status, missing.fault) == ("error", "caller")
    assert missing.feedback is not None
    assert "reference.plot: 'nope' is not a key of 'shared'" in missing.feedback
    assert own.evidence["reference"] == {"plot": "own"}


def test_prepare_is_given_what_it_names() -> None:
    def plain(reference: str, params: object) -> str:
        return reference

    @verifier(version="1", prepare=plain)
    def toy(response: str, prepared: str) -> Any:
        return right()

    spec = spec_of(toy)
    assert spec is not None
    assert call_prepare(spec, "r", None, None, None) == "r"  # type: ignore[arg-type]


def test_a_verifier_that_reads_its_site_declares_one() -> None:
    with pytest.raises(TypeError, match="declares no resources"):

        @verifier(version="1")
        def toy(response: str, resources: object) -> Any:
            return right()


@pytest.mark.parametrize(("old", "new"), [("waits", "blocking"), ("instead", "variant"), ("site", "resources")])
def test_an_argument_that_was_renamed_is_refused_with_its_new_name(old: str, new: str) -> None:
    with pytest.raises(TypeError, match=f"no argument '{old}': it is {new}= now"):
        verifier(version="1", **{old: None})


def test_an_unknown_argument_is_refused() -> None:
    with pytest.raises(TypeError, match=r"no argument 'colour'$"):
        verifier(version="1", colour="red")  # type: ignore[arg-type]


def test_waiting_is_for_workers() -> None:
    with pytest.raises(TypeError, match="blocking is for pure verifiers"):

        @verifier(version="1", blocking=True, inline=True)
        def toy(response: str) -> Any:
            return right()


async def test_wall_time_in_which_a_worker_could_run_and_did_not_is_nobodys(make_engine: Make) -> None:
    engine = await make_engine(workers=1, query_workers=1, slow_query_workers=1)
    (verdict,) = (await engine.verify(batch("starved"))).verdicts
    assert (verdict.status, verdict.score) == ("scored", 1.0)
