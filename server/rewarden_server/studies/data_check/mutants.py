"""Mutants: right programs with one mistake put in. Tests that a mutant passes do not notice that mistake."""

from __future__ import annotations

import ast
import copy
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mutant:
    """A program with a mistake. operator: its kind; name: the mistake in words, with its line."""

    operator: str
    name: str
    code: str


def mutants(code: str, python: bool, most: int, seed: str) -> list[Mutant]:
    """Returns at most so many mutants of a program, of as many kinds as there are, the same for the same seed.

    Python is changed in its syntax tree, any other language, and Python that does not parse, in its text.
    """
    found: Sequence[Mutant]
    try:
        found = list(_of_tree(ast.parse(code))) if python else list(_of_text(code))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        found = list(_of_text(code))
    kinds: dict[str, list[Mutant]] = {}
    for mutant in {one.code: one for one in reversed(found) if one.code != code}.values():
        kinds.setdefault(mutant.operator, []).append(mutant)
    chance = random.Random(seed)
    for each in kinds.values():
        chance.shuffle(each)
    chosen: list[Mutant] = []
    while len(chosen) < most and any(kinds.values()):
        chosen += [each.pop() for _, each in sorted(kinds.items()) if each]
    return chosen[:most]


# --- Python ------------------------------------------------------------------------------------------------------

_COMPARED: Mapping[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_COMPUTED: Mapping[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}

_Change = Callable[[ast.AST], None]


def _of_tree(tree: ast.Module) -> Iterator[Mutant]:
    nodes = list(_reached(tree))
    for place, node in enumerate(nodes):
        for operator, says, change in _changes(node):
            changed = copy.deepcopy(tree)
            change(next(other for at, other in enumerate(_reached(changed)) if at == place))
            yield Mutant(operator, says, ast.unparse(ast.fix_missing_locations(changed)) + "\n")


def _reached(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that tests can notice: no annotations, imports or docstrings, and of a program with functions nothing
    that runs only if it is the script."""
    defines = isinstance(node, ast.Module) and any(
        isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) for one in node.body
    )
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list") or (name == "test" and _is_main(node)):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, (ast.Import, ast.ImportFrom)) or _text(child):
                continue
            if not (defines and _is_main(child)):
                yield from _reached(child)


def _text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _changes(node: ast.AST) -> Iterator[tuple[str, str, _Change]]:
    line = getattr(node, "lineno", 0)
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARED:
        other = _COMPARED[type(node.ops[0])]
        yield "comparison", f"line {line}: another comparison", lambda it: _set(it, "ops", 0, other())
    elif isinstance(node, ast.BinOp) and type(node.op) in _COMPUTED:
        computed = _COMPUTED[type(node.op)]
        yield "arithmetic", f"line {line}: another operator", lambda it: setattr(it, "op", computed())
    elif isinstance(node, ast.AugAssign) and type(node.op) in _COMPUTED:
        assigned = _COMPUTED[type(node.op)]
        yield "arithmetic", f"line {line}: another operator", lambda it: setattr(it, "op", assigned())
    elif isinstance(node, ast.BoolOp):
        joined = ast.Or if isinstance(node.op, ast.And) else ast.And
        yield "logic", f"line {line}: and, or swapped", lambda it: setattr(it, "op", joined())
    elif isinstance(node, ast.Constant):
        value = node.value
        if isinstance(value, bool):
            yield "constant", f"line {line}: {value} becomes {not value}", lambda it: setattr(it, "value", not value)
        elif isinstance(value, int):
            yield "constant", f"line {line}: {value} becomes {value + 1}", lambda it: setattr(it, "value", value + 1)
    if isinstance(node, (ast.If, ast.IfExp)) and not _is_main(node):
        yield "condition", f"line {line}: a condition negated", _negate
    if isinstance(node, ast.Return) and node.value is not None:
        yield "statement", f"line {line}: returns nothing", lambda it: setattr(it, "value", None)
    for name in ("body", "orelse"):
        held = getattr(node, name, None)
        for place, one in enumerate(held if isinstance(held, list) else ()):
            if isinstance(one, (ast.AugAssign, ast.Expr)) and not _text(one):
                yield "statement", f"line {one.lineno}: a statement deleted", _deleted(name, place)


def _set(node: ast.AST, name: str, place: int, value: ast.AST) -> None:
    getattr(node, name)[place] = value


def _negate(node: ast.AST) -> None:
    assert isinstance(node, (ast.If, ast.IfExp))
    node.test = ast.UnaryOp(ast.Not(), node.test)


def _deleted(name: str, place: int) -> _Change:
    return lambda node: _set(node, name, place, ast.Pass())


def _is_main(node: ast.AST) -> bool:
    if not isinstance(node, ast.If):
        return False
    return any(isinstance(one, ast.Name) and one.id == "__name__" for one in ast.walk(node.test))


# --- any language ------------------------------------------------------------------------------------------------

_QUOTED = re.compile(r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n]){1,2}'|//[^\n]*|/\*.*?\*/|^[ \t]*#[^\n]*", re.S | re.M)
_SWAPS: Sequence[tuple[str, re.Pattern[str], Mapping[str, str]]] = (
    (
        "comparison",
        re.compile(r"(?<=\s)(?:<=|>=|==|!=|<|>)(?=\s)|(?<=[\w)\]])(?:<=|>=|==|!=)(?=[\w(-])"),
        {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="},
    ),
    ("arithmetic", re.compile(r"(?<=\s)[-+*](?=\s)|(?<=[\w)\]])[-+*](?=[\w(])"), {"+": "-", "-": "+", "*": "+"}),
    ("logic", re.compile(r"&&|\|\|"), {"&&": "||", "||": "&&"}),
)
_NUMBER = re.compile(r"(?<![\w.])\d{1,15}(?![\w.])")
_IF = re.compile(r"\bif\s*\(((?:[^()\n]|\([^()\n]*\))*)\)")
_STATEMENT = re.compile(
    r"^[ \t]+(?!(?:return|break|using|import|package)\b)[\w.\[\]>:-]+[ \t]*(?:[-+*/%|&^]?=|\+\+|--|\()[^{}\n]*;[ \t]*$",
    re.MULTILINE,
)
"""A statement on a line of its own. A declaration has two words, and without it nothing would compile."""


def _of_text(code: str) -> Iterator[Mutant]:
    quoted = [match.span() for match in _QUOTED.finditer(code)]

    def outside(match: re.Match[str]) -> bool:
        return not any(start <= match.start() < end for start, end in quoted)

    def changed(match: re.Match[str], operator: str, says: str, text: str) -> Mutant:
        line = code.count("\n", 0, match.start()) + 1
        return Mutant(operator, f"line {line}: {says}", code[: match.start()] + text + code[match.end() :])

    for operator, pattern, swaps in _SWAPS:
        for match in filter(outside, pattern.finditer(code)):
            text = swaps[match[0]]
            yield changed(match, operator, f"{match[0]} becomes {text}", text)
    for match in filter(outside, _NUMBER.finditer(code)):
        text = str(int(match[0]) + 1)
        yield changed(match, "constant", f"{match[0]} becomes {text}", text)
    for match in filter(outside, _IF.finditer(code)):
        yield changed(match, "condition", "a condition negated", f"if (!({match[1]}))")
    for match in filter(outside, _STATEMENT.finditer(code)):
        indent = match[0][: len(match[0]) - len(match[0].lstrip())]
        yield changed(match, "statement", "a statement deleted", f"{indent};")
