"""Texts that are refused before Lean sees them, each with its own reason, and the honest twins that are not."""

from __future__ import annotations

import pytest

from rewarden_verifiers.lean.gate import refusals


def reason(text: str, **options: bool) -> str | None:
    found = next(refusals(text, **options), None)
    return None if found is None else found.reason


@pytest.mark.parametrize(
    ("attack", "why", "twin"),
    [
        ("theorem t : p := sorry", "sorry", "theorem t : p := h -- no sorry\n"),
        ("theorem t : p := by admit", "sorry", 'theorem t : p := by simp ["admit"]'),
        ("theorem t : p := sorryAx p", "sorry", "theorem sorry_free : p := h"),
        ("theorem t : p := Lean.sorryAx p", "sorry", "theorem t : p := admitted"),
        ('theorem t : p := h s!"{by sorry}"', "sorry", 'theorem t : p := h "sorry"'),
        ("theorem t : p := by native_decide", "native_decide", "theorem t : p := by decide"),
        ("theorem t : p := by decide +native", "native_decide", "theorem t : p := by decide +kernel"),
        ("theorem t : p := by decide (config := {native := true})", "native_decide", "def native : Nat := 1"),
        ("theorem t : p := Lean.ofReduceBool a b h", "native_decide", "theorem t : p := of_reduce h"),
        ("axiom cheat : False", "axiom_added", "theorem axiomatic : True := trivial"),
        ("@[simp] axiom cheat : False", "axiom_added", "-- axiom\ntheorem t : True := trivial"),
        ("private axiom cheat : False", "axiom_added", "theorem axiom' : True := trivial"),
        ("set_option debug.skipKernelTC true", "option_changed", "set_option maxHeartbeats 0"),
        ("set_option\n  debug.skipKernelTC true in\ntheorem t", "option_changed", "set_option pp.all true"),
        ("set_option weak.debug.skipKernelTC true", "option_changed", "set_option weak.linter.all true"),
        ("set_option «debug».skipKernelTC true", "option_changed", "set_option autoImplicit true"),
        ("set_option compiler.foo true", "option_changed", "set_option synthInstance.maxHeartbeats 1 in"),
        ("set_option warn.sorry false", "option_changed", "set_option warn.classDefReducibility false"),
        ("set_option", "option_changed", "set_option maxRecDepth 9"),
        ("#eval IO.println 1", "elaboration_code", "#check Nat"),
        ("theorem t : p := by run_tac x", "elaboration_code", "theorem t : p := by exact h"),
        ("run_cmd x", "elaboration_code", "theorem run_cmd' : p := h"),
        ("initialize x : Nat ← y", "elaboration_code", "theorem initialized : p := h"),
        ('elab "x" : tactic => y', "elaboration_code", "theorem elaborated : p := h"),
        ("unsafe def f := 1", "elaboration_code", "def unsafe' := 1"),
        ("@[command_elab x] def f := y", "elaboration_code", "@[simp] theorem f : p := y"),
        ("attribute [tactic x] f", "elaboration_code", "attribute [local simp] f"),
        ("@[init] def f := y", "elaboration_code", "@[reducible] def init := y"),
        ("@[implemented_by g] def f := 1", "compiler_override", "def implemented_by := 1"),
        ('@[extern "c"] def f := 1', "compiler_override", "theorem t (extern : p) : p := extern"),
        ('syntax "#print" "axioms" ident : command', "overridden_command", 'syntax "foo" term : term'),
        ('macro "theorem" x:ident : command => `(def $x := 1)', "overridden_command", 'macro "foo" : tactic => `(x)'),
        ("macro_rules | `(#print axioms $x) => `(#check 1)", "overridden_command", "macro_rules | `(foo) => `(bar)"),
        ("#exit\ntheorem t : p := h", "early_exit", "theorem t : p := h\n#exit\n-- done"),
        ("#guard_msgs (drop all) in\ntheorem t : p := h", "hidden_messages", "theorem guard_msgs : p := h"),
        ("module\nimport A\n", "module_header", "import A\n"),
        ("/-/- -/ axiom cheat : False", "axiom_added", "/- /- -/ axiom -/ theorem t : p := h"),
        ("def x := 1axiom cheat : False", "axiom_added", "def x := 1\n-- axiom"),
        ("theorem t : p := «sorryAx» _ true", "sorry", "theorem «sorry» : p := h"),
        ("theorem t : p := by exact #sorry", "sorry", "theorem t : #s = 1 := h"),
        ("@[«command_elab» x] def f := y", "elaboration_code", "@[«simp»] theorem f : p := y"),
        ("simproc_pattern% _ => f\nattribute [simproc] f", "elaboration_code", "def simproc_pattern := 1"),
        ("attribute [local simproc] f", "elaboration_code", "attribute [local simp] f"),
        ("@[norm_num f _] def g := y", "elaboration_code", "theorem t : p := by norm_num"),
        ("def x := eval% y", "elaboration_code", "def x := eval % y"),
        ("#html x", "elaboration_code", "theorem html : p := h"),
        ("theorem t : p := unsafe h", "elaboration_code", "theorem t : p := by aesop (add unsafe 50% apply h)"),
        ("unsafe instance : C := x", "elaboration_code", "@[aesop unsafe apply] theorem t : p := h"),
    ],
)
def test_an_attack_is_refused_and_its_honest_twin_is_not(attack: str, why: str, twin: str) -> None:
    assert reason(attack) == why
    assert reason(twin) is None


def test_statements_may_be_left_open() -> None:
    assert reason("theorem t : p := by sorry", sorry=True) is None
    assert reason("axiom t : p", sorry=True) == "axiom_added"


def test_code_may_run_where_that_was_asked_for_but_nothing_else_is_given_away() -> None:
    assert reason("#eval 1", meta=True) is None
    assert reason("set_option debug.skipKernelTC true", meta=True) == "option_changed"
    assert reason("theorem t : p := by native_decide", meta=True) == "native_decide"


def test_the_refusal_says_where() -> None:
    found = next(refusals("import A\n\ntheorem t : p := by\n  sorry\n"))
    assert (found.line, found.word) == (4, "sorry")
    assert found.message.startswith("line 4: `sorry`: ")
