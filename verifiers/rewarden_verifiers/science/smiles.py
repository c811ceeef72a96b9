"""Parses SMILES into molecules, within limits, with a reason for failures. No other module parses the response's
SMILES.

RDKit is imported when the first molecule is parsed, and its log is silenced meanwhile.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from rewarden.errors import MissingDependency

MOST_CHARACTERS = 4000
"""The maximum length of a SMILES: a protein of a hundred residues is longer, but no requested molecule is."""
MOST_ATOMS = 400
"""The maximum number of heavy atoms. RDKit's canonical numbering takes more than linear time, and its stack is
limited.
"""

Problem = Literal["malformed", "absurd_valence", "not_aromatic", "too_expensive", "wildcard", "empty"]

_ALPHABET = re.compile(r"[A-Za-z0-9@+\-\[\]()\\/%=#$:.*~<>{}|^&,;!?_']+")
_LETTERS = re.compile(r"[A-Za-z*]")


@lru_cache(maxsize=1)
def rdkit() -> Any:
    """RDKit's module `Chem`. Raises MissingDependency with the pip command where it is not installed."""
    try:
        from rdkit import Chem
    except ImportError as error:
        raise MissingDependency(
            "verifier 'molecule' needs the package 'rdkit': pip install 'rewarden-server[chem]'", verifier="molecule"
        ) from error
    return Chem


def silent() -> Any:
    """A context that keeps RDKit from writing to standard error, which it does for every invalid SMILES."""
    rdkit()
    from rdkit import rdBase

    return rdBase.BlockLogs()


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The criteria by which two molecules are the same.

    stereo: whether stereochemistry counts. isotopes: whether isotopes count. charges: whether the charged and the
    neutral form differ. tautomers: whether tautomers differ (where not, standard InChI decides).
    """

    stereo: bool = True
    isotopes: bool = True
    charges: bool = True
    tautomers: bool = True


@dataclass(frozen=True, slots=True)
class Molecule:
    """A parsed molecule: RDKit's object, without atom maps, and its canonical SMILES."""

    mol: Any
    smiles: str
    atoms: int
    fragments: int


def looks_like_smiles(text: str) -> bool:
    """Returns whether a word consists of the characters of a SMILES. Only parsing shows whether it is one."""
    return _ALPHABET.fullmatch(text) is not None and _LETTERS.search(text) is not None


@lru_cache(maxsize=4096)
def read(text: str, attached: bool = False) -> Molecule | Problem:
    """Parses a SMILES, or returns the problem. Cached, because siblings write the same few molecules. attached: whether
    "*" is allowed, as a fragment's attachment point.

    Never raises. Bounded: see MOST_CHARACTERS and MOST_ATOMS.
    """
    if len(text) > MOST_CHARACTERS:
        return "too_expensive"  # a SMILES of ten thousand characters takes quadratic time and a deep stack
    if not text.isascii() or "\0" in text or not looks_like_smiles(text):
        return "malformed"
    Chem = rdkit()
    with silent():
        # RDKit also reads names and extensions after a blank, but the text contains no blanks.
        mol = Chem.MolFromSmiles(text)
        if mol is None:
            return _why_none(Chem, text)
        atoms = mol.GetNumHeavyAtoms()
        if mol.GetNumAtoms() > MOST_ATOMS:
            return "too_expensive"
        if not mol.GetNumAtoms():
            return "empty"
        mapped = False
        for atom in mol.GetAtoms() if ":" in text or "*" in text else ():
            if atom.GetAtomicNum() == 0 and not attached:
                return "wildcard"  # "*" stands for any atom: it is no answer, and no valence could be wrong
            if atom.GetAtomMapNum():
                atom.SetAtomMapNum(0)
                mapped = True
        smiles = Chem.MolToSmiles(mol)
        if mapped:  # once the maps are gone, hydrogens and centres need not be explicit
            mol = Chem.MolFromSmiles(smiles)
            if mol is None:
                return "malformed"
            smiles = Chem.MolToSmiles(mol)
    return Molecule(mol, smiles, atoms, smiles.count(".") + 1)


def _why_none(Chem: Any, text: str) -> Problem:
    options = Chem.SmilesParserParams()
    options.sanitize = options.removeHs = False
    raw = Chem.MolFromSmiles(text, options)
    if raw is None:
        return "malformed"  # unclosed rings and brackets, or unknown atoms
    if raw.GetNumAtoms() > MOST_ATOMS:
        return "too_expensive"
    failed = Chem.SanitizeMol(raw, catchErrors=True)
    return "absurd_valence" if failed == Chem.SanitizeFlags.SANITIZE_PROPERTIES else "not_aromatic"


@lru_cache(maxsize=8192)
def key(smiles: str, identity: Identity) -> str:
    """Returns a key that is equal for molecules that are the same under `identity`, given a canonical SMILES."""
    if identity == _STRICT:
        return smiles
    Chem = rdkit()
    with silent():
        mol = Chem.MolFromSmiles(smiles)
        if not identity.isotopes:
            for atom in mol.GetAtoms():
                atom.SetIsotope(0)
            mol = Chem.RemoveHs(mol)  # deuterium is ordinary hydrogen now
        if not identity.charges:
            from rdkit.Chem.MolStandardize import rdMolStandardize

            mol = rdMolStandardize.Uncharger().uncharge(mol)
        if not identity.stereo:
            Chem.RemoveStereochemistry(mol)
        if not identity.tautomers:
            # Standard InChI treats mobile hydrogens in one layer. Enumerating tautomers takes seconds for some
            # molecules.
            inchi: str = Chem.MolToInchi(mol)
            if inchi:
                return inchi
        plain: str = Chem.MolToSmiles(mol)
    return plain


_STRICT = Identity()


def same(a: Molecule, b: Molecule, identity: Identity) -> bool:
    """Returns whether two molecules are the same. Symmetric and reflexive."""
    if key(a.smiles, identity) == key(b.smiles, identity):
        return True
    if a.atoms != b.atoms:
        return False
    # RDKit's canonical form is not always a fixed point: parsing it may give another form. The second one is stable.
    return _again(key(a.smiles, identity)) == _again(key(b.smiles, identity))


@lru_cache(maxsize=4096)
def _again(written: str) -> str:
    if written.startswith("InChI="):
        return written
    with silent():
        mol = rdkit().MolFromSmiles(written)
        return written if mol is None else str(rdkit().MolToSmiles(mol))
