"""Pairs of references and responses for the official graders of benchmarks, right ones, near misses and odd ones.

Of our own making: nothing is taken from the benchmarks' data. Seeded: the same pairs every time.
"""

from __future__ import annotations

import random
import string
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

Pair = tuple[Any, str, dict[str, Any]]
"""Reference, response, and parameters beside the preset."""

_WORDS = (
    "the", "a", "an", "A", "The", "cat", "Cat's", "mat", "U.S.", "don't", "yes", "no", "noanswer", "x", "(born",
    "1990)", "e-mail", "AT&T", "1990", "42", "-5", "1.5", "1,500", "\"quoted\"", "end.", "Paris,", "Paris", "London",
    "or", "not", "snow", "École", "Straße", "İstanbul", "北京", "北京。", "—", "‘so’", "\u00a0", "\u200b", "I", "don’t",
    "$5", "_x_", "a_b", "the_end", "ＡＢＣ", "naïve", "", ".", "...", "\t", "\n",
)  # fmt: skip


def squad(rng: random.Random) -> Pair:
    """Short texts, with articles, punctuation, other scripts, and nothing at all."""
    texts = [" ".join(rng.choices(_WORDS, k=rng.randint(0, 5))) for _ in range(rng.choice((0, 1, 1, 1, 2, 4)))]
    kind = rng.random()
    if texts and kind < 0.7:
        response = _changed(rng, rng.choice(texts))
    else:
        response = " ".join(rng.choices(_WORDS, k=rng.randint(0, 6)))
    return texts, response, {"mode": "f1"} if rng.random() < 0.5 else {}


def _changed(rng: random.Random, text: str) -> str:
    for _ in range(rng.randint(0, 3)):
        place = rng.randint(0, len(text))
        words = text.split(" ")
        change = rng.randrange(6)
        if change == 0:
            text = text[:place] + rng.choice(string.punctuation + " aZ9é") + text[place:]
        elif change == 1:
            text = text.swapcase()
        elif change == 2:
            rng.shuffle(words)
            text = " ".join(words)
        elif change == 3:
            text = " ".join([*words, rng.choice(_WORDS)])
        elif change == 4:
            text = text[:place] + text[place + 1 :]
        else:
            text = " ".join([rng.choice(("the", "The", "a")), *words])
    return text


_FORMS = (
    "%s", "$%s$", r"\boxed{%s}", r"The final answer is $\boxed{%s}$.", "The answer is %s.", r"\[ %s \]", "So we get %s",
    r"First \boxed{1}, then \boxed{%s}.", r"<think>Is it \boxed{3}?</think> It is \boxed{%s}", "**%s**", "%s or 7",
)  # fmt: skip


def math_verify(rng: random.Random) -> Pair:
    """Answers of many kinds in many spellings; a reference in a formula's delimiters, a box, or none."""
    a, b, c = rng.randint(2, 99), rng.randint(2, 12), rng.randint(1, 9)
    value = Fraction(a, b)
    families = (
        (rf"\frac{{{value.numerator}}}{{{value.denominator}}}", rf"\frac{{{a * c}}}{{{b * c}}}", f"{a}/{b}",
         f"{a / b:.4f}", f"{a / b:.8f}", rf"\dfrac{{{a + 1}}}{{{b}}}", rf"-\frac{a}{b}"),
        (str(a), f"{a}.0", rf"{a}\%", f"{a} cm", str(-a), f"x = {a}", f"{a}{b}", rf"{a} \text{{ cm}}", f"{a}^\\circ"),
        (f"{a},000", str(a * 1000), f"{a}.000", f"{a} 000", rf"{a}\times 10^3", rf"{a},\!000"),
        (f"({a}, {b})", f"({a},{b})", f"({b}, {a})", rf"\{{{a}, {b}\}}", f"{a}, {b}", f"{b}, {a}", f"[{a}, {b}]"),
        (f"x^2 + {a}x", f"x(x + {a})", f"x^2+{a + 1}x", f"y^2 + {a}y", f"x^2 - {a}x"),
        (f"{b} < x < {a + 20}", f"({b}, {a + 20})", f"[{b}, {a + 20}]", rf"x \in ({b}, {a + 20})", f"x > {b}"),
        (rf"\sqrt{{{a * b * b}}}", rf"{b}\sqrt{{{a}}}", rf"\sqrt{{{a}}}", f"{(a * b * b) ** 0.5:.6f}"),
        (rf"\begin{{pmatrix}} {a} \\ {b} \end{{pmatrix}}", rf"\begin{{bmatrix}} {a} \\ {b} \end{{bmatrix}}",
         rf"\begin{{pmatrix}} {b} \\ {a} \end{{pmatrix}}"),
        (r"\text{even}", "even", r"\text{odd}", "Even", r"\mathrm{even}"),
        ("C", r"\text{C}", "(C)", "c", "D", rf"\text{{(C) }} {a}"),
        (f"{a}\\pi", f"\\pi {a}", f"{a * 3.14159265:.5f}", f"{a}pi", f"{a + 1}\\pi"),
        ("", "nothing", r"\infty", r"-\infty", r"\emptyset", "$", "\\", "x", "?"),
    )  # fmt: skip
    family = rng.choice(families)
    other = rng.choice(family) if rng.random() < 0.9 else rng.choice(rng.choice(families))
    reference = rng.choice(("$%s$", "$%s$", r"\boxed{%s}", "%s")) % rng.choice(family)
    return reference, rng.choice(_FORMS) % other, {}


MAKERS: Mapping[str, Callable[[random.Random], Pair]] = {"squad": squad, "math_verify": math_verify}


def pairs(preset: str, count: int, seed: int = 7) -> list[Pair]:
    """Pairs for a preset."""
    rng = random.Random(seed)
    return [MAKERS[preset](rng) for _ in range(count)]
