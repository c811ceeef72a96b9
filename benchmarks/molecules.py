"""Molecules per second of CPU time, against RDKit alone, on one core in the same process.

Load: 3,000 answers in boxes after a paragraph of prose: 60 references, each written in 50 random spellings (right) or
in those of another reference (wrong); caches empty.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass

from benchmarks.report import Report
from rewarden_verifiers.science import fingerprints, smiles
from rewarden_verifiers.science.molecule import MoleculeParams, molecule

_SCAFFOLDS = (
    "c1ccc({a})cc1{b}",
    "C1CCN({a})CC1{b}",
    "c1cnc({a})nc1{b}",
    "O=C(N{a})c1ccccc1{b}",
    "c1ccc2c(c1)c({b})cn2{a}",
    "CC({a})(C)OC{b}",
)
_PARTS = ("CC(=O)O", "CCN", "c1ccccc1", "C(F)(F)F", "CC(C)C", "OC", "S(=O)(=O)C", "CC[C@H](N)C(=O)O", "c1ccsc1", "C#N")
_PROSE = "The carbonyl carbon is attacked first; after work-up and recrystallisation one product is isolated. " * 4


@dataclass(frozen=True, slots=True)
class Answer:
    """A reference, a response, the SMILES in it, and whether it is right."""

    reference: str
    response: str
    written: str
    right: bool


def answers(seed: int = 11) -> list[Answer]:
    """Returns the 3,000 answers."""
    from rdkit import Chem

    rng = random.Random(seed)
    found: dict[str, object] = {}
    while len(found) < 60:
        text = rng.choice(_SCAFFOLDS).format(a=rng.choice(_PARTS), b=rng.choice(_PARTS))
        with smiles.silent():
            mol = Chem.MolFromSmiles(text)
        if mol is not None and mol.GetNumAtoms() >= 12:
            found.setdefault(Chem.MolToSmiles(mol), mol)
    names = list(found)
    made: list[Answer] = []
    for place, name in enumerate(names):
        other = names[(place + 1) % len(names)]
        for number in range(50):
            right = number % 5 < 3
            chosen = found[name if right else other]
            written = Chem.MolToRandomSmilesVect(chosen, 1, randomSeed=seed + number)[0]
            made.append(Answer(name, f"{_PROSE}\\boxed{{{written}}}", written, right))
    return made


def forget() -> None:
    """Empties the caches, so that every molecule is parsed."""
    for remembered in (smiles.read, smiles.key, smiles._again, fingerprints._bits):
        remembered.cache_clear()


def run() -> list[str]:
    """Runs and reports; returns the broken promises."""
    from rdkit import Chem

    report = Report("molecule: 3,000 answers in random spellings, per second of CPU time")
    load = answers()
    canonical = {one.reference: Chem.CanonSmiles(one.reference) for one in load}
    start = time.process_time()
    theirs = [Chem.MolToSmiles(Chem.MolFromSmiles(one.written)) == canonical[one.reference] for one in load]
    plain_s = time.process_time() - start
    params = MoleculeParams()
    forget()
    start = time.process_time()
    ours = [molecule(one.response, params, {}, one.reference).score == 1.0 for one in load]
    ours_s = time.process_time() - start
    likeness = MoleculeParams(parts="similarity")
    forget()
    start = time.process_time()
    for one in load:
        molecule(one.response, likeness, {}, one.reference)
    likeness_s = time.process_time() - start
    start = time.process_time()
    for one in load:
        molecule(one.response, params, {}, one.reference)
    again_s = time.process_time() - start
    report.figure("RDKit alone: read and write canonically", len(load) / plain_s, "/s")
    report.figure("identity", len(load) / ours_s, "/s", least=3000)
    report.figure("share of RDKit's own speed", plain_s / ours_s)
    report.figure("identity, spellings seen before", len(load) / again_s, "/s")
    report.figure("similarity (Morgan, Tanimoto)", len(load) / likeness_s, "/s")
    report.figure("correct labels", sum(a == one.right for a, one in zip(ours, load, strict=True)), least=len(load))
    report.figure("same verdict as RDKit", sum(a == b for a, b in zip(ours, theirs, strict=True)), least=len(load))
    return report.broken
