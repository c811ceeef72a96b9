"""Properties of molecules by RDKit's names, and other names that they go by."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

from rewarden_verifiers.science.smiles import rdkit, silent

_MODULES: Mapping[str, str] = {
    "MolWt": "Descriptors",
    "ExactMolWt": "Descriptors",
    "HeavyAtomCount": "Descriptors",
    "MolLogP": "Crippen",
    "MolMR": "Crippen",
    "TPSA": "Descriptors",
    "qed": "QED",
    "NumHDonors": "Descriptors",
    "NumHAcceptors": "Descriptors",
    "NHOHCount": "Descriptors",
    "NOCount": "Descriptors",
    "NumRotatableBonds": "Descriptors",
    "NumHeteroatoms": "Descriptors",
    "RingCount": "Descriptors",
    "NumAromaticRings": "Descriptors",
    "NumAliphaticRings": "Descriptors",
    "NumSaturatedRings": "Descriptors",
    "NumHeterocycles": "Descriptors",
    "FractionCSP3": "Descriptors",
    "NumValenceElectrons": "Descriptors",
    "NumRadicalElectrons": "Descriptors",
    "LabuteASA": "Descriptors",
    "BertzCT": "Descriptors",
    "BalabanJ": "Descriptors",
}
_OTHER_NAMES = {
    "logp": "MolLogP",
    "clogp": "MolLogP",
    "mollogp": "MolLogP",
    "molecularweight": "MolWt",
    "mw": "MolWt",
    "mr": "MolMR",
    "hbd": "NumHDonors",
    "hydrogenbonddonors": "NumHDonors",
    "hbonddonors": "NumHDonors",
    "hba": "NumHAcceptors",
    "hydrogenbondacceptors": "NumHAcceptors",
    "hbondacceptors": "NumHAcceptors",
    "rotatablebonds": "NumRotatableBonds",
    "rings": "RingCount",
    "aromaticrings": "NumAromaticRings",
    "heavyatoms": "HeavyAtomCount",
    "fsp3": "FractionCSP3",
    "polarsurfacearea": "TPSA",
    "topologicalpolarsurfacearea": "TPSA",
    "druglikeness": "qed",
    "heteroatoms": "NumHeteroatoms",
}
NAMES = tuple(_MODULES)
"""RDKit's names of all properties that may be asked for."""
_BY_LETTERS = {name.lower(): name for name in _MODULES} | _OTHER_NAMES


def known(name: str) -> str:
    """RDKit's name of a property. Raises ValueError for one that is not in the list."""
    letters = "".join(char for char in name.lower() if char.isalnum())
    found = _BY_LETTERS.get(letters) or _BY_LETTERS.get(letters.removeprefix("numberof"))
    if found is None:
        raise ValueError(f"there is no property {name!r}; there is {', '.join(_MODULES)}")
    return found


@lru_cache(maxsize=64)
def _function(name: str) -> Callable[[Any], float]:
    import importlib

    rdkit()
    function: Callable[[Any], float] = getattr(importlib.import_module(f"rdkit.Chem.{_MODULES[name]}"), name)
    return function


def value(mol: Any, name: str) -> float | None:
    """The property of a molecule; None where RDKit has no finite number for it."""
    with silent():
        try:
            found = float(_function(name)(mol))
        except (ValueError, RuntimeError, ZeroDivisionError):
            return None
    return found if math.isfinite(found) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Property:
    """A property and where it shall lie. At least one of min and max is given.

    name: RDKit's name (`MolWt`, `MolLogP`, `qed`, `TPSA`, …) or a usual one (logP, MW, HBD, HBA, rings).
    min, max: full marks from and to this value.
    fall: how far outside the score reaches 0, along a line; 0: at once.
    weight: of this property among several.
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
        """1 within the bounds, less outside."""
        away = max(0.0, (self.min - found) if self.min is not None else 0.0)
        away = max(away, (found - self.max) if self.max is not None else 0.0)
        if away == 0.0:
            return 1.0
        return max(0.0, 1.0 - away / self.fall) if self.fall else 0.0
