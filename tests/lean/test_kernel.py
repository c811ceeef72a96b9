"""Lean's kernel judges a module's declarations, each time in a process of its own: a crash is a failure there."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rewarden_verifiers.lean.inspection import kernel
from rewarden_verifiers.lean.inspection.kernel import BUILTIN, Replayed
from rewarden_verifiers.lean.inspection.olean import read
from rewarden_verifiers.lean.inspection.order import ordered, units
from rewarden_verifiers.lean.inspection.same import TooLarge
from rewarden_verifiers.lean.inspection.terms import Constant, Expr, Level, Module, Name
from tests.lean.toolchain import Library, needs_lean

_CHILD = """
import pickle, sys
from rewarden_verifiers.lean.inspection.kernel import replay
while True:
    words, options = pickle.load(sys.stdin.buffer)
    sys.stdout.buffer.write(pickle.dumps(replay(*words, **options)))
    sys.stdout.buffer.flush()
"""

_HEADER = "prelude\nimport Base\nset_option autoImplicit false\nuniverse u v\n"

_GOOD = """
structure Point (α : Type u) where
  x : α
  y : α
inductive Tree (α : Type u) where
  | leaf : Tree α
  | node : Tree α → α → Tree α → Tree α
inductive Rose where
  | mk : List Rose → Rose
mutual
inductive Even : Nat → Prop where
  | zero : Even Nat.zero
  | succ (n : Nat) : Odd n → Even (Nat.succ n)
inductive Odd : Nat → Prop where
  | succ (n : Nat) : Even n → Odd (Nat.succ n)
end
inductive W (α : Type u) (β : α → Type v) where
  | sup (a : α) : (β a → W α β) → W α β
class Positive (n : Nat) : Prop where
  positive : Eq (Nat.ble 1 n) true
instance : Positive 3 := ⟨rfl⟩
def Tree.size {α : Type u} : Tree α → Nat
  | .leaf => Nat.zero
  | .node l _ r => Nat.succ (Nat.add l.size r.size)
def Point.swap {α : Type u} (p : Point α) : Point α := ⟨p.y, p.x⟩
def same : Nat → Nat → Bool
  | Nat.zero, Nat.zero => true
  | Nat.succ n, Nat.succ m => same n m
  | _, _ => false
theorem Point.swap_swap {α : Type u} (p : Point α) : Eq p.swap.swap p := rfl
theorem two : Eq (same 2 2) true := rfl
theorem large : Eq (Nat.add 123456789012345678901234567890 1) 123456789012345678901234567891 := rfl
theorem even_two : Even 2 := Even.succ _ (Odd.succ _ Even.zero)
theorem everything (h : ∀ p : Prop, p) : False := h False
instance : Inhabited Nat := ⟨Nat.zero⟩
opaque secret : Nat
def word : String := "dé\\n"
def cut (α : Type u) (r : α → α → Prop) (a : α) : Quot r := Quot.mk r a
axiom assumed : ∀ n : Nat, Eq n 2
partial def run (n : Nat) : Nat := run (Nat.succ n)
unsafe def loop (n : Nat) : Nat := loop n
mutual
unsafe def ping (n : Nat) : Nat := pong n
unsafe def pong (n : Nat) : Nat := ping n
end
unsafe inductive Negative where
  | mk : (Negative → False) → Negative
"""

# A world without imports: Prop, Sort u, ∀ p, p → p with its proof, False, and a proposition A with a proof a.
_LEVELS: tuple[Level, ...] = (("zero",), ("param", ("u",)), ("succ", 0))
_EXPRS: tuple[Expr, ...] = (
    ("sort", 0),
    ("bvar", 0),
    ("bvar", 1),
    ("pi", ("h",), 1, 2, 0),
    ("pi", ("p",), 0, 3, 0),  # 4: ∀ p : Prop, p → p
    ("lam", ("h",), 1, 1, 0),
    ("lam", ("p",), 0, 5, 0),  # 6: fun (p : Prop) (h : p) => h
    ("pi", ("p",), 0, 1, 0),  # 7: ∀ p : Prop, p
    ("const", ("A",), ()),
    ("const", ("a",), ()),
    ("sort", 1),
    ("sort", 2),  # 11: Type
)


def _constants(*constants: Constant, exprs: tuple[Expr, ...] = ()) -> Module:
    return Module(levels=_LEVELS, exprs=_EXPRS + exprs, constants={one.name: one for one in constants})


def _theorem(name: str, type: int, value: int, **fields: Any) -> Constant:
    return Constant(name=(name,), kind="theorem", level_params=(), type=type, value=value, all=((name,),), **fields)


_A = Constant(name=("A",), kind="axiom", level_params=(), type=0)
_a = Constant(name=("a",), kind="axiom", level_params=(), type=8)


class Replay:
    """Has modules replayed by a process, a new one after it died."""

    def __init__(self, library: Library, program: str = _CHILD) -> None:
        self._library = library
        self._program = program
        self._child: subprocess.Popen[bytes] | None = None

    def __call__(self, module: Module, *, granted: Collection[Name] = (), **options: Any) -> Replayed:
        if self._child is None or self._child.poll() is not None:
            self._child = subprocess.Popen(
                [sys.executable, "-c", self._program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        options = {"toolchain": self._library.toolchain, "path": (str(self._library.built),), **options}
        pickle.dump(((module, b""), {"granted": granted, **options}), self._child.stdin)
        self._child.stdin.flush()
        said: Replayed = pickle.load(self._child.stdout)  # noqa: S301
        return said

    def close(self) -> None:
        if self._child is not None:
            self._child.kill()
            self._child.communicate()


@pytest.fixture(scope="module")
def replay(library: Library) -> Iterator[Replay]:
    replay = Replay(library)
    yield replay
    replay.close()


@pytest.fixture
def altered(library: Library) -> Iterator[Callable[[str], Replay]]:
    """A process in which the inspection is another."""
    made = []

    def alter(change: str) -> Replay:
        head = "from dataclasses import replace\nfrom rewarden_verifiers.lean.inspection import environment, kernel\n"
        head += "from rewarden_verifiers.lean.inspection import objects, selftest\n"
        made.append(Replay(library, f"{head}{change}\n{_CHILD}"))
        return made[-1]

    yield alter
    for replay in made:
        replay.close()


@pytest.fixture
def compiled(library: Library, tmp_path: Path) -> Callable[[str], Module]:
    """Returns a function that gives the module that Lean makes of a text after the header."""
    return lambda text: read(library.compile(_HEADER + text, tmp_path))


def _edited(module: Module, name: str, **fields: Any) -> Module:
    """The module with other fields of one constant."""
    key = tuple(name.split("."))
    return replace(module, constants={**module.constants, key: replace(module.constants[key], **fields)})


@needs_lean
def test_whatever_lean_compiles_is_accepted(replay: Replay, compiled: Callable[[str], Module]) -> None:
    module = compiled(_GOOD)
    assert replay(module) == Replayed(status="accepted", by="kernel")


@needs_lean
def test_a_module_without_imports_is_accepted(replay: Replay, library: Library) -> None:
    module = read((library.built / "Base.olean").read_bytes())
    assert ("Quot", "lift") in module.constants
    assert replay(module, granted=BUILTIN).status == "accepted"


@needs_lean
def test_a_declaration_that_the_compiler_did_not_check_is_rejected(
    replay: Replay, compiled: Callable[[str], Module]
) -> None:
    module = compiled(
        "unsafe def magic : False := magic\n"
        "set_option debug.skipKernelTC true in\n"
        "theorem everything : False := magic\n"
    )
    said = replay(module)
    assert (said.status, said.name) == ("rejected", ("everything",))
    assert said.message == "everything: invalid declaration, it uses unsafe declaration 'magic'"


@needs_lean
@pytest.mark.parametrize(
    ("module", "name", "message"),
    [
        (_constants(_theorem("t", 7, 6)), "t", "the value's type is not the declared one"),
        (_constants(_A, _a, _theorem("t", 7, 9)), "t", "the value's type is not the declared one"),
        (_constants(_theorem("t", 8, 9)), "t", "unknown constant A"),
        (_constants(_theorem("t", 7, 12), exprs=(("const", ("t",), ()),)), "t", "unknown constant t"),
        (_constants(_theorem("t", 11, 0)), "t", "the theorem's type is not a proposition"),
        (_constants(_A, _theorem("t", 8, 12), exprs=(("app", 8, 8),)), "t", "a function is expected"),
        (_constants(_A, _a, _theorem("t", 9, 9)), "t", "a type is expected"),
        (
            _constants(_A, _a, _theorem("t", 8, 14), exprs=(("app", 6, 9), ("app", 12, 9), ("mdata", 13))),
            "t",
            "an argument has not the type that the function takes",
        ),
        (
            _constants(_A, _a, _theorem("t", 8, 12), exprs=(("let", ("x",), 0, 9, 9, False),)),
            "t",
            "the value of a `let` has not the declared type",
        ),
        (_constants(_A, _a, _theorem("t", 8, 12), exprs=(("proj", ("A",), 0, 9),)), "t", "no such projection"),
        (_constants(Constant(name=("x",), kind="axiom", level_params=(), type=10)), "x", "universe"),
        (_constants(Constant(name=("x",), kind="axiom", level_params=(("u",), ("u",)), type=10)), "x", "universe"),
        (_constants(Constant(name=("x",), kind="axiom", level_params=(), type=1)), "x", "loose bound variables"),
        (
            _constants(Constant(name=("x",), kind="axiom", level_params=(), type=12), exprs=(("bvar", 1 << 20),)),
            "",
            "bound variable",
        ),
        (_constants(replace(_A, kind="constructor", induct=("B",))), "A", "is said to belong to B"),
        (_constants(replace(_A, kind="recursor", all=(("B",),))), "A", "is said to belong to B"),
        (_constants(replace(_A, kind="recursor", all=(("A",),))), "A", "belongs to nothing"),
        (_constants(replace(_A, kind="quot", quot="type")), "A", "is said to belong to Quot"),
        (_constants(replace(_A, name=("Quot",), kind="quot", quot="type")), "Quot", "Eq"),
        (_constants(replace(_A, name=("Nat",))), "Nat", "computes"),
        (_constants(replace(_A, name=("Nat", "add"))), "Nat.add", "computes"),
        (replace(_constants(replace(_A, name=("Quot", "lift"))), imports=(("Base",),)), "Quot.lift", "computes"),
        (replace(_constants(replace(_A, name=("True",))), imports=(("Base",),)), "True", "already declared: True"),
        (replace(_constants(), is_module=True), "", "module system"),
    ],
)
def test_what_is_wrong_is_rejected(replay: Replay, module: Module, name: str, message: str) -> None:
    said = replay(module)
    assert said.status == "rejected", said
    assert (".".join(map(str, said.name)), message in said.message) == (name, True), said


_FAMILIES = """
inductive Tree where
  | leaf : Tree
  | node : Tree → Nat → Tree
inductive Box (α : Type) where
  | mk : α → Box α
structure Two : Prop where
  one : True
  two : True
theorem one : True := True.intro
theorem two : Two := ⟨True.intro, True.intro⟩
"""


@pytest.fixture(scope="module")
def families(library: Library, tmp_path_factory: pytest.TempPathFactory) -> Module:
    return read(library.compile(_HEADER + _FAMILIES, tmp_path_factory.mktemp("families")))


@needs_lean
@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("Tree.rec", {"k": True}),
        ("Tree.rec", {"num_motives": 2}),
        ("Tree.rec", {"num_minors": 1}),
        ("Tree.rec", {"level_params": (("v",),)}),
        ("Tree.rec", {"rules": ()}),
        ("Tree.rec", {"type": "Box.rec"}),
        ("Tree.rec", {"safety": "unsafe"}),
        ("Two.rec", {"level_params": (), "num_params": 1}),
        ("Tree.leaf", {"num_fields": 1}),
        ("Tree.node", {"cidx": 0}),
        ("Tree.node", {"num_fields": 1}),
        ("Tree", {"is_rec": False}),
        ("Tree", {"is_reflexive": True}),
        ("Tree", {"num_nested": 1}),
        ("Tree", {"num_indices": 1}),
        ("Tree", {"ctors": (("Tree", "leaf"),)}),
        ("Tree", {"ctors": (("Tree", "node"), ("Tree", "leaf"))}),
        ("Tree", {"ctors": (("Tree", "leaf"), ("Box", "mk"))}),
        ("Tree", {"all": ()}),
        ("Tree", {"all": (("Tree",), ("Box",))}),
        ("Tree", {"all": (("Box",), ("Tree",))}),
        ("Tree", {"all": (("Eq",),)}),
        ("Tree", {"type": "two"}),
        ("Box", {"num_params": 0}),
        ("Box", {"num_params": 2}),
        ("Box", {"num_params": 1 << 70}),
        ("Box.mk", {"type": "Tree.leaf"}),
        ("Box.mk", {"induct": ("Tree",)}),
        ("Box.rec", {"rules": "Tree.rec"}),
        ("Box.rec", {"all": (("Tree",),), "rules": "Tree.rec"}),
        ("two", {"type": "Box"}),
        ("two", {"value": "one"}),
    ],
)
def test_what_the_kernel_would_have_made_otherwise_is_rejected(
    replay: Replay, families: Module, name: str, fields: dict[str, Any]
) -> None:
    """A text stands for that field of the constant of that name."""
    constants = families.constants
    taken = {
        field: getattr(constants[tuple(of.split("."))], field) if isinstance(of, str) and field != "safety" else of
        for field, of in fields.items()
    }
    forged = _edited(families, name, **taken)
    assert forged != families
    assert replay(forged).status == "rejected"
    assert replay(families).status == "accepted"


@needs_lean
def test_rules_of_other_constructors_are_rejected(replay: Replay, families: Module) -> None:
    first, second = families.constants["Tree", "rec"].rules
    for rules in ((second, first), (first, second._replace(value=first.value)), (first, second._replace(fields=1))):
        said = replay(_edited(families, "Tree.rec", rules=rules))
        assert said.message == "Tree.rec: not the recursor that the kernel makes"


@needs_lean
def test_the_proof_of_another_theorem_is_rejected(replay: Replay, families: Module) -> None:
    said = replay(_edited(families, "two", value=families.constants["one",].value))
    assert (said.status, said.name) == ("rejected", ("two",))


@needs_lean
def test_a_family_that_is_not_well_founded_is_rejected(replay: Replay, families: Module) -> None:
    # Tree.leaf : (Tree → Nat) → Tree
    tree, nat = (families.exprs.index(("const", (name,), ())) for name in ("Tree", "Nat"))
    count = len(families.exprs)
    exprs = (*families.exprs, ("pi", ("f",), tree, nat, 0), ("pi", ("h",), count, tree, 0))
    said = replay(_edited(replace(families, exprs=exprs), "Tree.leaf", type=count + 1))
    assert said.name == ("Tree",)
    assert "non positive occurrence" in said.message


@needs_lean
def test_a_family_of_too_small_a_universe_is_rejected(replay: Replay) -> None:
    # inductive T : Type | mk : Type → T
    exprs: tuple[Expr, ...] = (("const", ("T",), ()), ("pi", ("x",), 11, 12, 0))
    family = Constant(name=("T",), kind="inductive", level_params=(), type=11, all=(("T",),), ctors=(("T", "mk"),))
    constructor = Constant(name=("T", "mk"), kind="constructor", level_params=(), type=13, induct=("T",), num_fields=1)
    said = replay(_constants(family, constructor, exprs=exprs))
    assert said.name == ("T",)
    assert "universe level" in said.message


@needs_lean
def test_a_builtin_that_the_task_declares_the_same_may_be_declared(replay: Replay) -> None:
    module = _constants(replace(_A, name=("Nat",)))
    assert replay(module, granted={("Nat",)}).status == "accepted"


@needs_lean
def test_deep_terms_end_in_an_answer(replay: Replay, altered: Callable[[str], Replay]) -> None:
    small = altered("kernel._STACKS = (1 << 20,)")

    def nested(depth: int) -> Module:
        # f (f (… a)), with f : A → A
        exprs: tuple[Expr, ...] = (("pi", ("x",), 8, 8, 0), ("const", ("f",), ()), ("app", 13, 9))
        exprs += tuple(("app", 13, 14 + step) for step in range(depth))
        f = Constant(name=("f",), kind="axiom", level_params=(), type=12)
        return _constants(_A, _a, f, _theorem("t", 8, 14 + depth), exprs=exprs)

    assert replay(nested(5_000)).status == "accepted"
    assert small(nested(5_000)) == Replayed(
        status="rejected", by="kernel", name=("t",), message="t: the term is too deep"
    )


@needs_lean
@pytest.mark.parametrize("name", [(), ("..", "Base"), ("a/Base",), ("",), ("Base", 1), ("Base.olean",), ("a\0b",)])
def test_imports_cannot_lead_to_other_files(replay: Replay, name: Name) -> None:
    said = replay(replace(_constants(), imports=(name,)))
    assert (said.status, "not a module's name" in said.message) == ("rejected", True)


@needs_lean
def test_imports_that_are_not_there_cannot_be_replayed(replay: Replay, tmp_path: Path) -> None:
    said = replay(replace(_constants(), imports=(("Base",),)), path=(str(tmp_path),))
    assert said.status == "unavailable"
    assert "unknown module prefix 'Base'" in said.message


@needs_lean
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("objects.KNOWN = ('4.34',)", "not a version whose kernel can be called"),
        ("environment.Kernel.given = lambda *words: 0", "the kernel's self-test failed"),
        ("environment.Kernel._compare = lambda *words: None", "the kernel's self-test failed"),
        ("selftest._GOOD = replace(selftest._GOOD, value=0)", "the kernel's self-test failed"),
    ],
)
def test_a_kernel_that_is_not_known_is_not_believed(
    altered: Callable[[str], Replay], change: str, message: str
) -> None:
    said = altered(change)(_constants())
    assert (said.status, message in said.message) == ("unavailable", True)


@pytest.mark.parametrize(
    ("script", "status", "message"),
    [
        ("exit 0", "accepted", ""),
        ("echo leanchecker found a problem in Submission >&2; exit 1", "rejected", "found a problem"),
        ("echo unknown module >&2; exit 1", "unavailable", "unknown module"),
        ("kill -9 $$", "unavailable", "leanchecker ended with -9"),
        ('read -r data < Submission.olean; [ "$*:$data" = Submission:bytes ]', "accepted", ""),
        ('[ "$LEAN_PATH" = "$PWD:/a:/b" ] && [ -d "$LEAN_SYSROOT/bin" ]', "accepted", ""),
        ('[ "$(echo *)" = Submission.olean ]', "accepted", ""),
    ],
)
def test_where_the_kernel_cannot_be_called_leanchecker_is_asked(
    tmp_path: Path, script: str, status: str, message: str
) -> None:
    checker = tmp_path / "bin" / "leanchecker"
    checker.parent.mkdir()
    checker.write_text(f"#!/bin/sh\n{script}\n")
    checker.chmod(0o755)
    said = kernel.replay(_constants(), b"bytes\n", toolchain=tmp_path, path=("/a", "/b"))
    assert (said.status, message in said.message) == (status, True)
    assert said.by == ("" if status == "unavailable" else "leanchecker")


@pytest.mark.parametrize(("control", "large"), [(b"right\n", True), (b"broken\n", False)])
def test_what_brings_only_itself_down_in_leanchecker_is_too_large(tmp_path: Path, control: bytes, large: bool) -> None:
    """Attack: terms that crash the checker, so that there is no replay."""
    checker = tmp_path / "bin" / "leanchecker"
    checker.parent.mkdir()
    checker.write_text('#!/bin/sh\nread -r data < Submission.olean; [ "$data" = right ] || kill -11 $$\n')
    checker.chmod(0o755)
    if large:
        with pytest.raises(TooLarge, match="ended with -11"):
            kernel.replay(_constants(), b"deep\n", toolchain=tmp_path, control=control)
    else:
        assert kernel.replay(_constants(), b"deep\n", toolchain=tmp_path, control=control).status == "unavailable"


def test_without_a_library_and_leanchecker_nothing_is_said(tmp_path: Path) -> None:
    said = kernel.replay(_constants(), b"", toolchain=tmp_path)
    assert (said.status, said.by) == ("unavailable", "")
    assert "libleanshared.so" in said.message


def test_what_others_use_comes_first() -> None:
    module = _constants(_theorem("t", 8, 9), _a, replace(_A, name=("z",)), _A)
    order = list(ordered(module, units(module)))
    assert sorted(order) == [("A",), ("a",), ("t",), ("z",)]
    assert order.index(("A",)) < order.index(("a",)) < order.index(("t",))


def test_what_is_made_together_is_declared_together() -> None:
    pair = (("f",), ("g",))
    unsafe = Constant(name=pair[0], kind="definition", level_params=(), type=0, value=0, safety="unsafe", all=pair)
    family = Constant(name=("T",), kind="inductive", level_params=(), type=0, all=(("T",),), ctors=(("T", "mk"),))
    module = _constants(
        Constant(name=("T", "rec"), kind="recursor", level_params=(), type=0, all=(("T",),)),
        Constant(name=("T", "mk"), kind="constructor", level_params=(), type=0, induct=("T",)),
        family,
        *(replace(unsafe, name=name) for name in pair),
        *(replace(_A, name=("Quot", *rest), kind="quot") for rest in ((), ("mk",))),
        _theorem("t", 0, 0),
    )
    made = {name: {member.name for member in members} for name, members in units(module).items()}
    assert made == {
        ("T",): {("T",), ("T", "mk"), ("T", "rec")},
        ("f",): set(pair),
        ("Quot",): {("Quot",), ("Quot", "mk")},
        ("t",): {("t",)},
    }
