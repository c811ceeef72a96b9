"""The tree of a recipe's formula as a drawing: a box for each part of it, below and right of what it belongs to.

The drawing has its own light ground, because pages show it as an image, which does not know the page's colours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from textwrap import wrap
from xml.sax.saxutils import escape

from rewarden_verifiers.recipes.expression import Expression
from rewarden_verifiers.recipes.model import LengthStep, Number, Recipe
from rewarden_verifiers.recipes.syntax import Node, parse

SHORT = 44
"""Characters of a part that stands in one box, as it is written, instead of being taken apart."""

_WIDE = 64
_CHARACTER, _LINE, _PAD, _GAP, _INDENT = 7.25, 16, 7, 7, 30

_STYLE = """
    .ground { fill: #f5f8fb } .line { fill: none; stroke: #9db4cb; stroke-width: 1.5 }
    .box { fill: #ffffff; stroke: #9db4cb; stroke-width: 1.2 }
    .root { fill: #17324d; stroke: #17324d } .root + text { fill: #ffffff; font-weight: 600 }
    .join { fill: #e3eefa; stroke: #5c8fc4 } .part { fill: #e4f4ea; stroke: #4c9a6a }
    .given { fill: #fdf1dc; stroke: #c99a3a }
    text { font: 12px ui-monospace, "DejaVu Sans Mono", Menlo, monospace; fill: #17324d; white-space: pre }
    .edge { font: italic 12px system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif; fill: #4a6179 }
"""


@dataclass(slots=True)
class Branch:
    """A box of the tree. edge: what it is for the box that it belongs to. kind: the class of its colours."""

    text: str
    kind: str = "box"
    edge: str = ""
    children: list[Branch] = field(default_factory=list)


def drawing(recipe: Recipe) -> str:
    """Returns the tree of a recipe's formula as SVG."""
    rows = list(_placed(tree(recipe), 0, None))
    boxes: list[str] = []
    lines: list[str] = []
    tops: list[float] = []
    y, right = 14.0, 0.0
    for branch, depth, above in rows:
        texts = wrap(branch.text, _WIDE, break_on_hyphens=False) or [""]
        height = _LINE * len(texts) + 2 * _PAD - 4
        left = 14 + depth * _INDENT
        tops.append(y)
        if above is not None:
            start = tops[above] + 20
            lines.append(f'<path class="line" d="M{left - _INDENT + 12} {start:g}V{y + 13:g}H{left}"/>')
        if branch.edge:
            boxes.append(f'<text class="edge" x="{left + 5}" y="{y + 17:g}">{escape(branch.edge)}</text>')
            left += round(6.4 * len(branch.edge)) + 14
        width = round(_CHARACTER * max(map(len, texts))) + 2 * 9
        boxes.append(f'<rect class="box {branch.kind}" x="{left}" y="{y:g}" width="{width}" height="{height}" rx="5"/>')
        spans = "".join(
            f'<tspan x="{left + 9}" y="{y + 17 + at * _LINE:g}">{escape(text)}</tspan>' for at, text in enumerate(texts)
        )
        boxes.append(f"<text>{spans}</text>")
        right = max(right, left + width)
        y += height + _GAP
    width, height = round(right + 14), round(y + 14 - _GAP)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" aria-label="The formula of {escape(recipe.name)} as a tree">\n<style>{_STYLE}</style>\n'
        f'<rect class="ground" width="{width}" height="{height}" rx="8"/>\n'
        + "\n".join([*lines, *boxes])
        + "\n</svg>\n"
    )


def tree(recipe: Recipe) -> Branch:
    """Returns the tree: the score by rows, then what changes it, and what decides whether the sample passes."""
    low, high = recipe.range
    taken = _Taken(recipe)
    root = Branch(f"score, {low:g} to {high:g}", "root")
    for place, row in enumerate(recipe.rows):
        if row.when is None:
            root.children.append(taken.apart(row.score, "otherwise" if place else ""))
            continue
        found = taken.apart(row.score, "pays")
        condition = taken.apart(row.when, "if" if not place else "else if")
        condition.children.append(found)
        root.children.append(condition)
    root.children += [taken.shaping(step) for step in recipe.shaping]
    root.children += [taken.apart(one, f"with {name} =") for name, one in recipe.schedule.items()]
    if recipe.fallback is not None:
        root.children.append(taken.apart(recipe.fallback, "if a verifier fails"))
    if recipe.passed is not None:
        root.children.append(taken.apart(recipe.passed, "passes if"))
    root.children += [taken.apart(one.when, f"left out as {one.reason} if") for one in recipe.exclude]
    return root


def _placed(branch: Branch, depth: int, above: int | None) -> Iterator[tuple[Branch, int, int | None]]:
    """Yields each box from top to bottom with its depth and the number of the box that it belongs to."""
    counted = 0

    def below(one: Branch, depth: int, above: int | None) -> Iterator[tuple[Branch, int, int | None]]:
        nonlocal counted
        own = counted
        counted += 1
        yield one, depth, above
        for child in one.children:
            yield from below(child, depth + 1, own)

    yield from below(branch, depth, above)


class _Taken:
    """Takes a recipe's expressions apart."""

    def __init__(self, recipe: Recipe) -> None:
        self._parts = frozenset(recipe.components)

    def apart(self, expression: Expression, edge: str) -> Branch:
        return self._node(parse(expression.text), expression.text, edge)

    def shaping(self, step: LengthStep) -> Branch:
        edge = "replaced by" if step.combine == "replace" else "plus"
        found = Branch(f"{step.kind.replace('_', ' ')} of the length in {step.by}", "given", edge)
        sides: tuple[tuple[str, Mapping[str, Number] | None], ...] = (("right", step.correct), ("wrong", step.wrong))
        if step.correct == step.wrong and step.correct is not None:
            sides = (("always", step.correct),)
        for side, numbers in sides:
            if numbers is not None:
                told = ", ".join(f"{name} {_written(number)}" for name, number in numbers.items())
                found.children.append(Branch(told, "box", side if side == "always" else f"for {side} answers"))
        if step.weight != 1.0:
            found.children.append(Branch(_written(step.weight), "box", "times"))
        if step.cap is not None:
            found.children.append(Branch(_written(step.cap), "box", "at most, either way"))
        return found

    def _node(self, node: Node, text: str, edge: str) -> Branch:
        written = " ".join(text[node.start : node.end].split())
        if (len(written) <= SHORT and node.kind != "if") or node.kind not in _JOINS or _plain(node):
            return Branch(_bare(written), self._kind(node), edge)
        if node.kind == "if" and len(written) <= SHORT and all(child.kind != "if" for child in node.children):
            test, value, other = (_bare(text[child.start : child.end]) for child in node.children)
            return Branch(f"{value} if {test}, else {other}", self._kind(node), edge)
        label, edges = _JOINS[node.kind](node)
        branch = Branch(label, "join", edge)
        branch.children = [
            self._node(child, text, one) for child, one in zip(node.children, edges, strict=True) if one != "-"
        ]
        if node.kind == "if":
            while (last := branch.children[-1]).text == "choice" and last.kind == "join":
                branch.children[-1:] = last.children
            for at, child in enumerate(branch.children):
                # A chain of alternatives stands as one list: if, pays, else if, pays, otherwise.
                if at % 2 == 0 and at:
                    child.edge = "otherwise" if at == len(branch.children) - 1 else "else if"
        return branch

    def _kind(self, node: Node) -> str:
        names = set(_names(node))
        if names & self._parts:
            return "part"
        return "given" if names & {"sample", "progress"} else "box"


def _names(node: Node) -> Set[str]:
    found = {node.text} if node.kind == "name" else set()
    return found.union(*map(_names, node.children))


def _plain(node: Node) -> bool:
    """Returns whether a part is a list of literals, or looks into one: long, and still a single thought."""
    if node.kind == "chain" and node.ops == ("in",):
        return _plain(node.children[1])
    return node.kind == "list" and all(child.kind == "literal" for child in node.children)


def _bare(text: str) -> str:
    """Returns a text without brackets around the whole of it."""
    while text.startswith("(") and text.endswith(")"):
        depth = 0
        for at, character in enumerate(text):
            depth += (character == "(") - (character == ")")
            if depth == 0 and at < len(text) - 1:
                return text
        text = text[1:-1]
    return text


def _chain(node: Node) -> tuple[str, list[str]]:
    ops = set(node.ops)
    if ops <= {"+", "-"}:
        return "sum", ["", *("+" if op == "+" else "\N{MINUS SIGN}" for op in node.ops)]
    if ops <= {"*", "/", "%"}:
        return "product", ["", *({"*": "×", "/": "÷", "%": "modulo"}[op] for op in node.ops)]
    return "comparison", ["", *node.ops]


def _call(node: Node) -> tuple[str, list[str]]:
    return f"{node.text}()", ["" for _ in node.children]


_JOINS: Mapping[str, Callable[[Node], tuple[str, list[str]]]] = {
    "chain": _chain,
    "call": _call,
    "and": lambda node: ("all of", [""] * len(node.children)),
    "or": lambda node: ("any of", [""] * len(node.children)),
    "not": lambda node: ("not", [""]),
    "negate": lambda node: ("minus", [""]),
    "list": lambda node: ("list", [""] * len(node.children)),
    "if": lambda node: ("choice", ["if", "pays", "otherwise"]),
}
"""The label of a box and the words at its parts, by the kind of a node; other kinds stay in one box."""


def _written(value: Number) -> str:
    return " ".join(value.text.split()) if isinstance(value, Expression) else f"{value:g}"
