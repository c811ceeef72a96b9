"""Rows for comparing rewards of a molecule's attributes and predicted property."""

from __future__ import annotations

import random
from collections.abc import Callable

from benchmarks.parity_rows import Forms, Row, drawn, thought

_MOLECULES = (
    "CC(=O)Oc1ccccc1C(=O)O", "CN1C=NC2=C1C(=O)N(C(=O)N2C)C", "CC(C)Cc1ccc(cc1)C(C)C(=O)O", "c1ccccc1",
    "OC(=O)CC(O)(CC(=O)O)C(=O)O", "CCN(CC)CCNC(=O)c1ccc(N)cc1", "Clc1ccccc1C2=NCC(=O)Nc3ccccc23", "CCCCCCCCCCCCCCCC",
    "C1CCC2(CC1)OCCO2", "NCCc1ccc(O)c(O)c1",
)  # fmt: skip
_NAMES = (
    "MolWt", "mw", "logP", "xlogp", "TPSA", "psa", "HBD", "HBA", "NumHDonors", "NumHAcceptors", "NumRotatableBonds",
    "rotatable bonds", "fsp3", "FractionCSP3", "RingCount", "HeavyAtomMolWt", "Chi0", "Chi1", "Chi2n", "Chi3v",
    "Kappa1", "Kappa2", "Kappa3", "HallKierAlpha", "BertzCT",
)  # fmt: skip
"""Names that both sides read as the same property."""
_INVENTED = ("colour", "sweetness", "smell", "NumAromaticRings", "qed")


def _forms() -> Forms:
    """Returns the forms of attributes and an answer, which stand in their tags already."""
    return {
        "plain": (12, lambda rng, why, what: what),
        "thought": (4, lambda rng, why, what: f"<think>{why}</think>\n{what}"),
        "spaced": (2, lambda rng, why, what: what.replace("</name>", "</name>\n\n")),
        "after": (1, lambda rng, why, what: f"{what}\nI hope this helps."),
        "between": (1, lambda rng, why, what: what.replace("</name>", "</name>\nTherefore ")),
        "no attributes": (1, lambda rng, why, what: what[what.index("</name>") + 7 :]),
        "no answer": (1, lambda rng, why, what: what[: what.index("<answer>")]),
        "lines": (1, lambda rng, why, what: what.replace(", ", ",\n")),
        "cut": (1, lambda rng, why, what: what[: what.index("</answer>")]),
        "empty": (1, lambda rng, why, what: ""),
    }


def attributes() -> Callable[[random.Random], Row]:
    """Returns a maker of rows with attributes that favour a target, the predicted class, and a molecule."""
    forms = _forms()

    def make(rng: random.Random) -> Row:
        right, wrong = rng.sample(("True", "False"), 2)
        kind = rng.choices(("right", "wrong", "spelled", "blank", "both"), weights=(10, 6, 1, 1, 1))[0]
        answer = {"right": right, "wrong": wrong, "spelled": right.lower(), "blank": "", "both": f"{wrong} or {right}"}
        name, form = drawn(rng, forms)
        names = rng.sample(_NAMES, rng.choice((1, 2, 3, 4, 5, 6, 8, 10, 11, 12)))
        said = [f"{each}: improve" for each in _once(names)]
        odd = rng.choices(("", "unfavourable", "invented", "repeated"), weights=(12, 1, 1, 1))[0]
        if odd == "unfavourable":
            said[0] = said[0].replace("improve", "not improve")
        elif odd == "invented":
            said[0] = f"{rng.choice(_INVENTED)}: improve"
        elif odd == "repeated":
            said += said[:1] * 3
        what = f"<name>{', '.join(said)}</name>\n<answer>{answer[kind]}</answer>"
        label = f"{kind}, {name}" + (f", {odd}" if odd else "")
        return Row(label, form(rng, thought(rng), what), right, {"metadata": {"smiles": rng.choice(_MOLECULES)}})

    return make


def _once(names: list[str]) -> list[str]:
    """Returns the names without further ones of the same property."""
    same = (
        *({"MolWt", "mw"}, {"logP", "xlogp"}, {"TPSA", "psa"}, {"HBD", "NumHDonors"}, {"HBA", "NumHAcceptors"}),
        *({"NumRotatableBonds", "rotatable bonds"}, {"fsp3", "FractionCSP3"}),
    )
    kept: list[str] = []
    for name in names:
        if not any({name, other} <= group for group in same for other in kept):
            kept.append(name)
    return kept
