"""The axioms of a proof are read from the compiled file: every one by its exact name, whoever declares it."""

from __future__ import annotations

import pytest

from rewarden_verifiers.lean.inspection import names
from rewarden_verifiers.lean.inspection.axioms import rests
from rewarden_verifiers.lean.inspection.main import inspect
from tests.lean.inspected import Lean
from tests.lean.inspected import lean as lean

ASKED = "theorem asked (a : Nat) : Eq a a := sorry\n"


def test_axioms_are_found_through_helpers_definitions_and_types(lean: Lean) -> None:
    module = lean.read(
        "axiom one : Nat\naxiom two : Eq one 1\naxiom three : False\naxiom four : False\n"
        "noncomputable def f (_ : Eq one 1) : Nat := 0\n"
        "theorem help : Eq (f two) (f two) := rfl\n"
        "inductive I : Prop | mk : Eq (f two) 0 → I\n"
        "theorem asked (h : I) : Eq (f two) (f two) := help\n"
        "theorem through_a_type (h : I) : True := .intro\n"
        "theorem through_a_recursor : True := three.elim\n"
    )
    assert rests(module, ("asked",)).axioms == (("one",), ("two",))
    assert rests(module, ("through_a_type",)).axioms == (("one",), ("two",))
    assert rests(module, ("through_a_recursor",)).axioms == (("three",),)


def test_constants_of_imported_modules_are_listed_once(lean: Lean) -> None:
    said = lean.theorem(ASKED, "theorem asked (a : Nat) : Eq a a := Eq.symm rfl\n")
    assert said["reason"] is None
    assert said["axioms"] == []
    assert said["imported"] == ["Eq", "Eq.symm", "Nat", "rfl"]


REFUSED = {
    "sorry": ("theorem asked (a : Nat) : Eq a a := sorry\n", "sorry", []),
    "sorry in a helper": (
        "theorem help (a : Nat) : Eq a a := sorry\ntheorem asked (a : Nat) : Eq a a := help a\n",
        "sorry",
        [],
    ),
    "an axiom": (
        "axiom cheat (p : Prop) : p\ntheorem asked (a : Nat) : Eq a a := cheat _\n",
        "axiom_added",
        ["cheat"],
    ),
    "a name that only looks permitted": (
        "axiom «Quot.sound» (p : Prop) : p\ntheorem asked (a : Nat) : Eq a a := «Quot.sound» _\n",
        "axiom_added",
        ["«Quot.sound»"],
    ),
    "a permitted name in another namespace": (
        "axiom Mine.propext (p : Prop) : p\ntheorem asked (a : Nat) : Eq a a := Mine.propext _\n",
        "axiom_added",
        ["Mine.propext"],
    ),
    "a private axiom": (
        "private axiom cheat (p : Prop) : p\ntheorem asked (a : Nat) : Eq a a := cheat _\n",
        "axiom_added",
        ["_private.Main.0.cheat"],
    ),
    "an axiom as native_decide makes it": (
        "axiom asked._native.native_decide.ax_1 (a : Nat) : Eq a a\n"
        "theorem asked (a : Nat) : Eq a a := asked._native.native_decide.ax_1 a\n",
        "native_decide",
        ["asked._native.native_decide.ax_1"],
    ),
    "Lean's axiom of compiled code": (
        "axiom Lean.ofReduceBool (a : Nat) : Eq a a\ntheorem asked (a : Nat) : Eq a a := Lean.ofReduceBool a\n",
        "native_decide",
        ["Lean.ofReduceBool"],
    ),
}


@pytest.mark.parametrize("title", REFUSED)
def test_what_rests_on_more_than_is_permitted_is_refused(lean: Lean, title: str) -> None:
    submission, reason, axioms = REFUSED[title]
    said = lean.theorem(ASKED, submission)
    assert (said["reason"], said["axioms"]) == (reason, axioms)


def test_an_axiom_that_nothing_uses_does_not_count(lean: Lean) -> None:
    said = lean.theorem(ASKED, "axiom cheat : False\ntheorem asked (a : Nat) : Eq a a := rfl\n")
    assert (said["reason"], said["axioms"]) == (None, [])


def test_the_references_own_axioms_are_premises_unless_changed(lean: Lean) -> None:
    premise = "axiom given (a : Nat) : Eq a a\n"
    proof = "theorem asked (a : Nat) : Eq a a := given a\n"
    said = lean.theorem(premise + ASKED, premise + proof)
    assert (said["reason"], said["axioms"]) == (None, ["given"])
    said = lean.theorem(premise + ASKED, "axiom given {b : Nat} (a : Nat) : Eq b a\n" + proof)
    assert said["reason"] == "axiom_added"


def test_a_permitted_name_is_no_licence_to_declare_it(lean: Lean) -> None:
    own = "prelude\ninductive True : Prop | intro\n"
    reference = lean.compile("theorem asked : True := True.intro\n", header=own)
    cheat = lean.compile("axiom propext (p : Prop) : p\ntheorem asked : True := propext _\n", header=own)
    (said,) = inspect(reference, cheat, {"theorems": ["asked"], "permitted_axioms": ["propext"]})["theorems"]
    assert said["reason"] == "axiom_added"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (("Quot", "sound"), "Quot.sound"),
        (("Quot.sound",), "«Quot.sound»"),
        (("a", 1), "a.1"),
        (("a", "1"), "a.«1»"),
        (("a\nb",), "«a\\nb»"),
        (("a»", "b\\"), "«a\\»».«b\\\\»"),
        (("h'", "x?", "α₁", "_x"), "h'.x?.α₁._x"),
        (("",), "«»"),
        ((), "[anonymous]"),
    ],
)
def test_no_two_names_are_written_alike(name: names.Name, shown: str) -> None:
    assert names.text(name) == shown
    assert names.parse(shown) == name


@pytest.mark.parametrize("text", ["", ".", "a.", ".a", "a..b", "«a", "a»", "«a»b"])
def test_what_is_no_name_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a name"):
        names.parse(text)
