"""From a reference and what a model wrote to the file that is elaborated."""

from __future__ import annotations

import pytest

from rewarden.errors import InvalidReference
from rewarden_verifiers.lean.assembly import Mode, whole_file
from rewarden_verifiers.lean.reference import LeanReference, read_reference

STATEMENT = "import Mathlib\nopen Real\n\ntheorem t (x : ℝ) : x = x := by sorry\n"


@pytest.mark.parametrize(
    "end", ["", " :=", " := by", " := sorry", " := by sorry", " := by\n  sorry", " := by\n", ":= by  sorry\n\n"]
)
def test_a_statement_may_end_in_any_way_in_which_datasets_end_it(end: str) -> None:
    found = read_reference(f"theorem t (x : ℝ) : x = x{end}", "import Mathlib")
    assert found.core == "theorem t (x : ℝ) : x = x"
    assert found.text == "import Mathlib\n\ntheorem t (x : ℝ) : x = x := sorry\n"
    assert found.header.imports == ("import Mathlib",)


def test_a_statement_with_its_proof_is_one_too() -> None:
    found = read_reference("theorem t (f : (a : Nat) → Nat := id) : p := by\n  simp\n", "")
    assert found.core == "theorem t (f : (a : Nat) → Nat := id) : p"
    assert found.text.endswith("simp")


@pytest.mark.parametrize("word", ["let", "have"])
@pytest.mark.parametrize("end", ["", " := by sorry", " := by\n  let y := 1\n  simp\n"])
def test_a_local_definition_in_a_statement_is_not_its_proof(word: str, end: str) -> None:
    found = read_reference(f"theorem t : {word} x := 1; x = 1{end}", "")
    assert found.core == f"theorem t : {word} x := 1; x = 1"


def test_what_stands_before_the_theorem_is_its_preamble() -> None:
    found = read_reference("import A\nopen Real\ndef d := 1\n@[simp]\ntheorem t : d = 1 := by sorry", "import B")
    assert found.preamble == "open Real\ndef d := 1"
    assert found.core == "@[simp]\ntheorem t : d = 1"
    assert found.declared == {"d"}


@pytest.mark.parametrize("end", [" := by sorry", " := by\n  sorry -- here", ""])
def test_a_theorems_comment_and_attributes_come_with_it(end: str) -> None:
    found = read_reference(f"open Real in\n/-- It is\nso. -/\n@[simp,\n ext]\ntheorem t : p{end}", "")
    assert found.preamble == "open Real in"
    assert found.core == "/-- It is\nso. -/\n@[simp,\n ext]\ntheorem t : p"


def test_modifiers_belong_to_their_theorem() -> None:
    found = read_reference("def d := 1\nprivate theorem t : p := sorry", "")
    assert found.core == "private theorem t : p"


@pytest.mark.parametrize(
    ("reference", "why"),
    [
        ("", "empty"),
        ("def f := 1", "no theorem"),
        ("-- theorem t : p", "no theorem"),
        ("x" * 1_000_001, "more than"),
    ],
)
def test_a_reference_that_states_nothing_is_the_references_fault(reference: str, why: str) -> None:
    with pytest.raises(InvalidReference, match=why):
        read_reference(reference, "")


def test_names_that_lean_could_not_write_are_refused() -> None:
    with pytest.raises(ValueError, match="theorems"):
        LeanReference(statement="theorem t : p", theorems=("t; axiom x",))


def made(submission: str, mode: Mode = "auto", reference: str | LeanReference = STATEMENT) -> tuple[str, str]:
    return whole_file(submission, read_reference(reference, ""), mode)


@pytest.mark.parametrize(
    ("proof", "ends"),
    [
        ("rfl", ":= by\n  rfl\n"),
        ("  intro x\n  rfl\n", ":= by\n  intro x\n  rfl\n"),
        ("by\n  rfl", ":= by\n  rfl\n"),
        (":= rfl", ":= rfl\n"),
        (":= by rfl", ":= by rfl\n"),
        ("by_contra h\nexact h", ":= by\n  by_contra h\n  exact h\n"),
    ],
)
def test_a_proof_alone_goes_behind_the_statement(proof: str, ends: str) -> None:
    text, how = made(proof)
    assert how == "proof"
    assert text == f"import Mathlib\n\nopen Real\n\ntheorem t (x : ℝ) : x = x {ends}"


def test_a_whole_file_keeps_its_own_preamble_and_gets_the_references_imports() -> None:
    text, how = made("import Mathlib\nimport Aesop\nset_option maxHeartbeats 9\ntheorem t (x : ℝ) : x = x := rfl")
    assert how == "file"
    assert text == "import Mathlib\n\nset_option maxHeartbeats 9\ntheorem t (x : ℝ) : x = x := rfl\n"


def test_a_theorem_by_itself_gets_what_stands_before_the_references_own() -> None:
    text, how = made("theorem t (x : ℝ) : x = x := rfl")
    assert how == "file"
    assert text == "import Mathlib\n\nopen Real\n\ntheorem t (x : ℝ) : x = x := rfl\n"


def test_definitions_are_not_made_twice() -> None:
    text, _ = made("def d := 1\ntheorem t : d = 1 := rfl", reference="def d := 1\ntheorem t : d = 1 := sorry")
    assert text.count("def d") == 1


@pytest.mark.parametrize(
    "text", ["lemma h : p := x\nexact h", "def t := 1", "private theorem u : p := x", "section\nx"]
)
def test_what_begins_with_a_declaration_is_a_file(text: str) -> None:
    assert made(text)[1] == "file"


def test_a_file_that_states_another_theorem_is_taken_as_a_file_when_that_was_asked_for() -> None:
    assert made("theorem other : p := x", mode="file")[1] == "file"


def test_where_several_theorems_are_asked_for_a_submission_is_a_file() -> None:
    both = LeanReference(statement="theorem a : p := sorry\ntheorem b : q := sorry", theorems=("a", "b"))
    text, how = made("theorem a : p := x\ntheorem b : q := y", reference=both)
    assert how == "file"
    assert text.strip() == "theorem a : p := x\ntheorem b : q := y"
