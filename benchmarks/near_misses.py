"""Near misses that earn a reward, per 10,000, next to those of Math-Verify in the same run.

Each change alters one thing that carries the meaning of a reference (a sign, a digit, a modulus, a bracket, a
quantifier, an argument, a unit, an order, the bars of an absolute value) and submits the result as the answer. No
change may earn a reward, and each reference must earn full marks as its own answer. References: our own list, in the
shapes that data sets use, and those of a labelled file (JSON lines with `reference`) if the environment variable
REWARDEN_REFERENCES names one.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.report import Report
from rewarden_verifiers.answer.math.verifier import MathParams, judge, prepare
from rewarden_verifiers.contract import Unwatched
from rewarden_verifiers.extraction import Extracted

_SHAPES = (
    *("12", "-7", "3.25", "1024", "0.001", "1,250", "144 \\text{ cm}^2", "5 km", "60 mph", "18 cookies", "45^\\circ"),
    *(r"\frac{3}{7}", r"-\frac{5}{12}", r"2\frac{1}{3}", r"\frac{\pi}{6}", r"\frac{1+\sqrt{5}}{2}", "7/9", r"35\%"),
    *(r"2\sqrt{3}", r"\sqrt{17}", r"\sqrt[3]{4}", "5-2\\sqrt{6}", r"3\pi", r"e^{2}", r"\ln 3", r"\log_2 5", "2^{10}"),
    *("x^2+3x-4", "2x-5", "(x-1)(x+4)", r"\frac{x+1}{x-2}", "a^2-b^2", "n!", r"\binom{9}{3}", "n(n+1)", "-xy"),
    *(r"\sin 2x", r"\cos\frac{\pi}{5}", r"\tan\frac{2}{5}\pi", r"\arctan 3", r"x^{n+1}", r"3^{x}", "mx-b", "3+4i"),
    *("y=2x+3", "x=5", "f(x)=3x-1", "f(1)=7", "f(-2)=4", "g(3)=-1", "f'(2)", "a_5=31", "x^2+y^2=9", "S_1:S=7:32"),
    *("|x|+|y|=1", "|a|<|b|", "|xy|", "|c|<2", "y=|x|", "2|x|", "|x-3|"),
    *("3:4", "2:3:5", "1011_2", "40_9", r"\log_6(216)=3", "P(X=2)=0.3", r"|z|=5", r"x_1=1.4142", "2x+3y=12"),
    *("(2,3)", "(-1,4,2)", "[1,5)", "(0,4]", r"(-\infty,2)", r"[3,\infty)", r"(1,2)\cup(3,4)", r"\{1,3\}", "1, -7"),
    *("x>2", r"x \le -3", "-2<x<7", r"1 \le x \le 6", "x<1 or x>2", r"a \ne 2", "b<a<d<c", "y_1>y_2", "3<k<8"),
    *(r"x \equiv 3 \pmod{7}", r"4 \pmod 9", r"n \equiv 1 \pmod{12}", r"x \equiv 1, 3 \pmod 8", r"2 \pmod{5}"),
    *(
        r"\forall x \in \mathbb{R}, x^2 \ge 0",
        r"\exists n \in \mathbb{N}, n^2>50",
        r"p \vee q",
        r"p \wedge q",
        r"\neg p",
    ),
    *(r"f(x)=cx \text{ where } |c| \le 1", r"x^2+1 \text{ for } x>0", r"2\pi k, k \in \mathbb{Z}", r"\pm 2"),
    *(r"\begin{pmatrix}1&2\\3&4\end{pmatrix}", r"\begin{pmatrix}-7\\5\end{pmatrix}", "x=1, y=2", "2, 5, 11", "1,2,4,8"),
    *(r"\text{max: } 3, \text{ min: } 1", "15th", r"\$5.50", "Rs. 930", r"3\times10^8", "6.02e23", r"0.\overline{3}"),
)

_UNITS = {"km": "m", "cm": "mm", "mph": "kmh", "cookies": "cakes"}
_NAMES = re.compile(r"(?<![A-Za-z\\])[a-z](?:_\d)?(?=\s?[<>])|(?<=[<>])\s?[a-z](?:_\d)?(?![A-Za-z])")
_DIGIT = re.compile(r"(?<![\\A-Za-z])\d")
_SWAPS: dict[str, tuple[tuple[str, str], ...]] = {
    "connective": ((r"\vee", r"\wedge"), (" or ", " and ")),
    "quantifier": ((r"\forall", r"\exists"),),
    "comparison": ((r"\le ", "< "), (r"\ge ", "> ")),
}


def _sign(text: str) -> Iterator[str]:
    if text.startswith("-") and not re.search(r"[<>=,]|\\le|\\ne", text):
        yield text[1:]
    for place in re.finditer(r"(?<=[\w)}])[-+](?=[\w\\(])", text):
        if not re.match(r"\d*[eE]", text[max(0, place.start() - 1) :]):
            yield text[: place.start()] + ("+" if place[0] == "-" else "-") + text[place.end() :]
    if "!" in text:
        yield text.replace("!", "")
    if r"\neg " in text:
        yield text.replace(r"\neg ", "")


def _digit(text: str) -> Iterator[str]:
    for place in (match.start() for match in _DIGIT.finditer(text)):
        changed = text[:place] + str((int(text[place]) + 1) % 10 or 1) + text[place + 1 :]
        if not re.search(r"_\{?1\}?$", changed):
            yield changed


def _modulus(text: str) -> Iterator[str]:
    if (found := re.search(r"\\pmod\s?\{?(\d+)\}?", text)) is not None:
        yield text[: found.start()] + rf"\pmod{{{int(found[1]) + 1}}}" + text[found.end() :]
        yield text[: found.start()] + rf"\pmod{{{2 * int(found[1])}}}" + text[found.end() :]


def _bracket(text: str) -> Iterator[str]:
    if re.fullmatch(r"[(\[][^()\[\]]*,[^()\[\]]*[)\]]", text) and text.count(",") == 1:
        for ends in ("()", "[]", "(]", "[)"):
            if ends != text[0] + text[-1] and r"\infty" not in text:
                yield ends[0] + text[1:-1] + ends[1]


def _argument(text: str) -> Iterator[str]:
    for name, argument in re.findall(r"\b([fg]'?)\((-?\d+)\)", text):
        yield text.replace(f"{name}({argument})", f"{name}({int(argument) + 3})")
        yield text.replace(name, "h")
    for found in re.finditer(r"_(\d)", text):
        if not text[: found.start()].isdecimal() or found.end() == len(text):
            yield text[: found.start()] + f"_{int(found[1]) + 2}" + text[found.end() :]


def _unit(text: str) -> Iterator[str]:
    for unit, other in _UNITS.items():
        if re.search(rf"\b{unit}\b", text):
            yield re.sub(rf"\b{unit}\b", other, text)


def _order(text: str) -> Iterator[str]:
    if (found := re.fullmatch(r"\((-?\w+),(-?\w+)((?:,-?\w+)?)\)", text)) is not None:
        yield f"({found[2]},{found[1]}{found[3]})"
    if re.fullmatch(r"\d:\d(?::\d)?", text):
        yield ":".join(reversed(text.split(":")))
    names = _NAMES.findall(text)
    if len({name.strip() for name in names}) > 1 and "=" not in text:
        parts = re.split(r"([<>])", text)
        parts[0], parts[2] = parts[2], parts[0]
        yield "".join(parts)
    if (found := re.fullmatch(r"(\w)=(\d), (\w)=(\d)", text)) is not None:
        yield f"{found[1]}={found[4]}, {found[3]}={found[2]}"


def _size(text: str) -> Iterator[str]:
    if (found := re.search(r"\|([^|]+)\|", text)) is not None:
        yield text[: found.start()] + found[1] + text[found.end() :]


def _swapped(kind: str) -> Callable[[str], Iterator[str]]:
    def change(text: str) -> Iterator[str]:
        for one, two in _SWAPS[kind]:
            if one in text:
                yield text.replace(one, two)
            elif two in text and kind != "comparison":
                yield text.replace(two, one)

    return change


CHANGES: dict[str, Callable[[str], Iterator[str]]] = {
    "sign": _sign,
    "digit": _digit,
    "modulus": _modulus,
    "bracket": _bracket,
    "argument": _argument,
    "unit": _unit,
    "order": _order,
    "size": _size,
    **{kind: _swapped(kind) for kind in _SWAPS},
}


def references() -> list[str]:
    """Returns our own references, and those of the file that the environment names."""
    given = os.environ.get("REWARDEN_REFERENCES")
    if given is None:
        return list(_SHAPES)
    rows = (json.loads(line) for line in Path(given).read_text("utf-8").splitlines() if line.strip())
    found = dict.fromkeys(row["reference"] for row in rows if isinstance(row["reference"], str))
    return [*_SHAPES, *(text for text in found if len(text) <= 200)]


def near_misses(texts: list[str]) -> Iterator[tuple[str, str, str]]:
    """Yields the kind of each change, the reference, and the changed reference."""
    for text in texts:
        for kind, change in CHANGES.items():
            for changed in dict.fromkeys(change(text)):
                if changed != text:
                    yield kind, text, changed


def passes(reference: str, answer: str) -> bool:
    """Returns whether `math` rewards the answer."""
    params = MathParams()
    prepared = prepare(reference, params, Unwatched())
    return (
        bool(prepared.alternatives)
        and judge(Extracted((answer,), "whole", (0, len(answer))), prepared, params).score == 1.0
    )


def theirs(reference: str, answer: str) -> bool:
    """Returns whether Math-Verify accepts it, used as its documentation describes."""
    from math_verify import parse, verify

    return bool(verify(parse(f"${reference}$"), parse(f"${answer}$")))


def run() -> list[str]:
    """Runs and reports; returns the broken promises."""
    texts = references()
    changed = list(near_misses(texts))
    report = Report(f"near misses: {len(changed)} of {len(texts)} references")
    paid = [pair for pair in changed if passes(*pair[1:])]
    for kind, reference, answer in paid:
        print(f"   rewarded, {kind}: {answer} for {reference}")
    others = [pair for pair in changed if theirs(*pair[1:])]
    for kind, count in sorted(Counter(kind for kind, _, _ in changed).items()):
        by_us, by_them = (sum(pair[0] == kind for pair in pairs) for pairs in (paid, others))
        print(f"   {kind:12} {count:5} changes, rewarded {by_us}, by Math-Verify {by_them}")
    report.figure("rewarded per 10,000", 10_000 * len(paid) / len(changed), most=25)
    report.figure("rewarded per 10,000, Math-Verify", 10_000 * len(others) / len(changed))
    lost = [text for text in _SHAPES if not passes(text, text)]
    report.figure("our references that do not earn full marks themselves", len(lost), most=0)
    return report.broken
