"""Lean's own library in this process, and the objects that its kernel reads, rebuilt from a parsed module.

A compiled module's bytes come from a process that ran foreign code; as Lean maps them, they are pointers and cached
facts (hashes, flags) that native code trusts. Therefore no byte of them reaches the library: each name, level and
expression is built by the library's own constructors, which compute the cached facts.

Reference counts: every object made here has the count 0, which the library reads as one that is never freed, so that no
count can be wrong. The process is short-lived.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from rewarden_verifiers.lean.inspection.terms import Constant, Level, Module, Name

# From this bound variable on, Lean (release 4.35) panics and returns another term.
BVARS = (1 << 20) - 1

# Tested Lean versions (the first two numbers) whose object layout and signatures are the ones here.
KNOWN = ("4.35",)

_SMALL = 1 << 63

# `Lean.Expr` by its constructors: `const` and `proj` name a constant; the fields that are expressions.
_MENTIONING = (4, 11)
_BELOW = {5: (0, 1), 6: (1, 2), 7: (1, 2), 8: (1, 2, 3), 10: (1,), 11: (2,)}

_THREADS = 8 << 20  # stack size in bytes for the library's own threads, which have no work here

WORD = ctypes.c_size_t  # An object's address, or a small number as one.
BYTE = ctypes.c_uint8


class Unavailable(Exception):
    """The kernel cannot be called here, with the reason: no library, another version, a failed self-test."""


class Mpz(ctypes.Structure):
    """GMP's integer."""

    _fields_ = (("alloc", ctypes.c_int), ("size", ctypes.c_int), ("limbs", ctypes.c_void_p))


class Objects:
    """The library of a toolchain's `lib/lean`, initialised, and its objects as addresses. A process has one, and never
    another. version: such as `4.35.0`.

    Raises Unavailable for a library that is missing, is not Lean, or has a version that is not KNOWN.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        file = folder / "libleanshared.so"
        # After a panic the library would continue with another value in place of the term.
        os.environ["LEAN_ABORT_ON_PANIC"] = "1"
        try:
            # Not global: Lean looks for the native code of constants among the process's global symbols.
            self._slow = ctypes.CDLL(str(file), mode=ctypes.RTLD_LOCAL)
            # The same library, called without releasing the interpreter's lock: half the time of a short call.
            self._fast = ctypes.PyDLL(str(file), mode=ctypes.RTLD_LOCAL)
        except OSError as error:
            raise Unavailable(f"no library of Lean can be loaded: {error}") from error
        self.stack(_THREADS)
        self.call("lean_initialize", result=None)()
        self.call("lean_io_mark_end_initialization", result=None)()
        self.version = self.text(self.data("l_Lean_versionStringCore"))
        if ".".join(self.version.split(".")[:2]) not in KNOWN:
            raise Unavailable(f"Lean {self.version} is not a version whose kernel can be called: {', '.join(KNOWN)}")
        self._kept: list[Any] = []
        self._names: dict[Name, int] = {(): 1}
        self._make_string = self.quick("lean_mk_string_from_bytes", ctypes.c_char_p, WORD)
        self._name_string = self.quick("lean_name_mk_string", WORD, WORD)
        self._name_number = self.quick("lean_name_mk_numeral", WORD, WORD)
        self._alloc_mpz = self.quick("lean_alloc_mpz", ctypes.c_void_p)

    def stack(self, size: int) -> None:
        """Sets the stack size that the library assumes for threads that it sees for the first time from now on, and
        gives to its own threads. If a thread has less, deep terms crash the process without an error. size: in
        bytes."""
        self.call("lean_internal_set_thread_stack_size", WORD)(size)

    # Calls

    def call(self, symbol: str, *arguments: Any, result: Any = WORD) -> Any:
        """Returns a function that may take long. Raises Unavailable if there is none of that name, as all of these
        do."""
        return _function(self._slow, symbol, arguments, result)

    def quick(self, symbol: str, *arguments: Any) -> Any:
        """Returns a function that is called often and makes an object."""
        return _function(self._fast, symbol, arguments, WORD)

    def data(self, symbol: str) -> int:
        """Returns the object of a constant of the library."""
        try:
            return WORD.in_dll(self._slow, symbol).value
        except ValueError as error:
            raise Unavailable(f"not a library of Lean that is known: {error}") from error

    # Objects

    @staticmethod
    def box(value: int) -> int:
        """Returns a small number, or a constructor without fields by its number."""
        return value << 1 | 1

    @staticmethod
    def tag(address: int) -> int:
        """Returns the constructor of an object."""
        return address >> 1 if address & 1 else BYTE.from_address(address + 7).value

    @staticmethod
    def field(address: int, index: int) -> int:
        """Returns a field that is an object."""
        return WORD.from_address(address + 8 + 8 * index).value

    @staticmethod
    def text(address: int) -> str:
        """Returns a string's text."""
        return ctypes.string_at(address + 32, WORD.from_address(address + 8).value - 1).decode("utf-8", "replace")

    def read(self, address: int) -> Name:
        """Returns a name from its object."""
        parts: list[str | int] = []
        while address != self.box(0):
            last = self.field(address, 1)
            parts.append(self.text(last) if self.tag(address) == 1 else last >> 1)
            address = self.field(address, 0)
        return tuple(reversed(parts))

    @staticmethod
    def keep(address: int) -> int:
        """Makes an object immortal, however often it is passed on."""
        if not address & 1:
            count = ctypes.c_int32.from_address(address)
            if count.value:  # Otherwise it may be in read-only memory.
                count.value = 0
        return address

    def make(self, tag: int, fields: Sequence[int], scalars: bytes = b"") -> int:
        """Returns an object of a constructor. scalars: the fields that are not objects, as they follow the others in
        memory."""
        words = [0, *fields]
        for start in range(0, len(scalars), 8):
            words.append(int.from_bytes(scalars[start : start + 8].ljust(8, b"\0"), "little"))
        words[0] = tag << 56 | len(fields) << 48 | 8 * len(words) << 32
        memory = (WORD * len(words))(*words)
        self._kept.append(memory)
        return ctypes.addressof(memory)

    def list(self, items: Iterable[int]) -> int:
        """Returns a `List`."""
        whole = 1
        for item in reversed(list(items)):
            whole = self.make(1, (item, whole))
        return whole

    def items(self, address: int) -> Iterator[int]:
        """Yields the items of a `List`."""
        while address != self.box(0):
            yield self.field(address, 0)
            address = self.field(address, 1)

    def constants(self, start: Iterable[int]) -> set[Name]:
        """Returns the constants that expressions mention, by their objects."""
        found: set[Name] = set()
        todo = list(start)
        seen = set(todo)
        while todo:
            at = todo.pop()
            kind = self.tag(at)
            if kind in _MENTIONING:
                found.add(self.read(self.field(at, 0)))
            for place in _BELOW.get(kind, ()):
                below = self.field(at, place)
                if below not in seen:
                    seen.add(below)
                    todo.append(below)
        return found

    def array(self, items: Sequence[int]) -> int:
        """Returns an `Array`."""
        memory = (WORD * (3 + len(items)))(246 << 56 | 1 << 32, len(items), len(items), *items)
        self._kept.append(memory)
        return ctypes.addressof(memory)

    def string(self, text: str) -> int:
        """Returns a `String`."""
        data = text.encode()
        return self.keep(int(self._make_string(data, len(data))))

    def natural(self, value: int) -> int:
        """Returns a `Nat`, in time linear in its length: not by its decimals."""
        if value < _SMALL:
            return self.box(value)
        count = (value.bit_length() + 63) // 64
        limbs = ctypes.create_string_buffer(value.to_bytes(8 * count, "little"), 8 * count)
        number = Mpz(count, count, ctypes.addressof(limbs))
        return self.keep(int(self._alloc_mpz(ctypes.addressof(number))))

    def name(self, name: Name) -> int:
        """Returns a `Name`."""
        known = self._names.get(name)
        if known is not None:
            return known
        whole = 1
        for length in range(1, len(name) + 1):
            part = name[:length]
            known = self._names.get(part)
            if known is None:
                last = part[-1]
                if isinstance(last, str):
                    known = self.keep(int(self._name_string(whole, self.string(last))))
                else:
                    known = self.keep(int(self._name_number(whole, self.natural(last))))
                self._names[part] = known
            whole = known
        return whole

    def names(self, names: Iterable[Name]) -> int:
        """Returns a `List Name`."""
        return self.list(map(self.name, names))


def _function(library: ctypes.CDLL, symbol: str, arguments: Sequence[Any], result: Any) -> Any:
    try:
        function = library[symbol]
    except AttributeError as error:
        raise Unavailable(f"not a library of Lean that is known: {error}") from error
    function.restype = result
    function.argtypes = list(arguments)
    return function


class Terms:
    """A module's levels and expressions as objects: `levels` and `exprs` have the module's own indices.

    `mdata` is left out and replaced by its term, which is the same for the kernel. Raises ValueError for a bound
    variable that Lean does not support.
    """

    def __init__(self, objects: Objects, module: Module) -> None:
        self.objects = objects
        self.levels = self._levels(module.levels)
        self.exprs = self._exprs(module)

    def _levels(self, levels: Iterable[Level]) -> list[int]:
        objects = self.objects
        keep = objects.keep
        succ = objects.quick("lean_level_mk_succ", WORD)
        join = {
            "max": objects.quick("lean_level_mk_max", WORD, WORD),
            "imax": objects.quick("lean_level_mk_imax", WORD, WORD),
        }
        param = objects.quick("lean_level_mk_param", WORD)
        made: list[int] = []
        for level in levels:
            match level[0]:
                case "zero":
                    made.append(1)
                case "succ":
                    made.append(keep(succ(made[level[1]])))
                case "param":
                    made.append(keep(param(objects.name(level[1]))))
                case kind:
                    made.append(keep(join[kind](made[level[1]], made[level[2]])))
        return made

    def _exprs(self, module: Module) -> list[int]:
        objects = self.objects
        keep = objects.keep
        bvar = objects.quick("lean_expr_mk_bvar", WORD)
        sort = objects.quick("lean_expr_mk_sort", WORD)
        const = objects.quick("lean_expr_mk_const", WORD, WORD)
        app = objects.quick("lean_expr_mk_app", WORD, WORD)
        bind = {
            "lam": objects.quick("lean_expr_mk_lambda", WORD, WORD, WORD, BYTE),
            "pi": objects.quick("lean_expr_mk_forall", WORD, WORD, WORD, BYTE),
        }
        let = objects.quick("lean_expr_mk_let", WORD, WORD, WORD, WORD, BYTE)
        literal = objects.quick("lean_expr_mk_lit", WORD)
        project = objects.quick("lean_expr_mk_proj", WORD, WORD, WORD)
        levels, name = self.levels, objects.name
        made: list[int] = []
        add = made.append
        for expr in module.exprs:
            match expr:
                case ("app", function, argument):
                    add(keep(app(made[function], made[argument])))
                case ("bvar", index):
                    if index >= BVARS:
                        raise ValueError(f"a bound variable's index {index}")
                    add(keep(bvar(objects.box(index))))
                case ("const", of, at):
                    add(keep(const(name(of), objects.list(levels[level] for level in at))))
                case ("lam" | "pi" as kind, binder, of, body, info):
                    add(keep(bind[kind](name(binder), made[of], made[body], info)))
                case ("let", binder, of, value, body, nondep):
                    add(keep(let(name(binder), made[of], made[value], made[body], nondep)))
                case ("sort", level):
                    add(keep(sort(levels[level])))
                case ("proj", structure, index, inner):
                    add(keep(project(name(structure), objects.natural(index), made[inner])))
                case ("nat", value):
                    add(keep(literal(objects.make(0, (objects.natural(value),)))))
                case ("str", text):
                    add(keep(literal(objects.make(1, (objects.string(text),)))))
                case ("mdata", inner):
                    add(made[inner])
                case _:
                    raise AssertionError(expr[0])
        return made


class Values:
    """The kernel's records of constants, from the module's own: for its declarations, and for comparisons."""

    def __init__(self, terms: Terms) -> None:
        objects = terms.objects
        self.terms = terms
        self.objects = objects
        word, byte = WORD, BYTE
        self._axiom = objects.quick("lean_mk_axiom_val", word, word, word, byte)
        self._definition = objects.quick("lean_mk_definition_val", word, word, word, word, word, byte, word)
        self._theorem = objects.quick("lean_mk_theorem_val", word, word, word, word, word)
        self._opaque = objects.quick("lean_mk_opaque_val", word, word, word, word, byte, word)
        self._quot = objects.quick("lean_mk_quot_val", word, word, word, byte)
        self._inductive = objects.quick("lean_mk_inductive_val", *[word] * 8, byte, byte, byte)
        self._constructor = objects.quick("lean_mk_constructor_val", *[word] * 7, byte)
        self._recursor = objects.quick("lean_mk_recursor_val", *[word] * 9, byte, byte)
        self._height = objects.quick("lean_mk_reducibility_hints_regular", ctypes.c_uint32)

    def of(self, constant: Constant) -> int:
        """Returns the record (`AxiomVal`, `DefinitionVal` …) of a constant."""
        objects, exprs = self.objects, self.terms.exprs
        natural = objects.natural
        head = (objects.name(constant.name), objects.names(constant.level_params), exprs[constant.type])
        value = 1 if constant.value is None else exprs[constant.value]
        unsafe = constant.safety == "unsafe"
        whole = objects.names(constant.all)
        match constant.kind:
            case "axiom":
                made = self._axiom(*head, unsafe)
            case "definition":
                safety = ("unsafe", "safe", "partial").index(constant.safety)
                made = self._definition(*head, value, self._hints(constant), safety, whole)
            case "theorem":
                made = self._theorem(*head, value, whole)
            case "opaque":
                made = self._opaque(*head, value, unsafe, whole)
            case "quot":
                made = self._quot(*head, ("type", "ctor", "lift", "ind").index(constant.quot or "type"))
            case "inductive":
                made = self._inductive(
                    *head,
                    natural(constant.num_params),
                    natural(constant.num_indices),
                    whole,
                    objects.names(constant.ctors),
                    natural(constant.num_nested),
                    constant.is_rec,
                    unsafe,
                    constant.is_reflexive,
                )
            case "constructor":
                made = self._constructor(
                    *head,
                    objects.name(constant.induct),
                    natural(constant.cidx),
                    natural(constant.num_params),
                    natural(constant.num_fields),
                    unsafe,
                )
            case "recursor":
                rules = [
                    objects.make(0, (objects.name(rule.constructor), natural(rule.fields), exprs[rule.value]))
                    for rule in constant.rules
                ]
                made = self._recursor(
                    *head,
                    whole,
                    natural(constant.num_params),
                    natural(constant.num_indices),
                    natural(constant.num_motives),
                    natural(constant.num_minors),
                    objects.list(rules),
                    constant.k,
                    unsafe,
                )
        return objects.keep(int(made))

    def _hints(self, constant: Constant) -> int:
        objects = self.objects
        match constant.hints:
            case "opaque" | None:
                return objects.box(0)
            case "abbrev":
                return objects.box(1)
            case height:
                return objects.keep(int(self._height(height)))
