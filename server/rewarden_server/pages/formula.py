"""The formula of a recipe, drawn in MathML from the recipe itself: browsers show it as mathematics and read it aloud.

An outcome table and a conditional become rows of alternatives; `name.score` is drawn as the component's name, and
`passed` as its name with a check mark. Nothing is evaluated.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape

from rewarden_verifiers.recipes.expression import Expression
from rewarden_verifiers.recipes.model import LengthStep, Recipe
from rewarden_verifiers.recipes.syntax import Node, parse

_SIGNS: Mapping[str, str] = {
    "*": "·",
    "-": "−",
    "<=": "≤",
    ">=": "≥",
    "==": "=",
    "!=": "≠",
    "in": "∈",
    "%": "mod",
}
_LOOSE: Mapping[str, int] = {"if": 0, "or": 1, "and": 2, "chain": 3, "negate": 6, "not": 6}
"""The strength with which a part binds; a part within a stronger one needs brackets."""

_IF = "if\u00a0"

_ROOTS = frozenset(("params", "sample", "schedule", "progress"))
"""Names whose fields are drawn without them: `params.weight` is the parameter `weight`."""


def drawn(recipe: Recipe) -> str:
    """Returns the markup of a recipe's formula: the score, its scheduled values, and the condition of passing."""
    lines = [score_drawn(recipe)]
    lines += [_equation(name, expression_drawn(each)) for name, each in recipe.schedule.items()]
    if recipe.passed is not None:
        lines.append(_equation("passed", expression_drawn(recipe.passed)))
    return "".join(f'<div class="formula" tabindex="0">{line}</div>' for line in lines)


def score_drawn(recipe: Recipe) -> str:
    """Returns the markup of the score alone."""
    shaping = "".join(map(_length, recipe.shaping))
    if len(recipe.rows) == 1:
        return _equation("score", expression_drawn(recipe.rows[0].score) + shaping)
    rows = [
        (expression_drawn(row.score), expression_drawn(row.when) if row.when is not None else "") for row in recipe.rows
    ]
    return _equation("score", _alternatives(rows, "table") + shaping)


def _length(step: LengthStep) -> str:
    """Returns the curve of a shaping: added to what is before it, or taking its place."""
    sign = "→" if step.combine == "replace" else "+"
    curve = f'<mi data-part="{escape(step.name)}">{step.kind}</mi>'
    return f"<mo>{sign}</mo>{curve}<mo>(</mo>{_text('mi', step.by)}<mo>)</mo>"


def expression_drawn(expression: Expression) -> str:
    """Returns the markup of an expression, without the element `math` around it."""
    return _markup(parse(expression.text))


def _equation(name: str, markup: str) -> str:
    return f'<math displaystyle="true">{_text("mi", name)}<mo>=</mo>{markup}</math>'


def _markup(node: Node) -> str:
    """Returns the markup of a part of an expression."""
    make = _MAKERS.get(node.kind)
    return make(node) if make is not None else _text("mtext", node.text)


def _within(node: Node, outer: str) -> str:
    """Returns a part's markup within another, in brackets if it binds less strongly."""
    own, around = _strength(node), _LOOSE.get(outer, 7)
    made = _markup(node)
    return f"<mrow><mo>(</mo>{made}<mo>)</mo></mrow>" if own < around and node.kind != "if" else made


def _strength(node: Node) -> int:
    if node.kind == "chain" and node.ops[0] in ("+", "-"):
        return 4
    if node.kind == "chain" and node.ops[0] in ("*", "/", "%"):
        return 5
    return _LOOSE.get(node.kind, 7)


def _text(element: str, text: str) -> str:
    return f"<{element}>{escape(text)}</{element}>"


def _literal(node: Node) -> str:
    if node.text == "string":
        return _text("mtext", f"“{node.value}”")
    if node.text in ("bool", "null"):
        return _text("mtext", "null" if node.value is None else str(node.value).lower())
    return _text("mn", f"{node.value:g}" if isinstance(node.value, float) else str(node.value))


def _select(node: Node) -> str:
    (target,) = node.children
    if target.kind == "name":
        if target.text in _ROOTS:
            return _text("mi", node.text)
        if node.text == "score":
            return _part(target)
        if node.text == "passed":
            return f"<mrow>{_part(target)}<mo>✓</mo></mrow>"
        return f"<mrow>{_part(target)}<mo>.</mo>{_text('mi', node.text)}</mrow>"
    return f"<mrow>{_markup(target)}<mo>.</mo>{_text('mi', node.text)}</mrow>"


def _part(node: Node) -> str:
    """Returns the name of a component, which scripts light up by `data-part` when a verdict has judged it."""
    name = escape(node.text)
    return f'<mi data-part="{name}">{name}</mi>'


def _index(node: Node) -> str:
    target, index = node.children
    return f"<msub>{_within(target, 'index')}{_markup(index)}</msub>"


def _list(node: Node) -> str:
    return f"<mrow><mo>[</mo>{_separated(node.children)}<mo>]</mo></mrow>"


def _call(node: Node) -> str:
    name, arguments = node.text, node.children
    if name == "sqrt":
        return f"<msqrt>{_markup(arguments[0])}</msqrt>"
    if name == "pow" and len(arguments) == 2:
        return f"<msup>{_within(arguments[0], 'index')}{_markup(arguments[1])}</msup>"
    if name == "exp":
        return f"<msup><mi>e</mi>{_markup(arguments[0])}</msup>"
    if name == "double":
        return _markup(arguments[0])
    brackets = {"abs": ("|", "|"), "size": ("|", "|"), "floor": ("⌊", "⌋"), "ceil": ("⌈", "⌉")}.get(name)
    if brackets is not None:
        return f"<mrow><mo>{brackets[0]}</mo>{_markup(arguments[0])}<mo>{brackets[1]}</mo></mrow>"
    return f"<mrow>{_text('mi', name)}<mo>(</mo>{_separated(arguments)}<mo>)</mo></mrow>"


def _macro(node: Node) -> str:
    target, bound, *parts = node.children
    body = _separated(parts)
    return (
        f"<mrow>{_text('mi', node.text)}<mo>(</mo>{_markup(bound)}<mo>∈</mo>{_markup(target)}<mo>:</mo>{body}"
        "<mo>)</mo></mrow>"
    )


def _has(node: Node) -> str:
    return f"<mrow>{_markup(node.children[0])}<mtext>\u00a0given</mtext></mrow>"


def _not(node: Node) -> str:
    (inner,) = node.children
    if inner.kind == "has":
        return f"<mrow>{_markup(inner.children[0])}<mtext>\u00a0not given</mtext></mrow>"
    if inner.kind == "select" and inner.text == "passed" and inner.children[0].kind == "name":
        return f"<mrow>{_part(inner.children[0])}<mo>✗</mo></mrow>"
    return f"<mrow><mo>¬</mo>{_within(inner, 'not')}</mrow>"


def _negate(node: Node) -> str:
    return f"<mrow><mo>−</mo>{_within(node.children[0], 'negate')}</mrow>"


def _chain(node: Node) -> str:
    if node.ops == ("/",):
        return f"<mfrac>{_markup(node.children[0])}{_markup(node.children[1])}</mfrac>"
    own = _strength(node)
    made = []
    for at, child in enumerate(node.children):
        inner = _markup(child)
        weaker = _strength(child) < own or (at > 0 and _strength(child) == own)
        if at:
            made.append(_text("mo", _SIGNS.get(node.ops[at - 1], node.ops[at - 1])))
        made.append(f"<mrow><mo>(</mo>{inner}<mo>)</mo></mrow>" if weaker and child.kind != "if" else inner)
    return f"<mrow>{''.join(made)}</mrow>"


def _joined(node: Node) -> str:
    word = "and" if node.kind == "and" else "or"
    return (
        "<mrow>"
        + f"<mtext>\u00a0{word}\u00a0</mtext>".join(_within(child, node.kind) for child in node.children)
        + "</mrow>"
    )


def _if(node: Node) -> str:
    rows = []
    while node.kind == "if":
        condition, value, other = node.children
        rows.append((_markup(value), _markup(condition)))
        node = other
    return _alternatives([*rows, (_markup(node), "")])


def _alternatives(rows: Iterable[tuple[str, str]], kind: str = "") -> str:
    """Returns a row for each alternative. Verdicts name the row of an outcome table, kind `table`, by its number."""
    cells = "".join(
        f"<mtr><mtd>{value}</mtd><mtd><mtext>{_IF if when else 'otherwise'}</mtext>{when}</mtd></mtr>"
        for value, when in rows
    )
    # Drawn by the style sheet: without a font for mathematics, a brace does not stretch.
    return f'<mtable class="{f"alternatives {kind}".strip()}">{cells}</mtable>'


def _separated(nodes: Iterable[Node]) -> str:
    return "<mo>,</mo>".join(map(_markup, nodes))


_MAKERS = {
    "literal": _literal,
    "name": lambda node: _text("mi", node.text),
    "select": _select,
    "index": _index,
    "list": _list,
    "call": _call,
    "macro": _macro,
    "has": _has,
    "not": _not,
    "negate": _negate,
    "chain": _chain,
    "and": _joined,
    "or": _joined,
    "if": _if,
}
"""A maker for each kind of node."""
