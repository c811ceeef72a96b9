"""Pairs of references and responses for the official graders of benchmarks: right ones, near misses and odd ones.

We generate the pairs ourselves; nothing comes from the benchmarks' data. Seeded: the same pairs every time.
"""

from __future__ import annotations

import random
import string
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

Pair = tuple[Any, str, dict[str, Any]]
"""Reference, response, and parameters other than the preset."""

_WORDS = (
    "the", "a", "an", "A", "The", "cat", "Cat's", "mat", "U.S.", "don't", "yes", "no", "noanswer", "x", "(born",
    "1990)", "e-mail", "AT&T", "1990", "42", "-5", "1.5", "1,500", "\"quoted\"", "end.", "Paris,", "Paris", "London",
    "or", "not", "snow", "École", "Straße", "İstanbul", "北京", "北京。", "—", "‘so’", "\u00a0", "\u200b", "I", "don’t",
    "$5", "_x_", "a_b", "the_end", "ＡＢＣ", "naïve", "", ".", "...", "\t", "\n",
)  # fmt: skip


def squad(rng: random.Random) -> Pair:
    """Returns short texts, with articles, punctuation, other scripts, and empty texts."""
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
    """Returns answers of many kinds and spellings; the reference is in a formula's delimiters, in a box, or bare."""
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


_TEXTS = ("Rome", "New York", "new-york", "a_b", "it's", "", "5", "true", "x^2", "3.5", "None")
_SCALARS: Mapping[str, Callable[[random.Random], Any]] = {
    "string": lambda rng: rng.choice(_TEXTS),
    "any": lambda rng: rng.choice(_TEXTS),
    "integer": lambda rng: rng.choice((0, 1, 2, 5, -3)),
    "float": lambda rng: rng.choice((0.5, 1.0, 2.5, 5.0, -3.0)),
    "boolean": lambda rng: rng.random() < 0.5,
}


def _schema(rng: random.Random, depth: int = 0) -> dict[str, Any]:
    kind = rng.choice((*_SCALARS, *(("array", "tuple", "dict", "array") if depth == 0 else ("dict",))))
    if kind in ("array", "tuple"):
        return {"type": kind, "items": _schema(rng, 1)}
    if kind == "dict":
        names = rng.sample(("u", "v", "w"), rng.randint(1, 3))
        return {"type": "dict", "properties": {name: {"type": rng.choice(tuple(_SCALARS))} for name in names}}
    return {"type": kind}


def _of(rng: random.Random, schema: Mapping[str, Any], listed: bool) -> Any:
    """Returns a value of a schema; listed: as the leaderboard lists right values."""
    kind = schema["type"]
    if kind in ("array", "tuple"):
        return [_of(rng, schema["items"], listed) for _ in range(rng.randint(0, 3))]
    if kind == "dict":
        inner = {name: _of(rng, one, listed) for name, one in schema["properties"].items()}
        if not listed:
            return inner
        return {name: [value, *([""] if rng.random() < 0.3 else [])] for name, value in inner.items()}
    return _SCALARS[kind](rng)


def _said(rng: random.Random, value: Any, schema: Mapping[str, Any]) -> Any:
    """Returns a value that answers a listed one: the same, or with a change."""
    if isinstance(value, list):
        items = [_said(rng, item, schema.get("items", {})) for item in value]
        change = rng.randrange(14)
        if change == 0:
            items.reverse()
        elif change == 1:
            items.append(rng.choice(("Rome", 1, 2.0, True, None, [])))
        return tuple(items) if change in (2, 3) else items
    if isinstance(value, dict):
        inner = {
            name: _said(rng, several[0], {})
            for name, several in value.items()
            if "" not in several or rng.random() < 0.6
        }
        if rng.random() < 0.08:
            inner[rng.choice(("u", "z"))] = rng.choice(("Rome", 1, None))
        return inner
    change = rng.randrange(12)
    if change == 0:
        return rng.choice(("Rome", 1, 1.0, True, None, "", [], {}, [1], "5", 5))
    if change == 1 and isinstance(value, str):
        return value.upper()
    if change == 2 and isinstance(value, str):
        return f"{value} ".replace("-", " ").replace("'", '"')
    if change == 3 and isinstance(value, (int, float)):
        return int(value) if isinstance(value, float) else float(value)
    if change == 4:
        return str(value)
    return value


_ODD = (
    "x", "true", "-1", "+5", "2+3", "1/2", "f(1)", "f(a=1)", "a.b", "b[0]", "lambda: 1", "...", "None", "not True",
    "-True", "{'u': 1}", "{1: 2}", "{**x}", "(1, 2)", "'a' 'b'", "b'x'", "1j", "[*x]", "f'{x}'", "{1, 2}", "10**2",
    "-(-1)", "1_000", "0x10", "1e3", "nan", '"Rome"', "r'\\d'",
)  # fmt: skip
_AROUND = (
    *(["[%s]"] * 16), "%s", "%s", "`[%s]`", "```\n[%s]\n```", "```python\n[%s]\n```", "'[%s]'", "Sure: [%s]",
    "[%s] Done.",
    "[%s", "%s]", "[[%s]]", "(%s)", "\n [%s] \n", "[%s,]", "[%s]]", "{%s}",
)  # fmt: skip


def bfcl(rng: random.Random) -> Pair:
    """Returns definitions with types of all kinds, right calls with listed values, and calls written as Python, often
    with a changed argument, type, name or surrounding text. Without right calls, returns prose and calls.
    """
    names = rng.sample(("find", "math.sqrt", "book_flight", "f"), rng.randint(1, 3))
    tools: list[dict[str, Any]] = []
    answers: list[dict[str, Any]] = []
    said: list[str] = []
    for one in names:
        properties = {key: _schema(rng) for key in rng.sample(("a", "b", "c", "city"), rng.randint(1, 3))}
        required = [key for key in properties if rng.random() < 0.6]
        tools.append(
            {"name": one, "parameters": {"type": "dict", "properties": properties, "required": required}},
        )
    for tool in rng.choices(tools, k=rng.choice((0, 1, 1, 1, 2, 3))) if rng.random() < 0.97 else []:
        parameters: Any = tool["parameters"]
        listed, given = {}, {}
        for key, schema in parameters["properties"].items():
            values = [_of(rng, schema, True) for _ in range(rng.choice((1, 1, 2, 3)))]
            if rng.random() < 0.1:
                values[0] = rng.choice(_TEXTS[:4])  # a variable's name
            if key not in parameters["required"] or rng.random() < 0.1:
                values.insert(rng.choice((0, len(values))), "")
            listed[key] = values
            if "" not in values or rng.random() < 0.7:
                given[key] = repr(_said(rng, rng.choice(values), schema))
        answers.append({tool["name"]: listed})
        if given and rng.random() < 0.15:
            given[rng.choice(tuple(given))] = rng.choice(_ODD)
        if rng.random() < 0.04:
            given[rng.choice(("a", "zzz"))] = "1"
        if given and rng.random() < 0.04:
            del given[rng.choice(tuple(given))]
        name = tool["name"] if rng.random() < 0.96 else rng.choice(("find", "sqrt", "math_sqrt", "F"))
        positional = "1, " if rng.random() < 0.02 else ""
        said.append(f"{name}({positional}{', '.join(f'{key}={value}' for key, value in given.items())})")
    if rng.random() < 0.3:
        rng.shuffle(said)
    if rng.random() < 0.04:
        said.append(rng.choice(("find(a=1)", "f()", "x")))
    if not answers and rng.random() < 0.6:
        said = [
            rng.choice(("I cannot do that.", "", "find", "[]", "None of the tools fits: find(x)", "find (a=1)", "{}"))
        ]
    return {"calls": answers, "tools": tools}, rng.choice(_AROUND) % ", ".join(said), {}


_CELLS = (
    "0", "1", "1.0", "2", "2.5", "-1", "NULL", "NULL", "'x'", "'X'", "'x '", "'1'", "'10'", "''", "9007199254740993",
    "9007199254740992.0", "0.1", "0.30000000000000004", "0.3", "'order by'", "x'41'", "'A'", "1e300", "'distinct'",
)  # fmt: skip
_PICKS = (
    "a", "b", "c", "a, b", "b, a", "a, b, c", "c, a, b", "a, b, c, a + 1", "a + 1, c, b, a", "*", "count(*)",
    "count(a)", "count(DISTINCT a)", "sum(b)", "sum(b + 0.0)", "avg(a)", "max(b)", "min(a), max(a)", "max(a), min(a)",
    "a, a", "a AS n", "DISTINCT a", "DISTINCT a, b", "DISTINCT c", "c, count(*)", "1", "'x'", "a + 0.0",
    "CAST(a AS TEXT)", "a / 2", "a, 1.0", "a, 1", "1.0, a", "NULL", "DISTINCT(a)",
)  # fmt: skip
_WHERE = (
    "", "", "", "", "WHERE a > 0", "WHERE a >= 1", "WHERE a > = 1", "WHERE b ! = 1", "WHERE a IS NOT NULL",
    "WHERE 1 = 0", "WHERE c = 'x'", 'WHERE c = "x"', "WHERE c = 'order by'", "WHERE c LIKE 'x%'",
    "WHERE a IN (SELECT k FROM u)", "WHERE a IN (SELECT k FROM u ORDER BY k)", "WHERE a < year(curdate())",
    "WHERE c = 'distinct'", "WHERE c <> '> ='",
)  # fmt: skip
_REST = (
    "", "", "", "", "GROUP BY c", "ORDER BY a", "ORDER BY a DESC", "ORDER  BY a", "order by a, b, c", "LIMIT 2",
    "LIMIT 0", "ORDER BY b LIMIT 1", "ORDER BY a DESC, b, c LIMIT 2", "UNION SELECT 1", "GROUP BY a, b, c",
)  # fmt: skip
_ODD_QUERIES = (
    "", "SELECT", "SELECT nothing FROM t", "SELECT a FROM t;", "VALUES (1)", "SELECT 1", "SELECT a FROM nowhere",
    "no query", "WITH w AS (SELECT a FROM t) SELECT a FROM w", "SELECT t.a FROM t JOIN u ON t.a = u.k",
    "SELECT DISTINCT a FROM t, u",
)  # fmt: skip


def execution(rng: random.Random) -> Pair:
    """Returns two queries on a small database with similar cells; the answer is often the reference's query with one
    part changed.
    """
    rows = [f"({', '.join(rng.choices(_CELLS, k=3))})" for _ in range(rng.choice((0, 1, 2, 4, 6)))]
    rows += rng.choices(rows, k=2) if rows and rng.random() < 0.5 else []
    keys = ", ".join(f"({cell})" for cell in rng.choices(_CELLS, k=3))
    script = f"CREATE TABLE t (a, b, c); CREATE TABLE u (k); INSERT INTO u VALUES {keys};"
    script += f" INSERT INTO t VALUES {', '.join(rows)};" if rows else ""
    parts = [rng.choice(_PICKS), rng.choice(_WHERE), rng.choice(_REST)]
    answer = [*parts]
    if rng.random() < 0.85:
        place = rng.randrange(3)
        answer[place] = rng.choice((_PICKS, _WHERE, _REST)[place])
    query = "SELECT {} FROM t {} {}".format
    text = rng.choice(_ODD_QUERIES) if rng.random() < 0.06 else query(*answer)
    return {"sql": query(*parts), "database": {"script": script}}, text, {"extraction": ["whole"]}


_MARKS = (
    *[("[ANSWER]", "[/ANSWER]")] * 12, ("[ANSWER]", "[ANSWER]"), ("[ANS]", "[/ANS]"), ("<ANS>", "</ANS>"),
    ("<ans>", "</ans>"), ("<ANSWER>", "</ANSWER>"), ("[ANSWER]", "[/ANS]"), ("[answer]", "[/answer]"),
    ("[ANSWER] \n", "\n[/ANSWER]"),
    ("[ANSWER]", ""), ("", "[/ANSWER]"), ("[ANSWER]\u00a0", "\u2003[/ANSWER]"), ("[ANSWER] (", ")[/ANSWER]"),
)  # fmt: skip
_BEHIND = (
    "",
    "",
    "",
    "",
    "",
    "",
    ".",
    ". Rome",
    ", Rome",
    ", c",
    ".\nRome, D",
    " Rome",
    ",",
    ": x",
    ")",
    "\n",
    ". [ANSWER] B",
)


def chembench(rng: random.Random) -> Pair:
    """Returns letters between markers, one or several, once or more often, with text that models write next to them."""
    options = [f"option {number}" for number in range(rng.randint(2, 6))]
    letters = string.ascii_uppercase[: len(options)]
    right = sorted(rng.sample(letters, rng.choice((1, 1, 1, 2, 3)) if len(options) > 2 else 1))
    pieces = []
    for _ in range(rng.choice((1, 1, 1, 1, 2, 3))):
        said = [*right] if rng.random() < 0.6 else rng.choices(letters + "GZa", k=rng.randint(1, 3))
        if rng.random() < 0.15:
            said.append(rng.choice(letters + "Zb"))
        rng.shuffle(said)
        first, last = rng.choice(_MARKS)
        pieces.append(
            first + rng.choice((", ", ",", ", ", ",\n", " ", " and ")).join(said) + rng.choice(_BEHIND) + last
        )
    text = rng.choice(("", "So ", "It is A. ")) + rng.choice((" ", "\nNo: ", "")).join(pieces)
    return {"answers": right, "options": options}, text, {}


MAKERS: Mapping[str, Callable[[random.Random], Pair]] = {
    "squad": squad,
    "math_verify": math_verify,
    "bfcl": bfcl,
    "chembench": chembench,
    "spider": execution,
    "bird": execution,
}


def pairs(preset: str, count: int, seed: int = 7) -> list[Pair]:
    """Returns pairs for a preset."""
    rng = random.Random(seed)
    return [MAKERS[preset](rng) for _ in range(count)]
