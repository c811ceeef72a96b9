"""Rows for comparing rewards of first-order logic: formulas that are equivalent to the reference, or nearly, or not."""

from __future__ import annotations

import random
from collections.abc import Callable

from benchmarks.parity_rows import Row, drawn, thought

_PREDICATES = ("Dragon", "Green", "Kind", "Old", "Asleep", "Hungry", "Winged", "Tame")
_OTHERS = ("Whale", "Yellow", "Zealous", "Famous", "Clever", "Inland", "Tiny", "Proud")
_RELATIONS = ("Owns", "Sees", "Guards")
_CONSTANTS = ("smaug", "norbert", "fafnir")
_CONNECTIVES = ("∧", "∨", "→", "↔", "⊕")

_Tree = str | tuple[str, "_Tree"] | tuple[str, "_Tree", "_Tree"]
"""A literal, a negation, or a connective with its sides."""


def _grown(rng: random.Random, leaves: list[str]) -> _Tree:
    """Returns a formula with these literals in this order, some of them negated."""
    if len(leaves) == 1:
        return ("¬", leaves[0]) if rng.random() < 0.2 else leaves[0]
    cut = rng.randrange(1, len(leaves))
    tree: _Tree = (rng.choice(_CONNECTIVES), _grown(rng, leaves[:cut]), _grown(rng, leaves[cut:]))
    return ("¬", tree) if rng.random() < 0.1 else tree


def _text(tree: _Tree) -> str:
    """Returns a formula as text. Each connective within another or a negation is in brackets."""
    if isinstance(tree, str):
        return tree
    if len(tree) == 2:
        return f"¬{tree[1]}" if isinstance(tree[1], str) else f"¬({_text(tree[1])})"
    operator, *sides = tree
    left, right = (_text(side) if isinstance(side, str) or len(side) == 2 else f"({_text(side)})" for side in sides)
    return f"{left} {operator} {right}"


def _turned(tree: _Tree) -> _Tree:
    """Returns the formula with the sides of every connective exchanged, which changes implications alone."""
    if isinstance(tree, str):
        return tree
    if len(tree) == 2:
        return (tree[0], _turned(tree[1]))
    return (tree[0], _turned(tree[2]), _turned(tree[1]))


def _rewritten(tree: _Tree) -> _Tree:
    """Returns an equivalent formula, with negations and disjunctions in place of implications."""
    if isinstance(tree, str):
        return tree
    if len(tree) == 2:
        return (tree[0], _rewritten(tree[1]))
    operator, left, right = tree[0], _rewritten(tree[1]), _rewritten(tree[2])
    if operator == "→":
        denied: _Tree = left[1] if not isinstance(left, str) and len(left) == 2 else ("¬", left)
        return ("∨", denied, right)
    return (operator, right, left)


def _changed(rng: random.Random, tree: _Tree) -> _Tree:
    """Returns the formula with one connective or negation less, more or other than it was."""
    if isinstance(tree, str):
        return ("¬", tree)
    if len(tree) == 2:
        return tree[1]
    operator, left, right = tree
    place = rng.randrange(3)
    if place == 0:
        return (rng.choice([each for each in _CONNECTIVES if each != operator]), left, right)
    return (operator, _changed(rng, left), right) if place == 1 else (operator, left, _changed(rng, right))


def formulas() -> Callable[[random.Random], Row]:
    """Returns a maker of rows whose response is a formula, of at most six literals together with the reference's."""

    def make(rng: random.Random) -> Row:
        variables = rng.choice(("x", "x", "x", "xy", ""))
        names = rng.sample(_PREDICATES, rng.choice((2, 2, 3, 3, 4, 5)))
        where = rng.sample(_CONSTANTS, len(_CONSTANTS)) if not variables else list(variables)
        leaves = [f"{name}({where[place % len(where)]})" for place, name in enumerate(names)]
        if len(where) > 1:
            leaves[-1] = f"{rng.choice(_RELATIONS)}({where[0]}, {where[1]})"
        tree = _grown(rng, leaves)
        kinds = {
            "right": 6, "renamed": 6, "turned": 6, "rewritten": 5, "changed": 12, "less": 5, "more": 4, "again": 3,
            "other": 6, "same names": 6, "tautology": 4, "contradiction": 3, "chain": 4, "denied": 3,
        }  # fmt: skip
        kind = rng.choices(list(kinds), weights=list(kinds.values()))[0]
        new = [f"{name}({where[0]})" for name in rng.sample(_OTHERS, len(leaves))]
        renamed = _text(tree)
        for old, other in zip(leaves, new, strict=True):
            renamed = renamed.replace(old, other)
        what = {
            "right": _text(tree),
            "renamed": renamed,
            "turned": _text(_turned(tree)),
            "rewritten": _text(_rewritten(tree)),
            "changed": _text(_changed(rng, tree)),
            "less": _text(_grown(rng, leaves[:-1])),
            "more": _text((rng.choice(_CONNECTIVES), tree, new[0])),
            "again": _text((rng.choice(_CONNECTIVES), tree, leaves[0])),
            "other": _text(_grown(rng, new[: rng.randint(1, len(new))])),
            "same names": _text(_grown(rng, rng.sample(leaves, len(leaves)))),
            "tautology": f"{leaves[0]} ∨ ¬{leaves[0]}",
            "contradiction": f"{leaves[0]} ∧ ¬{leaves[0]}",
            "chain": f" {rng.choice('∧∨')} ".join(leaves),
            "denied": f"¬({_text(tree)})",
        }[kind]
        quantifier = rng.choice("∀∀∃")
        over = "".join(f"{quantifier}{each} " for each in variables)
        swapped = over.translate(str.maketrans("∀∃", "∃∀"))
        forms = {
            "plain": (12, lambda rng, why, what: f"{over}({what})"),
            "quantified": (4, lambda rng, why, what: f"{swapped}({what})"),
            "unquantified": (2, lambda rng, why, what: what),
            "inside": (2, lambda rng, why, what: f"¬({over}({what}))"),
            "spaced": (2, lambda rng, why, what: f"  {over} ( {what.replace('(', ' ( ').replace(')', ' ) ')} ) \n"),
            "tight": (2, lambda rng, why, what: f"{over}({what.replace(' ', '')})"),
            "after words": (1, lambda rng, why, what: f"{why} {over}({what})"),
            "words": (1, lambda rng, why, what: why),
            "unclosed": (1, lambda rng, why, what: f"{over}({what}"),
            "closed twice": (1, lambda rng, why, what: f"{over}({what}))"),
            "cut": (1, lambda rng, why, what: f"{over}({what}"[: rng.randint(2, 9)]),
            "two": (1, lambda rng, why, what: f"{over}({what})\n{over}({what})"),
            "no connective": (1, lambda rng, why, what: f"{over}({what} {leaves[0]})"),
            "empty": (1, lambda rng, why, what: ""),
        }
        name, form = drawn(rng, forms)
        return Row(f"{kind}, {name}", form(rng, thought(rng), what), f"{over}({_text(tree)})")

    return make
