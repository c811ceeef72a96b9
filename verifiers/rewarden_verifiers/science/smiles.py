"""Parses SMILES into molecules, within limits and with the reason for a failure. No other module parses the response's
SMILES.

RDKit is imported when the first molecule is read, and its log is silenced meanwhile.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from rewarden.errors import MissingDependency

MOST_CHARACTERS = 4000
"""Characters of a SMILES: a protein of a hundred residues is longer, a molecule that is asked for is not."""
MOST_ATOMS = 400
"""Heavy atoms of a molecule. RDKit's canonical numbering takes more than linear time, and its stack is finite."""

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
    """A context in which RDKit does not write to standard error (every bad SMILES would be a line)."""
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
    """A molecule that was read: RDKit's object, without atom maps, and its canonical SMILES."""

    mol: Any
    smiles: str
    atoms: int
    fragments: int


def looks_like_smiles(text: str) -> bool:
    """Returns whether a word has the characters of a SMILES; whether it is one, only reading it tells."""
    return _ALPHABET.fullmatch(text) is not None and _LETTERS.search(text) is not None


@lru_cache(maxsize=4096)
def read(text: str, attached: bool = False) -> Molecule | Problem:
    """The molecule that a SMILES means, or why it means none. Kept: siblings write the same few. attached: "*" marks
    where a fragment is attached; otherwise no molecule has one.

    Raises nothing for any text. Bounded: see MOST_CHARACTERS and MOST_ATOMS.
    """
    if len(text) > MOST_CHARACTERS:
        return "too_expensive"  # a SMILES of ten thousand characters: quadratic work, and a stack that ends
    if not text.isascii() or "\0" in text or not looks_like_smiles(text):
        return "malformed"
    Chem = rdkit()
    with silent():
        # Names and extensions, which RDKit reads after a blank, are out of reach: the text has none.
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
                return "wildcard"  # "*" is any atom: it answers nothing, and has no valence that could be absurd
            if atom.GetAtomMapNum():
                atom.SetAtomMapNum(0)
                mapped = True
        smiles = Chem.MolToSmiles(mol)
        if mapped:  # what made hydrogens and centres explicit is gone with the maps
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
        return "malformed"  # unclosed rings and brackets, atoms that do not exist
    if raw.GetNumAtoms() > MOST_ATOMS:
        return "too_expensive"
    failed = Chem.SanitizeMol(raw, catchErrors=True)
    return "absurd_valence" if failed == Chem.SanitizeFlags.SANITIZE_PROPERTIES else "not_aromatic"


@lru_cache(maxsize=8192)
def key(smiles: str, identity: Identity) -> str:
    """Returns what is equal for molecules that are the same in the sense of `identity`; from a canonical SMILES."""
    if identity == _STRICT:
        return smiles
    Chem = rdkit()
    with silent():
        mol = Chem.MolFromSmiles(smiles)
        if not identity.isotopes:
            for atom in mol.GetAtoms():
                atom.SetIsotope(0)
            mol = Chem.RemoveHs(mol)  # deuterium has become hydrogen like any other
        if not identity.charges:
            from rdkit.Chem.MolStandardize import rdMolStandardize

            mol = rdMolStandardize.Uncharger().uncharge(mol)
        if not identity.stereo:
            Chem.RemoveStereochemistry(mol)
        if not identity.tautomers:
            # Mobile hydrogens are one layer of standard InChI: no enumeration, which takes seconds for some molecules.
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
    # RDKit's canonical form is not always a fixed point: what it writes may be read otherwise. Written once more it is.
    return _again(key(a.smiles, identity)) == _again(key(b.smiles, identity))


@lru_cache(maxsize=4096)
def _again(written: str) -> str:
    if written.startswith("InChI="):
        return written
    with silent():
        mol = rdkit().MolFromSmiles(written)
        return written if mol is None else str(rdkit().MolToSmiles(mol))
