"""`formalization` on a real Lean: attacks beside honest twins, and whose fault it is that there is no proof."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from rewarden.types import Batch, Outcome, Sample, Use, Verdict
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.settings import EngineSettings
from rewarden_server.lean.settings import LeanSettings
from rewarden_verifiers.lean.formalization import FormalizationParams, FormalizationReference, formalization
from rewarden_verifiers.outcome import right, wrong
from tests.lean.toolchain import TOOLCHAIN, needs_lean
from tests.programs import no_sandbox

pytestmark = [
    needs_lean,
    pytest.mark.needs_server,
    pytest.mark.skipif(no_sandbox() is not None, reason=no_sandbox() or ""),
    pytest.mark.asyncio(loop_scope="module"),
]

CONTEXT = "prelude\n\naxiom N : Type\naxiom le : N → N → Prop\naxiom zero : N\naxiom Few.less : N → N → Prop\n\n"
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
    "a command behind the names of an `open`": (f"open Few end\n{HONEST}", "lean_error", f"open Few\n{HONEST}"),
    "an option behind the names of an `open`": (
        f"open Few set_option debug.skipKernelTC true\n{HONEST}",
        "extra_declarations",
        f"set_option maxHeartbeats 400000 in\nopen Few in {HONEST}",
    ),
    "a command behind a variable": (
        "variable (x y z : N) axiom any : ∀ p : Prop, p\ntheorem t (h : le x y) (k : le y z) : le x z",
        "extra_declarations",
        "variable (x y : N) {z : N}\ntheorem t (h : le x y) (k : le y z) : le x z",
    ),
    "a tactic in a variable": (
        "variable (x y z : N) (h : le x y := by assumption)\ntheorem t (k : le y z) : le x z",
        "forbidden_construct",
        "variable (x y : N)\nvariable (z : N)\ntheorem t (h : le x y) : le y z → le x z",
    ),
    "a definition by another namespace": (
        "open Few\ntheorem t (x y z : N) (h : less x y) (k : less y z) : less x z",
        "unproven",
        "open Few (less)\ntheorem t (x y z : N) : (fun _ : Prop => le x y → le y z → le x z) (less x y)",
    ),
    "code in an interpolated string": (
        'theorem t (x y z : N) : s!"{by exact zero}"',
        "forbidden_construct",
        'theorem t (x y z : N) (h : le x y) /- s!"{by exact zero}" -/ (k : le y z) : le x z',
    ),
    "a file in a type": (
        'theorem t : include_str "/etc/passwd"',
        "forbidden_construct",
        f'-- include_str "x"\n{HONEST}',
    ),
    "a comment that states it": (
        "/-- theorem t (x y z : N) (h : le x y) (k : le y z) : le x z -/\ntheorem t : ∀ p : Prop, p",
        "stronger",
        f"/-- theorem t : ∀ p : Prop, p -/\n{HONEST}",
    ),
    "brackets without end": (
        f"theorem t (x y z : N) : {'(' * 3000}le x y → le y z → le x z{')' * 3000}",
        "too_expensive",
        f"theorem t (x y z : N) : {'(' * 100}le x y → le y z → le x z{')' * 100}",
    ),
    "a text that Lean does not read": (HONEST.replace(" (h", "\t(h"), "lean_error", HONEST.replace(" (h", "\n    (h")),
    "a letter that only looks like another": (HONEST.replace("le ", "l\u0435 "), "lean_error", HONEST),
    "a carrier by an automatic binder": (
        "theorem t : (fun {p : Prop} (_ : p) => p) RewardenReference",
        "weaker",
        HONEST.replace("x", "RewardenReference"),
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


LAYOUTS = {
    "the context without blank lines": CONTEXT.replace("\n\n", "\n") + HONEST,
    "the context with comments": CONTEXT.replace("axiom le", "/- order -/ axiom le") + HONEST,
    "a section": f"noncomputable section Own\n{HONEST} := by\n  sorry\nend Own",
    "attributes and modifiers": f"@[simp, ext (iff := false)] private {HONEST}",
    "an implicit variable that is not used": HONEST.replace("(x y", "{w : N} (x y"),
    "a universe that is not used": f"universe u\n{HONEST}",
    "a local definition": "theorem t (x y z : N) : let p := le x y; p → le y z → le x z := by sorry",
    "a local definition, without a proof": "theorem t (x y z : N) : let p := le x y; p → le y z → le x z",
}


@pytest.mark.parametrize("name", LAYOUTS)
async def test_what_stands_around_a_statement_does_not_matter(engine: Engine, name: str) -> None:
    attempts = ["fun h => h", "fun h => h (w := zero)", "fun h {_} => h"]
    assert (await judged(engine, LAYOUTS[name], attempts=attempts)).score == 1.0


@pytest.mark.parametrize("before", ["open Few in", "set_option maxHeartbeats 400000 in\nopen Few in"])
async def test_a_command_that_concerns_the_references_theorem_concerns_the_response(
    engine: Engine, before: str
) -> None:
    statement = f"{CONTEXT}{before}\ntheorem trans (a b c : N) (h : less a b) (k : less b c) : less a c"
    honest = "theorem t (x y z : N) (h : less x y) (k : less y z) : less x z"
    for response in (honest, f"open Few in\n{honest}", honest.replace("less", "Few.less")):
        assert (await judged(engine, response, statement, attempts=["fun h => h"])).score == 1.0
    assert (await judged(engine, HONEST, statement, attempts=["fun h => h"])).reason == "unproven"


async def test_statements_in_universes_agree_in_them(engine: Engine) -> None:
    statement = f"{CONTEXT}theorem all.{{u, v}} (α : Type u) (β : Type v) (f : α → β) (r : β → Prop) (a : α) : r (f a)"
    for response, score in (
        ("theorem t.{u, v} (σ : Type u) (τ : Type v) (g : σ → τ) (s : τ → Prop) (x : σ) : s (g x)", 1.0),
        ("theorem t (σ : Type _) (τ : Type _) (g : σ → τ) (s : τ → Prop) (x : σ) : s (g x)", 1.0),
        ("theorem t (σ τ : Type) (g : σ → τ) (s : τ → Prop) (x : σ) : s (g x)", 0.0),
        ("theorem t.{u} (σ τ : Type u) (g : σ → τ) (s : τ → Prop) (x : σ) : s (g x)", 0.0),
    ):
        verdict = await judged(engine, response, statement, attempts=["fun h => h"])
        assert (verdict.status, verdict.score) == ("scored", score), response


async def test_no_proof_may_rest_on_the_statements_within_the_references_namespace(engine: Engine) -> None:
    statement = STATEMENT.replace("theorem trans", "namespace Few\n\ntheorem trans")
    found = ["fun h => h", "fun _ => @RewardenReference", "fun _ => @RewardenResponse", "Rewarden.unproved _"]
    other = "theorem t (x y z : N) (h : le x y) (k : le z y) : le x z"
    assert (await judged(engine, other, statement, attempts=found)).reason == "unproven"
    assert (await judged(engine, HONEST, statement, attempts=found)).score == 1.0


class Slow:
    """A context whose `lean` proves that a statement implies itself, and reaches a limit on any two."""

    def __init__(self) -> None:
        self.tried = 0

    async def verify(self, use: Use, *, sample: Sample) -> Outcome:
        statement = sample.reference["statement"]
        if "axiom RewardenReference" in statement and "axiom RewardenResponse" in statement:
            self.tried += 1
            return wrong("time_limit")
        return right() if ") → (type_of%" in statement else wrong("lean_error")


async def test_a_direction_ends_when_two_attempts_reach_a_limit() -> None:
    """Else, a statement on which every attempt runs out of time would hold its verdict back until nobody waits."""
    slow = Slow()
    params = FormalizationParams()
    outcome = await formalization(
        f"```lean\n{HONEST}\n```", FormalizationReference(statement=STATEMENT), params=params, ctx=slow
    )
    assert (outcome.score, outcome.reason, outcome.flags) == (0.0, "unproven", ("too_expensive", "time_limit"))
    assert (slow.tried, len(params.attempts)) == (2 * 2, 8)
