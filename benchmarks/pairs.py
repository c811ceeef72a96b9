"""GRPO-like pairs: references with sixteen responses each, with labels known by construction.

125 references of many kinds, 16 responses of about 150 to 600 tokens: 60 % right in other spellings, 30 % wrong,
10 % without a box, and at least 8 distinct answers in a group. The generator is seeded: the same pairs every time.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Pair:
    """A response and its label: whether it is right."""

    group: str
    reference: str
    response: str
    right: bool


@dataclass(frozen=True, slots=True)
class Problem:
    """A reference, other spellings of it, and wrong answers."""

    reference: str
    right: list[str]
    wrong: list[str]


_SENTENCES = (
    "We start by writing down what is given and what we are asked to find.",
    "Let $x$ denote the unknown quantity; then the condition becomes $a x + b = c$ for suitable constants.",
    "Substituting $n = {a}$ into the recurrence gives $T_{{{a}}} = {b} + {c}$, which we keep for later.",
    "Expanding, $({a}x + {b})^2 = {a2}x^2 + {ab2}x + {b2}$, and the cross term is what matters here.",
    "Since $\\gcd({a}, {b})$ divides both sides, we may reduce the fraction $\\frac{{{a}}}{{{b}}}$ further.",
    "The angle bisector theorem then says that the two segments are in the ratio ${a} : {b}$.",
    "Note that this step needs care, because squaring both sides can introduce extra solutions.",
    "Hence the sum telescopes, and only the first and the last of the {a} terms survive.",
    "By symmetry each of the {b} cases contributes the same amount, so we multiply by {b}.",
    "Checking a small case, $k = {c}$, we get $\\sqrt{{{a}}} \\approx {d}$, which is consistent.",
    "So far so good; now let us simplify the remaining expression step by step.",
    "Wait, that is not quite right: the term ${a}$ should have a factor of $\\frac{{1}}{{{b}}}$ in front of it.",
    "Therefore the discriminant equals ${b2} - 4 \\cdot {a} \\cdot {c}$, and we look at its sign.",
    "Putting these facts together we can finish the computation.",
)


def _prose(rng: random.Random, characters: int) -> str:
    parts: list[str] = []
    size = 0
    while size < characters:
        a, b, c = rng.randint(2, 40), rng.randint(2, 40), rng.randint(2, 9)
        line = rng.choice(_SENTENCES)
        if ("{" in line and "{{" in line) or "{a}" in line or "{b}" in line:
            line = line.format(a=a, b=b, c=c, a2=a * a, b2=b * b, ab2=2 * a * b, d=round(a**0.5, 2))
        parts.append(line)
        size += len(line) + 1
    return " ".join(parts)


def _integer(rng: random.Random) -> Problem:
    n = rng.randint(11, 99999)
    right = [
        f"{n}",
        f"{n:,}",
        f"{n}.0",
        f"\\text{{{n}}}",
        f"x = {n}",
        f"\\frac{{{2 * n}}}{{2}}",
        f"{n} \\text{{ units}}",
    ]
    return Problem(str(n), right, [str(n + d) for d in (1, -1, 2, 10, -7, 13)])


def _fraction(rng: random.Random) -> Problem:
    f = Fraction(rng.randint(1, 60), rng.randint(2, 60))
    while f.denominator == 1:
        f = Fraction(rng.randint(1, 60), rng.randint(2, 60))
    p, q = f.numerator, f.denominator
    right = [
        f"\\frac{{{p}}}{{{q}}}",
        f"\\dfrac{{{p}}}{{{q}}}",
        f"{p}/{q}",
        f"\\frac{{{3 * p}}}{{{3 * q}}}",
        f"\\tfrac{{{2 * p}}}{{{2 * q}}}",
        f"\\left(\\frac{{{p}}}{{{q}}}\\right)",
        f"\\frac{{{p + q}}}{{{q}}} - 1",
    ]
    wrong = [f"\\frac{{{p + d}}}{{{q}}}" for d in (1, 2, 3)] + [f"\\frac{{{q}}}{{{p + 61}}}", f"-\\frac{{{p}}}{{{q}}}"]
    return Problem(f"\\frac{{{p}}}{{{q}}}", right, wrong)


def _decimal(rng: random.Random) -> Problem:
    cents = rng.randint(101, 9999)
    text = f"{cents / 100:.2f}"
    right = [text, f"\\${text}", f"{cents}/100", f"\\frac{{{cents}}}{{100}}", f"{text}0", f"{cents} \\times 10^{{-2}}"]
    return Problem(text, right, [f"{(cents + d) / 100:.2f}" for d in (7, -9, 100, 31, 55)])


def _radical(rng: random.Random) -> Problem:
    a, b = rng.randint(2, 9), rng.choice((2, 3, 5, 6, 7))
    right = [
        f"{a}\\sqrt{{{b}}}",
        f"\\sqrt{{{a * a * b}}}",
        f"{a} \\cdot \\sqrt{{{b}}}",
        f"\\frac{{{2 * a}\\sqrt{{{b}}}}}{{2}}",
        f"\\sqrt{{{b}}}\\cdot {a}",
        f"\\frac{{{a * b}}}{{\\sqrt{{{b}}}}}",
    ]
    wrong = [f"{a + d}\\sqrt{{{b}}}" for d in (1, 2, 3)] + [f"{a}\\sqrt{{{b + 10}}}", f"\\sqrt{{{a * b + 1}}}"]
    return Problem(f"{a}\\sqrt{{{b}}}", right, wrong)


def _polynomial(rng: random.Random) -> Problem:
    a, b, c = rng.randint(2, 9), rng.randint(1, 9), rng.randint(1, 9)
    right = [
        f"{a}x^2 + {b}x + {c}",
        f"{c} + {b}x + {a}x^2",
        f"{a}x^{{2}}+{b}x+{c}",
        f"x({a}x + {b}) + {c}",
        f"{a}x^2 + {b + 1}x - x + {c}",
        f"{a}\\cdot x^2 + {b}\\cdot x + {c}",
    ]
    wrong = [f"{a}x^2 + {b + d}x + {c}" for d in (1, 2, 3)] + [f"{a + 1}x^2 + {b}x + {c}", f"{a}x^2 - {b}x + {c}"]
    return Problem(f"{a}x^2+{b}x+{c}", right, wrong)


def _tuple(rng: random.Random) -> Problem:
    a, b = rng.randint(-20, 1), rng.randint(2, 30)
    right = [f"({a}, {b})", f"({a},{b})", f"\\left({a}, {b}\\right)", f"({a}.0, {b})", f"(x, y) = ({a}, {b})"]
    wrong = [f"({a + d}, {b})" for d in (1, 2, 3)] + [f"({b}, {a})", f"({a}, {b}, 0)"]
    return Problem(f"({a}, {b})", right, wrong)


def _interval(rng: random.Random) -> Problem:
    a = rng.randint(-9, 9)
    b = a + rng.randint(1, 20)
    right = [f"({a}, {b}]", f"({a},{b}]", f"\\left({a}, {b}\\right]", f"{a} < x \\le {b}", f"x \\in ({a}, {b}]"]
    wrong = [f"[{a}, {b}]", f"({a}, {b})", f"({a - 1}, {b}]", f"({a}, {b + 2}]", f"[{a}, {b})"]
    return Problem(f"({a}, {b}]", right, wrong)


def _set(rng: random.Random) -> Problem:
    a, b, c = sorted(rng.sample(range(-20, 40), 3))
    right = [
        f"\\{{{a}, {b}, {c}\\}}",
        f"\\{{{c}, {a}, {b}\\}}",
        f"\\left\\{{{b}, {a}, {c}\\right\\}}",
        f"\\{{{a},{b},{c}\\}}",
        f"\\{{{c},{b},{a}\\}}",
    ]
    wrong = [
        f"\\{{{a}, {b}\\}}",
        f"\\{{{a}, {b}, {c + 1}\\}}",
        f"\\{{{a + 41}, {b}, {c}\\}}",
        f"\\{{{c}\\}}",
        f"{a + 77}",
    ]
    return Problem(f"\\{{{a}, {b}, {c}\\}}", right, wrong)


def _line(rng: random.Random) -> Problem:
    a, b = rng.randint(2, 9), rng.randint(1, 9)
    right = [f"y = {a}x + {b}", f"y={a}x+{b}", f"y = {b} + {a}x", f"y - {b} = {a}x", f"{a}x - y + {b} = 0"]
    wrong = [f"y = {a}x - {b}", f"y = {a + 1}x + {b}", f"y = {a}x + {b + 2}", f"y = -{a}x + {b}", f"y = {b}"]
    return Problem(f"y = {a}x + {b}", right, wrong)


_KINDS: tuple[tuple[Callable[[random.Random], Problem], int], ...] = (
    (_integer, 35),
    (_fraction, 25),
    (_decimal, 15),
    (_radical, 15),
    (_polynomial, 10),
    (_tuple, 8),
    (_interval, 7),
    (_set, 5),
    (_line, 5),
)


def pairs(seed: int = 7) -> list[Pair]:
    """Returns the 2,000 pairs, group after group."""
    rng = random.Random(seed)
    made: list[Pair] = []
    problems = [kind(rng) for kind, count in _KINDS for _ in range(count)]
    rng.shuffle(problems)
    for number, problem in enumerate(problems):
        plan = ["right"] * 10 + ["wrong"] * 5 + ["none"]
        if number % 5 < 3:  # 10 % without a box overall: 1.6 of 16
            plan[0] = "none"
        rng.shuffle(plan)
        right, wrong = 0, 0
        for what in plan:
            body = _prose(rng, rng.randint(600, 2400))
            if what == "right":
                answer = problem.right[right % len(problem.right)]
                right += 1
            elif what == "wrong":
                answer = problem.wrong[wrong % len(problem.wrong)]
                wrong += 1
            else:
                made.append(Pair(f"g{number}", problem.reference, body, False))
                continue
            made.append(
                Pair(f"g{number}", problem.reference, f"{body} So the answer is \\boxed{{{answer}}}.", what == "right")
            )
    return made
