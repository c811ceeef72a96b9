"""`molecule`: checks that the molecule in a response is the right one, or meets requirements."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Literal

from rewarden.errors import InvalidReference
from rewarden.types import Component, Outcome
from rewarden_verifiers.contract import verifier
from rewarden_verifiers.extraction import Extracted, Ladder
from rewarden_verifiers.outcome import loosely, no_answer, right, scored, too_expensive, wrong
from rewarden_verifiers.science import formulas, properties, smiles
from rewarden_verifiers.science.fingerprints import Fingerprint, formula, tanimoto
from rewarden_verifiers.science.formulas import Formula
from rewarden_verifiers.science.properties import Property
from rewarden_verifiers.science.smiles import Identity, Molecule
from rewarden_verifiers.science.written import Written, ladder, located, written

Part = Literal["validity", "identity", "similarity", "formula", "properties", "substructures", "attributes"]

_AGAINST_REFERENCE: tuple[Part, ...] = ("identity", "similarity", "attributes")
_SMALLEST = 5
"""The minimum number of heavy atoms if no reference implies a size."""
_REFERENCES = 4096
"""The number of parsed references to cache, for each distinct set of parameters."""
_LONGEST_PATTERN = 500
"""The maximum length of a SMARTS pattern."""
_MOST_WORDS = 400
"""The maximum number of words in a prompt that are parsed as SMILES."""
_PLAIN_FORMULA = re.compile(r"(?:[A-Z][a-z]?\d{0,4}){1,40}[+-]?\d{0,2}")


@dataclass(frozen=True, slots=True, kw_only=True)
class MoleculeReference:
    """A reference with its context. Anything that the parts do not need is optional.

    smiles: the right molecule. others: molecules that are also right. formula: the expected formula, in place of the
    molecule's own. reactants: the starting materials; returning one of them scores 0.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    smiles: str | None = None
    others: tuple[str, ...] = ()
    formula: str | None = None
    reactants: tuple[str, ...] = ()


Reference = str | tuple[str, ...] | MoleculeReference | None


@dataclass(frozen=True, kw_only=True)
class MoleculeParams:
    """Options of `molecule`.

    parts: Parts of the score: `validity` (it is a molecule), `identity` (it is the reference), `similarity` (Tanimoto
        coefficient to the reference), `formula` (that of the reference), `properties`, `substructures`, `attributes`
        (the response states properties of the reference correctly). One part, or several with weights.
    extraction: Rules that find the answer: `auto` (any marked answer, a tag `<SMILES>`, else the last line; if the
        prompt asks for a box or a tag, only that counts), `strict` (the last box or tag), `explicit` (any marked
        answer), `lax` (as `auto` but regardless of the prompt), `whole` (the entire response), or an ordered list of
        rules, which can include `smiles_tag`.
    stereo: Stereochemistry counts for identity.
    isotopes: Isotopes count for identity.
    charges: A charged form differs from the neutral one.
    tautomers: Tautomers differ. If false, standard InChI decides.
    fragments: Number of molecules joined by "." that are accepted: `as_reference` (as many as the reference has; one
        without a reference), `one`, or `any`.
    min_atoms: Fewest heavy atoms. If unset, 5 without a reference, else 1 (0 if a reference has none).
    reactants: Molecules that the response must not return, unless they are the reference.
    reactants_key: Key of the sample's metadata that holds such molecules: a text or a list of texts.
    reactants_in_prompt: The molecules written in the prompt are reactants too.
    fingerprint: Fingerprint for similarity: `morgan` (radius 2, 2048 bits), `morgan_chiral`, `rdkit`, `maccs`.
    similar_from: Similarity that earns full marks; a lower one earns its share of it.
    similar_above: Similarity up to which nothing is earned, because any two drugs are somewhat similar.
    formula: Expected formula, the same for every sample.
    properties: Properties and the ranges in which they must lie.
    required: SMARTS patterns that the molecule must contain.
    forbidden: SMARTS patterns that it must not contain.
    elements: Elements that can occur. If unset, all.
    attribute_tolerance: Permitted error of a stated attribute, as a share of the true value (of 1 if that is less).
    attributes_wanted: Number of attributes to state; fewer earn less.
    attribute_ranges: Ranges, `{property: [low, high]}`, in which properties favour the target. With them the part
        `attributes` reads whether a property improves it ("logP: improve", "TPSA: not improve") instead of its value.
    threshold: Lowest score that passes.
    graded: Gives intermediate scores; if false, 1 from the threshold up, and 0 below it.
    """

    parts: Part | tuple[Part, ...] | dict[Part, float] = "identity"
    extraction: str | tuple[str | dict[str, str], ...] = "auto"
    stereo: bool = True
    isotopes: bool = True
    charges: bool = True
    tautomers: bool = True
    fragments: Literal["as_reference", "one", "any"] = "as_reference"
    min_atoms: int | None = None
    reactants: tuple[str, ...] = ()
    reactants_key: str | None = None
    reactants_in_prompt: bool = False
    fingerprint: Fingerprint = "morgan"
    similar_from: float = 1.0
    similar_above: float = 0.0
    formula: str | None = None
    properties: tuple[Property, ...] = ()
    required: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    elements: tuple[str, ...] | None = None
    attribute_tolerance: float = 0.05
    attributes_wanted: int = 3
    attribute_ranges: dict[str, tuple[float, float]] = field(default_factory=dict)
    threshold: float = 1.0
    graded: bool = True

    def __post_init__(self) -> None:
        ladder(self.extraction)
        if not self.weights or not all(math.isfinite(weight) and weight > 0 for weight in self.weights.values()):
            raise ValueError("parts must name at least one, with weights above 0")
        if not isinstance(self.parts, (str, dict)) and len(set(self.parts)) < len(self.parts):
            raise ValueError("parts must differ")
        if "properties" in self.weights and not self.properties:
            raise ValueError("the part 'properties' needs the parameter properties")
        if "substructures" in self.weights and not (self.required or self.forbidden):
            raise ValueError("the part 'substructures' needs required or forbidden")
        if "attributes" in self.weights and len(self.weights) > 1:
            raise ValueError("the part 'attributes' judges what a response states, not what it builds: use it alone")
        if not 0 <= self.similar_above < self.similar_from <= 1:
            raise ValueError("similar_above must be at least 0 and below similar_from, and that at most 1")
        if not 0 < self.threshold <= 1:
            raise ValueError("threshold must be above 0 and at most 1")
        if self.min_atoms is not None and self.min_atoms < 1:
            raise ValueError("min_atoms must be at least 1")
        if not 0 <= self.attribute_tolerance <= 1:
            raise ValueError("attribute_tolerance must lie between 0 and 1")
        if not 1 <= self.attributes_wanted <= properties.MOST_STATED:
            raise ValueError(f"attributes_wanted must lie between 1 and {properties.MOST_STATED}")
        for name, (low, high) in self.attribute_ranges.items():
            properties.known(name)
            if not (math.isfinite(low) and math.isfinite(high) and low <= high):
                raise ValueError(f"attribute_ranges: {name!r} needs two finite ends, the lower one first")
        if self.attribute_ranges and "attributes" not in self.weights:
            raise ValueError("attribute_ranges are for the part 'attributes'")
        if self.formula is not None and not _PLAIN_FORMULA.fullmatch(self.formula.strip()):
            raise ValueError(f"formula {self.formula!r} is none: write it like C9H8O4")
        for pattern in (*self.required, *self.forbidden):
            if not 0 < len(pattern) <= _LONGEST_PATTERN or _pattern(pattern) is None:
                raise ValueError(f"RDKit refuses {pattern[:80]!r}: required and forbidden hold SMARTS patterns")

    @cached_property
    def weights(self) -> dict[Part, float]:
        """The weight of each part."""
        if isinstance(self.parts, dict):
            return dict(self.parts)
        return dict.fromkeys((self.parts,) if isinstance(self.parts, str) else self.parts, 1.0)

    @cached_property
    def ladder(self) -> Ladder:
        """The rules of extraction."""
        return ladder(self.extraction)

    @cached_property
    def expect(self) -> Callable[[Reference], Expected]:
        """Returns a cached parser of references."""
        return lru_cache(maxsize=_REFERENCES)(lambda reference: expect(reference, self))

    @cached_property
    def identity(self) -> Identity:
        """Returns the criteria by which two molecules are the same."""
        return Identity(stereo=self.stereo, isotopes=self.isotopes, charges=self.charges, tautomers=self.tautomers)


@dataclass(frozen=True, slots=True, eq=False)
class Expected:
    """A parsed reference."""

    molecules: tuple[Molecule, ...]
    reactants: tuple[Molecule, ...]
    formula: str | None
    formulas: tuple[Formula, ...] = ()


def _molecule(text: str, path: str) -> Molecule:
    found = smiles.read(text.strip(), attached=True)
    if isinstance(found, Molecule) and (found.atoms or "*" not in found.smiles):  # a lone "*" is attached to nothing
        return found
    raise InvalidReference(f"{path}: {text[:80]!r} cannot be read as a molecule ({found})", path=path)


def expect(reference: Reference, params: MoleculeParams) -> Expected:
    """Parses a reference. Raises InvalidReference."""
    if not isinstance(reference, MoleculeReference):
        several = (reference,) if isinstance(reference, str) else reference or ()
        if several and params.weights.keys() == {"identity"}:
            read = tuple(found for text in several if (found := _formula(text)) is not None)
            if len(read) == len(several):
                return Expected((), (), None, read)
        reference = MoleculeReference(others=several)
    given = (*((reference.smiles,) if reference.smiles is not None else ()), *reference.others)
    molecules = tuple(_molecule(text, "reference") for text in given)
    wanted = [part for part in _AGAINST_REFERENCE if part in params.weights]
    if wanted and not molecules:
        raise InvalidReference(f"the part {wanted[0]!r} needs a reference molecule", path="reference")
    reactants = (*params.reactants, *reference.reactants)
    asked = reference.formula if reference.formula is not None else params.formula
    if asked is not None and not _PLAIN_FORMULA.fullmatch(asked.strip()):
        raise InvalidReference(f"the formula {asked[:80]!r} is none: write it like C9H8O4", path="reference.formula")
    if "formula" not in params.weights:
        asked = None
    elif asked is None and molecules:
        asked = formula(molecules[0])
    elif asked is None:
        raise InvalidReference("the part 'formula' needs a reference molecule or a formula", path="reference")
    return Expected(
        molecules,
        tuple(_molecule(part, "reactants") for text in reactants for part in text.split(".")),
        _ordered(asked) if asked is not None else None,
    )


def _formula(text: str) -> Formula | None:
    """The formula in a reference that is not a molecule. "CO" stays methanol."""
    if isinstance(smiles.read(text.strip()), Molecule) or not formulas.is_formula(text):
        return None
    return formulas.read(text)


@lru_cache(maxsize=4096)
def _ordered(text: str) -> str:
    """A formula with sorted elements, so that C2H6O and C2OH6 are equal."""
    body, sign, charge = re.sub(r"(?=[+-])", " ", text.strip()).partition(" ")
    counts: dict[str, int] = {}
    for element, number in re.findall(r"([A-Z][a-z]?)(\d*)", body):
        counts[element] = counts.get(element, 0) + int(number or 1)
    return (
        "".join(f"{element}{counts[element]}" for element in sorted(counts))
        + sign
        + charge.removesuffix("1" if len(charge) == 2 else "")
    )


def _forbidden_molecules(
    params: MoleculeParams, expected: Expected, metadata: Mapping[str, Any], prompt: str | None
) -> list[Molecule]:
    """Returns the molecules that must not be returned as an answer: the reactants in the parameters, the metadata and
    the prompt.
    """
    found = list(expected.reactants)
    if params.reactants_key is not None:
        listed = metadata.get(params.reactants_key)
        texts = (listed,) if isinstance(listed, str) else listed if isinstance(listed, (list, tuple)) else ()
        for text in texts:
            for part in text.split(".") if isinstance(text, str) else ():
                found.append(_molecule(part, f"metadata.{params.reactants_key}"))
    if params.reactants_in_prompt and prompt is not None:
        found += _in_prompt(prompt)
    return found


@lru_cache(maxsize=512)
def _in_prompt(prompt: str) -> list[Molecule]:
    found: dict[str, Molecule] = {}
    for word in prompt.split()[-_MOST_WORDS:]:
        for part in re.split(r">{1,2}|\.(?!$)", word.strip("`\"'<>,;:!?*|")):
            part = part.strip(".")
            if len(part) >= _SMALLEST and len(part) <= smiles.MOST_CHARACTERS and smiles.looks_like_smiles(part):
                molecule = smiles.read(part)
                if isinstance(molecule, Molecule) and molecule.atoms >= _SMALLEST:
                    found[molecule.smiles] = molecule
    return list(found.values())


class MoleculeEquivalence:
    """Equivalence of molecules: equal canonical forms under the parameters."""

    def __init__(self, params: MoleculeParams) -> None:
        self._identity = params.identity
        self._ladder = params.ladder

    def extract(self, text: str) -> str | None:
        """The canonical SMILES of the molecule in a text; None if there is none, or several."""
        found = located(text, self._ladder, None, None)
        molecule = None if found is None else written(found, text).molecule
        return None if molecule is None else molecule.smiles

    def key(self, answer: str) -> str | None:
        """The canonical form."""
        found = smiles.read(answer)
        return smiles.key(found.smiles, self._identity) if isinstance(found, Molecule) else answer

    def same(self, a: str, b: str) -> bool | None:
        """Returns whether they are the same molecule."""
        first, second = smiles.read(a), smiles.read(b)
        if isinstance(first, Molecule) and isinstance(second, Molecule):
            return smiles.same(first, second, self._identity)
        return a == b


def _warm() -> None:
    """Imports the parts of RDKit that any item may need: a second of CPU time that counts against no item."""
    one = _molecule("C[C@H](O)c1ccccc1", "reference")
    smiles.key(one.smiles, Identity(stereo=False, charges=False, tautomers=False))
    tanimoto(one, one, "morgan")
    for name in properties.NAMES:
        properties.value(one.mol, name)
    formula(one)


@verifier(
    version="3",
    graded=True,
    equivalence=MoleculeEquivalence,
    requires=("chem",),
    warm=_warm,
)
def molecule(
    response: str,
    params: MoleculeParams,
    metadata: Mapping[str, Any],
    reference: Reference = None,
    prompt: str | None = None,
    finish_reason: str | None = None,
) -> Outcome:
    """Checks a molecule written as SMILES: equal or similar to a reference, valid, or of given formula or properties.

    The SMILES is read from a box, a tag (`<answer>`, `<SMILES>`), any other mark or the last line, with or without
    Markdown, TeX, quotes, or a name in brackets after it. RDKit parses and compares it. Identity means equal canonical
    SMILES: stereochemistry, isotopes, charges and tautomers count unless parameters say otherwise; atom maps never do.
    Several parts are combined in a weighted mean, and the components hold each value.

    The reference is a SMILES, a list of them (each is right), or an object `{smiles, others, formula, reactants}`. It
    is optional for parts that do not need one. In a fragment, "*" marks the attachment point, and the answer can
    contain it too. If the reference is a formula ("C6H12O6", "SO4^2-"), a formula of the same atoms and charge is
    right, in any order and markup; a formula that repeats an element ("CH3COOH") must be written the same way.

    A score of 0 has the reason `malformed` (unclosed rings, not SMILES), `absurd_valence`, `not_aromatic`, `wildcard`
    ("*"), `hedged` (several molecules offered), `fragments` (several joined by "." if one is expected), `too_small`,
    `reactant_returned`, `forbidden_element`, `too_expensive` (4,000 characters, 400 atoms) or `wrong`. SELFIES and
    names are not read. The part `attributes` instead compares properties of the reference molecule that the response
    states ("logP: 1.3") with RDKit's values, as in AttriLens-Mol.
    """
    prepared = params.expect(reference)
    if "attributes" in params.weights:
        return _judge_attributes(response, prepared, params)
    answer = located(response, params.ladder, prompt, finish_reason)
    if answer is None:
        return no_answer()
    if prepared.formulas:
        outcome = _judge_formula(answer, prepared.formulas)
    else:
        # "*" stands for any atom, so it is not an answer, unless the reference is a fragment that marks its attachment
        # point.
        found = written(answer, response, attached=any("*" in one.smiles for one in prepared.molecules))
        outcome = _judge_molecule(
            found, prepared, params, lambda: _forbidden_molecules(params, prepared, metadata, prompt)
        )
    return loosely(outcome) if answer.loose else outcome


def _judge_molecule(
    found: Written, prepared: Expected, params: MoleculeParams, refused: Callable[[], list[Molecule]]
) -> Outcome:
    """The outcome for a molecule. refused: returns the molecules that must not be returned."""
    evidence: dict[str, Any] = {"rule": found.rule}
    built = found.molecule
    if built is None:
        problem = found.problem or "malformed"
        if problem == "too_expensive":
            return too_expensive(extracted=found.text[:200], evidence=evidence)
        return wrong(problem, flags=(problem,), extracted=found.text[:200], evidence=evidence)
    evidence["smiles"] = built.smiles
    problem_found = _unfit(built, prepared, params)
    if problem_found is None and _returns(built, refused(), prepared, params.identity):
        problem_found = "reactant_returned"
    if problem_found is not None:
        return wrong(problem_found, flags=(problem_found,), extracted=found.text[:200], evidence=evidence)
    scores = {part: _score(part, built, prepared, params, evidence) for part in params.weights}
    total = sum(params.weights.values())
    raw = min(1.0, sum(scores[part] * weight for part, weight in params.weights.items()) / total)
    score = 1.0 if raw >= 1.0 - 1e-12 else raw
    passed = score >= params.threshold
    return scored(
        score if params.graded else float(passed),
        passed=passed,
        reason=None if passed else "partly_right" if any(scores.values()) else "wrong",
        raw=raw,
        extracted=found.text[:200],
        components={part: Component(status="scored", score=value) for part, value in scores.items()},
        evidence=evidence,
    )


def _unfit(built: Molecule, prepared: Expected, params: MoleculeParams) -> str | None:
    """Returns why a molecule is not judged at all, or None."""
    allowed = None
    if params.fragments == "one" or (params.fragments == "as_reference" and not prepared.molecules):
        allowed = {1}
    elif params.fragments == "as_reference":
        allowed = {wanted.fragments for wanted in prepared.molecules}
    if allowed is not None and built.fragments not in allowed:
        return "fragments"  # several guesses joined by "."
    least = params.min_atoms
    if least is None:  # the reference may be hydrogen or a proton, without heavy atoms
        least = min((1, *(wanted.atoms for wanted in prepared.molecules))) if prepared.molecules else _SMALLEST
    if built.atoms < least:
        return "too_small"  # a tiny fragment has every property that large molecules lack
    if params.elements is not None and any(
        atom.GetSymbol() not in (*params.elements, "H") for atom in built.mol.GetAtoms()
    ):
        return "forbidden_element"
    return None


def _returns(built: Molecule, refused: list[Molecule], prepared: Expected, identity: Identity) -> bool:
    """Returns whether the answer merely returns the input: one of the reactants, or all of them, and not the
    reference.
    """
    if any(smiles.same(built, wanted, identity) for wanted in prepared.molecules):
        return False
    if any(smiles.same(built, one, identity) for one in refused):
        return True
    pieces = built.smiles.split(".")
    return len(pieces) > 1 and set(pieces) <= {one.smiles for one in refused}


def _score(part: Part, built: Molecule, prepared: Expected, params: MoleculeParams, evidence: dict[str, Any]) -> float:
    if part == "validity":
        return 1.0
    if part == "identity":
        return float(any(smiles.same(built, wanted, params.identity) for wanted in prepared.molecules))
    if part == "similarity":
        alike = max(tanimoto(built, wanted, params.fingerprint) for wanted in prepared.molecules)
        evidence["tanimoto"] = alike
        span = params.similar_from - params.similar_above
        return min(1.0, max(0.0, (alike - params.similar_above) / span))
    if part == "formula":
        evidence["formula"] = formula(built)
        return float(_ordered(formula(built)) == prepared.formula)
    if part == "properties":
        return _property_score(built, params, evidence)
    return _substructure_score(built, params, evidence)


def _property_score(built: Molecule, params: MoleculeParams, evidence: dict[str, Any]) -> float:
    total = 0.0
    values: dict[str, float | None] = {}
    for wanted in params.properties:
        name = properties.known(wanted.name)
        number = properties.value(built.mol, name)
        values[name] = number
        total += wanted.weight * (wanted.score(number) if number is not None else 0.0)
    evidence["properties"] = values
    return total / sum(wanted.weight for wanted in params.properties)


@lru_cache(maxsize=1024)
def _pattern(text: str) -> Any:
    with smiles.silent():
        return smiles.rdkit().MolFromSmarts(text)


def _substructure_score(built: Molecule, params: MoleculeParams, evidence: dict[str, Any]) -> float:
    missing, present = [], []
    for text in (*params.required, *params.forbidden):
        holds = built.mol.HasSubstructMatch(_pattern(text))
        if text in params.required and not holds:
            missing.append(text)
        if text in params.forbidden and holds:
            present.append(text)
    evidence |= {"missing": missing, "present": present}
    # Prohibitions alone are met by an empty answer, so they count only if a required substructure is present.
    if params.required and len(missing) == len(params.required):
        return 0.0
    return 1.0 - (len(missing) + len(present)) / (len(params.required) + len(params.forbidden))


def _judge_formula(found: Extracted, expected: tuple[Formula, ...]) -> Outcome:
    """The outcome if the reference is a formula: the answer must be one as well, with the same atoms and charge."""
    details: dict[str, Any] = {"extracted": found.text[:200], "evidence": {"rule": found.rule}}
    if found.oversized:
        return too_expensive(**details)
    read = {formulas.written(text) for text in found.texts}
    if len(read) > 1:
        return wrong("hedged", flags=("hedged",), **details)
    answer = read.pop()
    if not isinstance(answer, Formula):
        return wrong(answer, flags=(answer,), **details)
    if any(formulas.same(answer, one) for one in expected):
        return right(**details)
    return wrong(**details)


def _judge_attributes(response: str, prepared: Expected, params: MoleculeParams) -> Outcome:
    if not response.strip():
        return no_answer()
    molecule = prepared.molecules[0]
    found = (
        properties.favoured(response, molecule, params.attribute_ranges)
        if params.attribute_ranges
        else properties.stated(response, molecule, params.attribute_tolerance)
    )
    if found is None:
        return wrong("hedged", flags=("hedged",))
    if not found:
        return no_answer()
    good = sum(one.right for one in found)
    # Stating many properties in the hope that some are right costs precision; stating only a certain one costs the
    # rest.
    share = good / max(len(found), params.attributes_wanted)
    evidence = {"attributes": {one.name: {"said": one.said, "true": one.true, "right": one.right} for one in found}}
    passed = share >= params.threshold
    score = share if params.graded else float(passed)
    reason = None if passed else "partly_right" if good else "wrong"
    return scored(score, passed=passed, reason=reason, raw=share, evidence=evidence)
