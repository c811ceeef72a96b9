"""`dafny` and `re_form`: cases and attacks in real rooms, each attack with an honest twin, and rejected references."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
import pytest_asyncio

from rewarden.types import Batch, Sample, Use, Verdict
from rewarden_server.engine.engine import Engine
from rewarden_verifiers.dafny.tokens import refused
from tests.verifiers.host_rooms import failed_cases, host_engine

ENSURES = ("m >= a && m >= b", "m == a || m == b")
REFERENCE = {"name": "Max", "parameters": ["a: int", "b: int"], "returns": ["m: int"], "ensures": ENSURES}
RIGHT = "if a > b { m := a; } else { m := b; }"


def method(body: str = RIGHT, before: str = "", promise: str = "", attribute: str = "") -> str:
    """A response with the method. promise: in the place of all that it promises."""
    ensures = promise or "".join(f"  ensures {each}\n" for each in ENSURES)
    return f"```dafny\n{before}\nmethod {attribute} Max(a: int, b: int) returns (m: int)\n{ensures}{{ {body} }}\n```"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engine() -> AsyncIterator[Engine]:
    """An engine whose sandbox has this machine's Dafny, under bubblewrap."""
    says = "Dafny is not verified here: install bubblewrap and dafny"
    async with host_engine("dafny", "z3", says=says) as made:
        yield made


async def judged(engine: Engine, response: str, reference: Mapping[str, Any] = REFERENCE, **params: Any) -> Verdict:
    batch = Batch(samples=[Sample(response=response, reference=reference)], use=Use(name="dafny", params=params))
    return (await engine.verify(batch)).verdicts[0]


@pytest.mark.needs_server
@pytest.mark.parametrize("name", ["re_form", pytest.param("dafny", marks=pytest.mark.slow)])
@pytest.mark.asyncio(loop_scope="module")
async def test_the_cases_hold(name: str, engine: Engine) -> None:
    assert await failed_cases(engine, name) == []


WORK = "{:timeLimit 30} {:timeLimitMultiplier 2} {:vcs_split_on_every_assert} {:isolate_assertions}"
ATTACKS: dict[str, tuple[str, str]] = {
    # name: the attack, and its honest twin
    "a lemma without a body": (
        method("Oops(); m := a;", "lemma Oops() ensures false"),
        method(before="lemma Fine() ensures true { }"),
    ),
    "a function without a body that promises": (
        method("assert Oops() > Oops(); m := a;", "function Oops(): int ensures false"),
        method(before="function Fine(): int ensures Fine() == 1 { 1 }"),
    ),
    "a type that has no value": (
        method("var e: Empty; m := a;", "type Empty = x: int | x != x"),
        method(before="type Some = x: int | x > 3 witness 4"),
    ),
    "recursion without an end": (
        method("Oops(1); m := a;", "lemma Oops(n: nat) ensures false { Oops(n); }"),
        method(before="lemma Fine(n: nat) ensures true decreases n { if n > 0 { Fine(n - 1); } }"),
    ),
    "a function without an end": (
        method("m := a;", "function Oops(n: int): int ensures false { Oops(n) }"),
        method(before="function Fine(n: nat): int { if n == 0 then 0 else Fine(n - 1) }"),
    ),
    "a loop without an end": (
        method("while true decreases * { }", promise="  ensures m >= a && m >= b\n  decreases *\n"),
        method(f"var i := 0; while i < 3 {{ i := i + 1; }} {RIGHT}"),
    ),
    "a loop without a body": (
        method("m := a; var i := 0; while i < 3 invariant true"),
        method(f"var i := 0; while i < 3 invariant i <= 3 {{ i := i + 1; }} {RIGHT}"),
    ),
    "a promise of less": (
        method("m := a;", promise="  ensures m >= a\n"),
        method(promise="  ensures m >= a && m >= b && (m == a || m == b) && m <= a + b - (if a < b then a else b)\n"),
    ),
    "a requirement": (
        method("m := a;", promise=f"  requires a > b\n  ensures {ENSURES[0]}\n  ensures {ENSURES[1]}\n"),
        method(promise=f"  requires true\n  ensures {ENSURES[0]}\n  ensures {ENSURES[1]}\n"),
    ),
    "a module like the specification's": (
        method("m := a;", "module Task { lemma Oops() ensures false }"),
        method(before="module Tasks { const c := 1 }"),
    ),
    "a promise about another module's": (
        method("I.Oops(); m := a;", "module I { lemma Oops() ensures false }"),
        method(before="module I { lemma Fine() ensures true { } }"),
    ),
    "an attribute with a blank in it": (
        method("Oops(); m := a;", "lemma { :axiom} Oops() ensures false"),
        method(before="lemma { :induction false} Fine() ensures true { }"),
    ),
    "an attribute with a comment in it": (
        method("Oops(); m := a;", "lemma {/* */ : //\n axiom} Oops() ensures false"),
        method(before="lemma {/* */ : //\n induction} Fine() ensures true { }"),
    ),
    "a comment that a carriage return ends": (
        method("Oops(); m := a;", "// \r lemma {:axiom} Oops() ensures false"),
        method(before="// \r lemma Fine() ensures true { }\r\n// lemma {:axiom} Oops() ensures false"),
    ),
    "attributes of the prover's work": (
        method("Oops(); m := a;", f"lemma {WORK} Oops() ensures false {{ assert {{:subsumption 0}} false; }}"),
        method("Fine(); " + RIGHT, f"lemma {WORK} Fine() ensures 2 > 1 {{ assert {{:subsumption 0}} 3 > 2; }}"),
    ),
    "a least fixpoint that is none": (
        method("m := a;", "inductive predicate P(n: int) { !P(n) }"),
        method(before="inductive predicate P(n: nat) { n == 0 || P(n - 1) }"),
    ),
    "such that nothing": (method("m :| m > m;"), method("m :| (m == a || m == b) && m >= a && m >= b;")),
    "a false assertion": (method("assert false; m := a;"), method(f"assert a <= a; {RIGHT}")),
    "a constant of a false kind": (
        method("m := a;", "const oops: int := 1 / 0"),
        method(before="const fine: int := 1 / 1"),
    ),
}

SOME = ("a lemma without a body", "recursion without an end", "a promise of less", "a false assertion")
"""Attacks of different kinds, for the quick run."""


@pytest.mark.needs_server
@pytest.mark.parametrize("names", [SOME, pytest.param(tuple(ATTACKS), marks=pytest.mark.slow)], ids=["some", "all"])
@pytest.mark.asyncio(loop_scope="module")
async def test_an_attack_earns_nothing_and_its_twin_all(names: tuple[str, ...], engine: Engine) -> None:
    async def pair(name: str) -> tuple[str, Any, Any]:
        attack, twin = ATTACKS[name]
        return name, (await judged(engine, attack)).score, (await judged(engine, twin)).score

    found = await asyncio.gather(*map(pair, names))
    assert [one for one in found if one[1:] != (0.0, 1.0)] == []


@pytest.mark.needs_server
@pytest.mark.asyncio(loop_scope="module")
async def test_a_prover_without_an_answer_is_the_policys_matter(engine: Engine) -> None:
    """Attack: a promise that no prover decides; Dafny ends with 0 if it gives up."""
    hard = "lemma Hard(x: int, y: int, z: int) requires x > 2 && y > 2 ensures x*x*x + y*y*y != z*z*z { }"
    verdict = await judged(engine, method(before=hard), effort=1)
    assert (verdict.score, verdict.reason) == (0.0, "not_verified")
    verdict = await judged(engine, method(before=hard), effort=2000, cpu_s=8)
    assert (verdict.score, verdict.reason) == (0.0, "time_limit")


@pytest.mark.needs_server
@pytest.mark.asyncio(loop_scope="module")
async def test_a_reference_that_measures_nothing_is_at_fault(engine: Engine) -> None:
    for changed in ({"requires": ["a < b", "b < a"]}, {"ensures": ["m > c"]}, {"preamble": "lemma L() ensures false"}):
        verdict = await judged(engine, method(), {**REFERENCE, **changed})
        assert (verdict.score, verdict.reason, verdict.fault) == (None, "invalid_reference", "reference"), changed


@pytest.mark.parametrize(
    "text",
    [
        "assume true;",
        "method {:verify false} M() { }",
        "method {: verify false} M() { }",
        "lemma {:axiom} L() ensures false",
        "lemma {:\n axiom} L() ensures false",
        "lemma { :axiom} L() ensures false",
        "lemma {\n:\naxiom} L() ensures false",
        "lemma {/**/:/**/axiom} L() ensures false",
        "lemma {:trigger x} { :axiom } L() ensures false",
        "lemma {:} L() ensures false",
        "// x\rassume false;",
        "// x\r#if X",
        "trait T { }",
        "iterator I() { }",
        'include "x.dfy"',
        "abstract module A { }",
        "module A refines B { }",
        "/*\n#if X\n*/",
        "#if X",
        "}",
        "} {",
        "{",
        "/* /* */",
        '"a\nassume false; //"',
        "'\"' assume false; '\"'",
        "method M'() { assume false; }",
        "class C { ghost var f: int ~> bool }",
        "méthod",
        "'{",
    ],
)
def test_what_dafny_believes_is_refused(text: str) -> None:
    assert refused(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        "// assume } #\nmethod M() { }",
        "/* assume { /* {:verify false} */ */",
        'method M() { print "assume } {:axiom} \\" {"; }',
        'method M() { print @"a ""assume"" \\"; }',
        "const c := '{' const d := '\\'' const e := '\"'",
        "predicate P(x': int, assumed: int, x?: bool) { forall y {:trigger F(y)} :: F(y) }",
        "const f: int -> int := (i: int) => i",
        "method {:tailrecursion} {:timeLimit 60} M() { assert {:subsumption 0} true; }",
        "lemma { : induction n } L(n: nat) { }",
        "// assume\r\nmethod M() { var x: int := 1; }",
        "method M(a: array<int>) modifies a { a[0] := 1; }",
    ],
)
def test_words_in_comments_and_texts_are_no_constructs(text: str) -> None:
    assert refused(text) is None
