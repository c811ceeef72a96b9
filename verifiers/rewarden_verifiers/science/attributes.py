"""Attributes of a molecule that a response states ("logP: 1.31", "| TPSA | 63.6 |"), against RDKit's values."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rewarden_verifiers.science import properties
from rewarden_verifiers.science.smiles import Molecule

MOST = 64
"""Stated attributes that are looked at."""

_STATED = re.compile(
    r"^[\s>|*•+\-]{0,12}(?:\d{1,3}[.)]\s{0,4})?[*_`]{0,3}([A-Za-z][A-Za-z0-9 _\-]{1,48})(?:\s?\([^()\n]{0,40}\))?"
    r"[*_`]{0,3}\s{0,4}(?:[:=|]|≈|~|\bis\b)[\s*_`≈~]{0,6}([-+\u2212]?\d{1,9}(?:\.\d{1,9})?)(?![\d.])",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Stated:
    """A stated attribute: RDKit's name, what was said, what is true, and whether they agree."""

    name: str
    said: float
    true: float
    right: bool


def stated(response: str, molecule: Molecule, tolerance: float) -> list[Stated] | None:
    """The attributes that the response states, each once; None where one is stated in two ways (a hedge). Linear."""
    said: dict[str, float] = {}
    for match in _STATED.finditer(response):
        try:
            name = properties.known(match.group(1))
        except ValueError:
            continue
        number = float(match.group(2).replace("\u2212", "-"))
        if said.setdefault(name, number) != number:
            return None
        if len(said) >= MOST:
            break
    found: list[Stated] = []
    for name, number in said.items():
        true = properties.value(molecule.mol, name)
        if true is not None:
            found.append(Stated(name, number, true, abs(number - true) <= tolerance * max(1.0, abs(true))))
    return found
