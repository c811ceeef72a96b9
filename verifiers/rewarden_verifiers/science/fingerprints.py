"""Fingerprints and formulas of molecules, by RDKit."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Literal

from rewarden_verifiers.science.smiles import Molecule, rdkit, silent

Fingerprint = Literal["morgan", "morgan_chiral", "rdkit", "maccs"]


@lru_cache(maxsize=8)
def _generator(kind: Fingerprint) -> Any:
    rdkit()
    from rdkit.Chem import rdFingerprintGenerator, rdMolDescriptors

    if kind == "rdkit":
        return rdFingerprintGenerator.GetRDKitFPGenerator().GetFingerprint
    if kind == "maccs":
        return rdMolDescriptors.GetMACCSKeysFingerprint
    return rdFingerprintGenerator.GetMorganGenerator(
        radius=2, fpSize=2048, includeChirality=kind == "morgan_chiral"
    ).GetFingerprint


@lru_cache(maxsize=2048)
def _bits(smiles: str, kind: Fingerprint) -> Any:
    # Computed from the canonical SMILES, so that the order in which atoms were written does not matter.
    with silent():
        return _generator(kind)(rdkit().MolFromSmiles(smiles))


def tanimoto(a: Molecule, b: Molecule, kind: Fingerprint) -> float:
    """Tanimoto coefficient: shared bits divided by all bits, from 0 to 1."""
    from rdkit.DataStructs import TanimotoSimilarity

    return float(TanimotoSimilarity(_bits(a.smiles, kind), _bits(b.smiles, kind)))


def formula(molecule: Molecule) -> str:
    """The formula in Hill's order, with its charge ("C9H8O4", "C5H5N+")."""
    from rdkit.Chem.rdMolDescriptors import CalcMolFormula

    return str(CalcMolFormula(molecule.mol))
