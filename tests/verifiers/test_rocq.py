"""`rocq`: its cases and attacks in real rooms, each attack beside an honest twin, and whose fault a failed step is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
import pytest_asyncio

from rewarden.types import Batch, Sample, Use, Verdict
from rewarden_server.engine.engine import Engine
from tests.verifiers.host_rooms import failed_cases, host_engine

STATEMENT = "forall n m : nat, n + m = m + n"
REFERENCE = {"statement": STATEMENT}
PROOF = "induction n; intro m; simpl; [induction m; simpl; congruence | rewrite IHn; induction m; simpl; congruence]."
BY_CASES = f"destruct (classic True) as [_ | f]; [{PROOF[:-1]} | destruct (f I)]."
CLASSICAL = "Coq.Logic.Classical_Prop.classic"


def proof(before: str = "", statement: str = STATEMENT, script: str = PROOF, end: str = "Qed.") -> str:
    return f"```coq\n{before}\nTheorem answer : {statement}.\nProof. {script} {end}\n```"


def exported(inside: str, before: str = "") -> str:
    """A response with an exported module."""
    return f"```coq\n{before} Module M. {inside} End M. Export M.\n```"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engine() -> AsyncIterator[Engine]:
    """An engine whose sandbox has this machine's Coq, under bubblewrap."""
    says = "Rocq is not checked here: install bubblewrap and coq"
    async with host_engine("coqc", "coqchk", says=says) as made:
        yield made


async def judged(engine: Engine, response: str, reference: Mapping[str, Any] = REFERENCE, **params: Any) -> Verdict:
    batch = Batch(samples=[Sample(response=response, reference=reference)], use=Use(name="rocq", params=params))
    return (await engine.verify(batch)).verdicts[0]


@pytest.mark.needs_server
@pytest.mark.asyncio(loop_scope="module")
async def test_the_cases_hold(engine: Engine) -> None:
    assert await failed_cases(engine, "rocq") == []


FUNCTOR = "Module Type E. End E. Module Empty. End Empty. Module F (X : E). {} End F. Module M := F Empty."
ATTACKS: dict[str, tuple[str, str]] = {
    # name: the attack, and its honest twin
    "an axiom": (
        proof("Axiom oops : False.", script="destruct oops."),
        proof("Lemma fine : True. exact I. Qed."),
    ),
    "a parameter": (
        proof("Parameter oops : forall P : Prop, P.", script="apply oops."),
        proof("Definition fine : forall P : Prop, P -> P := fun P p => p."),
    ),
    "a context": (
        proof("Context (oops : False).", script="destruct oops."),
        proof("Section s. Context (p : True). Lemma fine : True. exact p. Qed. End s."),
    ),
    "an admitted theorem": (proof(script="", end="Admitted."), proof()),
    "an admitted lemma": (
        proof("Lemma oops : False. Admitted.", script="destruct oops."),
        proof("Lemma oops : ~ False. intro f; exact f. Qed."),
    ),
    "give up": (proof(script="give_up.", end="Admitted."), proof("(* give_up. Admitted. *)")),
    "an attribute against the guard": (
        proof("#[bypass_check(guard)] Fixpoint f (n : nat) : False := f n.", script="destruct (f 0)."),
        proof("Fixpoint f (n : nat) : nat := match n with 0 => 0 | S k => f k end."),
    ),
    "an option against the guard": (
        proof("Unset Guard Checking. Fixpoint f (n : nat) : False := f n.", script="destruct (f 0)."),
        proof("Set Guard Checking. Fixpoint f (n : nat) : nat := match n with 0 => 0 | S k => f k end."),
    ),
    "an option against positivity": (
        proof(
            "Unset Positivity Checking. Inductive D : Prop := d : (D -> False) -> D."
            " Definition n : D -> False := fun x => match x as y return False with d f => f x end.",
            script="destruct (n (d n)).",
        ),
        proof("Inductive D : Prop := d : (False -> D) -> D."),
    ),
    "an option against universes": (
        proof("Unset Universe Checking. Definition t : Type := (Type : Type)."),
        proof("Definition t : Type := (Set : Type)."),
    ),
    "a global option against universes": (
        proof("Global Unset Universe Checking. Definition U : Set := Set."),
        proof("Definition U : Type := Set."),
    ),
    "another statement": (
        proof(statement="forall n m : nat, n + m = n + m", script="reflexivity."),
        proof(statement="forall n b : nat, n + b = b + n", script=PROOF.replace(" m", " b")),
    ),
    "a weaker statement": (
        proof(statement="forall n : nat, n + 0 = 0 + n", script="induction n; simpl; congruence."),
        proof(statement="forall (n : nat) (m : nat), Nat.add n m = Nat.add m n"),
    ),
    "a stronger premise": (
        proof(statement="False -> forall n m : nat, n + m = m + n", script="intros []."),
        proof(statement="forall n, forall m, n + m = m + n"),
    ),
    "a notation for the equation": (
        proof('Notation "a = b" := (True) : type_scope.', script="intros; exact I."),
        proof('Notation "a == b" := (a = b) (at level 70).', statement="forall n m : nat, n + m == m + n"),
    ),
    "another nat": (
        proof("Inductive nat := O. Definition add (a b : nat) := O.", "forall n m, add n m = add m n", "reflexivity."),
        proof("Definition add := Nat.add.", "forall n m, add n m = add m n"),
    ),
    "another equality": (
        proof(
            "Definition eq {A : Type} (a b : A) := True.",
            "forall n m : nat, eq (n + m) (m + n)",
            "exact (fun _ _ => I).",
        ),
        proof("Definition same := @eq nat.", "forall n m : nat, same (n + m) (m + n)", f"unfold same; {PROOF}"),
    ),
    "a coercion to the goal": (
        proof("Axiom oops : True -> forall n m : nat, n + m = m + n.", script="exact (oops I)."),
        proof("Definition id' (P : Prop) (p : P) := p.", script=f"apply id'. {PROOF}"),
    ),
    "only the name of a module": (
        "```coq\nModule answer. End answer.\n```",
        proof("Module other. End other."),
    ),
    "a module like the statement's": (
        "```coq\nModule Task. Module Verdict. Definition statement := True. End Verdict. End Task.\n"
        "Definition answer : True := I.\n```",
        proof("Module Task. Definition statement := True. End Task."),
    ),
    "no guard in a functor": (
        proof(
            FUNCTOR.format("#[bypass_check(guard)] Fixpoint f (n : nat) : False := f n."), script="destruct (M.f 0)."
        ),
        proof(FUNCTOR.format("Fixpoint f (n : nat) : True := match n with 0 => I | S k => f k end.")),
    ),
    "no positivity in a functor": (
        proof(
            FUNCTOR.format("#[bypass_check(positivity)] Inductive D : Prop := d : (D -> False) -> D.")
            + " Definition n : M.D -> False := fun x => match x as y return False with M.d f => f x end.",
            script="destruct (n (M.d n)).",
        ),
        proof(FUNCTOR.format("Inductive D : Prop := d : (False -> D) -> D.")),
    ),
    "no universes in a functor": (
        proof(FUNCTOR.format("#[bypass_check(universes)] Definition U : Set := Set.") + " Definition V := M.U."),
        proof(FUNCTOR.format("Definition U : Type := Set.") + " Definition V := M.U."),
    ),
    "an axiom in a functor": (
        proof(FUNCTOR.format("Axiom oops : False."), script="destruct M.oops."),
        proof(FUNCTOR.format("Lemma fine : True. exact I. Qed.")),
    ),
    "an axiom by inclusion": (
        proof("Module Type T. Axiom oops : False. End T. Module M. Include T. End M.", script="destruct M.oops."),
        proof("Module Type T. Definition fine := I. End T. Module M. Include T. End M."),
    ),
    "an axiom behind a sealed module": (
        proof(
            "Module Type T. Parameter p : False. End T. Module A : T. Axiom p : False. End A.", script="destruct A.p."
        ),
        proof("Module Type T. Parameter p : True. End T. Module A : T. Definition p := I. End A."),
    ),
    "a cast that the machine does not check": (
        proof(script="intros; vm_cast_no_check (eq_refl (n + m))."),
        proof("Lemma l : 2 + 2 = 4. vm_cast_no_check (eq_refl 4). Qed."),
    ),
    "a proof that is checked later": (
        proof("Require Import Lia.", script="exact_no_check I."),
        proof("Lemma l : True. exact_no_check I. Qed."),
    ),
    "the statement's coercion of propositions": (
        proof(
            "Definition cheat (P : Prop) : Prop := True. Coercion cheat : Sortclass >-> Sortclass.", script="exact I."
        ),
        proof("Definition fine (b : bool) : Prop := b = true. Coercion fine : bool >-> Sortclass."),
    ),
    "another meaning of the name": (
        proof().replace("answer", "other").replace("```coq", "```coq\nNotation answer := I."),
        proof("Notation other := I."),
    ),
    "the summary printed": (
        proof('Goal True. idtac "* Axioms: <none>". exact I. Qed. Axiom oops : False.', script="destruct oops."),
        proof('Goal True. idtac "* Axioms: <none>". exact I. Qed.'),
    ),
    "an axiom by its module's name": (
        proof(
            "Module Classical_Prop. Axiom classic : False. End Classical_Prop.",
            script="destruct Classical_Prop.classic.",
        ),
        proof("Module Classical_Prop. Definition classic := True. End Classical_Prop."),
    ),
    "an axiom in a module type": (
        proof("Module Type T. Axiom oops : False. End T. Declare Module M : T.", script="destruct M.oops."),
        proof("Module Type T. Axiom fine : True. End T. Module M : T. Definition fine := I. End M."),
    ),
    "an axiom of the library": (
        proof("Require Import Classical.", script=BY_CASES),
        proof("Require Import Classical Reals."),
    ),
    "an axiom of the library, with printing cut short": (
        proof("Require Import Classical. Global Set Printing Depth 1. Global Set Printing Width 2.", script=BY_CASES),
        proof("Global Set Printing Depth 1. Global Set Printing Width 2."),
    ),
    "an axiom of the library, with another of its name": (
        proof(
            "Require Import Classical. Module Classical_Prop. Definition classic := True. End Classical_Prop.",
            script=BY_CASES,
        ),
        proof("Module Logic. Module Classical_Prop. Definition classic := True. End Classical_Prop. End Logic."),
    ),
    "a module that is not the response's": (
        exported("Theorem answer : True. exact I. Qed.", "Definition answer := Nat.add_comm."),
        exported(f"Theorem answer : {STATEMENT}. Proof. {PROOF} Qed.", "Theorem answer : True. exact I. Qed."),
    ),
    "an axiom in an exported module": (
        exported(f"Axiom answer : {STATEMENT}."),
        exported(f"Lemma l : True. exact I. Qed. Theorem answer : {STATEMENT}. Proof. {PROOF} Qed."),
    ),
    "an abbreviation in an exported module": (
        exported("Notation answer := Nat.add_comm."),
        exported(f"Module N. Theorem answer : {STATEMENT}. Proof. {PROOF} Qed. End N. Export N."),
    ),
    "a plugin": (proof('Declare ML Module "none".'), proof("Require Import Lia.", script="lia.")),
    "another folder": (proof('Cd "/tmp".'), proof("Pwd.")),
    "an extracted library": (
        proof('Require Extraction. Extraction "Response.vo" nat. Cd "/tmp".'),
        proof('Require Extraction. Extraction "Response.ml" nat.'),
    ),
    "a file": (proof('Load "/etc/passwd".'), proof("(* Load *)")),
}

SOME = tuple(ATTACKS)[::5]
"""Every fifth attack, for the quick run."""


@pytest.mark.needs_server
@pytest.mark.parametrize("names", [SOME, pytest.param(tuple(ATTACKS), marks=pytest.mark.slow)], ids=["some", "all"])
@pytest.mark.asyncio(loop_scope="module")
async def test_an_attack_earns_nothing_and_its_twin_all(names: tuple[str, ...], engine: Engine) -> None:
    async def pair(name: str) -> tuple[str, Any, Any]:
        attack, twin = ATTACKS[name]
        return name, (await judged(engine, attack)).score, (await judged(engine, twin)).score

    found = await asyncio.gather(*map(pair, names))
    assert [one for one in found if one[1:] != (0.0, 1.0)] == []


@pytest.mark.needs_server
@pytest.mark.asyncio(loop_scope="module")
async def test_axioms_are_those_that_the_task_allows(engine: Engine) -> None:
    classical = proof("Require Import Classical.", script=BY_CASES)
    assert (await judged(engine, classical)).reason == "axiom"
    allowed = await judged(engine, classical, axioms=[CLASSICAL])
    assert (allowed.score, allowed.evidence["axioms"]) == (1.0, [CLASSICAL])
    assert (await judged(engine, classical, {**REFERENCE, "preamble": "Require Export Classical."})).score == 1.0
    admitted = proof("Require Import Classical. Lemma oops : False. Admitted.", script=BY_CASES)
    assert (await judged(engine, admitted, axioms=[CLASSICAL])).reason == "axiom"


PREAMBLE = (
    '(* Three. It ends here. *) Inductive tri := A | B (* "*). " *) | C. Axiom best : tri.\n'
    "Definition turn (t : tri) : tri := match t with A => B | B => C | C => A end."
)
TURNED = {"statement": "forall t, turn (turn (turn t)) = t", "preamble": PREAMBLE}


@pytest.mark.needs_server
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    ("before", "score"),
    [
        ("", 1.0),
        ("Inductive tri :=\n  A | B | C.\nAxiom best : tri.\n" + PREAMBLE.rpartition("\n")[2], 1.0),
        ("Inductive tri := A | B | C.\nDefinition turn (t : tri) : tri := t.", 0.0),
        ("Inductive tri := A.\nDefinition turn (t : tri) : tri := t.", 0.0),
        ("Axiom best : tri. Axiom worst : tri.", 0.0),
    ],
)
async def test_a_response_can_repeat_the_types_and_axioms_of_the_preamble(
    engine: Engine, before: str, score: float
) -> None:
    script = "destruct t; reflexivity."
    verdict = await judged(engine, proof(before, str(TURNED["statement"]), script), TURNED)
    assert (verdict.status, verdict.score) == ("scored", score), verdict.feedback


@pytest.mark.needs_server
@pytest.mark.asyncio(loop_scope="module")
async def test_a_reference_that_does_not_compile_or_turns_off_a_check_is_at_fault(engine: Engine) -> None:
    verdict = await judged(engine, proof(), {"statement": "forall n, n + = n"})
    assert (verdict.score, verdict.reason, verdict.fault) == (None, "invalid_reference", "reference")
    unsafe = {**REFERENCE, "preamble": "Unset Universe Checking. Definition U : Set := Set."}
    assert (await judged(engine, proof(), unsafe)).reason == "invalid_reference"


@pytest.mark.needs_server
@pytest.mark.asyncio(loop_scope="module")
async def test_a_proof_without_end_is_the_policys_time_out(engine: Engine) -> None:
    endless = "Eval vm_compute in (fix f (n : nat) := match n with 0 => 0 | S k => f k + f k end) 60."
    verdict = await judged(engine, proof(endless), cpu_s=2)
    assert (verdict.score, verdict.reason) == (0.0, "time_limit")
