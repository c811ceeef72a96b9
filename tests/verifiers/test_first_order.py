"""`first_order`: formulas are read as written, and truth tables compared; bounds hold."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarden.errors import InvalidReference
from rewarden.types import Outcome
from rewarden_verifiers.answer.logic.first_order import FirstOrderParams, first_order, prepare
from rewarden_verifiers.answer.logic.formulas import (
    NoFormulaError,
    arguments,
    columns,
    literals,
    quantifiers,
    read,
    table,
)
from tests.verifiers.counting import HOSTILE

PUBLISHED = {"quantifiers": False, "above_constants": False, "bindings": 1000}


def judged(response: str, reference: str, **params: Any) -> Outcome:
    options = FirstOrderParams(**params)
    outcome: Outcome = first_order(f"<answer>{response}</answer>", prepare(reference, options), options)
    return outcome


def truth(text: str) -> dict[tuple[bool, ...], bool]:
    """The truth table of a formula, row by row, in the order of its literals."""
    formula = read(text)
    names = literals(formula)
    rows = 1 << len(names)
    bits = table(formula, dict(zip(names, columns(len(names)), strict=True)), rows)
    return {tuple(bool(row >> place & 1) for place in range(len(names))): bool(bits >> row & 1) for row in range(rows)}


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("A & B", lambda a, b: a and b),
        ("A ∨ B", lambda a, b: a or b),
        ("A xor B", lambda a, b: a != b),
        ("A => B", lambda a, b: not a or b),
        (r"A \iff B", lambda a, b: a == b),
        ("¬A ∧ B", lambda a, b: not a and b),
        ("¬(A ∧ B)", lambda a, b: not (a and b)),
    ],
)
def test_connectives(text: str, holds: Any) -> None:
    assert truth(text) == {row: bool(holds(*row)) for row in itertools.product((False, True), repeat=2)}


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("A ∨ B ∧ C", "A ∨ (B ∧ C)"),
        ("A → B → C", "A → (B → C)"),
        ("A ∧ B → C ∨ D", "(A ∧ B) → (C ∨ D)"),
        ("¬A ∨ B", "(¬A) ∨ B"),
        ("∀x A(x) → B(x)", "∀x (A(x) → B(x))"),
        ("∀x ∃y Owns(x, y)", "∀x (∃y (Owns(x, y)))"),
        ("[A ∨ B] ∧ C", "(A ∨ B) ∧ C"),
    ],
)
def test_what_binds_tighter(text: str, same: str) -> None:
    assert read(text) == read(same)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("∀x ∃y P(x, y)", "∀∃"),
        ("¬∃x P(x)", "∀"),
        ("(∃x P(x)) → Q(a)", "∀"),
        ("¬((∃x P(x)) → Q(a))", "∃"),
        ("P(a)", ""),
    ],
)
def test_quantifiers_stand_as_after_negations_are_moved_inwards(text: str, found: str) -> None:
    assert quantifiers(read(text)) == found


def test_a_literal_is_one_input_however_often_and_with_what_spaces_it_stands() -> None:
    assert literals(read("P(x, y) ∧ (Q(f(x)) ∨ P(x,y))")) == ["P(x,y)", "Q(f(x))"]


@pytest.mark.parametrize(
    "text", ["", "(", "A ∧", "∧ A", "A B(x", "P()", "∀ (P(x))", "A ∧ ∧ B", "A)", "P(x) = y", r"\x"]
)
def test_what_is_no_formula_is_refused(text: str) -> None:
    with pytest.raises(NoFormulaError):
        read(text)


@given(st.text(alphabet="AB()¬∧∨→∀x., ", max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        assert len(truth(text)) >= 2
    except NoFormulaError:
        return


@pytest.mark.parametrize("text", [*HOSTILE, "(" * 3_900, "¬" * 3_900, "f(" * 1_900, "A→" * 1_900 + "A", "A " * 1_900])
def test_hostile_texts_end(text: str) -> None:
    outcome = judged(text, "∀x (Cat(x) → Mammal(x))")
    assert outcome.status == "scored"
    assert outcome.score == 0.0


def test_a_constant_earns_nothing_unless_asked() -> None:
    tautology = "∀x (Cat(x) ∨ ¬Cat(x))"
    assert judged(tautology, "∀x (Cat(x) → Mammal(x))").score == 0.0
    assert judged(tautology, "∀x (Cat(x) → Mammal(x))", **PUBLISHED).score == 0.75


def test_a_reference_that_is_a_tautology_wants_one() -> None:
    assert judged("A ∨ ¬A", "B ∨ ¬B").score == 1.0
    assert judged("A ∨ B", "B ∨ ¬B").score == 0.0


def test_the_pairing_of_similar_names_counts_and_more_only_if_asked() -> None:
    converse, rule = "∀x (Mammal(x) → Cat(x))", "∀x (Cat(x) → Mammal(x))"
    assert judged(converse, rule, above_constants=False).score == 0.5
    assert judged(converse, rule, above_constants=False, bindings=3).score == 1.0


@pytest.mark.parametrize(
    ("response", "reference"),
    [
        ("∀a ∃b Loves(a, b)", "∀x ∃y Loves(x, y)"),
        ("∀y ∀x (Loves(y, x) → Loves(x, y))", "∀x ∀y (Loves(x, y) → Loves(y, x))"),
        ("∀y ∀x Loves(x, y)", "∀x ∀y Loves(x, y)"),
        ("∀y Q(y) ∧ ∀x P(x)", "∀x P(x) ∧ ∀y Q(y)"),
        ("∀x (P(x) → ∃x Q(x))", "∀x (P(x) → ∃y Q(y))"),
        ("∀c ∀b ∀a (R(a, b, c) → R(c, b, a))", "∀x ∀y ∀z (R(x, y, z) → R(z, y, x))"),
    ],
)
def test_the_names_of_variables_and_the_order_of_like_quantifiers_do_not_matter(response: str, reference: str) -> None:
    assert judged(response, reference).score == 1.0


@pytest.mark.parametrize(
    ("response", "reference"),
    [
        ("∀x OwnedBy(y, x)", "∀x Owns(x, y)"),
        ("∀x Loves(x, mary, now)", "∀x Loves(x, mary)"),
        ("∀x (Cat(x) → Mammal(x))", "∀x (Cat(y) → Mammal(y))"),
    ],
)
def test_arguments_are_compared_only_where_predicates_and_their_sizes_are_the_same(
    response: str, reference: str
) -> None:
    assert judged(response, reference).score == 1.0


def test_other_arguments_count_only_where_quantifiers_do() -> None:
    outcome = judged("∀x ∃y Loves(y, x)", "∀x ∃y Loves(x, y)")
    assert (outcome.score, outcome.reason) == (0.0, "arguments_differ")
    assert judged("∀x ∃y Loves(y, x)", "∀x ∃y Loves(x, y)", **PUBLISHED).score == 1.0


def test_arguments_are_split_outside_brackets() -> None:
    assert arguments("P(f(x,y),z)") == ["f(x,y)", "z"]
    assert arguments("P") == []


def test_more_orders_of_quantifiers_than_are_tried_end() -> None:
    names = [f"x{place}" for place in range(24)]
    text = "".join(f"∀{name} " for name in names) + " ∧ ".join(f"P{place}({names[place]})" for place in range(12))
    assert judged(text, text).score == 1.0


@pytest.mark.parametrize("reference", ["", "∀x (", " ∧ ".join(f"P{place}(x)" for place in range(13))])
def test_a_reference_that_cannot_be_read_is_nobodys_answer(reference: str) -> None:
    with pytest.raises(InvalidReference):
        prepare(reference, FirstOrderParams())


@pytest.mark.parametrize("params", [{"bindings": 0}, {"bindings": 1001}, {"threshold": 0}])
def test_parameters_are_checked(params: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(params))):
        FirstOrderParams(**params)
