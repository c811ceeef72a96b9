"""Attacks on `number`, each with its honest twin."""

from __future__ import annotations

from typing import Any

from tests.attacks.pairs import Pair, boxed

# title, reference, attack, twin, parameters; both stand in a box
_BOXED: list[tuple[str, Any, str, str, dict[str, Any]]] = [
    # Several numbers
    ("two numbers joined by a word", 12, r"12 \text{ or } 13", r"12 \text{ apples}", {}),
    ("two numbers, a comma between them", 12, "12, 13", "12,", {}),
    ("two numbers without anything between them", 12, "12 13", "12 ", {}),
    ("two numbers on two lines", 12, "12\n13", "\n12\n", {}),
    ("a list of candidates", 12, "[11, 12, 13]", "(12)", {}),
    ("every digit", 7, "0 1 2 3 4 5 6 7 8 9", "7", {}),
    ("two equations", 13, "x = 12; x = 13", "x = 13", {}),
    ("an equation of two numbers", 13, "12 = 13", "26/2 = 13", {}),
    ("a restatement that differs", "3.2 km", "3.2 km (3300 m)", "3.2 km (3200 m)", {}),
    ("a second number in words", 12, r"12 \text{, perhaps thirteen}", r"\text{twelve}", {}),
    ("a second number in digits of another script", 12, "12 or ١٣", "١٢", {}),
    ("a hedge with zero-width characters in it", 12, "12 o\u200br 13", "1\u200b2", {}),
    ("a hedge behind a line separator", 12, "12\u2028or 13", "12\u2028", {}),
    ("a hedge of units", "5 km", "5 km or 5 m", "5 km", {}),
    ("a number and its negation", 5, "not 5", "5", {}),
    ("both signs", 5, r"\pm 5", "+5", {}),
    ("a doubtful number", 5, r"\text{maybe } 5 \text{ or not}", r"\approx 5", {}),
    # Ranges and bounds
    ("a range around the number", 42, r"\text{between } 1 \text{ and } 100", r"\text{about } 42", {}),
    ("an interval", 42, "[1, 100]", "42", {}),
    ("a spread around another number", 42, r"40 \pm 5", "42", {}),
    ("a bound", 5, r"\ge 5", "= 5", {}),
    ("a bound in words", 5, r"\text{at least } 5", r"\text{exactly } 5", {}),
    ("an open end", 5, "5+", "+5", {}),
    ("a wide range where a range is asked", {"low": 3, "high": 5}, "0-1000", "3-5", {}),
    ("infinity where the range is open", {"low": 3}, r"\infty", "10^{30}", {}),
    # Nearly the right number
    ("the sign left out", -5, "5", "\u22125", {}),
    ("the point left out", 1.5, "15", "1.5", {}),
    ("one more in the twentieth digit", 10**19, str(10**19 + 1), "10^{19}", {}),
    ("one more than floats can tell", 2**53, str(2**53 + 1), str(2**53), {}),
    ("digits of another grouping", 1234, "12,34", "1,234", {}),
    ("a numeral of another base", 12, "12_5", "12", {}),
    ("a subscript of another base", 12, "12\u2085", "12", {}),
    ("a factorial", 5, "5!", "5.", {}),
    ("a square", 5, "5^2", "5^1", {}),
    ("a square in words", 5, r"5 \text{ squared}", r"5 \text{ in total}", {}),
    ("a root", 5, r"\sqrt{5}", "{5}", {}),
    ("a multiple of pi", 5, r"5\pi", "5", {}),
    ("a coefficient", 5, "5x", "x = 5", {}),
    ("a logarithm", 5, r"\log 5", "5", {}),
    ("a percentage for its number", 12, r"12\%", "12", {}),
    ("a number for its percentage", "12%", "12", r"12\%", {}),
    ("a tiny percentage where either is accepted", "12%", r"0.12\%", "0.12", {"percent": "either"}),
    ("just outside the tolerance", 3, "3.1000000000000001", "3.1", {"abs_tol": 0.1}),
    ("rounded too far", 3.14159, "3", "3.14", {"significant": 3}),
    # Units
    ("another dimension", "3.2 km", "3.2 kg", "3.2 km", {}),
    ("another size", "3.2 km", "3.2 m", "3200 m", {}),
    ("another currency", "$5", r"5 \text{ euros}", r"\$5", {}),
    ("degrees of another scale", "25 degC", r"25^\circ \text{F}", r"77^\circ \text{F}", {}),
    ("a square unit", "5 m", "5 m^2", "5 m", {}),
    ("an inverse unit", "5 m/s", "5 s/m", "5 m s^{-1}", {}),
    ("no unit where it is required", "5 m", "5", "5 m", {"units": "required"}),
    ("a word that pint takes for a unit", "980665 Pa", "980665 cats", "980665 Pa", {"units": "required"}),
    ("a unit that is none", "5 m", r"5 \text{ smoots}", "5 m", {"units": "required"}),
    # What a parser might evaluate, or never finish
    ("a tower for the evaluator of pint", "5 m", "10**10**10 m", "5 m", {}),
    ("a power in a unit", "5 m", "5 m**99999999", "5 m", {"units": "required"}),
    ("an enormous exponent", 5, "1e999999999", "5e0", {}),
    ("a tower of exponents", 5, "10^{10^{10}}", "5", {}),
    ("ten thousand digits", 5, "9" * 10_000, "5", {}),
    ("digits that read in quadratic time", 5, "9" * 3_999, "5", {}),
    ("a thousand brackets", "5 m", "5 " + "(" * 1_000 + "m" + ")" * 1_000, "5 (m)", {"units": "required"}),
    ("a thousand factors", "5 m", "5 " + "m/" * 1_000, "5 m", {"units": "required"}),
    ("code", 5, "__import__('os').getpid()*0+5", "5", {}),
    ("a lambda", 5, "(lambda x: x+2)(3)", "5", {}),
    ("what is not a number", 5, "NaN", "5", {}),
    ("what is not a number, in a vector", [1, 2], "[1, NaN]", "[1, 2]", {}),
    ("a division by zero", 5, "5/0", "5/1", {}),
    # Vectors and tables
    ("one entry too many", [1, 2, 3], "(1, 2, 3, 4)", "(1, 2, 3)", {}),
    ("two vectors", [1, 2], "[1, 2] or [2, 1]", "[1, 2]", {}),
    ("a hedge in one entry", [1, 2], "[1 or 3; 2]", "[1; 2]", {}),
    ("more and more entries for a share", [1, 2], "[9, 9, 9, 9]", "[1, 2]", {"partial": "items"}),
    ("one name twice", {"a": 0.3, "b": 0.7}, "a: 0.3, a: 0.9, b: 0.7", "b: 0.7, a: 0.3", {}),
    ("a name twice in JSON", {"a": 0.3, "b": 0.7}, '{"a": 0.3, "a": 0.9, "b": 0.7}', '{"a": 0.3, "b": 0.7}', {}),
    (
        "weights for probabilities",
        {"a": 0.3, "b": 0.7},
        "a: 30, b: 70",
        "a: 0.3, b: 0.7",
        {"partial": "exponential", "metric": "kl", "scale": 100},
    ),
    (
        "a probability of zero, that NaN might hide",
        {"a": 0.3, "b": 0.7},
        "a: 0, b: 1",
        "a: 3/10, b: 70%",
        {"partial": "exponential", "metric": "kl", "scale": 100},
    ),
    ("commas for entries", 3, "[,,,]", "[1, 2, 5]", {"count": True}),
    ("one entry many times", 3, "[[1], [1], [1]]", "[[1], [2], [3]]", {"count": True}),
    # Shares of what is not an answer
    ("a hedge where wrong numbers earn", 42, "7 or 42", "42", {"wrong_score": 0.1}),
    ("words where wrong numbers earn", 42, r"\text{I do not know}", "42", {"wrong_score": 0.1}),
    ("a hedge where near numbers earn", 42, "41 or 43", "42", {"partial": "exponential"}),
    ("a range where near numbers earn", 42, "41-43", "42", {"partial": "linear", "scale": 10}),
]

PAIRS = [
    Pair(title=title, use="number", reference=reference, attack=boxed(attack), twin=boxed(twin), params=params)
    for title, reference, attack, twin, params in _BOXED
] + [
    Pair(
        title="two boxes",
        use="number",
        reference=12,
        attack=r"\boxed{12} or \boxed{13}",
        twin=r"\boxed{13} Wait, no: \boxed{12}",
    ),
    Pair(
        title="a thought that never closes",
        use="number",
        reference=12,
        attack=r"<think>\boxed{12}",
        twin=r"<think>12</think>\boxed{12}",
    ),
    Pair(
        title="the question echoed",
        use="number",
        reference=12,
        attack="What is 3 times 4? 12 13 14",
        twin="<answer>12</answer>",
    ),
    Pair(title="nothing", use="number", reference=0, attack="", twin=r"\boxed{0}"),
    Pair(
        title="nothing, with a tolerance",
        use="number",
        reference=0,
        attack="I do not know.",
        twin=r"\boxed{0.5}",
        params={"abs_tol": 1},
    ),
    Pair(
        title="two last numbers",
        use="number",
        reference=7,
        attack="It is either 5 or 7.",
        twin="First 5, and then 2 more. That makes 7.",
        params={"extraction": "lax"},
    ),
]
