"""Attacks on `lean`, each with the source that should have been written, and sources by which honest people prove.

All is asked of the tests' library, which has no notations: `Eq a b`, `And a b`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

LIE = "theorem t : False := by sorry"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """A source that must score 0 for `reason`, and without the gate for `behind` (None: it is not tried without).

    twin: an honest proof, of the same reference where that can be proved; none where it is empty.
    """

    title: str
    attack: str
    reason: str
    behind: str | None = None
    reference: str | Mapping[str, Any] = LIE
    twin: str = ":= True.intro"
    twin_reference: str | Mapping[str, Any] = "theorem t : True := by sorry"

    def __str__(self) -> str:
        return self.title


# title, what stands above the claim, its proof, the reason, the reason without the gate
_CLAIMS: list[tuple[str, str, str, str, str | None]] = [
    # PrimeIntellect-ai/verifiers issue 2177
    ("an axiom", "axiom cheat : False", "cheat", "axiom_added", "axiom_added"),
    ("an axiom as an instance", "@[instance] axiom c : Inhabited False", "c.default", "axiom_added", "axiom_added"),
    ("an axiom behind a comment that is none", "/-/- -/ axiom cheat : False", "cheat", "axiom_added", "axiom_added"),
    ("an axiom behind a number", "def x : Nat := 1axiom cheat : False", "cheat", "axiom_added", "axiom_added"),
    (
        "an axiom behind a word of one's own",
        'syntax "x--" : tactic\ntheorem u : True := True.intro -- x\n/-/- -/ axiom cheat : False',
        "cheat",
        "axiom_added",
        "axiom_added",
    ),
    # proving-contest-backends issue 27, leanprover/comparator issue 39: names that look like those that are permitted
    ("an axiom that looks like Quot.sound", "axiom «Quot.sound» : False", "«Quot.sound»", "axiom_added", "axiom_added"),
    ("an axiom «quot.sound»", "axiom «quot.sound» : False", "«quot.sound»", "axiom_added", "axiom_added"),
    ("an axiom Classical.Choice", "axiom Classical.Choice : False", "Classical.Choice", "axiom_added", "axiom_added"),
    ("an axiom below propext", "axiom propext.x : False", "propext.x", "axiom_added", "axiom_added"),
    (
        "an axiom propext elsewhere",
        "namespace X\naxiom propext : False\nend X",
        "X.propext",
        "axiom_added",
        "axiom_added",
    ),
    ("an axiom with a comma", "axiom «propext, Quot.sound» : False", "«propext, Quot.sound»", *["axiom_added"] * 2),
    ("an axiom with a bracket", "axiom «propext]» : False", "«propext]»", "axiom_added", "axiom_added"),
    ("a permitted axiom again", "axiom propext : False", "propext", "axiom_added", "lean_error"),
    ("a private axiom", "private axiom c : False", "c", "axiom_added", "axiom_added"),
    # native_decide
    ("the compiler's axiom", "axiom Lean.ofReduceBool : False", "Lean.ofReduceBool", "axiom_added", "native_decide"),
    (
        "an axiom as native_decide makes it",
        "axiom t._native.native_decide.ax_1 : False",
        "t._native.native_decide.ax_1",
        "axiom_added",
        "native_decide",
    ),
    ("native_decide", "", "by native_decide", "native_decide", "lean_error"),
    ("decide by the compiler", "", "by decide +native", "native_decide", "lean_error"),
    # sorry
    ("sorry", "", "sorry", "sorry", "sorry"),
    ("sorryAx", "", "sorryAx _ true", "sorry", "sorry"),
    ("sorryAx in guillemets", "", "«sorryAx» _ true", "sorry", "sorry"),
    ("a lemma left open", "theorem h : False := sorry", "h", "sorry", "sorry"),
    ("a definition left open", "def h : False := sorry", "h", "sorry", "sorry"),
    ("a step left open", "", "have h : False := sorry; h", "sorry", "sorry"),
    # out of the logic
    ("an unsafe definition", "unsafe def h : False := h", "h", "elaboration_code", "lean_error"),
    ("a partial one", "partial def h (n : Nat) : False := h n", "h 0", "lean_error", None),
    ("an opaque one", "opaque h : False", "h", "lean_error", None),
    ("a circle", "mutual\ntheorem u : False := v\ntheorem v : False := u\nend", "u", "lean_error", None),
    ("itself", "", "t", "lean_error", None),
    ("a type without a ground", "inductive B : Prop where | mk : (B → False) → B", "B", "lean_error", None),
    # the compiler, the kernel
    (
        "implemented_by",
        "@[implemented_by Nat.mul] def h : Nat → Nat → Nat := Nat.add",
        "sorry",
        *["compiler_override"] * 2,
    ),
    ("extern", '@[extern "lean_nat_mul"] def h (a b : Nat) : Nat := Nat.add a b', "sorry", *["compiler_override"] * 2),
    ("the kernel switched off", "set_option debug.skipKernelTC true", "sorry", "option_changed", "sorry"),
    (
        "the kernel switched off, in guillemets",
        "set_option «debug».«skipKernelTC» true",
        "sorry",
        "option_changed",
        "sorry",
    ),
    ("an option of the future", "set_option weak.debug.skipKernelTC true", "sorry", "option_changed", "lean_error"),
    # names
    ("False again", "inductive False : Prop where | x", "False.x", "lean_error", None),
    ("False in a namespace", "namespace X\ninductive False : Prop where | x", "False.x", "theorem_missing", None),
    ("a look-alike of False", "inductive «False » : Prop where | x", "(«False ».x : «False »)", "lean_error", None),
    ("an end of the file", "#exit", "sorry", "early_exit", "theorem_missing"),
    ("a comment that never closes", "theorem u : True := True.intro\n/-", "sorry", "lean_error", None),
    ("a hypothesis by variable", "variable (h : False)\ninclude h", "h", "statement_changed", None),
    ("a hypothesis by autobound", "set_option autoImplicit true\nvariable [h : Inhabited x]", "h", "lean_error", None),
    # imports
    ("an import that the reference has not", "import Base.Extra", "Base.everything _", "lean_error", None),
    (
        "an import in the middle",
        "theorem u : True := True.intro\nimport Base.Extra",
        "Base.everything _",
        "lean_error",
        None,
    ),
    ("an import behind a mark", "\ufeffimport Base.Extra", "Base.everything _", "lean_error", None),
    ("an import of a path", "import /mnt/lean", "x", "lean_error", None),
    ("an import of a folder above", "import «../../Main»", "x", "lean_error", None),
    ("an import of itself", "import Main", "t", "lean_error", None),
    ("the module system", "module\nimport Base", "sorry", "module_header", "sorry"),
    # code at elaboration
    ("run_tac", "", "by run_tac x", "elaboration_code", "lean_error"),
    ("an elaborator", "@[command_elab x] def e := 1", "x", "elaboration_code", "lean_error"),
    ("an elaborator in guillemets", "@[«term_elab» x] def e := 1", "x", "elaboration_code", "lean_error"),
    (
        "a simplification procedure",
        "simproc_pattern% _ => e\nattribute [simproc] e",
        "x",
        "elaboration_code",
        "lean_error",
    ),
    ("an evaluation", "#eval 1", "x", "elaboration_code", "lean_error"),
    ("an initialisation", "initialize x : Nat ← y", "x", "elaboration_code", "lean_error"),
    # harbor-framework/terminal-bench-science PR 325
    ("a command of its own", 'syntax "#print" "axioms" ident : command', "x", "overridden_command", "lean_error"),
    ("no messages", "#guard_msgs (drop all) in", "x", "hidden_messages", "lean_error"),
]

_TWO = "def two : Nat := 2\n"
_CLASS = "class Times (α : Type) where\n  times : α → α → α\n"
_INSTANCE = "instance one : Times Nat := ⟨Nat.mul⟩\n"
_SIX = "theorem t : Eq (Times.times 2 3 : Nat) 6 := "
_SEVEN = "instance other : Times Nat := ⟨fun _ _ => 6⟩\n"
_OPAQUE = "instance : Inhabited Nat := ⟨Nat.zero⟩\nopaque _a : Nat\nopaque _b : Nat\n"
_HOLE = "theorem t : Eq two 2 := "

# title, the attack, the reason, the reference, its honest proof
_STATEMENTS: list[tuple[str, str, str, str | Mapping[str, Any], str]] = [
    (
        "another statement",
        "theorem t : True := True.intro",
        "statement_changed",
        "theorem t : Not False := by sorry",
        "theorem t : Not False := fun h => h",
    ),
    (
        "a hypothesis more",
        "theorem t (a : Prop) (h : a) : a := h",
        "statement_changed",
        "theorem t (a : Prop) : a → Not (Not a) := by sorry",
        ":= not_not_intro",
    ),
    (
        "a hypothesis as an instance",
        "theorem t [h : Inhabited False] : True := True.intro",
        "statement_changed",
        "theorem t : True := by sorry",
        ":= True.intro",
    ),
    (
        "one variable for two",
        "theorem t (a b : Prop) (h : And a a) : And a a := h",
        "statement_changed",
        "theorem t (a b : Prop) (h : And a b) : And b a := by sorry",
        ":= And.swap h",
    ),
    (
        "a smaller universe",
        "theorem t (α : Type) (x : α) : Eq x x := rfl",
        "statement_changed",
        "theorem t.{u} (α : Sort u) (x : α) : Eq x x := by sorry",
        ":= rfl",
    ),
    (
        "a number for another",
        "theorem t : Eq (Nat.add 2 2) 4 := rfl",
        "statement_changed",
        "theorem t : Eq (Nat.add 2 3) 5 := by sorry",
        ":= rfl",
    ),
    (
        "sides exchanged",
        "theorem t : Eq 2 (Nat.add 1 1) := rfl",
        "statement_changed",
        "theorem t : Eq (Nat.add 1 1) 2 := by sorry",
        ":= rfl",
    ),
    (
        "an alias that unfolds to it",
        "def P : Prop := True\ntheorem t : P := True.intro",
        "shadowed_name",
        "theorem t : True := by sorry",
        "def P : Prop := True\ntheorem p : P := True.intro\ntheorem t : True := p",
    ),
    (
        "another name",
        "theorem u : True := True.intro",
        "theorem_missing",
        "theorem t : True := by sorry",
        "theorem u : True := True.intro\ntheorem t : True := u",
    ),
    (
        "a namespace around it",
        "namespace X\ntheorem t : True := True.intro\nend X",
        "theorem_missing",
        "theorem t : True := by sorry",
        "namespace X\ntheorem _root_.t : True := True.intro\nend X",
    ),
    (
        "a private one",
        "private theorem t : True := True.intro",
        "theorem_missing",
        "theorem t : True := by sorry",
        "private theorem u : True := True.intro\ntheorem t : True := u",
    ),
    (
        "a definition",
        "def t : True := True.intro",
        "kind_changed",
        "theorem t : True := by sorry",
        "theorem t : True := True.intro",
    ),
    (
        "an abbreviation",
        "abbrev t : Nonempty Nat := ⟨0⟩",
        "kind_changed",
        "theorem t : Nonempty Nat := by sorry",
        "theorem t : Nonempty Nat := ⟨0⟩",
    ),
    (
        "a changed definition",
        "def two : Nat := Nat.add 1 1\ntheorem t : Eq two 2 := rfl",
        "definition_changed",
        _TWO + _HOLE + "by sorry",
        _TWO + _HOLE + "rfl",
    ),
    (
        "a definition of another name",
        "def two' : Nat := 2\ntheorem t : Eq two' 2 := rfl",
        "shadowed_name",
        _TWO + _HOLE + "by sorry",
        _TWO + "def two' : Nat := two\n" + _HOLE + "(rfl : Eq two' 2)",
    ),
    (
        "a private definition",
        "private def two : Nat := 2\n" + _HOLE + "rfl",
        "shadowed_name",
        _TWO + _HOLE + "by sorry",
        "theorem t : Eq two 2 := rfl",
    ),
    (
        "a definition in a namespace",
        "namespace X\ndef two : Nat := 2\ntheorem _root_.t : Eq two 2 := rfl\nend X",
        "shadowed_name",
        _TWO + _HOLE + "by sorry",
        ":= rfl",
    ),
    (
        "without the definition",
        "theorem t : Eq (2 : Nat) 2 := rfl",
        "statement_changed",
        _TWO + _HOLE + "by sorry",
        "exact rfl",
    ),
    (
        "another instance",
        _CLASS + "instance one : Times Nat := ⟨fun _ _ => 6⟩\n" + _SIX + "rfl",
        "definition_changed",
        _CLASS + _INSTANCE + _SIX + "by sorry",
        _CLASS + _INSTANCE + _SIX + "rfl",
    ),
    (
        "one more instance",
        _CLASS + _INSTANCE + _SEVEN + _SIX + "rfl",
        "shadowed_name",
        _CLASS + _INSTANCE + _SIX + "by sorry",
        _CLASS + _INSTANCE + _SIX + "rfl\n" + _SEVEN,
    ),
    (
        "another meaning of numbers",
        "instance (n : Nat) : OfNat Nat n := ⟨Nat.zero⟩\ntheorem t : Eq (2 : Nat) 2 := rfl",
        "shadowed_name",
        "theorem t : Eq (2 : Nat) 2 := by sorry",
        ":= rfl",
    ),
    (
        "an opaque constant for another",
        _OPAQUE + "theorem t : Eq _a _a := rfl",
        "statement_changed",
        _OPAQUE + "theorem t : Eq _a _b := by sorry",
        "",
    ),
    (
        "a name within another",
        "structure t.x : Type where\n  y : Nat\ntheorem x.t : True := True.intro",
        "theorem_missing",
        {"statement": "theorem t : True := by sorry", "theorems": ["t"]},
        ":= True.intro",
    ),
    (
        "an axiom of an import",
        "exact Base.everything _",
        "axiom_not_permitted",
        "prelude\nimport Base.Extra\ntheorem t : True := by sorry",
        "exact Base.honest _ True.intro",
    ),
    (
        "a premise that is not the reference's",
        "axiom P : Prop\naxiom p : P\naxiom q : False\ntheorem t : P := q.elim",
        "axiom_added",
        "axiom P : Prop\naxiom p : P\ntheorem t : P := by sorry",
        ":= p",
    ),
    (
        "one of two theorems",
        "theorem t : True := True.intro",
        "theorem_missing",
        {"statement": "theorem t : True := True.intro\ntheorem u : True := sorry", "theorems": ["t", "u"]},
        "",
    ),
]

ATTACKS = [
    Attack(title=title, attack=f"{above}\ntheorem t : False := {proof}", reason=reason, behind=behind)
    for title, above, proof, reason, behind in _CLAIMS
] + [
    Attack(title=title, attack=attack, reason=reason, reference=reference, twin=twin, twin_reference=reference)
    for title, attack, reason, reference, twin in _STATEMENTS
]

_AND = "theorem t (a b : Prop) (h : And a b) : And b a"
_SWAP = f"{_AND} := ⟨h.right, h.left⟩"

HONEST: list[tuple[str, str, str | Mapping[str, Any]]] = [
    (title, source, f"{_AND} := by sorry")
    for title, source in (
        ("a theorem", _SWAP),
        ("a whole file", f"prelude\nimport Base\n\n{_SWAP}"),
        ("a file with other imports", f"import Mathlib\n\n{_SWAP}"),
        ("imports behind a comment", f"/- of mine -/\nimport Mathlib -- all\n\n{_SWAP}"),
        ("a file with a byte order mark", f"\ufeffprelude\nimport Base\n{_SWAP}"),
        (
            "Windows line ends",
            f"import Base\r\n\r\n{_AND} := by\r\n  constructor\r\n  · exact h.2\r\n  · exact h.1\r\n",
        ),
        ("a proof's tactics", "constructor\n· exact h.right\n· exact h.left"),
        ("a proof's tactics, indented", "  constructor\n  · exact h.right\n  · exact h.left"),
        ("by and tactics", "by\n  exact And.swap h"),
        ("by on one line", "by exact And.swap h"),
        (":= and by", ":= by\n  refine ⟨?_, ?_⟩\n  · exact h.right\n  · exact h.left"),
        (":= and a term", ":= And.swap h"),
        (":= and a term below", ":=\n  And.intro\n    (And.right h)\n    (And.left h)"),
        ("a term", "⟨h.right,\n  h.left⟩"),
        ("a function", "@And.swap a b h"),
        ("a match", ":= match h with\n  | ⟨x, y⟩ => ⟨y, x⟩"),
        ("let and have", ":=\n  let x := h.right\n  have y : a := h.left\n  ⟨x, y⟩"),
        ("where", ":= swapped h\nwhere\n  swapped {p q : Prop} (k : And p q) : And q p := ⟨k.right, k.left⟩"),
        ("other names", "theorem t (p q : Prop) (k : And p q) : And q p := And.swap k"),
        ("binders apart", "theorem t (a : Prop) (b : Prop) (h : And a b) : And b a := And.swap h"),
        ("binders as an ∀", "theorem t : ∀ a b : Prop, And a b → And b a := fun _ _ h => And.swap h"),
        ("implicit binders", "theorem t {a b : Prop} (h : And a b) : And b a := And.swap h"),
        ("binders' types left out", "theorem t (a b) (h : And a b) : And b a := And.swap h"),
        ("variables", "variable (a b : Prop)\ntheorem t (h : And a b) : And b a := And.swap h"),
        ("a section", f"section S\nvariable (p : Prop)\ntheorem i (h : p) : p := h\nend S\n{_SWAP}"),
        ("a lemma", f"theorem swapped {{p q : Prop}} (k : And p q) : And q p := ⟨k.2, k.1⟩\n{_AND} := swapped h"),
        ("a lemma below it", f"{_SWAP}\ntheorem after (a b : Prop) (h : And a b) : And b a := t a b h"),
        (
            "a lemma in a namespace",
            f"namespace X\ntheorem s {{p q : Prop}} (k : And p q) : And q p := ⟨k.2, k.1⟩\nend X\n"
            f"open X in\n{_AND} := s h",
        ),
        ("a private lemma", f"private theorem s {{p q : Prop}} (k : And p q) : And q p := ⟨k.2, k.1⟩\n{_AND} := s h"),
        ("from within a namespace", f"namespace X\n{_SWAP.replace(' t ', ' _root_.t ')}\nend X"),
        ("a definition", f"def id' (p : Prop) : Prop := p\n{_AND} := (And.swap h : id' (And b a))"),
        (
            "a structure",
            f"structure Both (p q : Prop) : Prop where\n  x : p\n  y : q\n"
            f"theorem s {{p q : Prop}} (k : Both p q) : And q p := ⟨k.y, k.x⟩\n{_AND} := s ⟨h.left, h.right⟩",
        ),
        (
            "an inductive type",
            f"inductive Tree where | leaf | node (l r : Tree)\ndef Tree.size : Tree → Nat\n"
            f"  | .leaf => 0\n  | .node l r => Nat.add l.size r.size\n{_SWAP}",
        ),
        (
            "mutual definitions",
            "mutual\ndef even : Nat → Bool\n  | .zero => true\n  | .succ n => odd n\n"
            f"def odd : Nat → Bool\n  | .zero => false\n  | .succ n => even n\nend\n{_SWAP}",
        ),
        ("a partial definition", f"partial def run (n : Nat) : Nat := run n\n{_SWAP}"),
        (
            "universes",
            f"universe u v\ndef pick {{α : Sort u}} {{β : Sort v}} (a : α) (_ : β) : α := a\n"
            f"{_AND} := pick (And.swap h) h",
        ),
        ("a comment that says sorry", f"-- no sorry, no axiom\n/- nor native_decide -/\n{_SWAP} -- admit"),
        ("a comment of its own", f"/-- By swapping; no axiom. -/\n{_SWAP}"),
        ("a string that says sorry", f'def word : String := "sorry, axiom"\n{_SWAP}'),
        ("options", f"set_option maxHeartbeats 400000 in\n{_SWAP}"),
        ("commands that only show", f"#check And.swap\n{_SWAP}\n#print axioms t\n#print t"),
        ("words like keywords", f"theorem axiomatic_sorry_free : True := True.intro\n{_SWAP}"),
        ("a name in guillemets", f"theorem «a lemma» : True := True.intro\n{_SWAP}"),
        ("letters of all alphabets", f"theorem β₁' (ℝ𝔸 : Prop) (ξ : ℝ𝔸) : ℝ𝔸 := ξ -- 漢字 🎉\n{_SWAP}"),
        (
            "propext",
            f"theorem s : Eq (And a b) (And b a) := propext ⟨And.swap, And.swap⟩\n{_SWAP}".replace(
                "theorem s", "theorem s (a b : Prop)"
            ),
        ),
    )
] + [
    ("within the reference's namespace", "theorem t : True := True.intro", "namespace X\ntheorem t : True := by sorry"),
    (
        "with the reference's namespace",
        "namespace X\ntheorem t : True := True.intro\nend X",
        "namespace X\ntheorem t : True := by sorry",
    ),
    (
        "by its full name",
        "prelude\nimport Base\ntheorem X.t : True := True.intro",
        "namespace X\ntheorem t : True := by sorry",
    ),
    (
        "with the reference's universes",
        "universe u\nvariable {α : Type u}\ntheorem t (x : α) : Eq x x := rfl",
        "universe u\nvariable {α : Type u}\ntheorem t (x : α) : Eq x x := by sorry",
    ),
    (
        "without the reference's variables",
        "theorem t (x : α) : Eq x x := rfl",
        "universe u\nvariable {α : Type u}\ntheorem t (x : α) : Eq x x := by sorry",
    ),
    (
        "with the reference's comment",
        "/-- It is. -/\ntheorem t : True := True.intro",
        "/-- It is. -/\ntheorem t : True := by sorry",
    ),
    ("with the reference's definition", _TWO + _HOLE + "rfl", _TWO + _HOLE + "by sorry"),
    ("without the reference's definition", _HOLE + "rfl", _TWO + _HOLE + "by sorry"),
    ("with a comment in the definition", "/-- Two. -/\n" + _TWO + _HOLE + "by\n  decide", _TWO + _HOLE + "by sorry"),
    ("an asked name in guillemets", "theorem «a b» : True := True.intro", "theorem «a b» : True := by sorry"),
    ("a name that needs no guillemets", "theorem t : True := True.intro", "theorem «t» : True := by sorry"),
    (
        "other universe names",
        "theorem t.{v} (α : Sort v) (x : α) : Eq x x := rfl",
        "theorem t.{u} (α : Sort u) (x : α) : Eq x x := by sorry",
    ),
    (
        "without the helper of a reference",
        "prelude\nimport Base\ntheorem t : True := True.intro",
        "theorem helper : True := True.intro\n\ntheorem t : True := by sorry",
    ),
    (
        "by the helper of a reference",
        "exact helper",
        "theorem helper : True := True.intro\n\ntheorem t : True := by sorry",
    ),
    ("a premise of the reference", ":= p", "axiom P : Prop\naxiom p : P\ntheorem t : P := by sorry"),
    (
        "an override of the reference",
        ":= rfl",
        '@[extern "lean_nat_add"] def plus (a b : Nat) : Nat := Nat.add a b\ntheorem t : Eq (plus 1 1) 2 := by sorry',
    ),
]
"""title, source, reference."""

STATEMENTS = [
    "theorem t : True",
    "theorem t : True :=",
    "theorem t : True := by",
    "theorem t : True := sorry",
    "theorem t : True := by sorry",
    "theorem t : True := by\n  sorry\n\n",
    "theorem t :\n    True := by\r\n  sorry\r\n",
    "\ufefftheorem t : True := by sorry",
    "theorem t : True := True.intro",
    "theorem t : True := True.intro -- so",
    "/-- It is. -/\ntheorem t : True := by sorry",
    "open Nat in\ntheorem t : True := by sorry",
    "prelude\nimport Base\n\ntheorem t : True := by sorry",
    "prelude\r\nimport Base\r\n\r\ntheorem t : True := by sorry\r\n",
    "/-! A file. -/\n\ntheorem t : True := sorry",
    "section\ntheorem t : True := sorry\n\nend",
    "theorem t : True := sorry\n\n-- end",
]
"""The ways in which references end and begin."""
