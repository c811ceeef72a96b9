"""`lean`, from the response to the verdict, on a real Lean in a real sandbox: what its cases do not say."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from rewarden.types import Batch, Sample, Use, Verdict
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.settings import EngineSettings
from rewarden_server.lean.settings import LeanSettings
from tests.lean.toolchain import Library, needs_lean
from tests.programs import no_sandbox

pytestmark = [
    needs_lean,
    pytest.mark.needs_server,
    pytest.mark.skipif(no_sandbox() is not None, reason=no_sandbox() or ""),
    pytest.mark.asyncio(loop_scope="module"),
]

HEADER = "prelude\nimport Base\n\n"
STATEMENT = HEADER + "theorem zero_add (n : Nat) : Eq (Nat.add Nat.zero n) n := sorry\n"
PROOF = HEADER + "theorem zero_add (n : Nat) : Eq (Nat.add Nat.zero n) n := Nat.zero_add n\n"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engine(library: Library) -> AsyncIterator[Engine]:
    """Judges by the library `Base`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ELAN_HOME", str(library.elan))
        settings = LeanSettings(projects={"base": str(library.folder)}, processes=2, memory_mb=1024)
        engine = Engine(settings=EngineSettings(cache=False, workers=1), lean=settings)
        await engine.start()
        yield engine
        await engine.close(0)


async def judged(engine: Engine, response: str, reference: Any = STATEMENT, **params: Any) -> Verdict:
    text = response if "```" in response else f"```lean\n{response}\n```"
    batch = Batch(samples=[Sample(response=text, reference=reference)], use=Use(name="lean", params=params))
    return (await engine.verify(batch)).verdicts[0]


async def test_a_proof_on_a_library_is_replayed_by_the_kernel_and_its_axioms_are_told(engine: Engine) -> None:
    verdict = await judged(engine, PROOF)
    assert (verdict.score, verdict.passed, verdict.flags) == (1.0, True, ())
    strict = verdict.evidence["strict"]
    assert (strict["replay"], strict["replay_by"]) == ("accepted", "kernel")
    assert strict["theorems"] == [{"name": "zero_add", "reason": None, "axioms": []}]
    assert verdict.evidence["project"] == "base"
    assert verdict.evidence["lean"].startswith("4.")


async def test_axioms_of_the_library_count_by_name(engine: Engine) -> None:
    reference = HEADER.replace("Base", "Base.Extra") + "theorem t (p : Prop) : p := sorry\n"
    response = reference.replace("sorry", "Base.everything p")
    verdict = await judged(engine, response, reference)
    assert (verdict.score, verdict.reason) == (0.0, "axiom_not_permitted")
    assert "Base.cheat" in (verdict.feedback or "")
    allowed = await judged(engine, response, reference, axioms=["Base.cheat"])
    assert (allowed.score, allowed.evidence["strict"]["theorems"][0]["axioms"]) == (1.0, ["Base.cheat"])


async def test_axioms_behind_what_no_source_can_name_count(engine: Engine) -> None:
    """The library's private instance rests on its axiom. Where nobody can say so, nobody says that it is a proof."""
    reference = HEADER.replace("Base", "Base.Extra") + "theorem t (p : Prop) : p := sorry\n"
    response = reference.replace("sorry", "Base.Given.proof")
    verdict = await judged(engine, response, reference)
    assert (verdict.score, verdict.reason) == (0.0, "axiom_not_permitted")
    unknown = await judged(engine, response, reference, replay="off", unnamed="undecided")
    assert (unknown.status, unknown.reason) == ("undecided", "unknown_axioms")
    trusted = await judged(engine, response, reference, replay="off")
    assert (trusted.score, trusted.flags) == (1.0, ("unknown_axioms",))


async def test_a_theorem_that_the_reference_does_not_state_is_the_references_fault(engine: Engine) -> None:
    reference = {"statement": HEADER + "namespace Far\ntheorem t (p : Prop) : p := sorry\nend Far\n", "theorems": ["t"]}
    verdict = await judged(engine, HEADER + "theorem t : True := True.intro\n", reference)
    assert (verdict.status, verdict.fault, verdict.score) == ("undecided", "reference", None)


async def test_permitted_axioms_are_permitted(engine: Engine) -> None:
    reference = HEADER + "theorem t (p q : Prop) (h : Iff p q) : Eq p q := sorry\n"
    verdict = await judged(engine, reference.replace("sorry", "propext h"), reference)
    assert (verdict.score, verdict.evidence["strict"]["theorems"][0]["axioms"]) == (1.0, ["propext"])
    without = await judged(engine, reference.replace("sorry", "propext h"), reference, axioms=[])
    assert (without.score, without.reason) == (0.0, "axiom_not_permitted")


async def test_a_reference_that_does_not_compile_is_nobodys_zero(engine: Engine) -> None:
    broken = HEADER + "theorem t (n : Nat.nothing) : Eq n n := sorry\n"
    for response in (PROOF, "theorem t : False := nonsense"):
        verdict = await judged(engine, response, broken)
        assert (verdict.status, verdict.fault, verdict.score) == ("undecided", "reference", None)
        assert "Nat.nothing" in (verdict.feedback or "")


async def test_messages_come_with_their_places_in_what_was_elaborated(engine: Engine) -> None:
    verdict = await judged(engine, HEADER + "theorem zero_add (n : Nat) :\n    Eq (Nat.add Nat.zero n) n := nothing\n")
    assert verdict.reason == "lean_error"
    first = verdict.evidence["screen"]["messages"][0]
    assert (first["severity"], first["line"]) == ("error", 5)
    assert (verdict.feedback or "").startswith(f"5:{first['column']}: error: ")


async def test_goals_are_told_where_they_are_asked_for(engine: Engine) -> None:
    response = "theorem zero_add (n : Nat) : Eq (Nat.add Nat.zero n) n := sorry"
    verdict = await judged(engine, response, None, mode="statement", header="prelude\nimport Base", goals=True)
    assert verdict.score == 1.0
    (left,) = verdict.evidence["screen"]["sorries"]
    assert "⊢" in left["goals"][0]


async def test_the_feedback_is_as_long_as_was_asked_for(engine: Engine) -> None:
    wrong = HEADER + "theorem zero_add (n : Nat) : Eq (Nat.add Nat.zero n) n := rfl\n"
    assert (await judged(engine, wrong, shown=0)).feedback is None
    assert len((await judged(engine, wrong, shown=40)).feedback or "") <= 42


async def test_a_text_that_never_ends_is_over_its_limit_and_harms_nobody(engine: Engine) -> None:
    endless = HEADER + "theorem zero_add (n : Nat) : Eq (Nat.add Nat.zero n) n :=\n"
    endless += (
        "  (fun _ : Eq (Nat.rec (motive := fun _ => Bool) true (fun _ h => h) 1000000000000) true => Nat.zero_add n)"
    )
    endless += " (Eq.refl _)\n"
    verdict = await judged(engine, endless, cpu_s=1.0)
    assert (verdict.score, verdict.reason) == (0.0, "time_limit")
    assert "too_expensive" in verdict.flags
    assert (await judged(engine, PROOF)).score == 1.0


async def test_where_a_replay_is_not_wanted_there_is_none(engine: Engine) -> None:
    verdict = await judged(engine, PROOF, replay="off")
    assert (verdict.score, verdict.evidence["strict"]["replay"]) == (1.0, "off")


async def test_siblings_share_their_reference(engine: Engine) -> None:
    compiled: list[str] = []
    plain = engine.lean.compile

    async def counted(project: str, text: str, *rest: Any, **more: Any) -> Any:
        compiled.append(text)
        return await plain(project, text, *rest, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine.lean, "compile", counted)
        verdicts = [await judged(engine, wrong) for wrong in ("theorem zero_add : False := x", "theorem y : z := w")]
    assert [verdict.reason for verdict in verdicts] == ["lean_error"] * 2
    assert set(compiled) == {STATEMENT}  # asked for each, kept by the lane


@pytest.mark.parametrize(
    ("params", "named"),
    [
        ({"project": "nowhere"}, "nowhere"),
        ({"cpu_s": 0}, "cpu_s"),
        ({"meta": True}, "replay"),
        ({"extraction": "loose"}, "extraction"),
        ({"shown": -1}, "shown"),
    ],
)
async def test_wrong_parameters_are_told_by_name(engine: Engine, params: dict[str, Any], named: str) -> None:
    verdict = await judged(engine, PROOF, **params)
    assert (verdict.status, verdict.fault) == ("error", "caller")
    assert named in (verdict.feedback or "")
