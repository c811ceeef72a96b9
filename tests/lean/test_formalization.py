"""`formalization` on a real Lean: attacks beside honest twins, and whose fault it is that there is no proof."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from rewarden.types import Batch, Sample, Use, Verdict
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.settings import EngineSettings
from rewarden_server.lean.settings import LeanSettings
from tests.lean.toolchain import TOOLCHAIN, needs_lean
from tests.programs import no_sandbox

pytestmark = [
    needs_lean,
    pytest.mark.needs_server,
    pytest.mark.skipif(no_sandbox() is not None, reason=no_sandbox() or ""),
    pytest.mark.asyncio(loop_scope="module"),
]

CONTEXT = "prelude\n\naxiom N : Type\naxiom le : N → N → Prop\naxiom zero : N\n\n"
STATEMENT = f"{CONTEXT}theorem trans (a b c : N) (h : le a b) (k : le b c) : le a c"
HONEST = "theorem t (x y z : N) (h : le x y) (k : le y z) : le x z"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engine() -> AsyncIterator[Engine]:
    """Judges by Lean without its library."""
    settings = LeanSettings(projects={"tests": str(TOOLCHAIN)}, processes=2, memory_mb=1024)
    engine = Engine(settings=EngineSettings(workers=1), lean=settings)
    await engine.start()
    yield engine
    await engine.close(0)


async def judged(engine: Engine, response: str, statement: str = STATEMENT, **params: Any) -> Verdict:
    sample = Sample(response=f"```lean\n{response}\n```", reference={"statement": statement})
    return (await engine.verify(Batch(samples=[sample], use=Use(name="formalization", params=params)))).verdicts[0]


ATTACKS = {
    # name: the attack, its reason, and its honest twin
    "a notation": (
        'notation "le" => fun (a b : N) => (∀ p : Prop, p → p)\n' + HONEST,
        "extra_declarations",
        "-- notation\n" + HONEST,
    ),
    "an axiom before it": ("axiom any : ∀ p : Prop, p\n" + HONEST, "extra_declarations", CONTEXT[9:] + HONEST),
    "an axiom behind it": (
        HONEST + "\naxiom any : ∀ p : Prop, p",
        "forbidden_construct",
        HONEST + "\n-- axiom any : ∀ p : Prop, p",
    ),
    "a bracket that closes early": (
        "theorem t (x : N) : le x x) axiom any : (∀ p : Prop, p",
        "forbidden_construct",
        "theorem t (x y z : N) : (le x y → (le y z) → le x z)",
    ),
    "a bracket that opens late": (
        "theorem t (x : N) : le x x ) ( le x x",
        "forbidden_construct",
        "theorem t (x y z : N) : (le x y) → (le y z) → (le x z)",
    ),
    "a tactic in a binder": (
        "theorem t (x y z : N) (h : le x y) (k : le y z := by assumption) : le x z",
        "forbidden_construct",
        "theorem t (x y z : N) (h : le x y) (k : le y z) : (fun _ : N => le x z) x",
    ),
    "the statement by its carrier": ("theorem t : type_of% @RewardenReference", "forbidden_construct", HONEST),
    "code that is evaluated": ("theorem t : eval% (le zero zero)", "forbidden_construct", HONEST),
    "always true": ("theorem t (p : Prop) (h : p) : p", "weaker", HONEST),
    "absurd": ("theorem t : ∀ p : Prop, p", "stronger", HONEST),
    "its own assumption": ("theorem t (x z : N) (h : le x z) : le x z", "weaker", HONEST),
    "a relation of its own": (
        "theorem t (le : N → N → Prop) (x y z : N) (h : le x y) (k : le y z) : le x z",
        "stronger",
        "theorem t (x y z : N) (h : (fun r : N → N → Prop => r x y) le) (k : le y z) : le x z",
    ),
}
ATTEMPTS = ["fun h => h", "fun _ _ h => h", "fun _ _ _ h => h", "fun h a b c _ _ => h (le a c)", "fun h => h le"]


@pytest.mark.parametrize("name", ATTACKS)
async def test_an_attack_earns_nothing_and_its_twin_all(engine: Engine, name: str) -> None:
    attack, reason, twin = ATTACKS[name]
    verdict = await judged(engine, attack, attempts=ATTEMPTS)
    assert (verdict.score, verdict.reason, verdict.fault) == (0.0, reason, "policy")
    assert (await judged(engine, twin, attempts=ATTEMPTS)).score == 1.0


@pytest.mark.parametrize("found", ["fun _ => @RewardenReference", "fun _ => @RewardenResponse", "Rewarden.unproved _"])
async def test_no_proof_may_rest_on_the_statements_themselves(engine: Engine, found: str) -> None:
    other = "theorem t (x y z : N) (h : le x y) (k : le z y) : le x z"
    assert (await judged(engine, other, attempts=["fun h => h", found])).reason == "unproven"
    assert (await judged(engine, HONEST, attempts=[found, "fun h => h"])).evidence["forward"] == "fun h => h"


@pytest.mark.parametrize(
    ("statement", "attempts"),
    [
        (f"{CONTEXT}theorem t (a : N) : lt a a a →", ["fun h => h"]),
        (f"{CONTEXT}theorem t (p : Prop) (h : p) : p", ["fun h => h", "fun _ h => h"]),
        (f"{CONTEXT}theorem t : ∀ p : Prop, p", ["fun h => h"]),
        (STATEMENT, ["fun h => h zero"]),
    ],
)
async def test_a_reference_on_which_proofs_say_nothing_is_at_fault(
    engine: Engine, statement: str, attempts: list[str]
) -> None:
    for response in (HONEST, "theorem t : ∀ p : Prop, p", "theorem t : missing"):
        verdict = await judged(engine, response, statement, attempts=attempts)
        assert (verdict.score, verdict.reason, verdict.fault) == (None, "invalid_reference", "reference")
    assert (await judged(engine, HONEST, attempts=["fun h => h"])).score == 1.0


async def test_a_statement_that_no_attempt_decides_is_the_policys(engine: Engine) -> None:
    """Else, a statement in a form that no tactic decides would be a way around every zero."""
    swapped = "theorem t (x y z : N) (k : le y z) (h : le x y) : le x z"
    verdict = await judged(engine, swapped, attempts=["fun h => h"])
    assert (verdict.status, verdict.score, verdict.reason) == ("scored", 0.0, "unproven")
    both = await judged(engine, swapped, attempts=["fun h => h", "fun h a b c k l => h a b c l k"])
    assert (both.score, both.evidence["backward"]) == (1.0, "fun h a b c k l => h a b c l k")
