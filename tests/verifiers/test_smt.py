"""`smt`: reading of scripts and models, blame for undecided checks, and the bounds of the solver's process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarden.errors import InvalidParams, InvalidReference
from rewarden.types import Outcome, Use
from rewarden_server.engine.plan import Planner
from rewarden_verifiers.contract import Expired, Unwatched
from rewarden_verifiers.registry import Registry
from rewarden_verifiers.schema import parse_reference
from rewarden_verifiers.smt import solver
from rewarden_verifiers.smt.expressions import TooLarge, Unreadable, read, text_of
from rewarden_verifiers.smt.reference import SmtReference, prepare
from rewarden_verifiers.smt.script import Refused, read_script
from rewarden_verifiers.smt.smt import smt
from rewarden_verifiers.smt.solver import Bounds, solve

PLANNER = Planner(Registry())
WATCH = Unwatched()
SMALL = Bounds(2_000_000, 10.0, 256)
SCRIPT = "(declare-const x Int)(assert (> x 2))"
HARD = (
    "(declare-const a Int)(declare-const b Int)(declare-const c Int)(assert (= (+ (* a a a) (* b b b) (* c c c)) 114))"
)
FEW: Any = {"work": 300_000}


def judged(response: str, reference: Any, finish_reason: str | None = None, **params: Any) -> Outcome:
    checked = PLANNER.bind(Use(name="smt", params=params)).params
    given = SmtReference(**reference) if isinstance(reference, dict) else reference
    outcome: Outcome = smt(response, prepare(given, checked, WATCH), checked, WATCH, finish_reason)
    return outcome


def block(text: str) -> str:
    return f"```smt2\n{text}\n```"


# --- reading -------------------------------------------------------------------------------------------------------

ATOMS = st.sampled_from(["x", "and", "12", "1.5", "#b01", "#xAf", '"a ""b"" )"', "|a ( b|", ":named", "bvadd", "-"])
TREES = st.recursive(ATOMS, lambda inner: st.lists(inner, max_size=4), max_leaves=30)


@given(st.lists(TREES, max_size=5))
def test_expressions_survive_writing_and_reading(trees: list[Any]) -> None:
    assert read(" ".join(map(text_of, trees))) == trees


@given(st.text(alphabet='()|";\\ \nax1#:', max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        made = read(text)
    except Unreadable:
        return
    assert read(" ".join(map(text_of, made))) == made


@pytest.mark.parametrize("text", ["(", ")", "(a))", '"a', "|a", "|a\\|b|", "a\x00b", "é", '("é")', "|é|", "{x}"])
def test_what_is_no_expression_is_refused(text: str) -> None:
    with pytest.raises(Unreadable):
        read(text)


def test_depth_and_length_are_bounded_without_recursion() -> None:
    with pytest.raises(TooLarge):
        read("(" * 100_000)
    with pytest.raises(TooLarge):
        read(" " * 400_001)
    deep = "(not " * 1_900 + "true" + ")" * 1_900
    assert text_of(read(deep)[0]).count("not") == 1_900


def test_a_quoted_name_is_the_plain_one() -> None:
    with pytest.raises(Refused, match="twice"):
        read_script("(declare-const x Int)(declare-const |x| Int)")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("(push)", "forbidden_command"),
        ("(exit)(assert true)", "forbidden_command"),
        ("(check-sat)(assert true)", "forbidden_command"),
        ("(check-sat)(check-sat)(get-model)(exit)", None),
        ("(set-logic QF_LIA)(set-option :produce-models true)(set-info :status sat)", None),
        ('(set-option :regular-output-channel "x")', "forbidden_command"),
        ("(eval x)", "forbidden_command"),
        ("(assert true false)", "malformed"),
        ("assert", "malformed"),
        ("()", "malformed"),
        ("((assert true))", "malformed"),
        ("(declare-const x)", "malformed"),
        ("(declare-fun)", "malformed"),
        ("(declare-datatypes)", "malformed"),
        ("(declare-datatypes ((A 0)) ((a)) 3)", "malformed"),
        ("(define-fun x () Int 1)(define-fun x () Int 1)", "redeclared"),
    ],
)
def test_commands_are_allowed_by_name(text: str, reason: str | None) -> None:
    if reason is None:
        assert read_script(text).assertions == ()
        return
    with pytest.raises(Refused) as caught:
        read_script(text)
    assert caught.value.reason == reason


def test_names_of_definitions_are_hidden_and_mean_the_same() -> None:
    script = "(declare-const x Int)(define-fun ok ((k Int)) Bool (> k 2))(assert (! (ok x) :named a))(assert a)"
    hidden = read_script(script).hidden()
    assert hidden.names.keys() == {"ok", "a"}
    reference = {"script": script, "task": "formalise"}
    assert judged(block("(define-fun ok () Bool (>= x 3))(assert (! ok :named a))"), reference).score == 1.0
    assert judged(block("(assert (ok x))"), reference).reason == "smt_error"


# --- references ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reference", "field"),
    [
        ({"script": "(assert"}, "script"),
        ({"script": "(declare-const x Int)"}, "script"),
        ({"script": "(assert (> x 2))"}, "script"),
        ({"script": "(push)(assert true)"}, "script"),
        ({"script": SCRIPT, "status": "unsat"}, "status"),
        ({"script": HARD}, "status"),
        ({"script": SCRIPT, "tests": ({"term": "true", "status": "sat"},)}, "tests"),
        ({"script": SCRIPT, "task": "formalise", "status": "sat"}, "status"),
        ({"script": "(assert false)", "task": "formalise"}, "script"),
        ({"script": "(declare-const x Int)(assert (= x x))", "task": "formalise"}, "script"),
    ],
)
def test_a_reference_that_cannot_be_used_names_the_field(reference: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidReference, match=rf"^reference\.{field}: "):
        judged("sat", reference, **FEW)


@pytest.mark.parametrize(
    ("tests", "field"),
    [
        ([("(> x 1)", "sat")], "tests"),
        ([("(> x 1", "sat"), ("(< x 1)", "unsat")], r"tests\[0\]\.term"),
        ([("(> x 5)", "sat"), ("(< z 1)", "unsat")], r"tests\[1\]\.term"),
        ([("(> x 5)", "sat"), ("(> x 1)", "unsat")], r"tests\[1\]\.status"),
    ],
)
def test_a_test_that_the_reference_itself_fails_is_named(tests: list[tuple[str, str]], field: str) -> None:
    spec = PLANNER.bind(Use(name="smt")).spec
    given = {"script": SCRIPT, "task": "formalise", "tests": [{"term": t, "status": s} for t, s in tests]}
    with pytest.raises(InvalidReference, match=rf"^reference\.{field}: "):
        prepare(parse_reference(spec, given), PLANNER.bind(Use(name="smt")).params, WATCH)


@pytest.mark.parametrize(
    "params",
    [{"work": 10}, {"cpu_s": 0.1}, {"cpu_s": float("nan")}, {"memory_mb": 1}, {"extraction": "guess"}, {"task": "x"}],
)
def test_parameters_are_checked(params: dict[str, Any]) -> None:
    with pytest.raises(InvalidParams):
        PLANNER.bind(Use(name="smt", params=params))


# --- answers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("response", "score"),
    [
        ("sat", 1.0),
        ("SAT", 1.0),
        ("satisfiable", 1.0),
        ("It is not unsat.", 1.0),
        ("It isn't satisfiable", 0.0),
        ("unsat", 0.0),
        ("unknown", 0.0),
        ("saturated", 0.0),
        ("Is it unsat? x = 3 says no.\nSo it is sat.", 1.0),
        ("It is sat.\nNo, I was wrong: unsat.", 0.0),
        ("It is sat.\nThat is all.", 0.0),
        (r"\boxed{\text{sat}}", 1.0),
        ("<answer>sat</answer>", 1.0),
        (block("sat\n((x 3))"), 1.0),
        (block("(model (define-fun x () Int 3))"), 1.0),
        (block("sat\n(define-const x Int 3)"), 1.0),
        (block("sat\n((x 2))"), 0.0),
        ("```smt2\nsat\n((x 3))", 0.0),
    ],
)
def test_a_status_is_read_where_it_is_meant(response: str, score: float) -> None:
    assert judged(response, SCRIPT).score == score


def test_an_answer_that_was_cut_off_in_prose_is_none() -> None:
    assert judged("Let us see. It could be sat", SCRIPT, "length").reason == "no_answer"
    assert judged("Let us see. It could be sat", SCRIPT, "stop").score == 1.0


def test_a_model_refutes_a_reference_that_says_unsat() -> None:
    script = HARD.replace("114", "42")
    found = (-80538738812075974, 80435758145817515, 12602123297335631)
    model = " ".join(
        f"({name} {f'(- {-value})' if value < 0 else value})" for name, value in zip("abc", found, strict=True)
    )
    with pytest.raises(InvalidReference, match="a response has a model"):
        judged(block(f"({model})"), {"script": script, "status": "unsat"}, **FEW)
    assert judged(block(f"({model})"), {"script": script, "status": "sat"}, **FEW).score == 1.0
    assert judged(block("((a 1) (b 2) (c 3))"), {"script": script, "status": "sat"}, **FEW).reason == "wrong_model"


# --- blame ---------------------------------------------------------------------------------------------------------


def test_a_formula_that_nobody_decides_is_the_response_s_if_the_reference_is_decided() -> None:
    hard = "(assert (> x 2))(assert (not (exists ((a Int)(b Int)(c Int)) (= (+ (* a a a) (* b b b) (* c c c)) 114))))"
    outcome = judged(block(hard), {"script": SCRIPT, "task": "formalise"}, **FEW)
    assert (outcome.score, outcome.reason, outcome.flags) == (0.0, "undecided_formula", ("too_expensive",))


def test_a_formula_that_nobody_decides_is_undecided_if_the_reference_is_so_too() -> None:
    other = (
        "(assert (= (* 2 (+ (* a a a) (* b b b) (* c c c))) (* 2 (+ 114 (* 0 (* a b c))))))"
        "(assert (> (+ (* a a b b) (* b c c a) (* c c c c)) (- (* a b) 3 (* c c c c))))"
    )
    outcome = judged(block(other), {"script": HARD, "task": "formalise"}, **FEW)
    assert (outcome.status, outcome.fault, outcome.reason) == ("undecided", "reference", "undecided_reference")


# --- the solver's process ------------------------------------------------------------------------------------------


def test_work_ends_alike_each_time() -> None:
    script = read_script(HARD)
    few = Bounds(200_000, 20.0, 256)
    assert {solve(script.text + script.asserted, few, WATCH).answer for _ in range(3)} == {"unknown"}


def test_memory_is_bounded() -> None:
    text = "(declare-const a (_ BitVec 400000000))(assert (= a (bvmul a (bvadd a (_ bv7 400000000)))))"
    assert solve(text, Bounds(4_000_000_000, 20.0, 64), WATCH).answer == "memory_limit"


def test_cpu_time_is_bounded_where_work_is_not_counted() -> None:
    script = read_script(HARD)
    assert solve(script.text + script.asserted, Bounds(4_000_000_000, 1.0, 512), WATCH).answer == "time_limit"


def test_long_work_begins_anew_elsewhere() -> None:
    watch = Unwatched()
    watch.quick_s = 0.0
    with pytest.raises(Expired):
        solve("", SMALL, watch)


def test_the_process_writes_no_file(tmp_path: Path) -> None:
    path = tmp_path / "written"
    solve(f'(set-option :regular-output-channel "{path}")(assert true)\n', SMALL, WATCH)
    assert not path.exists() or path.stat().st_size == 0


def test_the_process_does_not_see_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    told = tmp_path / "z3"
    told.write_text("#!/bin/sh\necho unknown\nenv\n")
    told.chmod(0o755)
    monkeypatch.setenv("SECRET", "secret")
    monkeypatch.setattr(solver, "program", lambda: str(told))
    found = solve("", SMALL, WATCH)
    assert "LC_ALL=C" in found.output
    assert "secret" not in found.output
