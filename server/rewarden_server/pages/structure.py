"""The structure of a recipe as a tree beside its formula: each component with its part in the score, then what is done
to the score. Scripts write a verdict's scores into it.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from urllib.parse import quote

from rewarden_server.pages.formula import drawn, expression_drawn
from rewarden_verifiers.recipes.expression import Expression
from rewarden_verifiers.recipes.model import Component, LengthStep, Recipe
from rewarden_verifiers.recipes.syntax import Node, parse


def drawing(recipe: Recipe) -> str:
    """Returns the formula and the tree of a recipe."""
    low, high = recipe.range
    parts = [_component(recipe, component) for component in recipe.components.values()]
    parts += [_step(step) for step in recipe.shaping]
    if recipe.fallback is not None:
        parts.append(_branch("fallback", f"without a score: {_math(recipe.fallback)}"))
    parts += [
        _branch("exclude", f"as <code>{escape(one.reason)}</code> if {_math(one.when)}") for one in recipe.exclude
    ]
    return (
        '<section class="card drawing" aria-labelledby="formula"><h2 id="formula">Formula</h2>'
        f'{drawn(recipe)}<ul class="tree"><li data-part=""><div class="node"><b>score</b> '
        f'<span class="muted">{low:g} to {high:g}</span><output></output></div><ul>{"".join(parts)}</ul></li></ul>'
        "</section>"
    )


def _branch(title: str, text: str, part: str = "", chips: str = "") -> str:
    attribute = f' data-part="{escape(part)}"' if part else ""
    output = "<output></output>" if part else ""
    return (
        f'<li{attribute}><div class="node"><b>{escape(title)}</b>{chips}{output}</div>'
        f'<div class="muted small">{text}</div></li>'
    )


def _component(recipe: Recipe, component: Component) -> str:
    chips = "".join(f'<span class="chip soft">{role}</span>' for role in _roles(recipe, component.name))
    return _branch(component.name, _judges(component), component.name, chips)


def _step(step: LengthStep) -> str:
    sides = [name for name, curve in (("right", step.correct), ("wrong", step.wrong)) if curve is not None]
    how = "replaces the score" if step.combine == "replace" else "is added"
    text = (
        f"a {step.kind.replace('_', ' ')} curve over the length in {step.by} {how}, for {' and '.join(sides)} answers"
    )
    return _branch(step.name, text, step.name, '<span class="chip soft">shaping</span>')


def _judges(component: Component) -> str:
    """Returns the verifiers that can judge a component, the first that gives a score."""
    told = []
    for candidate in component.candidates:
        if isinstance(candidate.name, str):
            address = f"../docs/{quote(candidate.name, safe='')}"
            told.append(f'<a href="{address}"><code>{escape(candidate.name)}</code></a>')
        elif candidate.name is not None:
            told.append(f"the verifier that <code>{escape(candidate.name.text)}</code> names")
        else:
            told.append("a recipe of its own")
    default = f"; without a score {component.default:g}" if component.default is not None else ""
    return f"judged by {', else '.join(told)}{default}"


def _roles(recipe: Recipe, name: str) -> list[str]:
    """Returns the parts that a component has in the recipe, in the order in which they are decided."""
    scores = [parse(row.score.text) for row in recipe.rows]
    conditions = [parse(row.when.text) for row in recipe.rows if row.when is not None]
    conditions += [test for score in scores for test in _conditions(score)]
    roles = ["gate"] if any(_reads(test, name) for test in conditions) else []
    terms = [term for score in scores for term in _terms(score) if _reads(term, name)]
    roles += [_weight(term, name) or "term" for term in terms[:1]]
    others = {
        "decides passing": [recipe.passed] if recipe.passed is not None else [],
        "scheduled": list(recipe.schedule.values()),
        "fallback": [recipe.fallback] if recipe.fallback is not None else [],
        "exclusion": [one.when for one in recipe.exclude],
    }
    return roles + [role for role, read in others.items() if any(_reads(parse(one.text), name) for one in read)]


def _reads(node: Node, name: str) -> bool:
    if node.kind == "select" and node.children[0].kind == "name" and node.children[0].text == name:
        return True
    return any(_reads(child, name) for child in node.children)


def _conditions(node: Node) -> Iterator[Node]:
    """Yields the conditions within a score."""
    if node.kind == "if":
        yield node.children[0]
    for child in node.children:
        yield from _conditions(child)


def _terms(node: Node) -> Iterator[Node]:
    """Yields the parts of a score that are added up or chosen from."""
    if node.kind == "if":
        for child in node.children[1:]:
            yield from _terms(child)
    elif node.kind == "chain" and set(node.ops) <= {"+", "-"}:
        for child in node.children:
            yield from _terms(child)
    else:
        yield node


def _weight(term: Node, name: str) -> str:
    """Returns the factor of a component if its term is a product with a number or a parameter."""
    if term.kind != "chain" or set(term.ops) != {"*"}:
        return ""
    factors = [child for child in term.children if not _reads(child, name)]
    if len(factors) != 1:
        return ""
    (factor,) = factors
    if factor.kind == "literal":
        return f"weight {factor.value:g}"
    return f"weight {escape(factor.text)}" if factor.kind == "select" and factor.children[0].kind == "name" else ""


def _math(expression: Expression) -> str:
    return f"<math>{expression_drawn(expression)}</math>"
