"""Lean's source as words."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarden_verifiers.lean.gate import refusals
from rewarden_verifiers.lean.reference import declarations
from rewarden_verifiers.lean.source import attributes, code, runs_code, split_header, suspects, tokens


def words(text: str) -> list[str]:
    return [token.text for token in code(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a -- sorry\nb", ["a", "b"]),
        ("a /- sorry /- axiom -/ sorry -/ b", ["a", "b"]),
        ("a /-- sorry -/ b", ["a", "b"]),
        ("a /- never closed sorry", ["a"]),
        ('x "sorry" y', ["x", "y"]),
        (r'x "\" sorry" y', ["x", "y"]),
        ('x r#"sorry " sorry"# y', ["x", "y"]),
        ("x '\"' y '\\'' z", ["x", "y", "z"]),
        ("h' x'.succ h₁", ["h'", "x'.succ", "h₁"]),
        ("«a sorry b».c", ["«a sorry b».c"]),
        ("#print axioms x", ["#print", "axioms", "x"]),
        ("h.1 3.14", ["h.1", "3.14"]),
        ("ℕ → α", ["ℕ", "→", "α"]),
    ],
)
def test_code_is_what_stands_in_no_comment_and_no_string(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        's!"{by axiom}"',
        's!"{f " }" ++ axiom ++ " { "}"',  # a string within the braces
        'def a := s!"{1 /- " -/}"\naxiom cheat : False\ndef b := s!"{1 /- " -/}"',
        'syntax "x--" : term\nexample : Nat := x-- axiom cheat : False',
        'syntax "x/-" : term\nexample : Nat := x/- axiom cheat : False',
        'syntax "x\\"" : term\nexample : Nat := x" axiom cheat : False',
        "example := f ''\"'\" axiom cheat : False -- \"",  # Mathlib's image, of a string
        "/-/- -/ axiom cheat : False",
        "def x := 1axiom cheat : False",
        "def x := 0b1axiom cheat : False",
        "example := h.1axiom cheat : False",
        'example := " axiom',
    ],
)
def test_what_may_be_code_by_some_reading_is_suspected(text: str) -> None:
    assert "axiom" in [token.text for token in suspects(text)]


@pytest.mark.parametrize(
    "text", ['theorem t : p := h "axiom" -- axiom\n', "theorem t : p := h -- an axiom", "x /- axiom -/"]
)
def test_comments_and_plain_strings_are_suspected_of_nothing(text: str) -> None:
    assert "axiom" not in [token.text for token in suspects(text)]


@pytest.mark.parametrize("unit", ["theorem x ", "prelude ", "«", "macro ", "/-", "r#", '"{', "@[a,", "import A\n", "'"])
def test_reading_takes_no_more_steps_than_the_text_has_letters(unit: str) -> None:
    def steps(text: str) -> int:
        count = 0

        def step(*_: object) -> None:
            nonlocal count
            count += 1

        sys.setprofile(step)
        try:
            list(refusals(text))
            split_header(text)
            declarations(text)
            runs_code(text)
        finally:
            sys.setprofile(None)
        return count

    assert steps(unit * 400) < 3 * steps(unit * 200)


@given(st.text(alphabet="ab \"'/-{}[]@#.«»\\rn\n→₁", max_size=60))
def test_tokens_cover_every_text_in_order(text: str) -> None:
    at = 0
    for token in tokens(text):
        assert at <= token.start < token.end
        assert not text[at : token.start].strip()
        at = token.end
    assert not text[at:].strip()


@pytest.mark.parametrize(
    ("text", "imports", "rest"),
    [
        ("import Mathlib\nopen Real\n", ("import Mathlib",), "\nopen Real\n"),
        ("-- a\n/- b -/ import A\nimport B.C\n\ntheorem t", ("import A", "import B.C"), "\n\ntheorem t"),
        ("prelude\nimport A x", ("prelude", "import A"), " x"),
        ("module\n\npublic import all A\nmeta import B", ("module", "public import all A", "meta import B"), ""),
        ("import A\nimport A", ("import A",), ""),
        ("theorem t : True := trivial\nimport A", (), "theorem t : True := trivial\nimport A"),
        ("import", (), "import"),
        ("", (), ""),
        ("import A /- import B -/ import «C D».E\nx", ("import A", "import «C D».E"), "\nx"),
    ],
)
def test_the_header_is_the_imports_and_ends_where_the_first_command_begins(
    text: str, imports: tuple[str, ...], rest: str
) -> None:
    header = split_header(text)
    assert header.imports == imports
    assert text[header.body :] == rest


def test_a_header_names_its_modules() -> None:
    assert split_header("prelude\npublic import all A.B\nimport C").modules == ("A.B", "C")


@pytest.mark.parametrize(
    "text",
    [
        "#eval 1",
        "run_cmd skip",
        "example : True := by run_tac skip",
        'elab "x" : tactic => skip',
        'macro "x" : tactic => skip',
        "initialize x : Nat ← pure 1",
        "unsafe def f := 1",
        "theorem t : p := by native_decide",
        "theorem t : p := by Lean.Elab.run_tac x",
        "@[command_elab foo] def f := 1",
        "@[simp, init f] def g := 1",
        "attribute [local simp, tactic foo] f",
        "@[my_own] def f := 1",
    ],
)
def test_what_may_run_code_of_its_own_is_known(text: str) -> None:
    assert runs_code(text)


@pytest.mark.parametrize(
    "text",
    [
        "theorem t : True := trivial -- #eval",
        "@[simp] theorem t (xs : List Nat) (h : xs[0] = 1) : True := trivial",
        "@[simp, norm_cast] lemma t : True := by simp [foo, bar]",
        "attribute [local simp] foo\nopen Real in\ntheorem t : x ∈ [a, b] := by decide",
        'local notation "ℝ²" => Fin 2 → ℝ',
    ],
)
def test_honest_proofs_run_none(text: str) -> None:
    assert not runs_code(text)


def test_attributes_are_named_wherever_they_stand() -> None:
    text = "@[simp, to_additive (attr := simp) foo] theorem t : a[0] = 1 := x\nattribute [local ext] u"
    assert [token.text for token in attributes(list(suspects(text)))] == ["simp", "to_additive", "ext"]
