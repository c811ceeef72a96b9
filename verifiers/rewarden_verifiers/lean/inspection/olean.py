"""Reads a compiled Lean module (an .olean file) as data.

The file is an image of Lean's heap: objects one after another, children before parents. Each has a header word
(reference count, size, number of pointers, tag), its pointers (relative to the base address in the file's header; odd
words are small numbers) and its other fields. The layout follows Lean's runtime (`lean.h`, `compact.cpp`) and the
declarations of `ModuleData`, `ConstantInfo`, `Expr`, `Level` and `Name`. Since 4.0 the header has grown, the root has
moved from the last word to the first, and inductive types count what was a mark (`isNested`); all these versions are
read.

The file may be hostile, because a process that ran the submission's code wrote it. Therefore every offset and size is
checked; nothing recurses; a pointer must lead backwards, so that there are no cycles; and data that grows when it is
copied (names, lists) is limited by the file's size. Facts that the kernel would trust without checking (an expression's
cached flags and its count of loose variables) are computed again, and a file with wrong ones is rejected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import get_args

from rewarden_verifiers.lean.inspection.terms import (
    Constant,
    Expr,
    Hints,
    Kind,
    Level,
    Module,
    Name,
    Quot,
    Rule,
    Safety,
)

_MARKER = b"olean"
_POINTER_FLAGS = 1  # header's flags: big numbers are stored as GMP does
_MAX_DEPTH = 100  # components of a name; Lean's own have at most about 30
_MAX_LETTERS = 4096  # of a name's components together
_MAX_LEVELS = 128  # universe parameters of a constant, and levels where it is used; Mathlib's have at most about 20
_MAX_LOOSE = 1 << 20  # Lean has 20 bits for the count of loose variables
_MAX_COUNT = 1 << 31

_ARRAY, _BYTES, _STRING, _BIG, _THUNK, _TASK, _REF = 246, 248, 249, 250, 251, 252, 253
_LAST_CONSTRUCTOR = 243


class Malformed(ValueError):
    """Lean cannot have written these bytes as a module, or their layout is unknown."""


def read(data: bytes) -> Module:
    """Returns the module in an .olean file. Time and memory are linear in the file's size, whatever the bytes.

    Raises Malformed.
    """
    return _Reader(data).module()


def _header(tag: int, pointers: int, scalars: int = 0) -> int:
    """Returns a constructor object's header word. scalars: bytes of other fields, rounded up to words."""
    return tag << 56 | pointers << 48 | (8 + 8 * pointers + scalars) << 32


_NAME_STR, _NAME_NUM = _header(1, 2, 8), _header(2, 2, 8)
_CONS = _header(1, 2)
_PAIR = _header(0, 2)
_REGULAR = _header(2, 0, 8)
_CONSTANT_VAL = _header(0, 3)
_RULE = _header(0, 3)
_MODULES = {_header(0, 5): False, _header(0, 5, 8): True}  # before and since the module system
_LEVELS = {
    _header(1, 1, 8): "succ",
    _header(2, 2, 8): "max",
    _header(3, 2, 8): "imax",
    _header(4, 1, 8): "param",
    _header(5, 1, 8): "mvar",
}
_EXPRS = {
    _header(0, 1, 8): "bvar",
    _header(1, 1, 8): "fvar",
    _header(2, 1, 8): "mvar",
    _header(3, 1, 8): "sort",
    _header(4, 2, 8): "const",
    _header(5, 2, 8): "app",
    _header(6, 3, 16): "lam",
    _header(7, 3, 16): "pi",
    _header(8, 4, 16): "let",
    _header(9, 1, 8): "lit",
    _header(10, 2, 8): "mdata",
    _header(11, 3, 8): "proj",
}
_ZERO = 0  # the level zero is a small number in the file; no object has this index
_CHILDREN = {"app": (1, 2), "lam": (2, 3), "pi": (2, 3), "let": (2, 3, 4), "mdata": (2,), "proj": (3,)}
_LITERALS = {_header(0, 1): "nat", _header(1, 1): "str"}
_KINDS: tuple[Kind, ...] = get_args(Kind)
_VALUES = {  # the object of each kind of ConstantInfo
    "axiom": _header(0, 1, 8),
    "definition": _header(0, 4, 8),
    "theorem": _header(0, 3),
    "opaque": _header(0, 3, 8),
    "quot": _header(0, 1, 8),
    "inductive": _header(0, 6, 8),
    "constructor": _header(0, 5, 8),
    "recursor": _header(0, 7, 8),
}
_OLD_INDUCTIVE = _header(0, 5, 8)  # before 4.12: whether it is nested, instead of how often
_SAFETIES: tuple[Safety, ...] = ("unsafe", "safe", "partial")
_QUOTS: tuple[Quot, ...] = get_args(Quot)


class _Reader:
    """One file. Objects are identified by the index of their header word."""

    def __init__(self, data: bytes) -> None:
        if len(data) < 64 or data[:5] != _MARKER:
            raise Malformed("not an .olean file")
        if len(data) % 8:
            raise Malformed("cut short")
        layout = data[5]
        self.version = ""
        if layout == 1:
            first = 7
        elif layout == 2 and len(data) >= 96:
            if data[6] != _POINTER_FLAGS:
                raise Malformed("written by a Lean that keeps big numbers in another way")
            self.version = data[7:40].rstrip(b"\0").decode("ascii", "replace")
            first = 11
        else:
            raise Malformed("an unknown version of the file's layout")
        self.data = data
        self.words = memoryview(data).cast("Q")
        self.base = self.words[first - 1]
        end = len(self.words)
        if self.base % 8 or self.base + len(data) >= 1 << 63:
            raise Malformed("base address")
        lead = self.words[first]
        if lead % 8 == 0 and self.base < lead < self.base + len(data):  # no object begins with such a word
            self.first, self.end, root = first + 1, end, lead
        else:
            self.first, self.end, root = first, end - 1, self.words[end - 1]
        self.starts = bytearray(end)
        self._scan()
        self.root = self._target(root, self.end)
        self._names: dict[int, tuple[Name, int]] = {}
        self._strings: dict[int, str] = {}
        self._lists: dict[int, tuple[int, ...]] = {}
        self._name_lists: dict[int, tuple[Name, ...]] = {}
        self._list_room = 2 * end + 64
        self._known_roots: dict[int, list[int]] = {}
        self._levels = {_ZERO: 0}
        self._exprs: dict[int, int] = {}

    # objects

    def _scan(self) -> None:
        """Walks over all objects: they must be adjacent, and their pointers must lead to earlier ones."""
        words, starts, base, end = self.words, self.starts, self.base, self.end
        at = self.first
        while at < end:
            word = words[at]
            if word & 0xFFFFFFFF:
                raise Malformed("an object with a reference count")
            tag, others, size = word >> 56, word >> 48 & 0xFF, word >> 32 & 0xFFFF
            if tag <= _LAST_CONSTRUCTOR:
                if size % 8 or size < 8 + 8 * others:
                    raise Malformed("a constructor's size")
                pointers, length = range(at + 1, at + 1 + others), size // 8
            elif tag == _ARRAY:
                count = self._count(at)
                pointers, length = range(at + 3, at + 3 + count), 3 + count
            elif tag == _STRING:
                pointers, length = range(0), 4 + (self._count(at) + 7) // 8
            elif tag == _BYTES:
                if others not in (1, 2, 4, 8):
                    raise Malformed("a scalar array's element size")
                pointers, length = range(0), 3 + (self._count(at) * others + 7) // 8
            elif tag == _BIG:
                pointers, length = range(0), 3 + self._limbs(at)
            elif tag in (_THUNK, _TASK):
                pointers, length = range(at + 1, at + 2), 3
            elif tag == _REF:
                pointers, length = range(at + 1, at + 2), 2
            else:
                raise Malformed("an object of a kind that is not stored")
            if at + length > end:
                raise Malformed("cut short")
            for place in pointers:
                pointer = words[place]
                if not pointer & 1:
                    target = (pointer - base) >> 3
                    if pointer & 7 or not 0 < target < at or not starts[target]:
                        raise Malformed("a pointer to no earlier object")
            starts[at] = 1
            at += length

    def _count(self, at: int) -> int:
        """Returns the elements of an array, or the bytes of a string: size and capacity, which are equal in a file."""
        if at + 2 >= self.end:
            raise Malformed("cut short")
        count = self.words[at + 1]
        if count > len(self.data) or self.words[at + 2] != count:
            raise Malformed("an array's size")
        return count

    def _limbs(self, at: int) -> int:
        if at + 2 >= self.end:
            raise Malformed("cut short")
        size = self.words[at + 1] >> 32
        size = size - (1 << 32) if size >> 31 else size
        if abs(size) > len(self.data) or self.words[at + 2] != self.base + 8 * (at + 3):
            raise Malformed("a big number's size")
        return abs(size)

    def _target(self, pointer: int, before: int) -> int:
        if pointer & 7:
            raise Malformed("a small number in an object's place")
        target = (pointer - self.base) >> 3
        if not 0 < target < before or not self.starts[target]:
            raise Malformed("a pointer to no earlier object")
        return target

    def _field(self, at: int, index: int) -> int:
        """Returns the object at the pointer at `index` (from 1); the scan has checked that it is one."""
        pointer = self.words[at + index]
        if pointer & 1:
            raise Malformed("a small number in an object's place")
        return (pointer - self.base) >> 3

    def _array(self, at: int, index: int) -> list[int]:
        array = self._field(at, index)
        if self.words[array] >> 56 != _ARRAY:
            raise Malformed("no array where one must be")
        return [self._target(word, array) for word in self.words[array + 3 : array + 3 + self.words[array + 1]]]

    def _byte(self, at: int, pointers: int, index: int) -> int:
        """Returns a scalar field of one byte, after a constructor's pointers."""
        return self.data[8 * (at + 1 + pointers) + index]

    def _flag(self, at: int, pointers: int, index: int) -> bool:
        byte = self._byte(at, pointers, index)
        if byte > 1:
            raise Malformed("a truth value that is neither")
        return byte == 1

    def _expect(self, at: int, header: int, what: str) -> int:
        if self.words[at] != header:
            raise Malformed(f"no {what} where one must be")
        return at

    # leaves

    def _string(self, at: int) -> str:
        found = self._strings.get(at)
        if found is None:
            if self.words[at] >> 56 != _STRING:
                raise Malformed("no string where one must be")
            size, start = self.words[at + 1], 8 * (at + 4)
            raw = self.data[start : start + size]
            if raw[-1:] != b"\0":
                raise Malformed("a string without an end")
            try:
                found = raw[:-1].decode()
            except UnicodeDecodeError as error:
                raise Malformed("a string that is not UTF-8") from error
            if len(found) != self.words[at + 3]:
                raise Malformed("a string's length")
            self._strings[at] = found
        return found

    def _natural(self, at: int, index: int) -> int:
        word = self.words[at + index]
        if word & 1:
            return word >> 1
        big = (word - self.base) >> 3
        if self.words[big] >> 56 != _BIG or self.words[big + 1] >> 63:
            raise Malformed("no natural number where one must be")
        value = int.from_bytes(self.words[big + 3 : big + 3 + self._limbs(big)], "little")
        if value < 1 << 63:
            raise Malformed("a small number stored as a big one")
        return value

    def _small(self, at: int, index: int) -> int:
        value = self._natural(at, index)
        if value >= _MAX_COUNT:
            raise Malformed("a count beyond any")
        return value

    def _name(self, at: int, index: int) -> Name:
        word = self.words[at + index]
        return () if word == 1 else self._name_at(self._target(word, at + index))

    def _name_at(self, at: int) -> Name:
        names, words = self._names, self.words
        chain = []
        while at not in names:
            if words[at] not in (_NAME_STR, _NAME_NUM):
                raise Malformed("no name where one must be")
            chain.append(at)
            if len(chain) > _MAX_DEPTH:
                raise Malformed("a name of too many components")
            if words[at + 1] == 1:
                break
            at = self._field(at, 1)
        name, letters = names.get(at, ((), 0))
        for at in reversed(chain):
            part: str | int
            if words[at] == _NAME_STR:
                part = self._string(self._field(at, 2))
                letters += len(part)
            else:
                part = self._natural(at, 2)  # often a hash
                if part >> 64:
                    raise Malformed("a name's number")
            name = (*name, part)
            if len(name) > _MAX_DEPTH or letters > _MAX_LETTERS:
                raise Malformed("a name that is too long")
            names[at] = name, letters
        return name

    def _list(self, at: int, index: int) -> tuple[int, ...]:
        """Returns the words of a `List`'s elements."""
        word = self.words[at + index]
        if word == 1:
            return ()
        head = self._target(word, at)
        found = self._lists.get(head)
        if found is None:
            items = []
            cell = head
            while True:
                self._expect(cell, _CONS, "list")
                items.append(cell + 1)
                if self.words[cell + 2] == 1:
                    break
                cell = self._field(cell, 2)
                if len(items) > self._list_room:  # lists that share their tails grow when each is copied
                    raise Malformed("lists longer than the file")
            self._list_room -= len(items)
            found = self._lists[head] = tuple(items)
        return found

    def _name_list(self, at: int, index: int) -> tuple[Name, ...]:
        head = self.words[at + index]
        found = self._name_lists.get(head)
        if found is None:
            found = self._name_lists[head] = tuple(self._name(place, 0) for place in self._list(at, index))
        return found

    def _params(self, at: int, index: int) -> tuple[Name, ...]:
        params = self._name_list(at, index)
        if len(params) > _MAX_LEVELS or len(set(params)) != len(params):
            raise Malformed("universe parameters: too many, or one declared twice")
        return params

    # terms

    def _reach(self, roots: Iterable[int], children: Callable[[int], Iterable[int]]) -> list[int]:
        """Returns all objects below the roots, in the file's order: children first."""
        seen = set(roots)
        todo = list(seen)
        while todo:
            for child in children(todo.pop()):
                if child not in seen:
                    seen.add(child)
                    todo.append(child)
        return sorted(seen)

    def _expr_children(self, at: int) -> list[int]:
        kind = _EXPRS.get(self.words[at])
        if kind is None:
            raise Malformed("no expression where one must be")
        return [self._field(at, index) for index in _CHILDREN.get(kind, ())]

    def _level_children(self, at: int) -> list[int]:
        if at == _ZERO:
            return []
        kind = _LEVELS.get(self.words[at])
        if kind is None:
            raise Malformed("no universe level where one must be")
        if kind in ("max", "imax"):
            return [self._level(at, 1), self._level(at, 2)]
        return [self._level(at, 1)] if kind == "succ" else []

    def _level(self, at: int, index: int) -> int:
        return _ZERO if self.words[at + index] == 1 else self._field(at, index)

    def _expr_levels(self, at: int) -> list[int]:
        kind = _EXPRS[self.words[at]]
        if kind == "sort":
            return [self._level(at, 1)]
        if kind != "const":
            return []
        places = self._list(at, 2)
        if len(places) > _MAX_LEVELS:
            raise Malformed("too many universe levels")
        return [self._level(place, 0) for place in places]

    def _read_levels(self, order: list[int]) -> tuple[tuple[Level, ...], list[bool]]:
        levels: list[Level] = [("zero",)]
        parametric = [False]
        for at in order:
            if at == _ZERO:
                continue
            kind, pointers = _LEVELS[self.words[at]], self.words[at] >> 48 & 0xFF
            children = [self._levels[child] for child in self._level_children(at)]
            has_param = kind == "param" or any(parametric[child] for child in children)
            if kind == "mvar":
                raise Malformed("an unsolved universe level")
            if self.words[at + 1 + pointers] >> 32 & 3 != 2 * has_param:
                raise Malformed("a universe level's cached data")
            self._levels[at] = len(levels)
            levels.append((kind, self._name(at, 1)) if kind == "param" else (kind, *children))
            parametric.append(has_param)
        return tuple(levels), parametric

    def _read_exprs(self, order: list[int], parametric: list[bool]) -> tuple[tuple[Expr, ...], list[int]]:
        """Returns the expressions, and the number of loose variables in each."""
        words, index = self.words, self._exprs
        exprs: list[Expr] = []
        loose: list[int] = []
        params: list[bool] = []
        for at in order:
            header = words[at]
            kind, pointers = _EXPRS[header], header >> 48 & 0xFF
            children = [index[self._field(at, place)] for place in _CHILDREN.get(kind, ())]
            range_, has_param = 0, False
            expr: Expr
            if kind == "app":
                f, a = children
                expr = ("app", f, a)
                range_ = max(loose[f], loose[a])
                has_param = params[f] or params[a]
            elif kind in ("lam", "pi"):
                domain, body = children
                info = self._byte(at, pointers, 8)
                if info > 3:
                    raise Malformed("a binder of no kind")
                expr = (kind, self._name(at, 1), domain, body, info)
                range_ = max(loose[domain], loose[body] - 1)
                has_param = params[domain] or params[body]
            elif kind == "const":
                levels = tuple(self._levels[level] for level in self._expr_levels(at))
                expr = ("const", self._name(at, 1), levels)
                has_param = any(parametric[level] for level in levels)
            elif kind == "bvar":
                variable = self._natural(at, 1)
                expr = ("bvar", variable)
                range_ = variable + 1
            elif kind == "sort":
                level = self._levels[self._level(at, 1)]
                expr = ("sort", level)
                has_param = parametric[level]
            elif kind == "let":
                domain, value, body = children
                expr = ("let", self._name(at, 1), domain, value, body, self._flag(at, pointers, 8))
                range_ = max(loose[domain], loose[value], loose[body] - 1)
                has_param = params[domain] or params[value] or params[body]
            elif kind == "lit":
                expr = self._literal(self._field(at, 1))
            elif kind == "mdata":
                expr = ("mdata", children[0])
                range_, has_param = loose[children[0]], params[children[0]]
            elif kind == "proj":
                expr = ("proj", self._name(at, 1), self._small(at, 2), children[0])
                range_, has_param = loose[children[0]], params[children[0]]
            else:
                raise Malformed("a free or unsolved variable")
            if range_ >= _MAX_LOOSE:
                raise Malformed("a variable's index")
            if words[at + 1 + pointers] >> 40 != range_ << 4 | has_param << 3:  # the kernel skips closed terms unread
                raise Malformed("an expression's cached data")
            index[at] = len(exprs)
            exprs.append(expr)
            loose.append(range_)
            params.append(has_param)
        return tuple(exprs), loose

    def _literal(self, at: int) -> Expr:
        kind = _LITERALS.get(self.words[at])
        if kind == "nat":
            return ("nat", self._natural(at, 1))
        if kind == "str":
            return ("str", self._string(self._field(at, 1)))
        raise Malformed("a literal of no kind")

    # constants

    def _value(self, info: int) -> tuple[Kind, int]:
        """Returns the kind of a ConstantInfo, and the object with its fields."""
        tag = self.words[info] >> 56
        if tag >= len(_KINDS):
            raise Malformed("a constant of no kind")
        self._expect(info, _header(tag, 1), "constant")
        kind = _KINDS[tag]
        value = self._field(info, 1)
        if kind != "inductive" or self.words[value] != _OLD_INDUCTIVE:
            self._expect(value, _VALUES[kind], kind)
        self._expect(self._field(value, 1), _CONSTANT_VAL, "constant")
        return kind, value

    def _roots(self, kind: Kind, value: int) -> list[int]:
        """Yields the expressions of a constant: its type, its value, its rules' values."""
        roots = self._known_roots.get(value)
        if roots is None:
            roots = [self._field(self._field(value, 1), 3)]
            if kind in ("definition", "theorem", "opaque"):
                roots.append(self._field(value, 2))
            elif kind == "recursor":
                roots += [self._field(self._rule(place), 3) for place in self._list(value, 7)]
                self._list_room -= len(roots)  # recursors can share one list of rules
                if self._list_room < 0:
                    raise Malformed("lists longer than the file")
            self._known_roots[value] = roots
        return roots

    def _rule(self, place: int) -> int:
        return self._expect(self._field(place, 0), _RULE, "rule")

    def _constant(self, kind: Kind, value: int) -> Constant:
        head = self._field(value, 1)
        name = self._name(head, 1)
        params = self._params(head, 2)
        type_, *others = [self._exprs[root] for root in self._roots(kind, value)]
        made = partial(Constant, name=name, kind=kind, level_params=params, type=type_)

        def unsafe(pointers: int, index: int = 0) -> Safety:
            return "unsafe" if self._flag(value, pointers, index) else "safe"

        if kind == "axiom":
            return made(safety=unsafe(1))
        if kind == "definition":
            safety = self._byte(value, 4, 0)
            if safety >= len(_SAFETIES):
                raise Malformed("a definition of no safety")
            return made(
                value=others[0],
                hints=self._hints(value, 3),
                safety=_SAFETIES[safety],
                all=self._name_list(value, 4),
            )
        if kind == "theorem":
            return made(value=others[0], all=self._name_list(value, 3))
        if kind == "opaque":
            return made(value=others[0], safety=unsafe(3), all=self._name_list(value, 3))
        if kind == "quot":
            which = self._byte(value, 1, 0)
            if which >= len(_QUOTS):
                raise Malformed("a quotient's constant of no kind")
            return made(quot=_QUOTS[which])
        if kind == "inductive":
            old = self.words[value] == _OLD_INDUCTIVE
            pointers = 5 if old else 6
            return made(
                num_params=self._small(value, 2),
                num_indices=self._small(value, 3),
                all=self._name_list(value, 4),
                ctors=self._name_list(value, 5),
                num_nested=int(self._flag(value, 5, 3)) if old else self._small(value, 6),
                is_rec=self._flag(value, pointers, 0),
                safety=unsafe(pointers, 1),
                is_reflexive=self._flag(value, pointers, 2),
            )
        if kind == "constructor":
            return made(
                induct=self._name(value, 2),
                cidx=self._small(value, 3),
                num_params=self._small(value, 4),
                num_fields=self._small(value, 5),
                safety=unsafe(5),
            )
        rules = [self._rule(place) for place in self._list(value, 7)]
        return made(
            all=self._name_list(value, 2),
            num_params=self._small(value, 3),
            num_indices=self._small(value, 4),
            num_motives=self._small(value, 5),
            num_minors=self._small(value, 6),
            rules=tuple(
                Rule(self._name(rule, 1), self._small(rule, 2), right)
                for rule, right in zip(rules, others, strict=True)
            ),
            k=self._flag(value, 7, 0),
            safety=unsafe(7, 1),
        )

    def _hints(self, at: int, index: int) -> Hints:
        word = self.words[at + index]
        if word & 1:
            if word > 3:
                raise Malformed("a definition's hints")
            return "abbrev" if word == 3 else "opaque"
        return self.words[self._expect(self._field(at, index), _REGULAR, "hint") + 1] & 0xFFFFFFFF

    def module(self) -> Module:
        header = self.words[self.root]
        if header not in _MODULES:
            raise Malformed("no module at the root")
        values = [self._value(info) for info in self._array(self.root, 3)]
        order = self._reach((root for kind, value in values for root in self._roots(kind, value)), self._expr_children)
        levels, parametric = self._read_levels(
            self._reach((level for expr in order for level in self._expr_levels(expr)), self._level_children)
        )
        exprs, loose = self._read_exprs(order, parametric)
        constants: dict[Name, Constant] = {}
        for kind, value in values:
            if any(loose[self._exprs[root]] for root in self._roots(kind, value)):
                raise Malformed("a constant with a loose variable")
            constant = self._constant(kind, value)
            if constant.name in constants:
                raise Malformed("a constant declared twice")
            constants[constant.name] = constant
        if [self._name_at(name) for name in self._array(self.root, 2)] != list(constants):
            raise Malformed("the names of the constants are not theirs")
        return Module(
            version=self.version,
            is_module=_MODULES[header] and self._flag(self.root, 5, 0),
            imports=tuple(self._name(import_, 1) for import_ in self._array(self.root, 1)),
            levels=levels,
            exprs=exprs,
            constants=constants,
            extra_names=tuple(self._name_at(name) for name in self._array(self.root, 4)),
            entries=self._entries(),
        )

    def _entries(self) -> dict[Name, int]:
        found: dict[Name, int] = {}
        for pair in self._array(self.root, 5):
            array = self._field(self._expect(pair, _PAIR, "entry"), 2)
            if self.words[array] >> 56 != _ARRAY:
                raise Malformed("no array where one must be")
            if self.words[array + 1]:
                found[self._name(pair, 1)] = self.words[array + 1]
        return found
