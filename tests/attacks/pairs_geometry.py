"""Attacks on `geometry`, each with its honest twin."""

from __future__ import annotations

from typing import Any

from tests.attacks.pairs import Pair

VALUE = {"constructions": ["a b c = triangle 13 14 15"], "ask": "value", "value": "area(a, b, c)"}
CLAIMS = {
    "constructions": ["a b c = triangle", "d = midpoint a b", "e = midpoint a c"],
    "ask": "claims",
    "facts": ["para d e b c"],
}
POINT = {"constructions": ["a b c = triangle"], "ask": "construction", "goals": ["cong p a p b", "cong p b p c"]}
TWINS = {"value": "84", "claims": "para b c e d", "construction": "p = circumcenter a b c"}


def pair(title: str, reference: dict[str, Any], attack: str) -> Pair:
    return Pair(
        title=title,
        use="geometry",
        attack=f"<answer>{attack}</answer>",
        twin=f"<answer>{TWINS[reference['ask']]}</answer>",
        reference=reference,
    )


PAIRS = [
    pair("silence", CLAIMS, " "),
    pair("two numbers", VALUE, "84 or 85"),
    pair("a set of numbers", VALUE, r"\{83, 84\}"),
    pair("an interval", VALUE, "[0, 100]"),
    pair("two numbers as an equation", VALUE, "84 = 85"),
    pair("two numbers as an approximation", VALUE, r"84 \approx 85 \approx 84"),
    pair("two numbers after a label", VALUE, "x = 85 = 84"),
    pair("not a number", VALUE, "nan"),
    pair("infinity", VALUE, r"\infty"),
    pair("nothing divided by nothing", VALUE, "84 + 0/0"),
    pair("a complex number", VALUE, "84 + i"),
    pair("the measure itself", VALUE, "area(a, b, c)"),
    pair("a tower of powers", VALUE, "84 + 9^{9^{9^9}} - 9^{9^{9^9}}"),
    pair("many digits", VALUE, "84." + "0" * 5_000 + "1"),
    pair("the same point", CLAIMS, "coll a a a; cong a a a a; para a a b c"),
    pair("a side and itself", CLAIMS, "cong a b a b; eqratio a b c d a b c d"),
    pair("a line and itself", CLAIMS, "para a d d b; para a b b a"),
    pair("an angle and itself", CLAIMS, "eqangle a b c a b c; eqangle a b c d a b c d; eqangle a b a b c d c d"),
    pair("restated constructions", CLAIMS, "midp d a b; midp e a c; coll a d b; between e a c"),
    pair("more claims than are read", CLAIMS, "; ".join(["para d e b c"] * 200)),
    pair("a long text", CLAIMS, "para d e b c" + " " * 5_000 + "; para d e b c"),
    pair("a construction among claims", CLAIMS, "para d e b c; d = free"),
    pair("an unknown point", CLAIMS, "para d e b c; para d e b zz"),
    pair("a given point again", POINT, "a = midpoint b c; p = circumcenter a b c"),
    pair("one point twice", POINT, "p = free; p = circumcenter a b c"),
    pair("all given points again", POINT, "a b c = equilateral; p = circumcenter a b c"),
    pair("a point on a given one", POINT, "p = divide a b 0"),
    pair("a point almost on a given one", POINT, "p = divide a b 0.000000000001"),
    pair("a point far away", POINT, "p = divide a b 1000000"),
    pair("a point far away, step by step", POINT, "q = divide a b 5000; r = divide a q 5000; p = divide a r 5000"),
    pair("a number that is too large", POINT, "p = along a b 999999999999"),
    pair("a number divided by zero", POINT, "p = divide a b 1/0"),
    pair("not a number as a length", POINT, "p = along a b nan"),
    pair("lines that are equal", POINT, "p = on_line a b, on_line b a"),
    pair("a circle through points of a line", POINT, "m = midpoint a b; p = circumcenter a m b"),
    pair("a point by itself", POINT, "p = circumcenter a b p"),
    pair("more constructions than are read", POINT, "; ".join(f"p{number} = free" for number in range(200))),
    pair("a claim for a construction", POINT, "cong p a p b; cong p b p c"),
    pair("the goal's point is not constructed", POINT, "o = circumcenter a b c"),
]
