"""Terms as text that looks like Lean, for people: never parsed, never compared, and of limited length.

Terms in a file are shared; written out, one can be larger than any disk. Therefore the writer keeps a list of pieces to
write, and stops when its text or its number of steps reaches the limit.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from rewarden_verifiers.lean.inspection import names
from rewarden_verifiers.lean.inspection.axioms import INNER, children
from rewarden_verifiers.lean.inspection.terms import Module, Name

_OPEN = {0: "(", 1: "{", 2: "⦃", 3: "["}
_CLOSE = {0: ")", 1: "}", 2: "⦄", 3: "]"}

# Constants that are written between or before their last arguments: the number of arguments in all, the symbol, its
# precedence (as in Lean), and whether its left and right sides can have the same precedence.
_INFIX: dict[Name, tuple[int, str, int, bool, bool]] = {
    ("Eq",): (3, "=", 50, False, False),
    ("HEq",): (4, "≍", 50, False, False),
    ("Ne",): (3, "≠", 50, False, False),
    ("Iff",): (2, "↔", 20, False, False),
    ("And",): (2, "∧", 35, False, True),
    ("Or",): (2, "∨", 30, False, True),
    ("LE", "le"): (4, "≤", 50, False, False),
    ("LT", "lt"): (4, "<", 50, False, False),
    ("GE", "ge"): (4, "≥", 50, False, False),
    ("GT", "gt"): (4, ">", 50, False, False),
    ("Membership", "mem"): (5, "∋", 50, False, False),
    ("Dvd", "dvd"): (4, "∣", 50, False, False),
    ("HAdd", "hAdd"): (6, "+", 65, True, False),
    ("HSub", "hSub"): (6, "-", 65, True, False),
    ("HMul", "hMul"): (6, "*", 70, True, False),
    ("HDiv", "hDiv"): (6, "/", 70, True, False),
    ("HMod", "hMod"): (6, "%", 70, True, False),
    ("HPow", "hPow"): (6, "^", 75, False, True),
}
_TIGHT, _APPLIED, _LOOSE = 1024, 1023, 0

Context: TypeAlias = tuple[str, Any] | None
"""The names of the variables around a term, innermost first."""

_Item: TypeAlias = str | tuple[int, Context, int]
"""A piece to write: a text; or a term, with the names of its variables and the precedence that it needs."""


def pretty(module: Module, at: int, *, length: int = 2000) -> str:
    """Returns a term of the module, in at most `length` characters; a shortened one ends in `…`."""
    return _Writer(module, length).write(at)


def statement(module: Module, name: Name, *, length: int = 2000) -> str:
    """Returns a constant's kind, name and type."""
    constant = module.constants[name]
    params = f".{{{', '.join(names.text(param) for param in constant.level_params)}}}" if constant.level_params else ""
    head = f"{constant.kind} {names.text(name)}{params} : "[:length]
    return head + pretty(module, constant.type, length=max(length - len(head), 100))


class _Writer:
    def __init__(self, module: Module, length: int) -> None:
        self._module = module
        self._length = length
        self._patience = 50 * length  # steps: a long chain of annotations takes some and writes nothing

    def write(self, at: int) -> str:
        todo: list[_Item] = [(at, None, _LOOSE)]
        parts: list[str] = []
        room = self._length
        while todo:
            item = todo.pop()
            self._patience -= 1
            if self._patience < 0:
                return "".join(parts) + "…"
            if isinstance(item, tuple):
                todo += reversed(self._items(*item))
            elif len(item) >= room:
                return "".join(parts) + item[: max(room - 1, 0)] + "…"
            else:
                parts.append(item)
                room -= len(item)
        return "".join(parts)

    def _items(self, at: int, context: Context, tight: int) -> list[_Item]:
        at = self._bare(at)
        expr = self._module.exprs[at]
        kind = expr[0]
        if kind == "bvar":
            return [self._variable(expr[1], context)]
        if kind == "sort":
            return self._wrapped([self._sort(expr[1])], tight, _APPLIED)
        if kind == "const":
            return [names.text(expr[1])]
        if kind == "nat":
            return [self._nat(expr[1])]
        if kind == "str":
            return ['"' + expr[1][: self._length].replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"']
        if kind == "proj":
            return [(expr[3], context, _TIGHT), f".{expr[2] + 1}"]
        if kind == "app":
            return self._application(at, context, tight)
        if kind == "let":
            name = self._binder(expr[1])
            inner = (name, context)
            word = "have" if expr[5] else "let"
            return self._wrapped(
                [
                    f"{word} {name} : ",
                    (expr[2], context, _LOOSE),
                    " := ",
                    (expr[3], context, _LOOSE),
                    "; ",
                    (expr[4], inner, _LOOSE),
                ],
                tight,
                _LOOSE,
            )
        if kind == "pi" and expr[4] == 0 and not self._uses(expr[3]):
            arrow: list[_Item] = [(expr[2], context, 26), " → ", (expr[3], (self._binder(expr[1]), context), _LOOSE)]
            return self._wrapped(arrow, tight, 25)
        return self._wrapped(self._binders(at, context), tight, _LOOSE)

    def _binders(self, at: int, context: Context) -> list[_Item]:
        """Writes `∀ (x : A) (y : B), C` or `fun (x : A) (y : B) => c`."""
        kind = self._module.exprs[at][0]
        items: list[_Item] = ["∀" if kind == "pi" else "fun"]
        while len(items) < 4 * self._length:
            _, binder, domain, body, info = self._module.exprs[at]
            name = self._binder(binder)
            items += [f" {_OPEN[info]}{name} : ", (domain, context, _LOOSE), _CLOSE[info]]
            context = (name, context)
            at = self._bare(body)
            following = self._module.exprs[at]
            if following[0] != kind or (kind == "pi" and following[4] == 0 and not self._uses(following[3])):
                break
        return [*items, ", " if kind == "pi" else " => ", (at, context, _LOOSE)]

    def _binder(self, name: Name) -> str:
        """Returns a binder's name; for one that the elaborator made up, its origin."""
        if not name:
            return "_"
        return f"{names.text(name[: name.index('_@')])}✝" if "_@" in name else names.text(name)

    def _application(self, at: int, context: Context, tight: int) -> list[_Item]:
        arguments: list[int] = []
        while self._module.exprs[at][0] == "app" and self._patience > 0:
            self._patience -= 1
            arguments.append(self._module.exprs[at][2])
            at = self._bare(self._module.exprs[at][1])
        arguments.reverse()
        head = self._module.exprs[at]
        name = head[1] if head[0] == "const" else None
        if name == ("OfNat", "ofNat") and len(arguments) == 3:
            return [(arguments[1], context, tight)]
        if name == ("Not",) and len(arguments) == 1:
            return self._wrapped(["¬", (arguments[0], context, 40)], tight, 40)
        if name == ("Exists",) and len(arguments) == 2:
            predicate = self._module.exprs[self._bare(arguments[1])]
            if predicate[0] == "lam":
                variable = self._binder(predicate[1])
                return self._wrapped(
                    [
                        f"∃ ({variable} : ",
                        (predicate[2], context, _LOOSE),
                        "), ",
                        (predicate[3], (variable, context), 0),
                    ],
                    tight,
                    _LOOSE,
                )
        if name in _INFIX and _INFIX[name][0] == len(arguments):
            _, sign, strength, left, right = _INFIX[name]
            a, b = arguments[-2:]
            return self._wrapped(
                [(a, context, strength + (not left)), f" {sign} ", (b, context, strength + (not right))],
                tight,
                strength,
            )
        items: list[_Item] = [(at, context, _TIGHT)]
        for argument in arguments[: self._length]:
            items += [" ", (argument, context, _TIGHT)]
        return self._wrapped(items, tight, _APPLIED)

    def _wrapped(self, items: list[_Item], tight: int, strength: int) -> list[_Item]:
        return ["(", *items, ")"] if tight > strength else items

    def _bare(self, at: int) -> int:
        while self._module.exprs[at][0] == "mdata" and self._patience > 0:
            self._patience -= 1
            at = self._module.exprs[at][1]
        return at

    def _variable(self, index: int, context: Context) -> str:
        for _ in range(min(index, self._length)):
            if context is None:
                break
            context = context[1]
        return f"#{index}" if context is None else context[0]

    def _uses(self, body: int) -> bool:
        """Returns whether a binder's variable occurs in its body; True if that would take long to find out."""
        seen: set[tuple[int, int]] = set()
        todo = [(body, 0)]
        while todo:
            at, depth = todo.pop()
            if (at, depth) in seen:
                continue
            seen.add((at, depth))
            self._patience -= 1
            if self._patience < 0:
                return True
            expr = self._module.exprs[at]
            if expr[0] == "bvar" and expr[1] == depth:
                return True
            inner = INNER.get(expr[0])
            todo += [(below, depth + (place == inner)) for place, below in enumerate(children(expr))]
        return False

    def _nat(self, value: int) -> str:
        return str(value) if value.bit_length() <= 2000 else f"<a number of {value.bit_length()} bits>"

    def _sort(self, level: int) -> str:
        above, at = 0, level
        while self._module.levels[at][0] == "succ" and above < self._length:
            above, at = above + 1, self._module.levels[at][1]
        if self._module.levels[at] == ("zero",):
            return "Prop" if above == 0 else "Type" if above == 1 else f"Type {above - 1}"
        text = self._level(at, 8)
        if above == 0:
            return f"Sort ({text})" if " " in text else f"Sort {text}"
        shown = text if above == 1 else f"{text} + {above - 1}"
        return f"Type ({shown})" if " " in shown else f"Type {shown}"

    def _level(self, at: int, depth: int) -> str:
        level = self._module.levels[at]
        if level[0] == "param":
            return names.text(level[1])
        if depth == 0:
            return "…"
        above = 0
        while level[0] == "succ" and above < self._length:
            above, at = above + 1, level[1]
            level = self._module.levels[at]
        if level[0] == "zero":
            return str(above)
        if above:
            return f"{self._level(at, depth - 1)} + {above}"
        return f"{level[0]} ({self._level(level[1], depth - 1)}) ({self._level(level[2], depth - 1)})"
