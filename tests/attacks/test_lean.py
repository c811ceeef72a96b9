"""Attacks on `lean`: none is paid, each for its own reason, with the gate and without it, and none harms the honest proof
that comes after it. And what honest people write passes.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator

import pytest

from rewarden.types import Verdict
from rewarden.wire.json import verdict_to_json
from tests.attacks.lean_attacks import ATTACKS, HONEST, STATEMENTS, Attack
from tests.attacks.lean_judge import Judge, fenced, judging
from tests.lean.conftest import library as library
from tests.lean.toolchain import Library, needs_lean

pytestmark = [needs_lean, pytest.mark.needs_server, pytest.mark.slow]

TRUE = "theorem t : True := by sorry"
LIE = "theorem t : False := by sorry"


@pytest.fixture(scope="module")
def judge(library: Library) -> Iterator[Judge]:
    with judging(library) as made:
        yield made


def told(verdict: Verdict) -> tuple[str, float | None, str | None]:
    return verdict.status, verdict.score, verdict.reason


def passes(verdict: Verdict) -> bool:
    assert told(verdict) == ("scored", 1.0, None), verdict.feedback
    assert verdict.evidence["strict"]["replay"] == "accepted"
    return True


BEHIND = [attack for attack in ATTACKS if attack.behind]
TWINS = list({repr(pair): pair for attack in ATTACKS if (pair := (attack.twin, attack.twin_reference))[0]}.values())


@pytest.fixture(scope="module")
def verdicts(judge: Judge) -> dict[str, Verdict]:
    """On all attacks, their twins and the honest proofs, by what is judged; side by side, since each takes a while."""
    pairs = [*((attack.attack, attack.reference) for attack in ATTACKS), *TWINS, *((one[1], one[2]) for one in HONEST)]
    return dict(zip(map(repr, pairs), judge.each(pairs), strict=True))


@pytest.fixture(scope="module")
def behind(judge: Judge) -> dict[str, Verdict]:
    """On the attacks without the gate, by their titles."""
    with judge.without_the_gate():
        found = judge.each([(attack.attack, attack.reference) for attack in BEHIND])
    return dict(zip(map(str, BEHIND), found, strict=True))


@pytest.mark.parametrize("attack", ATTACKS, ids=str)
def test_the_attack_earns_nothing_and_its_honest_twin_passes(verdicts: dict[str, Verdict], attack: Attack) -> None:
    verdict = verdicts[repr((attack.attack, attack.reference))]
    assert told(verdict) == ("scored", 0.0, attack.reason), verdict.feedback
    assert (verdict.passed, verdict.fault) == (False, "policy")
    if attack.twin:
        assert passes(verdicts[repr((attack.twin, attack.twin_reference))])


@pytest.mark.parametrize("attack", BEHIND, ids=str)
def test_without_the_gate_it_earns_nothing_either(behind: dict[str, Verdict], attack: Attack) -> None:
    verdict = behind[str(attack)]
    assert told(verdict) == ("scored", 0.0, attack.behind), verdict.feedback


@pytest.mark.parametrize(("title", "source", "reference"), HONEST, ids=[title for title, *_ in HONEST])
def test_honest_proofs_pass(verdicts: dict[str, Verdict], title: str, source: str, reference: str) -> None:
    assert passes(verdicts[repr((source, reference))])


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_reference_may_end_and_begin_as_it_likes(judge: Judge, statement: str) -> None:
    assert passes(judge.one(":= True.intro", statement))


@pytest.mark.parametrize(
    "response",
    [
        "```lean4\n:= True.intro\n```",
        "```lean\n:= True.intro\n```",
        "```\n:= True.intro\n```",
        "First:\n```lean4\n:= sorry\n```\nThen, done:\n```lean4\n:= True.intro\n```\nThat is all.",
        "```tactics\nexact True.intro\n```",
        "<answer>by exact True.intro</answer>",
        "Run `x`:\n```python\nprint(1)\n```\nand\n```lean4\n:= True.intro\n```",
        "  ```lean4\n  theorem t : True := by\n    exact True.intro\n  ```",
        ":= True.intro",
    ],
)
def test_prose_and_drafts_around_a_proof_do_no_harm(judge: Judge, response: str) -> None:
    assert passes(judge.judge([response], TRUE)[0])


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        ("", "no_answer"),
        ("It is obvious.", "lean_error"),
        ("```lean4\n```", "empty_code"),
        ("```lean4\n:= True.intro", "unclosed_fence"),
        ("```lean4\n:= True.intro\n```\nor\n```lean4\n:= sorry\n```", "sorry"),
        ("```lean4\n:= \x00True.intro\n```", "lean_error"),
        ("```lean4\n:= True\ud800.intro\n```", "lean_error"),
        ("```lean4\n:=\tTrue.intro\n```", "lean_error"),
        ("```lean4\n:= True.intro -- " + "a" * 400_000 + "\n```", "too_expensive"),
        ("```lean4\n:= " + "(" * 5000 + "\n```", "lean_error"),
        ("```lean4\n:= " + "id (" * 3000 + "True.intro" + ")" * 3000 + "\n```", "lean_error"),
        ("```lean4\n" + "theorem x " * 200 + "\n```", "lean_error"),
        ("```lean4\n" + "prelude " * 4000 + "\n```", "lean_error"),
        ("```lean4\n" + "/-" * 20_000 + "\n```", "lean_error"),
    ],
)
def test_responses_of_another_kind_earn_nothing(judge: Judge, response: str, reason: str) -> None:
    assert told(judge.judge([response], TRUE)[0]) == ("scored", 0.0, reason)


@pytest.mark.parametrize("comment", ["\u202e axiom \u202c", "\ud800", "\u2028axiom", "x\x85axiom", "🎉" * 1000, "«"])
def test_comments_may_hold_any_characters(judge: Judge, comment: str) -> None:
    assert passes(judge.one(f":= True.intro -- {comment}", TRUE))


def test_an_asked_theorem_that_the_reference_lacks_is_nobodys_to_prove(judge: Judge) -> None:
    verdict = judge.one("theorem typo : True := True.intro", {"statement": LIE, "theorems": ["typo"]})
    assert (verdict.status, verdict.reason, verdict.fault) == ("undecided", "invalid_reference", "reference")


def test_a_proof_after_each_attack_passes_in_the_same_process(judge: Judge) -> None:
    attempts = [
        "set_option maxRecDepth 1",
        "open Nat\nuniverse u\nnamespace X",
        "attribute [local instance] Nat.decEq\ninstance (n : Nat) : OfNat Nat n := ⟨Nat.zero⟩",
        "#exit",
        "/- never closed",
        "def True.intro' : True := True.intro\nexport True (intro)",
        'syntax "exact" : tactic\nsyntax "True" : term',
        "\n".join(f"theorem x{number} : True := True.intro" for number in range(200)),
    ]
    responses = [fenced(text) for attempt in attempts for text in (attempt, "by exact True.intro")]
    with judge.without_the_gate():
        verdicts = judge.judge(responses, TRUE)
    for attempt, honest in zip(verdicts[::2], verdicts[1::2], strict=True):
        assert attempt.score == 0.0
        assert passes(honest)


@pytest.mark.parametrize(
    "source",
    [
        "theorem t (a b : Prop) (h : And a b) : And b a := h",
        "theorem t : True := True.intro",
        "exact h\n#print t\n#print axioms t",
        "theorem t (a b : Prop) (h : And a b) : And b a := And.swap h\n#print t\n#check @t",
        "axiom x : False",
        "exact t",
        "x",
        "def t := 1",
    ],
)
def test_no_verdict_tells_the_references_own_proof(judge: Judge, source: str) -> None:
    reference = (
        "theorem t (a b : Prop) (h : And a b) : And b a :=\n  (fun (hidden : And a b) => ⟨hidden.2, hidden.1⟩) h"
    )
    assert "hidden" not in str(verdict_to_json(judge.one(source, reference)))


# --- files that a submission's code wrote itself ---------------------------------------------------------------------

_CONST = 4 << 56 | 2 << 48 | 32 << 32
_CONSTANT_VAL = 3 << 48 | 32 << 32


def another_type(module: bytes) -> bytes:
    """The theorem whose type is `True` says `False` now; its proof is still `True.intro`."""
    words = list(struct.unpack(f"<{len(module) // 8}Q", module))
    base = words[10]

    def at(pointer: int) -> int:
        return (pointer - base) >> 3

    def name(pointer: int) -> bytes:
        start = 8 * (at(words[at(pointer) + 2]) + 4)
        return module[start : module.index(b"\0", start)]

    types = {name(words[place + 1]): base + 8 * place for place, word in enumerate(words) if word == _CONST}
    for place, word in enumerate(words):
        if word == _CONSTANT_VAL and words[place + 3] == types[b"True"]:
            words[place + 3] = types[b"False"]
    return struct.pack(f"<{len(words)}Q", *words)


@pytest.mark.parametrize(
    ("forge", "reason"),
    [
        (another_type, "kernel_rejected"),
        (lambda module: module[: len(module) // 16 * 8], "forged_result"),
        (lambda _: b"", "forged_result"),
        (lambda _: b"olean" + b"\0" * 200, "forged_result"),
        (lambda module: module + b"\0" * 8, "forged_result"),
        (lambda module: module[:-8] + b"\xff" * 8, "forged_result"),
        (lambda module: re.sub(rb"propext", rb"qropext", module), None),
    ],
    ids=["another type", "half", "nothing", "a head alone", "more at its end", "another end", "untouched"],
)
def test_a_forged_file_earns_nothing(judge: Judge, forge: Callable[[bytes], bytes], reason: str | None) -> None:
    source = "theorem u (h : False) : False := h\ntheorem t : True := True.intro"
    with judge.compiled(forge):
        if reason is None:
            assert passes(judge.one(source, TRUE))
        else:
            reference = LIE if reason == "kernel_rejected" else TRUE
            verdict = judge.one(source, reference)
            assert told(verdict) == ("scored", 0.0, reason), verdict.feedback
