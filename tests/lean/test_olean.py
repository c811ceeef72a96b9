"""A compiled file is read as data: what Lean wrote is read whole, anything else is refused, and nothing hangs."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewarden_verifiers.lean.inspection.olean import Malformed, read
from rewarden_verifiers.lean.inspection.pretty import pretty, statement
from rewarden_verifiers.lean.inspection.terms import Module
from tests.lean.inspected import Lean
from tests.lean.inspected import lean as lean

EVERYTHING = """
universe u v
inductive Tree (α : Type u) : Type (max u v) where
  | leaf : α → Tree α
  | node : (Nat → Tree α) → Tree α
mutual
inductive A | a : B → A | nil
inductive B | b : A → B
end
structure Pair where
  x : Nat
  y : Nat
def Pair.first (p : Pair) : Nat := p.x
def add : Nat → Nat → Nat
  | m, .zero => m
  | m, .succ n => .succ (add m n)
def text : String := "héllo «x»\\n"
theorem big : Eq (18446744073709551620000 : Nat) 18446744073709551620000 := rfl
theorem small : Eq (9223372036854775807 : Nat) 9223372036854775807 := rfl
theorem big' : Eq (9223372036854775808 : Nat) 9223372036854775808 := rfl
theorem steps : True := let one : Nat := 1; have two : Eq one 1 := rfl; True.intro
private theorem hidden : True := .intro
instance : Inhabited Nat := ⟨0⟩
partial def loop (n : Nat) : Nat := loop n.succ
opaque sealed : Nat
unsafe def wild : Nat := 3
@[implemented_by wild] def tame : Nat := 3
axiom assumed {p : Prop} : p → p
"""


@pytest.fixture(scope="module")
def everything(lean: Lean) -> bytes:
    return lean.compile(EVERYTHING)


@pytest.fixture(scope="module")
def module(everything: bytes) -> Module:
    return read(everything)


def test_what_lean_wrote_is_read(module: Module) -> None:
    assert module.version.startswith("4.")
    assert not module.is_module
    assert module.imports == (("Base",),)
    kinds = {name: constant.kind for name, constant in module.constants.items()}
    assert kinds["Tree",] == "inductive"
    assert kinds["Tree", "leaf"] == "constructor"
    assert kinds["Tree", "rec"] == "recursor"
    assert kinds["add",] == "definition"
    assert kinds["big",] == "theorem"
    assert kinds["sealed",] == kinds["loop",] == "opaque"
    assert kinds["assumed",] == "axiom"
    assert kinds["_private", "Main", 0, "hidden"] == "theorem"
    assert module.entries["Lean", "Compiler", "implementedByAttr"] == 1


def test_every_field_of_a_declaration_is_read(module: Module) -> None:
    tree = module.constants["Tree",]
    assert (tree.level_params, tree.num_params, tree.num_indices) == ((("u",), ("v",)), 1, 0)
    assert tree.ctors == (("Tree", "leaf"), ("Tree", "node"))
    assert (tree.is_rec, tree.is_reflexive, tree.num_nested, tree.safety) == (True, True, 0, "safe")
    node = module.constants["Tree", "node"]
    assert (node.induct, node.cidx, node.num_params, node.num_fields) == (("Tree",), 1, 1, 1)
    recursor = module.constants["Tree", "rec"]
    assert (recursor.num_motives, recursor.num_minors, recursor.k) == (1, 2, False)
    assert [(rule.constructor, rule.fields) for rule in recursor.rules] == [
        (("Tree", "leaf"), 1),
        (("Tree", "node"), 1),
    ]
    assert module.constants["A",].all == (("A",), ("B",))
    assert module.constants["wild",].safety == "unsafe"
    assert module.constants["add", "_unsafe_rec"].safety == "partial"
    assert (module.constants["Pair", "x"].hints, module.constants["Pair", "first"].hints) == ("abbrev", 1)


def test_literals_are_read_whole(module: Module) -> None:
    literals = {expr[1] for expr in module.exprs if expr[0] in ("nat", "str")}
    assert {2**63 - 1, 2**63, 18446744073709551620000, "héllo «x»\n"} <= literals


def test_children_stand_before_their_parents(module: Module) -> None:
    places = {"app": (1, 2), "lam": (2, 3), "pi": (2, 3), "let": (2, 3, 4), "mdata": (1,), "proj": (3,)}
    for at, expr in enumerate(module.exprs):
        assert all(expr[place] < at for place in places.get(expr[0], ()))
    for at, level in enumerate(module.levels):
        assert all(below < at for below in level[1:] if level[0] != "param")


def test_terms_are_written_as_lean_writes_them(module: Module) -> None:
    assert statement(module, ("small",)) == "theorem small : 9223372036854775807 = 9223372036854775807"
    assert (
        statement(module, ("Tree", "node")) == "constructor Tree.node.{u, v} : ∀ {α : Type u}, (Nat → Tree α) → Tree α"
    )
    assert statement(module, ("Tree",)) == "inductive Tree.{u, v} : Type u → Type (max (u) (v))"
    value = module.constants["steps",].value
    assert value is not None
    assert pretty(module, value) == "let one : Nat := 1; have two : one = 1 := rfl Nat one; True.intro"


def test_a_shared_term_is_written_at_bounded_length(lean: Lean) -> None:
    doubled = "".join(f"  let x{n + 1} := And x{n} x{n}\n" for n in range(60))
    module = lean.read(f"def x : Prop :=\n  let x0 := True\n{doubled}  x60\n")
    exprs = [("const", ("c",), ()), *(("app", n, n) for n in range(200))]
    shared = Module(levels=(("zero",),), exprs=tuple(exprs), constants={})
    assert len(pretty(shared, 200, length=500)) <= 501
    value = module.constants["x",].value
    assert value is not None
    assert len(pretty(module, value, length=300)) <= 301


def test_a_cut_file_is_refused(everything: bytes) -> None:
    for length in [*range(0, 200), *range(200, len(everything), 997)]:
        with pytest.raises(Malformed):
            read(everything[:length])


def patched(data: bytes, word: int, value: int) -> bytes:
    return data[: 8 * word] + struct.pack("<Q", value) + data[8 * word + 8 :]


def objects(data: bytes, tag: int, pointers: int, size: int) -> list[int]:
    """Returns where objects with that header stand, as word indices."""
    header = struct.pack("<Q", tag << 56 | pointers << 48 | size << 32)
    return [at // 8 for at in range(96, len(data), 8) if data[at : at + 8] == header]


def test_a_lie_about_loose_variables_is_refused(everything: bytes) -> None:
    # Attack: the kernel does not look into a term that says it has no loose variables.
    applications = objects(everything, 5, 2, 32)
    words = struct.unpack(f"<{len(everything) // 8}Q", everything)
    loose = [at for at in applications if words[at + 3] >> 44]
    assert loose
    with pytest.raises(Malformed, match="cached data"):
        read(patched(everything, loose[0] + 3, words[loose[0] + 3] & ((1 << 44) - 1)))


@pytest.mark.parametrize("bit", [40, 41, 42, 43])
def test_a_lie_about_what_is_in_a_term_is_refused(everything: bytes, bit: int) -> None:
    words = struct.unpack(f"<{len(everything) // 8}Q", everything)
    at = objects(everything, 5, 2, 32)[0] + 3
    with pytest.raises(Malformed, match="cached data"):
        read(patched(everything, at, words[at] ^ 1 << bit))


def test_a_pointer_forwards_is_refused(everything: bytes) -> None:
    words = struct.unpack(f"<{len(everything) // 8}Q", everything)
    at = objects(everything, 5, 2, 32)[0]
    for target in (at, at + 4, len(words) + 10):
        with pytest.raises(Malformed, match="pointer"):
            read(patched(everything, at + 1, words[10] + 8 * target))


def test_an_array_larger_than_the_file_is_refused(everything: bytes) -> None:
    array = next(at for at in range(11, len(everything) // 8) if everything[8 * at + 7] == 246)
    for count in (1 << 40, 1 << 63, (1 << 64) - 1):
        data = patched(patched(everything, array + 1, count), array + 2, count)
        with pytest.raises(Malformed):
            read(data)


@pytest.mark.parametrize("layout", [0, 1, 3, 255])
def test_another_layout_is_refused_not_guessed(everything: bytes, layout: int) -> None:
    with pytest.raises(Malformed):
        read(everything[:5] + bytes([layout]) + everything[6:])


def test_the_module_system_is_told(lean: Lean) -> None:
    text = "public inductive True : Prop | intro\npublic theorem t : True := .intro\n"
    assert read(lean.compile(text, header="module\nprelude\n")).is_module


@pytest.fixture(scope="module")
def little(lean: Lean) -> bytes:
    return lean.compile("theorem asked (a : Nat) (h : Eq a 2) : Eq 2 a := let b := a; h.symm\n")


@settings(max_examples=120, deadline=None)
@given(st.data())
def test_damage_is_refused_or_harmless(little: bytes, data: st.DataObject) -> None:
    """Whatever bytes change, there is a module or there is Malformed."""
    damaged = bytearray(little)
    for _ in range(data.draw(st.integers(1, 8))):
        at = data.draw(st.integers(0, len(damaged) - 1))
        damaged[at] = data.draw(st.integers(0, 255))
    try:
        found = read(bytes(damaged))
    except Malformed:
        return
    for name in found.constants:
        statement(found, name, length=200)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=600))
def test_noise_is_refused(noise: bytes) -> None:
    for data in (noise, b"olean\x01" + noise, b"olean\x02\x01" + noise):
        try:
            read(data)
        except Malformed:
            continue
        raise AssertionError("read")


# A hostile file that is small and grows when it is copied out.


class Image:
    """Writes an .olean file object by object. layout: of the header; last: whether the root is the last word, not the
    first."""

    BASE = 1 << 40

    def __init__(self, *, layout: int = 2, last: bool = False) -> None:
        self.layout, self.last = layout, last
        self.head = (
            b"olean\x01" + b"0" * 42 if layout == 1 else b"olean\x02\x01" + b"4.35.0".ljust(33, b"\0") + b"0" * 40
        )
        self.words = [0] * (len(self.head) // 8 + 1 + (not last))

    def put(self, tag: int, *pointers: int, scalars: tuple[int, ...] = ()) -> int:
        at = len(self.words)
        self.words += [tag << 56 | len(pointers) << 48 | (8 + 8 * (len(pointers) + len(scalars))) << 32]
        self.words += [*pointers, *scalars]
        return self.BASE + 8 * at

    def string(self, text: str) -> int:
        raw = text.encode() + b"\0"
        at = len(self.words)
        self.words += [249 << 56 | 1 << 32, len(raw), len(raw), len(text)]
        raw += b"\0" * (-len(raw) % 8)
        self.words += struct.unpack(f"<{len(raw) // 8}Q", raw)
        return self.BASE + 8 * at

    def array(self, *items: int) -> int:
        at = len(self.words)
        self.words += [246 << 56 | 1 << 32, len(items), len(items), *items]
        return self.BASE + 8 * at

    def name(self, prefix: int, text: str) -> int:
        return self.put(1, prefix, self.string(text), scalars=(0,))

    def axiom(self, name: int, params: int, type_: int) -> int:
        return self.put(0, self.put(0, self.put(0, name, params, type_), scalars=(0,)))

    def module(self, *constants: tuple[int, int]) -> bytes:
        empty = self.array()
        names, infos = self.array(*(name for name, _ in constants)), self.array(*(info for _, info in constants))
        root = self.put(0, empty, names, infos, empty, empty, scalars=() if self.last else (0,))
        first = len(self.head) // 8 + 1
        if self.last:
            self.words.append(root)
        else:
            self.words[first] = root
        return self.head + struct.pack(f"<{len(self.words) - first + 1}Q", self.BASE, *self.words[first:])


PROP = 1  # the level zero, as a pointer


@pytest.mark.parametrize(("layout", "last"), [(1, True), (2, True), (2, False)])
def test_older_layouts_are_read(layout: int, last: bool) -> None:
    image = Image(layout=layout, last=last)
    prop = image.put(3, PROP, scalars=(0,))
    name = image.name(1, "p")
    module = read(image.module((name, image.axiom(name, 1, prop))))
    assert module.constants["p",].kind == "axiom"
    assert module.exprs[module.constants["p",].type] == ("sort", 0)


@pytest.mark.parametrize("old", [True, False])
def test_older_inductive_types_are_read(old: bool) -> None:
    image = Image()
    name = image.name(1, "I")
    block = image.put(1, name, 1)
    prop = image.put(3, PROP, scalars=(0,))
    fields = (image.put(0, name, 1, prop), 3, 5, block, 1)
    flags = 1 << 16  # reflexive
    value = image.put(0, *fields, scalars=(flags | 1 << 24,)) if old else image.put(0, *fields, 3, scalars=(flags,))
    found = read(image.module((name, image.put(5, value)))).constants["I",]
    assert (found.num_params, found.num_indices, found.num_nested) == (1, 2, 1)
    assert (found.is_rec, found.safety, found.is_reflexive, found.all) == (False, "safe", True, (("I",),))


def test_a_name_without_end_is_refused() -> None:
    image = Image()
    prop = image.put(3, PROP, scalars=(0,))
    name = 1
    for _ in range(20_000):
        name = image.name(name, "x")
    with pytest.raises(Malformed, match="name"):
        read(image.module((name, image.axiom(name, 1, prop))))


def test_names_that_share_a_long_text_are_refused() -> None:
    image = Image()
    prop = image.put(3, PROP, scalars=(0,))
    text = image.string("x" * 100_000)
    name = image.put(1, 1, text, scalars=(0,))
    with pytest.raises(Malformed, match="name"):
        read(image.module((name, image.axiom(name, 1, prop))))


def test_lists_that_share_their_tails_are_refused() -> None:
    image = Image()
    prop = image.put(3, PROP, scalars=(0,))
    block, constants = 1, []
    for number in range(1000):
        name = image.name(1, f"x{number}")
        block = image.put(1, name, block)
        constants.append((name, image.put(2, image.put(0, image.put(0, name, 1, prop), prop, block))))
    with pytest.raises(Malformed, match="lists"):
        read(image.module(*constants))


def test_a_term_of_great_depth_and_greater_size_is_read() -> None:
    image = Image()
    prop = image.put(3, PROP, scalars=(0,))
    term = prop
    for _ in range(20_000):
        term = image.put(5, term, term, scalars=(0,))
    name = image.name(1, "p")
    module = read(image.module((name, image.axiom(name, 1, term))))
    assert len(module.exprs) == 20_001
    assert len(statement(module, ("p",), length=300)) <= 320


def test_a_constant_with_a_loose_variable_is_refused() -> None:
    image = Image()
    loose = image.put(0, 1, scalars=(1 << 44,))
    name = image.name(1, "p")
    with pytest.raises(Malformed, match="loose"):
        read(image.module((name, image.axiom(name, 1, loose))))


@pytest.mark.parametrize("flags", [0, 1 << 40, 1 << 41])
@pytest.mark.parametrize("tag", [1, 2])
def test_free_and_unsolved_variables_are_refused(tag: int, flags: int) -> None:
    image = Image()
    name = image.name(1, "p")
    variable = image.put(tag, name, scalars=(flags,))
    with pytest.raises(Malformed):
        read(image.module((name, image.axiom(name, 1, variable))))


def test_an_unsolved_level_is_refused() -> None:
    image = Image()
    name = image.name(1, "p")
    prop = image.put(3, image.put(5, name, scalars=(1 << 32,)), scalars=(0,))
    with pytest.raises(Malformed, match="unsolved"):
        read(image.module((name, image.axiom(name, 1, prop))))


def test_a_constant_of_too_many_universes_is_refused() -> None:
    image = Image()
    name = image.name(1, "p")
    prop = image.put(3, PROP, scalars=(0,))
    params = 1
    for number in range(200):
        params = image.put(1, image.name(1, f"u{number}"), params)
    with pytest.raises(Malformed, match="universe"):
        read(image.module((name, image.axiom(name, params, prop))))


def test_one_constant_twice_is_refused() -> None:
    image = Image()
    prop = image.put(3, PROP, scalars=(0,))
    name = image.name(1, "p")
    info = image.axiom(name, 1, prop)
    with pytest.raises(Malformed, match="twice"):
        read(image.module((name, info), (name, info)))


def test_a_constant_under_another_name_is_refused() -> None:
    image = Image()
    prop = image.put(3, PROP, scalars=(0,))
    name, other = image.name(1, "p"), image.name(1, "q")
    with pytest.raises(Malformed, match="not theirs"):
        read(image.module((other, image.axiom(name, 1, prop))))
