"""`molecule`: agreement with RDKit, what earns nothing, and bounds."""

from __future__ import annotations

import itertools
import random
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewarden.errors import InvalidParams, InvalidReference, MissingDependency
from rewarden.types import Outcome, Sample, Use
from rewarden_server.engine.plan import Planner
from rewarden_verifiers.contract import spec_of
from rewarden_verifiers.fingerprint.fingerprint import libraries_of
from rewarden_verifiers.registry import Registry
from rewarden_verifiers.science import formulas, properties, smiles
from rewarden_verifiers.science.molecule import MoleculeEquivalence, MoleculeParams, molecule
from rewarden_verifiers.science.properties import stated
from rewarden_verifiers.science.smiles import Molecule
from tests.verifiers.counting import HOSTILE, steps
from tests.verifiers.direct import outcome_of

Chem = pytest.importorskip("rdkit.Chem")

PLANNER = Planner(Registry())

DRUGS = (
    "CC(=O)Oc1ccccc1C(=O)O",
    "CN1C=NC2=C1C(=O)N(C(=O)N2C)C",
    "CC(C)Cc1ccc(cc1)[C@@H](C)C(=O)O",
    "CC(C)Cc1ccc(cc1)[C@H](C)C(=O)O",
    "Cc1ccc(cc1S(=O)(=O)N)C2=CC(=NN2c3ccc(cc3)S(=O)(=O)N)C(F)(F)F",
    "O=C(O)C[C@H](O)C[C@H](O)CCn2c(c(c(c2c1ccc(F)cc1)c3ccccc3)C(=O)Nc4ccccc4)C(C)C",
    "C[C@H](N)C(=O)O",
    "C[C@@H](N)C(=O)O",
    "CC(N)C(=O)O",
    "C/C=C/C",
    "C/C=C\\C",
    "CC=CC",
    "[Na+].CC(=O)[O-]",
    "CC(=O)O",
    "CC(=O)[O-]",
    "OC1=CC=CC=C1",
    "c1ccc2c(c1)[nH]cc2CC(N)C(=O)O",
    "O=c1cccc[nH]1",
    "Oc1ccccn1",
    "[2H]OC",
    "CO",
    "[13CH3]O",
    "C1CC1",
    "C1CCC1",
    "N#Cc1ccccc1",
    "C[N+](C)(C)CCO",
    "OC[C@H]1O[C@@H](O)[C@H](O)[C@@H](O)[C@@H]1O",
    "OC[C@H]1O[C@H](O)[C@H](O)[C@@H](O)[C@@H]1O",
    "CC12CCC3C(C1CCC2O)CCC4=C3C=CC(=C4)O",
    "O=S(=O)(O)c1ccccc1",
    "F[C@](Cl)(Br)I",
    "[O-][n+]1ccccc1",
    "C1=CC=CN1",
    "[Cu+2].[O-]S(=O)(=O)[O-]",
)


async def judged(response: Any, reference: Any = None, sample: dict[str, Any] | None = None, **params: Any) -> Outcome:
    given = Sample(response=response, reference=reference, **(sample or {}))
    return await outcome_of(PLANNER, Use(name="molecule", params=params), given)


def read(text: str) -> Molecule:
    found = smiles.read(text)
    assert isinstance(found, Molecule)
    return found


@pytest.mark.parametrize("reference", DRUGS)
async def test_every_spelling_of_a_molecule_is_the_molecule(reference: str) -> None:
    mol = Chem.MolFromSmiles(reference)
    spellings = Chem.MolToRandomSmilesVect(mol, 8, randomSeed=7)
    spellings += [Chem.MolToSmiles(mol, kekuleSmiles=False), Chem.MolToSmiles(mol, allHsExplicit=True)]
    for spelling in spellings:
        assert (await judged(f"\\boxed{{{spelling}}}", reference)).score == 1.0


async def test_identity_is_that_of_canonical_smiles() -> None:
    for one in DRUGS:
        for other in DRUGS:
            theirs = Chem.CanonSmiles(one) == Chem.CanonSmiles(other)
            ours = smiles.same(read(one), read(other), smiles.Identity())
            assert ours is theirs, (one, other)


@pytest.mark.parametrize("kind", ["morgan", "rdkit", "maccs"])
async def test_similarity_is_tanimoto(kind: str) -> None:
    from rdkit.Chem import MACCSkeys, rdFingerprintGenerator
    from rdkit.DataStructs import TanimotoSimilarity

    make = {
        "morgan": rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048).GetFingerprint,
        "rdkit": rdFingerprintGenerator.GetRDKitFPGenerator().GetFingerprint,
        "maccs": MACCSkeys.GenMACCSKeys,
    }[kind]
    for one, other in itertools.pairwise(DRUGS):
        theirs = TanimotoSimilarity(make(Chem.MolFromSmiles(one)), make(Chem.MolFromSmiles(other)))
        outcome = await judged(one, other, parts="similarity", fingerprint=kind, fragments="any")
        assert outcome.score == pytest.approx(theirs, abs=1e-12)


async def test_properties_and_formulas_are_rdkits() -> None:
    from rdkit.Chem import Descriptors
    from rdkit.Chem.rdMolDescriptors import CalcMolFormula

    table = dict(Descriptors.descList)
    for text in DRUGS:
        mol = Chem.MolFromSmiles(text)
        for name in properties.NAMES:
            assert properties.value(read(text).mol, name) == pytest.approx(table[name](mol) if name in table else None)
        outcome = await judged(text, text, parts="formula", fragments="any")
        assert (outcome.score, outcome.evidence["formula"]) == (1.0, CalcMolFormula(mol))


@pytest.mark.parametrize("name", ["logP", "MW", "H-bond donors", "HBA", "QED", "TPSA", "number of rings", "mol wt"])
def test_properties_go_by_usual_names(name: str) -> None:
    if name == "mol wt":
        assert properties.known(name) == "MolWt"
    assert properties.known(name) in properties.NAMES


@pytest.mark.parametrize(
    ("one", "other", "params"),
    [
        ("C[C@H](N)C(=O)O", "C[C@@H](N)C(=O)O", {"stereo": False}),
        ("C/C=C/C", "CC=CC", {"stereo": False}),
        ("[2H]OC", "CO", {"isotopes": False}),
        ("[13CH3]O", "CO", {"isotopes": False}),
        ("CC(=O)[O-]", "CC(=O)O", {"charges": False}),
        ("O=c1cccc[nH]1", "Oc1ccccn1", {"tautomers": False}),
        ("Cc1c[nH]cn1", "Cc1cnc[nH]1", {"tautomers": False}),
    ],
)
async def test_what_counts_is_a_parameter(one: str, other: str, params: dict[str, Any]) -> None:
    assert (await judged(one, other)).score == 0.0
    assert (await judged(one, other, **params)).score == 1.0
    assert (await judged(other, one, **params)).score == 1.0


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("C1CC", "malformed"),
        ("CC(", "malformed"),
        ("[CH3", "malformed"),
        ("Xx", "malformed"),
        ("C(C)(C)(C)(C)C", "absurd_valence"),
        ("[CH7]", "absurd_valence"),
        ("c1cccc1", "not_aromatic"),
        ("*", "wildcard"),
        ("C*", "wildcard"),
        ("C" * 401, "too_expensive"),
        ("C" * 10_000, "too_expensive"),
        ("[" * 3000, "malformed"),
        ("C(" * 1500, "malformed"),
        ("C1" * 1500, "malformed"),
        ("Ｃ", "malformed"),
        ("C\x00C", "malformed"),
        ("CCO |$x$|", "unparseable_answer"),
    ],
)
async def test_what_is_no_molecule_says_why(text: str, reason: str) -> None:
    outcome = await judged(f"\\boxed{{{text}}}" if "{" not in text else text, "CCO")
    assert (outcome.score, outcome.reason, outcome.fault) == (0.0, reason, "policy")


def test_the_densest_graphs_stay_within_the_bounds() -> None:
    """RDKit's cost is bounded by characters and atoms: rings between all pairs of what fits are read."""
    size = 25
    rings: list[list[int]] = [[] for _ in range(size)]
    number = 0
    for a in range(size):
        for b in range(a + 2, size):
            number += 1
            rings[a].append(number)
            rings[b].append(number)
    text = "".join("[Fe]" + "".join(f"%({ring})" for ring in own) for own in rings)
    assert len(text) <= smiles.MOST_CHARACTERS
    assert isinstance(smiles.read(text), Molecule)


async def test_rdkit_is_silent(capfd: pytest.CaptureFixture[str]) -> None:
    smiles.read.cache_clear()
    for text in ("C1CC", "c1cccc1", "C(C)(C)(C)(C)C", "nonsense"):
        await judged(text, "CCO", tautomers=False)
    await judged("C[C@H](N)C(=O)O", "CC(N)C(=O)O", tautomers=False)
    assert capfd.readouterr() == ("", "")


async def test_reactants_are_refused_wherever_they_are_named() -> None:
    acid, aspirin = "O=C(O)c1ccccc1O", "CC(=O)Oc1ccccc1C(=O)O"
    answer = "\\boxed{OC(=O)c1ccccc1O}"
    plain = await judged(answer, aspirin, parts="similarity")
    assert plain.score is not None
    assert plain.score > 0.3
    refused = [
        await judged(answer, aspirin, parts="similarity", reactants=[acid]),
        await judged(answer, {"smiles": aspirin, "reactants": [acid]}, parts="similarity"),
        await judged(answer, aspirin, {"metadata": {"r": [acid]}}, parts="similarity", reactants_key="r"),
        await judged(answer, aspirin, {"prompt": f"React {acid}."}, parts="similarity", reactants_in_prompt=True),
        await judged(answer, aspirin, {"prompt": f"{acid}>>?"}, parts="similarity", reactants_in_prompt=True),
    ]
    assert [outcome.reason for outcome in refused] == ["reactant_returned"] * 5
    both = await judged(f"\\boxed{{{acid}.CCO}}", aspirin, parts="validity", fragments="any", reactants=[acid, "OCC"])
    assert both.reason == "reactant_returned"


async def test_metadata_that_is_no_molecule_is_not_the_policys_fault() -> None:
    outcome = await judged("CCO", "CCO", {"metadata": {"r": ["nonsense"]}}, reactants_key="r")
    assert (outcome.status, outcome.fault) == ("undecided", "reference")


@pytest.mark.parametrize(
    "params",
    [
        {"parts": []},
        {"parts": ["identity", "identity"]},
        {"parts": {"identity": 0}},
        {"parts": {"identity": float("nan")}},
        {"parts": "properties"},
        {"parts": "substructures"},
        {"parts": ["attributes", "identity"]},
        {"parts": "attributes", "attribute_ranges": {"sweetness": [0, 1]}},
        {"parts": "attributes", "attribute_ranges": {"logP": [2, 1]}},
        {"attribute_ranges": {"logP": [1, 2]}},
        {"parts": "properties", "properties": [{"name": "karma", "min": 0}]},
        {"parts": "properties", "properties": [{"name": "logP"}]},
        {"parts": "properties", "properties": [{"name": "logP", "min": 2, "max": 1}]},
        {"parts": "properties", "properties": [{"name": "logP", "min": float("inf")}]},
        {"parts": "properties", "properties": [{"name": "logP", "min": 0, "fall": -1}]},
        {"parts": "substructures", "required": ["c1ccc("]},
        {"parts": "substructures", "required": [""]},
        {"similar_from": 0.3, "similar_above": 0.3},
        {"threshold": 0},
        {"min_atoms": 0},
        {"formula": "water"},
        {"extraction": "nowhere"},
        {"fingerprint": "ecfp"},
        {"stero": False},
    ],
)
def test_wrong_parameters_are_told(params: dict[str, Any]) -> None:
    with pytest.raises(InvalidParams):
        PLANNER.bind(Use(name="molecule", params=params))


@pytest.mark.parametrize(
    "reference", ["", "nonsense", "C1CC", "*", "C" * 5000, [], {"formula": "?"}, {"smile": "C"}, 7]
)
async def test_a_reference_that_cannot_be_used_is_not_the_policys_fault(reference: Any) -> None:
    outcome = await judged("CCO", reference)
    assert (outcome.status, outcome.fault) == ("undecided", "reference")


async def test_parts_that_need_a_reference_say_so() -> None:
    for part in ("identity", "similarity", "formula", "attributes"):
        assert (await judged("CCO", None, parts=part)).fault == "reference"
    assert (await judged("CCCCCO", None, parts="validity")).score == 1.0


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("logP: 1.31\nTPSA: 63.6\nHBD: 1", 1.0),
        ("1. **LogP** = 1.31\n2. *TPSA* ≈ 63.6\n3. Number of rings is 1", 1.0),
        ("| Property | Value |\n| logP | 1.31 |\n| TPSA (Å²) | 63.60 |\n| HBA | 3 |", 1.0),
        ("logP: 1.31\nTPSA: 63.6", 2 / 3),
        ("logP: 1.31\nTPSA: 63.6\nHBD: 1\nHBA: 9", 3 / 4),
        ("logP: -1.31\nTPSA: 636\nHBD: 10", 0.0),
    ],
)
async def test_attributes_that_are_stated(text: str, share: float) -> None:
    assert (await judged(text, DRUGS[0], parts="attributes")).score == pytest.approx(share)


RANGES = {"logP": (1, 4), "TPSA": (0, 50), "HBD": (0, 2)}
"""Aspirin's logP (1.31) and donors (1) lie in them, its polar surface (63.6) does not."""


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("<name>logP: improve, TPSA: not improve, HBD: improve</name>", 1.0),
        ("logP: improves\nTPSA: does not improve", 1.0),
        ("logP: improve, TPSA: improve", 1 / 2),
        ("logP: not improve", 0.0),
        ("logP: improve, sweetness: improve", 1.0),
        ("logP: improve, logP: not improve", 0.0),
        ("sweetness: improve", 0.0),
        ("logP: 1.31", 0.0),
    ],
)
async def test_attributes_that_are_said_to_favour_the_target(text: str, share: float) -> None:
    found = await judged(text, DRUGS[0], parts="attributes", attribute_ranges=RANGES, attributes_wanted=1)
    assert found.score == pytest.approx(share)


async def test_without_rdkit_the_pip_command_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    smiles.rdkit.cache_clear()
    smiles.read.cache_clear()
    monkeypatch.setitem(sys.modules, "rdkit", None)
    try:
        with pytest.raises(MissingDependency, match="chem"):
            smiles.read("CCO")
    finally:
        monkeypatch.undo()
        smiles.rdkit.cache_clear()


PIECES = (
    "C",
    "c1ccccc1",
    "(",
    ")",
    "[",
    "]",
    "=",
    "#",
    "1",
    "%10",
    ".",
    "N",
    "[O-]",
    "@",
    "\\boxed{",
    "}",
    " or ",
    "*",
    ">>",
)
PARAMS = (
    MoleculeParams(),
    MoleculeParams(tautomers=False, stereo=False, charges=False, isotopes=False),
    MoleculeParams(
        parts={"validity": 1, "identity": 2, "similarity": 1, "formula": 1, "properties": 1, "substructures": 1},
        properties=(properties.Property(name="qed", min=0.5, fall=0.5),),
        required=("c1ccccc1",),
        fragments="any",
        reactants=("CCO",),
    ),
    MoleculeParams(parts="attributes"),
)


@settings(deadline=None)
@given(st.text(max_size=60) | st.lists(st.sampled_from(PIECES), max_size=25).map("".join))
def test_no_text_raises_and_every_outcome_is_a_score(text: str) -> None:
    for params in PARAMS:
        for response in (text, f"\\boxed{{{text}}}"):
            outcome = molecule(response, params, {}, "CCO")
            assert outcome.score is not None
            assert 0.0 <= outcome.score <= 1.0
            assert (outcome.score == 1.0) is bool(outcome.passed)


def test_equivalence_is_reflexive_and_symmetric_and_keys_agree() -> None:
    rng = random.Random(3)
    for params in PARAMS[:2]:
        same = MoleculeEquivalence(params)
        for _ in range(60):
            a, b = rng.choice(DRUGS), rng.choice(DRUGS)
            first, second = same.extract(f"\\boxed{{{a}}}"), same.extract(f"<answer>{b}</answer>")
            assert first is not None
            assert second is not None
            assert same.same(first, first) is True
            assert same.same(first, second) == same.same(second, first)
            if same.key(first) == same.key(second):
                assert same.same(first, second) is True
        assert same.extract("\\boxed{CCO} or \\boxed{CCN}") is None
        assert same.extract("nothing") is None


def test_the_spec_names_what_it_needs() -> None:
    spec = spec_of(molecule)
    assert spec is not None
    assert (spec.requires, "rdkit" in libraries_of(spec)) == (("chem",), True)
    assert spec.equivalence is not None


def test_stated_attributes_are_read_once_each() -> None:
    assert stated("logP: 1.3\nlogP: 1.30", read("CCO"), 0.1) is not None
    assert stated("logP: 1.3\nClogP: 2", read("CCO"), 0.1) is None
    with pytest.raises(InvalidReference):
        molecule("logP: 1", MoleculeParams(parts="attributes"), {}, None)


@pytest.mark.parametrize("piece", [*HOSTILE, "C6", "(C", "H2O·", "CuSO4 ", "²⁻", "[", "SO4^2-", "(", "Ca(", "\ud800"])
def test_the_work_on_a_formula_grows_no_faster_than_the_text(piece: str) -> None:
    formulas.written(piece)
    counts = [steps(lambda size=size: formulas.written((piece * size)[:size])) for size in (1000, 2000)]  # type: ignore[misc]
    assert counts[1] <= 2.5 * counts[0] + 3000


@given(st.text(alphabet="CHONaCl0123456789()[]+-^_{}·. ", max_size=60))
def test_a_formula_is_the_same_as_itself_in_markup(text: str) -> None:
    found = formulas.read(text)
    if found is not None:
        assert formulas.same(found, found)
        assert formulas.read(f"$\\mathrm{{{text}}}$") == found
