"""Attacks on `smt`, each with its honest twin."""

from __future__ import annotations

from typing import Any

from tests.attacks.pairs import Pair

SCRIPT = "(declare-const x Int)\n(declare-const y Int)\n(assert (> x 2))\n(assert (< y x))\n(assert (= (+ x y) 7))"
REALS = "(declare-const r Real)\n(assert (> r 100.0))\n(assert (< r 101.0))"
ARRAY = "(declare-const a (Array Int Int))\n(assert (= (select a 3) 4))\n(assert (= (select a 4) 3))"
NAMED = "(declare-const x Int)\n(define-fun ok () Bool (> x 2))\n(assert (! ok :named label))"
MEANT = {"script": SCRIPT, "task": "formalise"}
RIGHT = "(and (>= x 3) (> x y) (= y (- 7 x)))"
MODEL = "((x 4) (y 3))"


def solve(title: str, attack: str, twin: str = MODEL, reference: Any = SCRIPT, **params: Any) -> Pair:
    made = {"model": "required", **params}
    return Pair(title=title, use="smt", attack=block(attack), twin=block(twin), reference=reference, params=made)


def block(text: str) -> str:
    return f"```smt2\n{text}\n```"


def formal(title: str, attack: str, twin: str = f"(assert {RIGHT})", reference: Any = MEANT) -> Pair:
    fast = {"work": 400_000}
    return Pair(title=title, use="smt", attack=block(attack), twin=block(twin), reference=reference, params=fast)


SUM = "(= (+ (* a a a) (* b b b) (* c c c)) 114)"
PAIRS = [
    solve("silence", ""),
    solve("the word alone", "sat"),
    solve("both words", "sat\nunsat"),
    solve("both words and a model", f"sat unsat {MODEL}"),
    solve("a model beside unsat", f"unsat {MODEL}"),
    solve("two values of a constant", "((x 3) (x 4) (y 3))"),
    solve("two models", f"((x 3) (y 3)) {MODEL}"),
    solve("an empty model", "sat ()", f"sat {MODEL}"),
    solve("half of a model", "((x 4))"),
    solve("the constants themselves", "((x x) (y y))"),
    solve("one constant in terms of the other", "((x (- 7 y)) (y 3))"),
    solve("a value that the solver finds", "((define-fun x () Int (ite (exists ((k Int)) (= (+ k 3) 7)) 4 3)) (y 3))"),
    solve("a value that the solver chooses", "((x (div 1 0)) (y 3))"),
    solve("any real number", "((r (/ 1.0 0.0)))", "((r (/ 401.0 4.0)))", REALS),
    solve("a divisor that is zero in other words", "((r (/ 1.0 (- 0.0))))", "((r 100.5))", REALS),
    solve("a name of the script's bound by let", "((x (let ((y 4)) y)) (y 3))", "((x (let ((v 4)) v)) (y 3))"),
    solve("an array out of nowhere", "((a a))", "((a (store ((as const (Array Int Int)) 4) 4 3)))", ARRAY),
    solve(
        "an array read beyond",
        "((a ((as const (Array Int Int)) (select a 3))))",
        "((a (store (store ((as const (Array Int Int)) 0) 3 4) 4 3)))",
        ARRAY,
    ),
    solve("a model as an assertion", "(assert (= x 4)) (assert (= y 3))"),
    solve("the script repeated", SCRIPT),
    formal("silence", ""),
    formal("nothing but declarations", "(declare-const x Int)"),
    formal("true", "(assert true)"),
    formal("false", "(assert false)"),
    formal("a contradiction in other words", "(assert (and (> x 2) (< x 3)))"),
    formal("one of the models", "(assert (= x 4)) (assert (= y 3))"),
    formal("the name of the answer", "(assert rewarden!reference)"),
    formal("the name of the answer in bars", "(assert |rewarden!reference|)"),
    formal("the name of the answer in a definition", "(define-fun p () Bool rewarden!reference) (assert p)"),
    formal("a definition of the reference", "(assert ok)", "(assert (> x 2))", {"script": NAMED, "task": "formalise"}),
    formal("a label of the reference", "(assert label)", "(assert (> x 2))", {"script": NAMED, "task": "formalise"}),
    formal("the answer's name as a label", f"(assert (! true :named rewarden!response)) (assert {RIGHT})"),
    formal("negation defined anew", "(define-fun not ((p Bool)) Bool false) (assert true)"),
    formal("conjunction defined anew", f"(define-fun and ((p Bool) (q Bool)) Bool true) (assert {RIGHT})"),
    formal("a constant defined", "(define-fun x () Int 4) (define-fun y () Int 3) (assert (= (+ x y) 7))"),
    formal("a constant with a parameter", f"(declare-fun x (Int) Int) (assert {RIGHT})"),
    formal("a constant that nobody gave", f"(declare-const z Bool) (assert (and z {RIGHT}))"),
    formal("a sort of its own", f"(declare-sort Int 0) (assert {RIGHT})"),
    formal("a scope that is left", f"(push)(assert {RIGHT})(pop)(assert true)"),
    formal("a reset", f"(assert {RIGHT})(reset)(assert true)"),
    formal("assertions after the check", f"(assert {RIGHT})(check-sat)(assert (= x 4))"),
    formal("assertions after the exit", f"(assert {RIGHT})(exit)(assert (= x 4))"),
    formal("the status by information", "(set-info :status unsat)(assert true)"),
    formal("the status by echo", '(echo "unsat")(assert true)'),
    formal("a comment that closes a bracket", "(assert ; )\n true)"),
    formal("a string that closes a bracket", '(assert (= "))(check-sat)(exit)" "")) (assert true)'),
    formal("bars that close a bracket", "(assert (= |x))(assert false)(echo | 1))"),
    formal("an escape in bars", f"(assert {RIGHT})(assert (= |a\\|b| 1))"),
    formal("output into a file", f'(set-option :diagnostic-output-channel "/tmp/x")(assert {RIGHT})'),
    formal("a file read", f'(include "/etc/passwd")(assert {RIGHT})'),
    formal("a recursive definition", f"(define-fun-rec f ((n Int)) Int (f n))(assert (and (= (f 1) 1) {RIGHT}))"),
    formal("a goal for the optimiser", f"(assert {RIGHT})(maximize x)"),
    formal("a question that nobody decides", f"(assert {RIGHT})(assert (not (exists ((a Int)(b Int)(c Int)) {SUM})))"),
    formal("too deep", f"(assert {'(not ' * 3000}true{')' * 3000})"),
    formal("too long", f"(assert (or {' true' * 100_000} {RIGHT}))"),
    formal(
        "a vector of billions of bits", "(assert (= (_ bv1 2000000000) (bvmul (_ bv1 2000000000) (_ bv3 2000000000))))"
    ),
    formal(
        "definitions that double thirty times",
        "(define-fun d0 ((n Int)) Int (+ n (* n n)))"
        + "".join(f"(define-fun d{i + 1} ((n Int)) Int (d{i} (* (d{i} n) (d{i} (+ n 1)))))" for i in range(30))
        + f"(assert (or {RIGHT} (= (d30 x) 5)))",
    ),
    formal("a control character", f"(assert {RIGHT})\x00(assert (= x 4))"),
]
