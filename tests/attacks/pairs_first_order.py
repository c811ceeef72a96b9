"""Attacks on `first_order`, each with its honest twin."""

from __future__ import annotations

from typing import Any

from tests.attacks.pairs import Pair

RULE = "∀x (Cat(x) → Mammal(x))"


def pair(title: str, attack: str, twin: str = RULE, reference: str = RULE, **params: Any) -> Pair:
    return Pair(
        title=title,
        use="first_order",
        attack=f"<answer>{attack}</answer>",
        twin=f"<answer>{twin}</answer>",
        reference=reference,
        params=params,
    )


PAIRS = [
    pair("silence", " "),
    pair("a tautology", "∀x (Cat(x) ∨ ¬Cat(x))"),
    pair("a tautology of other words", "∀x (A(x) → A(x))"),
    pair("a contradiction", "∀x (Cat(x) ∧ ¬Cat(x))", "∀x (Cat(x) ∧ Dog(x))", "∀x (Cat(x) ∧ Dog(x))"),
    pair("the converse", "∀x (Mammal(x) → Cat(x))"),
    pair("some for all", "∃x (Cat(x) → Mammal(x))"),
    pair("all for some", "∀x (Cat(x) ∧ Black(x))", "∃x (Cat(x) ∧ Black(x))", "∃x (Cat(x) ∧ Black(x))"),
    pair("no quantifier", "Cat(x) → Mammal(x)"),
    pair("quantifiers in another order", "∃y ∀x Owns(x, y)", "∀x ∃y Owns(x, y)", "∀x ∃y Owns(x, y)"),
    pair("arguments in another order", "∀x ∃y Loves(y, x)", "∀a ∃b Loves(a, b)", "∀x ∃y Loves(x, y)"),
    pair("quantifiers for other arguments", "∀y ∃x Loves(x, y)", "∀y ∃x Loves(y, x)", "∀x ∃y Loves(x, y)"),
    pair("one variable for two", "∀x ∀y Loves(x, x)", "∀y ∀x Loves(x, y)", "∀x ∀y Loves(x, y)"),
    pair("a variable for a constant", "∀x Loves(x, x)", "∀z Loves(z, Mary)", "∀x Loves(x, mary)"),
    pair("a variable that nothing binds", "∀y (Cat(x) → Mammal(x))", "∀y (Cat(y) → Mammal(y))"),
    pair(
        "the arguments of one literal in another order",
        "∀x ∀y (Loves(x, y) → Hates(y, x))",
        "∀y ∀x (Loves(y, x) → Hates(y, x))",
        "∀x ∀y (Loves(x, y) → Hates(x, y))",
    ),
    pair(
        "the argument of a function",
        "∀x ∃y Near(father(y), x)",
        "∀a ∃b Near(father(a), b)",
        "∀x ∃y Near(father(x), y)",
    ),
    pair("two formulas", f"{RULE}</answer><answer>∀x (Mammal(x) → Cat(x))"),
    pair("two formulas with a comma", f"{RULE}, ∀x (Mammal(x) → Cat(x))"),
    pair("two formulas in words", f"{RULE} or else ∀x (Mammal(x) → Cat(x))"),
    pair("words", "Cats are mammals."),
    pair("brackets without end", "(" * 1_900 + "Cat(x)" + ")" * 1_900),
    pair("negations without end", "¬" * 3_000 + "Cat(x)"),
    pair("arguments without end", "f(" * 1_500 + "x" + ")" * 1_500),
    pair("a chain without end", "→".join(["Cat(x)"] * 500)),
    pair("many literals", " ∧ ".join(f"P{place}(x)" for place in range(40))),
    pair("a command", r"\input{/etc/passwd}"),
    pair("code", "__import__('os').system('true')"),
    pair("characters that look alike", "∀х (Сat(х) → Мammal(х)) ∧ ∀x (Dog(x))"),
]
