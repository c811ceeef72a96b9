"""Attacks on `symbolic_regression`, each with its honest twin."""

from __future__ import annotations

from typing import Any

from tests.attacks.pairs import Pair

DATA = {"variables": ["x"], "points": [[-2], [-1], [0], [1], [2]], "values": [4, 1, 0, 1, 4]}


def pair(title: str, attack: str, twin: str = "x**2", **params: Any) -> Pair:
    return Pair(
        title=title,
        use="symbolic_regression",
        attack=f"<answer>{attack}</answer>",
        twin=f"<answer>{twin}</answer>",
        reference=DATA,
        params=params,
    )


PAIRS = [
    pair("silence", " "),
    pair("the mean", "2", "x*x"),
    pair("the mean, fitted", "2", "3*x*x + 1", affine=True),
    pair("almost a constant, fitted", "2 + 0*x", "1 - x^2", affine=True),
    pair("two expressions", "x**2 or x", "y = x**2"),
    pair("two expressions, a comma between them", "x**2, x"),
    pair("either sign", r"\pm x^2"),
    pair("an interval", "[-10, 10]"),
    pair("a condition", r"x^2 \text{ if } x > 0 \text{ else } x^2"),
    pair("a constant to fit", "C*x**2"),
    pair("the value to find by its name", "y"),
    pair("the value to find by its name twice", "y = y", "y = x^2"),
    pair("an opaque function", "g(x)"),
    pair("a function that is not allowed", "exp(2*ln(abs(x)))", functions=["abs"]),
    pair("a long sum", r"\sum_{k=1}^{100000} x^2/100000"),
    pair("a factorial", "x! + x**2 - x!"),
    pair("a tower of powers", "x**9**9**9**9"),
    pair("a tower that cancels", "9**9**9*x - 9**9**9*x + x**2", most_nodes=7),
    pair("infinity", r"\infty"),
    pair("the imaginary unit", "i*x**2"),
    pair("a value beyond doubles", "10**400*x**2"),
    pair("brackets without end", "(" * 9_000 + "x" + ")" * 9_000),
    pair("a sum without end", "+".join(["x**2"] * 4_000)),
    pair("digits without end", "1" * 18_000 + "*x"),
    pair("code", "__import__('os').system('true')"),
    pair("an attribute", "x.__class__"),
    pair("a choice from a list", "[x**2, x][0]"),
    pair("another form for the form", "x*x*x", "2*x^2", measure="equivalent", affine=True),
    pair("an approximation of the square", "y^2 ≈ x**2", "y ≈ x**2"),
    pair("an approximation of a function", r"\sqrt(y) \approx x**2", r"y \approx x**2"),
    pair("a lambda within a lambda", "lambda x: lambda y: x**2", "lambda x: x**2"),
    pair("a function that does more", "def f(x):\n    x = 1\n    return x**2", "def f(x):\n    return x**2"),
    pair("signs of equality without end", "y ≈ " * 4_000),
]
