"""A submission proves the required theorem if its statement is the same term, made of the same definitions."""

from __future__ import annotations

import pytest

from tests.lean.inspected import Lean
from tests.lean.inspected import lean as lean

ASKED = "theorem asked (a b : Nat) (h : Eq a b) : Eq b a := sorry\n"

PROVED = "theorem asked (a b : Nat) (h : Eq a b) : Eq b a := Eq.symm h\n"

DEFINED = """
def twice (n : Nat) : Nat := Nat.add n n
inductive Colour | red | green
structure Point where
  x : Nat
  y : Nat
class Sized (α : Type) where
  size : α → Nat
instance : Sized Colour := ⟨fun _ => 1⟩
def sized {α : Type} [Sized α] (a : α) : Nat := Sized.size a
def pred : Nat → Nat
  | .zero => .zero
  | .succ n => n
"""

ABOUT = "theorem asked (p : Point) (c : Colour) : Eq (twice (pred (sized c))) (twice p.x) := sorry\n"


HONEST = {
    "as asked": (ASKED, PROVED),
    "other binders": (ASKED, "theorem asked {x y : Nat} (eq : Eq x y) : Eq y x := Eq.symm eq\n"),
    "with helpers": (
        ASKED,
        "theorem help (a b : Nat) (h : Eq a b) : Eq b a := Eq.symm h\n"
        "def unrelated : Nat := 7\n"
        "theorem asked (a b : Nat) (h : Eq a b) : Eq b a := help a b h\n",
    ),
    "with private helpers": (
        ASKED,
        "private theorem help (a b : Nat) (h : Eq a b) : Eq b a := Eq.symm h\n"
        "theorem asked (a b : Nat) (h : Eq a b) : Eq b a := help a b h\n",
    ),
    "other universe names": (
        "universe u v\ntheorem asked (α : Sort u) (β : Sort v) (a : α) (b : β) : Eq a a := sorry\n",
        "universe w z\ntheorem asked (α : Sort w) (β : Sort z) (a : α) (b : β) : Eq a a := rfl\n",
    ),
    "universes in another order": (
        "theorem asked (β : Type v) (α : Type u) (f : α → β) : Eq f f := sorry\n",
        "universe u v\ntheorem asked (β : Type v) (α : Type u) (f : α → β) : Eq f f := rfl\n",
    ),
    "own definitions": (DEFINED + ABOUT, DEFINED + ABOUT),
    "definitions in another order": (
        "def one : Nat := 1\ndef two : Nat := 2\ntheorem asked : Eq one two := sorry\n",
        "def two : Nat := 2\ndef one : Nat := 1\ntheorem asked : Eq one two := sorry\n",
    ),
    "another made-up name": (  # the first match of a kind gives its name to all
        "def f (n : Nat) : Nat := match n with | .zero => 1 | .succ m => m\ntheorem asked : Eq (f 1) 0 := sorry\n",
        "def help (n : Nat) : Nat := match n with | .zero => 0 | .succ m => m\n"
        "def f (n : Nat) : Nat := match n with | .zero => 1 | .succ m => m\ntheorem asked : Eq (f 1) 0 := sorry\n",
    ),
    "axioms are premises": ("axiom p : False\n" + ASKED, "axiom p : False\n" + PROVED),
    "a definition to be filled in": (
        "noncomputable def answer : Nat := sorry\ntheorem asked : Eq answer 2 := sorry\n",
        "def answer : Nat := 2\ntheorem asked : Eq answer 2 := rfl\n",
    ),
}


@pytest.mark.parametrize("title", HONEST)
def test_what_is_the_same_is_found_the_same(lean: Lean, title: str) -> None:
    reference, submission = HONEST[title]
    said = lean.theorem(reference, submission, permitted_axioms=["sorryAx", "p"])
    assert said["found"]
    assert (said["reason"], said["feedback"]) == (None, None)


ATTACKS = {
    # title: (reference, submission, reason, the constant that differs)
    "no such theorem": (
        ASKED,
        "theorem other (a b : Nat) (h : Eq a b) : Eq b a := Eq.symm h\n",
        "theorem_missing",
        None,
    ),
    "a name that only looks so": (ASKED, PROVED.replace("asked", "«asked\\n»"), "theorem_missing", None),
    "dots inside one component": (
        ASKED.replace("asked", "a.sked"),
        PROVED.replace("asked", "«a.sked»"),
        "theorem_missing",
        None,
    ),
    "an axiom": (ASKED, "axiom asked (a b : Nat) (h : Eq a b) : Eq b a\n", "kind_changed", "asked"),
    "a definition": (ASKED, PROVED.replace("theorem", "def"), "kind_changed", "asked"),
    "opaque": (ASKED, PROVED.replace("theorem", "opaque"), "kind_changed", "asked"),
    "unsafe": (ASKED, PROVED.replace("theorem", "unsafe def"), "kind_changed", "asked"),
    "another conclusion": (
        ASKED,
        "theorem asked (a b : Nat) (h : Eq a b) : Eq a b := h\n",
        "statement_changed",
        "asked",
    ),
    "one premise more": (
        ASKED,
        "theorem asked (a b : Nat) (h : Eq a b) (no : False) : Eq b a := no.elim\n",
        "statement_changed",
        "asked",
    ),
    "one premise less": (
        "theorem asked (a b : Nat) (h : Eq a b) : Eq a a := sorry\n",
        "theorem asked (a b : Nat) : Eq a a := rfl\n",
        "statement_changed",
        "asked",
    ),
    "another number": (
        "theorem asked : Eq (2 : Nat) 3 := sorry\n",
        "theorem asked : Eq (2 : Nat) 2 := rfl\n",
        "statement_changed",
        "asked",
    ),
    "a greater universe": (
        "theorem asked.{u, v, w} (α : Type u) (β : Type v) (f : α → β) (g : Sort w) : Eq f f := sorry\n",
        "theorem asked.{v, u, w} (α : Type v) (β : Type u) (f : α → β) (g : Sort (max u w)) : Eq f f := rfl\n",
        "statement_changed",
        "asked",
    ),
    "a smaller universe": (
        "universe u\ntheorem asked (α : Type u) (a : α) : Eq a a := sorry\n",
        "theorem asked (α : Type) (a : α) : Eq a a := rfl\n",
        "statement_changed",
        "asked",
    ),
    "a universe that is less general": (
        "universe u v\ntheorem asked (α : Type u) (β : Type v) (a : α) (b : β) : Eq a a := sorry\n",
        "universe u v\ntheorem asked (α : Type u) (β : Type u) (γ : Type v) (a : α) (b : β) : Eq a a := rfl\n",
        "statement_changed",
        "asked",
    ),
    "universes at other places": (
        "theorem asked.{u, v} (α : Type u) (β : Type v) (f : α → β) : Eq f f := sorry\n",
        "theorem asked.{u, v} (α : Type v) (β : Type u) (f : α → β) : Eq f f := rfl\n",
        "statement_changed",
        "asked",
    ),
    "an implicit hypothesis through `variable`": (
        ASKED,
        "variable (no : False)\ntheorem asked (a b : Nat) (h : Eq a b) : Eq b a := no.elim\n".replace(
            "theorem asked", "include no\ntheorem asked"
        ),
        "statement_changed",
        "asked",
    ),
    "a namespace of its own": (
        ASKED,
        "namespace Mine\ninductive Eq {α : Type} : α → α → Prop | any (a b : α) : Eq a b\nend Mine\nopen Mine in\n"
        "theorem asked (a b : Nat) (h : Mine.Eq a b) : Mine.Eq b a := .any _ _\n",
        "shadowed_name",
        "Mine.Eq",
    ),
    "an instance of its own": (
        "theorem asked : Eq (2 : Nat) 3 := sorry\n",
        "instance mine (n : Nat) : OfNat Nat n where\n  ofNat := Nat.zero\ntheorem asked : Eq (2 : Nat) 3 := rfl\n",
        "shadowed_name",
        "mine",
    ),
    "a definition changed": (
        DEFINED + ABOUT,
        DEFINED.replace("Nat.add n n", "0") + ABOUT,
        "definition_changed",
        "twice",
    ),
    "an instance changed": (
        DEFINED + ABOUT,
        DEFINED.replace("fun _ => 1", "fun _ => 2") + ABOUT,
        "definition_changed",
        "instSizedColour",
    ),
    "a match changed, behind a made-up name": (
        DEFINED + ABOUT,
        DEFINED.replace("  | .zero => .zero\n  | .succ n => n", "  | .zero => .zero\n  | .succ _ => .zero") + ABOUT,
        "definition_changed",
        "pred",
    ),
    "a constructor more": (
        DEFINED + ABOUT,
        DEFINED.replace("| green", "| green | blue") + ABOUT,
        "definition_changed",
        "Colour",
    ),
    "a field's type changed": (
        DEFINED + ABOUT.replace("twice p.x", "twice p.x"),
        DEFINED.replace("y : Nat", "y : Unit") + ABOUT,
        "definition_changed",
        "Point.mk",
    ),
    "a definition turned into an axiom": (
        DEFINED + ABOUT,
        DEFINED.replace("def twice (n : Nat) : Nat := Nat.add n n", "axiom twice (n : Nat) : Nat").replace(
            "def pred", "noncomputable def pred"
        )
        + ABOUT,
        "definition_changed",
        "twice",
    ),
    "a definition made opaque": (
        "instance : Inhabited Nat := ⟨0⟩\ndef f (n : Nat) : Nat := n\ntheorem asked : Eq (f 1) 1 := sorry\n",
        "instance : Inhabited Nat := ⟨0⟩\nopaque f (n : Nat) : Nat := n\ntheorem asked : Eq (f 1) 1 := sorry\n",
        "definition_changed",
        "f",
    ),
    "the type of a definition to be filled in": (
        "noncomputable def answer : Nat := sorry\ntheorem asked : Eq answer answer := sorry\n",
        "def answer : Unit := .unit\ntheorem asked : Eq answer answer := rfl\n",
        "statement_changed",
        "asked",
    ),
}


@pytest.mark.parametrize("title", ATTACKS)
def test_what_differs_is_refused_with_its_reason(lean: Lean, title: str) -> None:
    reference, submission, reason, differs = ATTACKS[title]
    said = lean.theorem(reference, submission, name="a.sked" if "dots" in title else "asked")
    assert said["reason"] == reason
    assert said["difference"] in (differs, f"_private.Main.0.{differs}")


def test_a_definition_that_only_the_proof_uses_may_be_another(lean: Lean) -> None:
    reference = "def help : Nat := 1\ntheorem asked : True := sorry\n"
    assert lean.theorem(reference, "def help : Nat := 2\ntheorem asked : True := .intro\n")["reason"] is None


def test_definitions_are_compared_on_demand(lean: Lean) -> None:
    reference = "def help : Nat := 1\ndef deep : Nat := help\ntheorem asked : True := sorry\n"
    changed = "def help : Nat := 2\ndef deep : Nat := help\ntheorem asked : True := .intro\n"
    (said,) = lean.findings(reference, changed, definitions=["deep"])["definitions"]
    assert (said["reason"], said["difference"]) == ("definition_changed", "help")
    (said,) = lean.findings(reference, reference, definitions=["deep"])["definitions"]
    assert said["reason"] is None


def test_the_feedback_shows_both_statements(lean: Lean) -> None:
    said = lean.theorem(ASKED, "theorem asked (a b : Nat) (h : Eq a b) : Eq a b := h\n")
    assert "asked for: theorem asked : ∀ (a : Nat) (b : Nat), a = b → b = a" in said["feedback"]
    assert "submitted: theorem asked : ∀ (a : Nat) (b : Nat), a = b → a = b" in said["feedback"]


def test_an_open_definition_is_named(lean: Lean) -> None:
    reference, submission = HONEST["a definition to be filled in"]
    assert lean.theorem(reference, submission)["holes"] == ["answer"]
