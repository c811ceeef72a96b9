"""Properties of molecules by RDKit's names and common aliases, and those that a response states ("logP: 1.31", "| TPSA
| 63.6 |"), compared with RDKit's values.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from rewarden_verifiers.science.smiles import Molecule, silent

_NAMES_LIST = """
    MolWt ExactMolWt HeavyAtomMolWt HeavyAtomCount MolLogP MolMR TPSA qed NumHDonors NumHAcceptors NHOHCount NOCount
    NumRotatableBonds NumHeteroatoms RingCount NumAromaticRings NumAliphaticRings NumSaturatedRings NumHeterocycles
    FractionCSP3 NumValenceElectrons NumRadicalElectrons LabuteASA BertzCT BalabanJ Chi0 Chi1 Chi2n Chi3n Chi4n Chi0v
    Chi1v Chi2v Chi3v Chi4v Kappa1 Kappa2 Kappa3 HallKierAlpha
    """
NAMES = tuple(_NAMES_LIST.split())
"""RDKit's names of all properties that may be asked for."""
_OTHER_NAMES = {
    **dict.fromkeys(("logp", "clogp", "xlogp"), "MolLogP"),
    **dict.fromkeys(("molecularweight", "mw"), "MolWt"),
    **dict.fromkeys(("hbd", "hydrogenbonddonors", "hbonddonors"), "NumHDonors"),
    **dict.fromkeys(("hba", "hydrogenbondacceptors", "hbondacceptors"), "NumHAcceptors"),
    **dict.fromkeys(("polarsurfacearea", "topologicalpolarsurfacearea", "psa"), "TPSA"),
    "mr": "MolMR",
    "rotatablebonds": "NumRotatableBonds",
    "rings": "RingCount",
    "aromaticrings": "NumAromaticRings",
    "heavyatoms": "HeavyAtomCount",
    "fsp3": "FractionCSP3",
    "druglikeness": "qed",
    "heteroatoms": "NumHeteroatoms",
}
_BY_LETTERS = {name.lower(): name for name in NAMES} | _OTHER_NAMES
MOST_STATED = 64
"""The maximum number of stated properties that are examined."""
_STATED = re.compile(
    r"^[\s>|*•+\-]{0,12}(?:\d{1,3}[.)]\s{0,4})?[*_`]{0,3}([A-Za-z][A-Za-z0-9 _\-]{1,48})(?:\s?\([^()\n]{0,40}\))?"
    r"[*_`]{0,3}\s{0,4}(?:[:=|]|≈|~|\bis\b)[\s*_`≈~]{0,6}([-+\u2212]?\d{1,9}(?:\.\d{1,9})?)(?![\d.])",
    re.MULTILINE,
)


def known(name: str) -> str:
    """Returns RDKit's name of a property. Raises ValueError for an unknown one."""
    letters = "".join(char for char in name.lower() if char.isalnum())
    found = _BY_LETTERS.get(letters) or _BY_LETTERS.get(letters.removeprefix("numberof"))
    if found is None:
        raise ValueError(f"unknown property {name!r}; known: {', '.join(NAMES)}")
    return found


def value(mol: Any, name: str) -> float | None:
    """The value of a property; None if RDKit has no finite number for it."""
    with silent():
        from rdkit.Chem import Descriptors

        try:
            found = float(getattr(Descriptors, name)(mol))
        except (ValueError, RuntimeError, ZeroDivisionError):
            return None
    return found if math.isfinite(found) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Property:
    """A property and its required range. At least one of min and max is given.

    name: RDKit's name (`MolWt`, `MolLogP`, `qed`, `TPSA`, …) or a common one (logP, MW, HBD, HBA, rings).
    min, max: Ends of the range with full marks.
    fall: Distance from the range at which the score reaches 0, linearly; 0: at once.
    weight: Weight of this property among several.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    name: str
    min: float | None = None
    max: float | None = None
    fall: float = 0.0
    weight: float = 1.0

    def __post_init__(self) -> None:
        known(self.name)
        if self.min is None and self.max is None:
            raise ValueError(f"the property {self.name!r} needs min or max")
        for number in (self.min, self.max, self.fall, self.weight):
            if number is not None and not math.isfinite(number):
                raise ValueError(f"the property {self.name!r}: bounds must be finite")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"the property {self.name!r}: max must be at least min")
        if self.fall < 0 or self.weight <= 0:
            raise ValueError(f"the property {self.name!r}: fall must be at least 0, and weight above 0")

    def score(self, found: float) -> float:
        """Returns 1 within the range, less outside."""
        away = max(0.0, (self.min - found) if self.min is not None else 0.0)
        away = max(away, (found - self.max) if self.max is not None else 0.0)
        if away == 0.0:
            return 1.0
        return max(0.0, 1.0 - away / self.fall) if self.fall else 0.0


_FAVOURED = re.compile(
    r"(?:^|[,;>|])[\s*•+\-]{0,8}([A-Za-z][A-Za-z0-9 _\-]{1,48}?)\s{0,4}:\s{0,4}"
    r"((?:not|does not|do not)\s{1,4})?improves?\b",
    re.MULTILINE | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Stated:
    """A stated property: RDKit's name, the statement (a value, or whether it lies in a range), the true value, and
    whether they agree.
    """

    name: str
    said: float | bool
    true: float
    right: bool


def stated(response: str, molecule: Molecule, tolerance: float) -> list[Stated] | None:
    """The properties that the response states, each once; None if one is stated in two ways (a hedge). Linear."""
    said: dict[str, float] = {}
    for match in _STATED.finditer(response):
        try:
            name = known(match.group(1))
        except ValueError:
            continue
        number = float(match.group(2).replace("\u2212", "-"))
        if said.setdefault(name, number) != number:
            return None
        if len(said) >= MOST_STATED:
            break
    found: list[Stated] = []
    for name, number in said.items():
        true = value(molecule.mol, name)
        if true is not None:
            found.append(Stated(name, number, true, abs(number - true) <= tolerance * max(1.0, abs(true))))
    return found


def favoured(response: str, molecule: Molecule, ranges: Mapping[str, tuple[float, float]]) -> list[Stated] | None:
    """The properties that the response calls favourable or not ("logP: improve, TPSA: not improve"), each once, if
    `ranges` says where they are; None if one is called both (a hedge). Linear."""
    wanted = {known(name): ends for name, ends in ranges.items()}
    said: dict[str, bool] = {}
    for match in _FAVOURED.finditer(response):
        try:
            name = known(match.group(1))
        except ValueError:
            continue
        good = match.group(2) is None
        if name in wanted and said.setdefault(name, good) != good:
            return None
        if len(said) >= MOST_STATED:
            break
    found: list[Stated] = []
    for name, good in said.items():
        true = value(molecule.mol, name)
        if true is not None:
            low, high = wanted[name]
            found.append(Stated(name, good, true, (low <= true <= high) == good))
    return found
