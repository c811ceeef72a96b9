"""Chemical formulas as answers: `C6H12O6`, `$\\mathrm{C_6H_{12}O_6}$`, `Ca(OH)2`, `SO4^2-`."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from typing import Literal

from rewarden_verifiers.answer.sentence import DOUBT

_ELEMENTS = (
    "H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Kr Rb Sr Y Zr Nb "
    "Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb Lu Hf Ta W Re Os Ir Pt Au "
    "Hg Tl Pb Bi Po At Rn Fr Ra Ac Th Pa U Np Pu Am Cm Bk Cf Es Fm Md No Lr Rf Db Sg Bh Hs Mt Ds Rg Cn Nh Fl Mc Lv Ts "
    "Og"
)
_SYMBOLS = frozenset(_ELEMENTS.split())
_LONGEST = 200
_MOST_WORDS = 400
_PART = re.compile(r"([A-Z][a-z]?)([1-9][0-9]{0,3})?|([(\[])|([)\]])([1-9][0-9]{0,2})?|(·)([1-9][0-9]?)?")
_CHARGE = re.compile(r"(?:\^([1-9]?)([+-])|\^?([+-])([1-9]?))$")
_LONE_ION = re.compile(r"([A-Z][a-z]?)([1-9])([+-])")
_UNCLEAR = re.compile(r"(?:[0-9]{2}|[)\]][0-9])$")
"""Digits before a sign that may count either atoms or charges."""
_DRESS = re.compile(r"\\(?:text|mathrm|mathbf|ce|mbox|operatorname)(?![A-Za-z])|\\[,;:! ]|[{}_$`]|\*\*|\\[()\[\]]")
_DOT = re.compile(r"\\cdot(?![A-Za-z])\s?|\s?[·•∙⋅.]\s?(?=[0-9]{0,2}[A-Z(])")
_SIGNS = str.maketrans("⁺⁻−–⁰¹²³⁴⁵⁶⁷⁸⁹", "+---0123456789")
_RAISED = re.compile(r"(?<=[A-Za-z0-9₀-₉)\]])(?=[⁰¹²³⁴-⁹]{0,2}[⁺⁻])")
_AROUND = " \t\r\n.,;:!?\"'“”"
_NAME = re.compile(r"\s\([a-z][a-z -]{1,60}\)$")


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula: the number of atoms of each element, the charge, and its text if that shows how the atoms are
    joined.
    """

    atoms: tuple[tuple[str, int], ...]
    charge: int
    condensed: str | None


def same(a: Formula, expected: Formula) -> bool:
    """Returns whether a formula matches the expected one. If that repeats an element, it shows how the atoms are joined
    (CH3COOH), and isomers count as different.
    """
    if expected.condensed is not None:
        return a.condensed == expected.condensed
    return (a.atoms, a.charge) == (expected.atoms, expected.charge)


def read(text: str) -> Formula | None:
    """Parses a formula, with or without markup; None if the text is not one. "SO42-" is rejected as ambiguous: 42 or 4
    oxygen atoms.
    """
    if len(text) > 4 * _LONGEST:
        return None
    body = _undressed(text)
    if not 0 < len(body) <= _LONGEST:
        return None
    charge = 0
    ion = _LONE_ION.fullmatch(body)  # Ca2+
    if ion is not None:
        body, charge = ion[1], int(ion[2]) * (1 if ion[3] == "+" else -1)
    elif (sign := _CHARGE.search(body)) is not None:
        if sign[3] and "^" not in sign[0] and not sign[4] and _UNCLEAR.search(body, 0, sign.start()):
            return None
        charge = int(sign[1] or sign[4] or 1) * (1 if (sign[2] or sign[3]) == "+" else -1)
        body = body[: sign.start()]
    return _counted(body, charge)


def _counted(body: str, charge: int) -> Formula | None:
    open_groups: list[tuple[str, Counter[str]]] = [("", Counter())]
    seen: list[str] = []
    at, factor = 0, 1
    total: Counter[str] = Counter()
    while at < len(body):
        match = _PART.match(body, at)
        if match is None:
            return None
        at = match.end()
        symbol, count, opens, closes, times, dot, molecules = match.groups()
        if symbol:
            if symbol not in _SYMBOLS:
                return None
            seen.append(symbol)
            open_groups[-1][1][symbol] += int(count or 1)
        elif opens:
            if len(open_groups) > 4:
                return None
            open_groups.append((opens, Counter()))
        elif closes:
            opened, inner = open_groups.pop()
            if not inner or opened + closes not in ("()", "[]"):
                return None
            for element, number in inner.items():
                open_groups[-1][1][element] += number * int(times or 1)
        elif dot:
            if len(open_groups) > 1 or not open_groups[0][1]:
                return None
            _add(total, open_groups[0][1], factor)
            open_groups[0][1].clear()
            factor = int(molecules or 1)
    if len(open_groups) > 1 or not open_groups[0][1]:
        return None
    _add(total, open_groups[0][1], factor)
    repeats = len(set(seen)) < len(seen)
    return Formula(tuple(sorted(total.items())), charge, f"{body} {charge}" if repeats else None)


def _add(total: Counter[str], part: Counter[str], factor: int) -> None:
    for element, number in part.items():
        total[element] += number * factor


def is_formula(text: str) -> bool:
    """Returns whether a text that is not valid SMILES is meant as a formula rather than as a broken SMILES: it contains
    hydrogen, which SMILES writes in brackets, or names each element once without a count of 1.
    """
    found = read(text)
    if found is None or text.strip() == "NaN":  # tables use "NaN" for missing values
        return False
    return found.condensed is None or any(element == "H" for element, _ in found.atoms)


def written(text: str) -> Formula | Literal["hedged", "unparseable_answer"]:
    """Finds the formula in an answer: the whole text, or the only formula in a sentence that expresses no doubt."""
    whole = read(_NAME.sub("", text.strip(_AROUND)))
    if whole is not None:
        return whole
    words = text.split()
    if len(words) > _MOST_WORDS:
        return "unparseable_answer"
    found = {formula for word in words if _stands_out(word) and (formula := read(word.strip(_AROUND))) is not None}
    if len(found) > 1 or (found and DOUBT.search(text)):
        return "hedged"
    return found.pop() if found else "unparseable_answer"


def _stands_out(word: str) -> bool:
    """Returns whether a word in a sentence can be a formula: "In" and "As" are English."""
    return any(char.isdigit() for char in word) or sum(char.isupper() for char in word) > 1


def _undressed(text: str) -> str:
    raised = _RAISED.sub("^", text).translate(_SIGNS)
    plain = _DRESS.sub("", unicodedata.normalize("NFKC", _DOT.sub("·", raised.strip().rstrip("."))))
    return plain.strip(_AROUND).replace(" ", "").replace("*", "")
