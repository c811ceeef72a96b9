"""The inspection's program: files and a question in, findings out; it needs only Python and its own folder."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rewarden_verifiers.lean.inspecting import _MAIN, _program
from rewarden_verifiers.lean.inspection.main import Inspection, inspect
from rewarden_verifiers.lean.inspection.olean import read
from rewarden_verifiers.lean.inspection.same import Comparison, TooLarge
from rewarden_verifiers.lean.inspection.terms import Constant, Module
from tests.lean.inspected import HEADER, PERMITTED, Lean
from tests.lean.inspected import lean as lean
from tests.lean.toolchain import Library

ASKED = "theorem asked (a b : Nat) (h : Eq a b) : Eq b a := sorry\n"
PROVED = "theorem asked (a b : Nat) (h : Eq a b) : Eq b a := Eq.symm h\n"


def room(
    folder: Path, lean: Lean, reference: str = ASKED, submission: str = PROVED, header: str = HEADER, **question: Any
) -> dict[str, Any]:
    """Runs the program as a room does: in another process, without packages other than its folder."""
    for name, data in _program().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    (folder / "main.py").write_text(_MAIN)
    (folder / "reference.olean").write_bytes(lean.compile(reference, header=header))
    (folder / "submission.olean").write_bytes(lean.compile(submission, header=header))
    (folder / "question.json").write_text(json.dumps(question))
    ended = subprocess.run(
        [sys.executable, "-I", "-c", _START], cwd=folder, capture_output=True, text=True, timeout=300
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.splitlines() == (["imports: loading", "imports: loaded"] if question.get("replay") else [])
    said: dict[str, Any] = json.loads(ended.stdout)
    return said


_START = "import sys; sys.path.insert(0, '.'); exec(open('main.py').read())"


def test_it_runs_with_only_its_own_folder(lean: Lean, tmp_path: Path) -> None:
    said = room(tmp_path, lean, theorems=["asked"], permitted_axioms=PERMITTED)
    assert said["malformed"] is None
    assert said["theorems"] == [
        {
            "name": "asked",
            "found": True,
            "reason": None,
            "feedback": None,
            "difference": None,
            "axioms": [],
            "imported": ["Eq", "Eq.symm", "Nat"],
            "uses": [],
            "steps": [],
            "holes": [],
            "unsafe": [],
        }
    ]
    assert said["replay"]["status"] == "off"


def test_the_kernel_has_the_last_word(lean: Lean, library: Library, tmp_path: Path) -> None:
    libraries = str(library.toolchain / "lib" / "lean")
    said = room(tmp_path, lean, replay=True, toolchain=str(library.toolchain), path=[str(library.built), libraries])
    assert said["replay"]["status"] == "accepted", said["replay"]


def test_private_constants_are_reported_by_what_they_use(lean: Lean, library: Library, tmp_path: Path) -> None:
    """A library's private instance that rests on an axiom, and one that does not."""
    header = "prelude\nimport Base.Extra\n"
    reference = "theorem cheat : False := sorry\ntheorem fair : True := sorry\n"
    submission = "theorem cheat : False := Base.Given.proof\ntheorem fair : True := Base.Given.proof\n"
    path = [str(library.built), str(library.toolchain / "lib" / "lean")]
    asked = {"replay": True, "toolchain": str(library.toolchain), "path": path}
    said = room(tmp_path, lean, reference, submission, header, **asked)
    assert said["replay"]["status"] == "accepted", said["replay"]
    imported = {theorem["name"]: theorem["imported"] for theorem in said["theorems"]}
    assert "Base.cheat" in imported["cheat"]
    assert "True.intro" in imported["fair"]
    assert "Base.cheat" not in imported["fair"]
    assert "_private" not in str(imported)


def test_without_a_theorem_the_kernel_is_not_asked(lean: Lean) -> None:
    said = lean.findings(ASKED, "axiom asked : False\n", replay=True, toolchain="/nowhere")
    assert said["replay"]["status"] == "off"


def test_without_names_all_stated_theorems_are_asked(lean: Lean) -> None:
    reference = (
        "structure Point where\n  x : Nat\n  y : Nat\n"
        "def add : Nat → Nat → Nat\n  | m, .zero => m\n  | m, .succ n => .succ (add m n)\n"
        "theorem one : True := sorry\nnamespace Point\ntheorem two : True := sorry\nend Point\n"
        "private theorem three : True := sorry\n"
    )
    asked = [theorem["name"] for theorem in lean.findings(reference, reference)["theorems"]]
    assert sorted(asked) == ["Point.two", "_private.Main.0.three", "one"]


def test_without_names_theorems_that_the_reference_has_proved_are_not_asked(lean: Lean) -> None:
    reference = "theorem help : True := .intro\ntheorem asked : True := help\ntheorem left : True := sorry\n"
    said = lean.findings(reference, "theorem left : True := .intro\n")
    assert [(theorem["name"], theorem["reason"]) for theorem in said["theorems"]] == [("left", None)]


def test_a_theorem_that_the_reference_does_not_state_is_not_found_proved(lean: Lean) -> None:
    """Its full name has a namespace. Nothing shows that what the submission calls `asked` is the same theorem."""
    reference = "namespace Far\ntheorem asked (p : Prop) : p := sorry\nend Far\n"
    assert lean.theorem(reference, "theorem asked : True := .intro\n")["reason"] == "not_in_reference"


def test_the_submissions_own_imports_are_not_loaded(lean: Lean, library: Library) -> None:
    reference = lean.compile("theorem asked : True := .intro\n", header="prelude\nimport Base\nimport Base.Extra\n")
    question = {"theorems": ["asked"], "replay": True, "toolchain": str(library.toolchain), "path": []}
    said = inspect(reference, lean.compile("theorem asked : True := .intro\n"), question)
    assert (said["imports_differ"], said["replay"]["status"]) == (True, "off")


def test_files_beyond_the_memory_limit_are_too_large(lean: Lean, monkeypatch: pytest.MonkeyPatch) -> None:
    def fill(data: bytes) -> Module:
        raise MemoryError

    whole = lean.compile(PROVED)
    monkeypatch.setattr("rewarden_verifiers.lean.inspection.main.read", fill)
    assert inspect(None, whole, {})["too_large"]


def test_each_theorem_has_its_own_findings(lean: Lean) -> None:
    reference = "theorem one : True := sorry\ntheorem two : True := sorry\ntheorem three : True := sorry\n"
    said = lean.findings(reference, "theorem one : True := .intro\ntheorem two : True := sorry\n")
    reasons = {theorem["name"]: theorem["reason"] for theorem in said["theorems"]}
    assert reasons == {"one": None, "two": "sorry", "three": "theorem_missing"}


def test_without_a_reference_the_axioms_are_reported(lean: Lean) -> None:
    said = lean.theorem(None, "axiom cheat : False\ntheorem asked : False := cheat\n")
    assert (said["reason"], said["axioms"]) == ("axiom_added", ["cheat"])
    assert lean.theorem(None, PROVED)["reason"] is None


def test_a_file_that_lean_did_not_write_is_attributed_to_its_author(lean: Lean) -> None:
    whole = lean.compile(PROVED)
    assert inspect(whole, b"forged", {})["malformed"] == "not an .olean file"
    assert inspect(whole, whole[:-8], {})["malformed"]
    said = inspect(b"forged", whole, {})
    assert (said["malformed"], said["reference_malformed"]) == (None, "not an .olean file")


def test_a_file_of_the_module_system_is_refused_with_a_message(lean: Lean) -> None:
    text = "public inductive True : Prop | intro\npublic theorem asked : True := .intro\n"
    reference = lean.compile(text.replace("public ", ""), header="prelude\n")
    (said,) = inspect(reference, lean.compile(text, header="module\nprelude\n"), {"theorems": ["asked"]})["theorems"]
    assert said["reason"] == "module_header"


def test_imports_that_differ_from_the_references_are_reported(lean: Lean) -> None:
    reference = lean.compile("theorem asked : True := .intro\n", header="prelude\nimport Base\nimport Base.Extra\n")
    said = inspect(reference, lean.compile("theorem asked : True := .intro\n"), {"theorems": ["asked"]})
    assert said["imports_differ"]


def test_an_axiom_of_an_imported_module_is_left_to_the_caller(lean: Lean) -> None:
    header = "prelude\nimport Base.Extra\n"
    reference = lean.compile("theorem asked : False := sorry\n", header=header)
    cheat = lean.compile("theorem asked : False := Base.everything False\n", header=header)
    (said,) = inspect(reference, cheat, {"theorems": ["asked"]})["theorems"]
    assert (said["axioms"], said["imported"]) == ([], ["Base.everything", "False"])


def test_replaced_implementations_of_compiled_code_are_reported(lean: Lean) -> None:
    submission = "def evil : Nat := 7\n@[implemented_by evil] def one : Nat := 1\ntheorem asked : True := .intro\n"
    assert lean.findings(None, submission)["overrides"] == ["implemented_by"]
    assert lean.findings(None, PROVED)["overrides"] == []


PLAN = """
theorem first (a b c : Nat) (h : Eq a b) (k : Eq b c) : Eq b a := sorry
theorem second (a b c : Nat) (h : Eq a b) (k : Eq b c) : Eq c b := sorry
theorem third (a b c : Nat) (h : Eq a b) (k : Eq b c) : Eq a 7 := sorry
theorem asked (a b c : Nat) (h : Eq a b) (k : Eq b c) : Eq c a := sorry
"""

LEMMAS = ["first", "second", "third"]

BY_NAME = """
theorem first (a b c : Nat) (h : Eq a b) (k : Eq b c) : Eq b a := h.symm
theorem second (a b c : Nat) (h : Eq a b) (k : Eq b c) : Eq c b := k.symm
theorem third (a b c : Nat) (h : Eq a b) (k : Eq b c) : Eq a 7 := sorry
theorem asked (a b c : Nat) (h : Eq a b) (k : Eq b c) : Eq c a := (second a b c h k).trans (first a b c h k)
"""

IN_STEPS = """
theorem asked (x y z : Nat) (h : Eq x y) (k : Eq y z) : Eq z x :=
  have one : Eq y x := h.symm
  have two : Eq z y := k.symm
  two.trans one
"""


def test_lemmas_that_the_proof_reaches_count(lean: Lean) -> None:
    said = lean.theorem(PLAN, BY_NAME, lemmas=LEMMAS)
    assert (said["reason"], said["uses"], said["steps"]) == (None, ["first", "second"], [])


def test_steps_that_state_a_lemma_count(lean: Lean) -> None:
    said = lean.theorem(PLAN, IN_STEPS, lemmas=LEMMAS)
    assert (said["reason"], said["uses"], said["steps"]) == (None, ["first", "second"], ["first", "second"])


def test_a_step_with_its_own_binders_states_the_whole_lemma(lean: Lean) -> None:
    submission = IN_STEPS.replace(
        "have one : Eq y x := h.symm",
        "have all : ∀ a b c : Nat, Eq a b → Eq b c → Eq b a := fun _ _ _ h _ => h.symm\n  have one := all x y z h k",
    )
    assert lean.theorem(PLAN, submission, lemmas=["first"])["steps"] == ["first"]


def test_a_lemma_whose_statement_was_changed_does_not_count(lean: Lean) -> None:
    changed = (
        "theorem first (a b c : Nat) (h : Eq a b) (k : Eq b c) : Eq a a := rfl\n"
        "theorem asked (a b c : Nat) (h : Eq a b) (k : Eq b c) : Eq c a :=\n"
        "  (k.symm.trans h.symm).trans (first a b c h k)\n"
    )
    said = lean.theorem(PLAN, changed, lemmas=LEMMAS)
    assert (said["reason"], said["uses"]) == (None, [])


def test_a_premise_of_the_theorem_is_not_a_step(lean: Lean) -> None:
    plan = PLAN + "theorem fourth (a b : Nat) : Eq a b := sorry\n"
    proof = "theorem asked (a b c : Nat) (h : Eq a b) (k : Eq b c) : Eq c a := k.symm.trans h.symm\n"
    assert lean.theorem(plan, proof, lemmas=["fourth"])["uses"] == []


def test_a_step_about_one_variable_is_not_a_lemma_about_two(lean: Lean) -> None:
    submission = "theorem asked (a b c : Nat) (h : Eq a b) (k : Eq b c) : Eq c a :=\n"
    submission += "  have _one : Eq a a := rfl\n  k.symm.trans h.symm\n"
    assert lean.theorem(PLAN, submission, lemmas=["first"])["uses"] == []


def test_a_definition_outside_the_logic_is_reported() -> None:
    exprs = (("sort", 0), ("const", ("bad",), ()))
    bad = Constant(name=("bad",), kind="definition", level_params=(), type=0, value=0, safety="unsafe", hints="opaque")
    theorem = Constant(name=("asked",), kind="theorem", level_params=(), type=0, value=1)
    module = Module(levels=(("zero",),), exprs=exprs, constants={("bad",): bad, ("asked",): theorem})
    (said,) = Inspection(None, module, {}).findings()["theorems"]
    assert (said["reason"], said["unsafe"]) == ("unsafe_code", ["bad"])


def test_terms_shared_as_no_elaborator_would_are_too_large_to_compare() -> None:
    """Thousands of made-up constants, each with its own universe parameters, over one large term."""
    exprs: list[tuple[Any, ...]] = [("sort", 0)]
    exprs += [("app", at, at) for at in range(500)]
    constants = {}
    for number in range(200):
        name = (f"_{number}",)
        params = ((f"u{number}",),)
        constants[name] = Constant(name=name, kind="definition", level_params=params, type=0, value=500, hints="opaque")
        exprs.append(("const", name, (0,)))
        exprs.append(("app", len(exprs) - 1, len(exprs) - 2))
    asked = Constant(name=("asked",), kind="theorem", level_params=(), type=len(exprs) - 1, value=0)
    module = Module(levels=(("zero",),), exprs=tuple(exprs), constants={**constants, ("asked",): asked})
    with pytest.raises(TooLarge):
        Comparison(module, module, steps=50_000).theorem(("asked",))


def test_the_library_compares_equal_to_itself(library: Library) -> None:
    module = read((library.built / "Base.olean").read_bytes())
    comparison = Comparison(module, module)
    names = [name for name, constant in module.constants.items() if constant.kind == "theorem"]
    assert len(names) > 20
    assert [name for name in names if comparison.theorem(name) is not None] == []
