"""Attacks on `molecule`, each with its honest twin."""

from __future__ import annotations

from typing import Any

from tests.attacks.pairs import Pair, boxed

ASPIRIN = "CC(=O)Oc1ccccc1C(=O)O"
ACID = "O=C(O)c1ccccc1O"
LIKE = {"parts": "similarity"}
DRUGLIKE = {
    "parts": "properties",
    "properties": [{"name": "logP", "max": 5}, {"name": "MW", "max": 500}, {"name": "HBD", "max": 5}],
}
WITH_REACTANTS = {"smiles": ASPIRIN, "reactants": [ACID, "CC(=O)OC(C)=O"]}


def pair(title: str, attack: str, twin: str, reference: Any = ASPIRIN, params: Any = None, fields: Any = None) -> Pair:
    return Pair(
        title=title,
        use="molecule",
        attack=attack,
        twin=twin,
        reference=reference,
        params=params or {},
        fields=fields or {},
    )


PAIRS = [
    pair("two formulas", boxed("C6H12O6 or C5H10O5"), boxed(r"\mathrm{C_6H_{12}O_6}"), "C6H12O6"),
    pair("a formula denied", "The formula is not C6H12O6.", "The formula is C6H12O6.", "C6H12O6"),
    pair("a charge left out", boxed("SO4"), boxed(r"\ce{SO4^2-}"), "SO4^2-"),
    pair("a star for a fragment", boxed("*"), boxed("c1ccccc1*"), "*c1ccccc1"),
    pair(
        "a last line that was cut off",
        "It is\nCCO",
        "It is\n<answer>CCO</answer>",
        "CCO",
        None,
        {"finish_reason": "length"},
    ),
    pair("several guesses joined by dots", boxed(f"{ASPIRIN}.{ACID}.CCO"), boxed(ASPIRIN)),
    pair("the same guess twice, joined by a dot", boxed(f"{ASPIRIN}.{ASPIRIN}"), boxed("OC(=O)c1ccccc1OC(C)=O")),
    pair("guesses joined by dots where similarity is paid", boxed(f"{ASPIRIN}.{ACID}"), boxed(ASPIRIN), params=LIKE),
    pair("a salt for its acid", boxed("[Na+].CC(=O)Oc1ccccc1C(=O)[O-]"), boxed(ASPIRIN)),
    pair("one ion of a salt", boxed("CC(=O)[O-]"), boxed("[Na+].CC(=O)[O-]"), "CC(=O)[O-].[Na+]"),
    pair("two boxes", f"{boxed(ASPIRIN)} or {boxed(ACID)}", f"{boxed(ACID)} Wait, that is wrong. {boxed(ASPIRIN)}"),
    pair("two answers in a box", boxed(f"{ASPIRIN} or {ACID}"), boxed(f"\\text{{{ASPIRIN}}}")),
    pair("two answers, a comma between them", boxed(f"{ASPIRIN},{ACID}"), boxed(f"{ASPIRIN},")),
    pair("two answers on two lines", f"<answer>{ASPIRIN}\n{ACID}</answer>", f"<answer>\n{ASPIRIN}\n</answer>"),
    pair("two tags", f"<answer>{ASPIRIN}</answer> or <answer>{ACID}</answer>", f"<answer>{ASPIRIN}</answer>"),
    pair("an alternative in brackets", f"<answer>{ASPIRIN} ({ACID})</answer>", f"<answer>{ASPIRIN} (aspirin)</answer>"),
    pair("a reaction for its product", boxed(f"{ACID}>>{ASPIRIN}"), boxed(ASPIRIN)),
    pair("a tiny fragment has every property", boxed("C"), boxed("CCCCCCO"), None, DRUGLIKE),
    pair("a lone atom has every property", boxed("[He]"), boxed("c1ccccc1CO"), None, DRUGLIKE),
    pair("a tiny fragment is valid", boxed("O"), boxed("OCCCCCO"), None, {"parts": "validity"}),
    pair("the reactant for the product", boxed(ACID), boxed(ASPIRIN), WITH_REACTANTS, LIKE),
    pair("the reactant in another spelling", boxed("OC(=O)c1c(O)cccc1"), boxed(ASPIRIN), WITH_REACTANTS, LIKE),
    pair(
        "all reactants for the product",
        boxed(f"{ACID}.CC(=O)OC(C)=O"),
        boxed(ASPIRIN),
        WITH_REACTANTS,
        {**LIKE, "fragments": "any"},
    ),
    pair(
        "the reactant that the prompt holds",
        boxed(ACID),
        boxed(ASPIRIN),
        params={**LIKE, "reactants_in_prompt": True},
        fields={"prompt": f"{ACID}.CC(=O)OC(C)=O>> gives?"},
    ),
    pair(
        "the reactant that metadata hold",
        boxed(ACID),
        boxed(ASPIRIN),
        params={**LIKE, "reactants_key": "from"},
        fields={"metadata": {"from": [ACID]}},
    ),
    pair("carbon with five bonds", boxed("CC(=O)(C)Oc1ccccc1C(=O)O"), boxed(ASPIRIN)),
    pair("carbon with seven hydrogens", boxed("[CH7]CCCCC"), boxed("CCCCCC"), None, {"parts": "validity"}),
    pair("an unclosed ring", boxed("CC(=O)Oc1ccccc1C(=O)O1"), boxed(ASPIRIN)),
    pair("an unclosed branch", boxed("CC(=O)Oc1ccccc1C(=O)(O"), boxed(ASPIRIN)),
    pair("an aromatic ring that is none", boxed("c1cccc1CC"), boxed("C1=CC=CC1CC"), None, {"parts": "validity"}),
    pair("ten thousand characters", boxed("C" * 10_000), boxed("C" * 100), None, {"parts": "validity"}),
    pair(
        "four thousand branches",
        boxed("C(" * 2000 + "C" + ")" * 2000),
        boxed("C(" * 20 + "C" + ")" * 20),
        None,
        {"parts": "validity"},
    ),
    pair("more atoms than any drug", boxed("C" * 900), boxed("C" * 300), None, {"parts": "validity"}),
    pair("fifty thousand brackets", boxed("[" * 50_000), boxed(ASPIRIN)),
    pair("a wildcard", boxed("*"), boxed("CCCCC"), None, {"parts": "validity"}),
    pair("wildcards where the answer is unknown", boxed("CC(=O)Oc1ccccc1*"), boxed(ASPIRIN), params=LIKE),
    pair("a query for an atom", boxed("[#6]CCCCC[*]"), boxed("CCCCCC"), None, {"parts": "validity"}),
    pair(
        "a metal with eight bonds",
        boxed("C[Fe](C)(C)(C)(C)(C)(C)C"),
        boxed("CCCCCC"),
        None,
        {"parts": "validity", "elements": ["C", "N", "O"]},
    ),
    pair("the other enantiomer", boxed("C[C@@H](N)C(=O)O"), boxed("N[C@@H](C)C(=O)O"), "C[C@H](N)C(=O)O"),
    pair("the centre left open", boxed("CC(N)C(=O)O"), boxed("C[C@H](N)C(=O)O"), "C[C@H](N)C(=O)O"),
    pair("an isotope for free", boxed("[2H]C([2H])([2H])O"), boxed("CO"), "CO"),
    pair("the meta isomer", boxed("CC(=O)Oc1cccc(C(=O)O)c1"), boxed("OC(=O)c1ccccc1OC(=O)C"), ASPIRIN),
    pair("another isomer where the formula would do", boxed("COC"), boxed("OCC"), "CCO"),
    pair("the formula itself", boxed("C9H8O4"), boxed(ASPIRIN)),
    pair("the name", boxed("acetylsalicylic acid"), boxed(ASPIRIN)),
    pair("look-alike letters", boxed(ASPIRIN.replace("C", "\u0421")), boxed(ASPIRIN)),
    pair("full-width letters", boxed("ＣＣＯ"), boxed("CCO"), "CCO"),
    pair("a NUL within", boxed("CC\x00O"), boxed("CCO"), "CCO"),
    pair("prose whose words are molecules", "I know CO is not the answer, so NO idea", boxed("CCO"), "CCO"),
    pair("an extension behind bars", boxed("CCO |$_AV:;;C$|"), boxed("CCO"), "CCO"),
    pair(
        "nothing that is forbidden",
        boxed("CCCCCC"),
        boxed("c1ccccc1CC"),
        None,
        {"parts": "substructures", "required": ["c1ccccc1"], "forbidden": ["[Br]", "[I]", "[N+]"]},
    ),
    pair(
        "every value for an attribute",
        "logP: 1.31\nlogP: 2\nlogP: 3\nTPSA: 63.6\nHBD: 1",
        "logP: 1.31\nTPSA: 63.6\nHBD: 1",
        ASPIRIN,
        {"parts": "attributes"},
    ),
    pair(
        "attributes without values",
        "logP, TPSA and HBD matter most here.",
        "logP: 1.31\nTPSA: 63.6\nHBD: 1",
        ASPIRIN,
        {"parts": "attributes"},
    ),
    pair("silence", "", ASPIRIN),
    pair("an answer within an open thought", f"<think>{boxed(ASPIRIN)}", f"<think>hm</think>{boxed(ASPIRIN)}"),
]
