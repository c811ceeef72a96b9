"""The recipes of theorem provers: what they make of Lean's verdicts, which are scripted here. Their cases run Lean."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest

from rewarden.types import Outcome, Progress, Sample, Use
from rewarden_server.engine.plan import Planner
from rewarden_verifiers.cases import load_cases
from rewarden_verifiers.contract import spec_of, verifier
from rewarden_verifiers.lean.params import LeanParams
from rewarden_verifiers.outcome import right, scored, undecided, wrong
from rewarden_verifiers.recipes.load import load_recipe
from rewarden_verifiers.registry import GALLERY, Registry
from tests.programs import LEAN
from tests.recipes.toys import run
from tests.verifiers.direct import direct_judge


@verifier(version="1", graded=True, inline=True)
def lean(response: str, reference: str | None = None, *, params: LeanParams) -> Outcome:
    """Returns the outcome that the response's last word names, as the real one would."""
    said = response.replace("`", " ").replace("</code>", " ").split()[-1:]
    word = said[0] if said else ""
    if word == "proved":
        return right(evidence={"strict": {}, "mode": params.mode})
    if word.startswith("plan:"):
        return right(evidence={"strict": {"subgoals": float(word[5:])}})
    if word == "screened":
        return right(evidence={"screen": {}}, flags=("screen_only",))
    if word == "half":
        return scored(0.5, passed=False, reason="theorem_missing")
    if word == "unknown":
        return undecided("cannot_replay")
    return wrong({"changed": "statement_changed", "axiom": "axiom_added"}.get(word, "lean_error"))


class Scripted(Registry):
    """The real registry, with the scripted `lean`."""

    def __init__(self) -> None:
        super().__init__()
        del self._modules["lean"]
        spec = spec_of(lean)
        assert spec is not None
        self.add(spec)


REGISTRY = Scripted()
PLANNER = Planner(REGISTRY)
JUDGE = direct_judge(REGISTRY)
RECIPES = sorted(LEAN - {"formalization", "lean"})


async def judged(name: str, words: Sequence[str], params: dict[str, Any] | None = None, **fields: Any) -> list[Any]:
    """The verdicts of responses, as one group."""
    samples = [Sample(response=word, reference="theorem", group="a", **fields) for word in words]
    return list(await JUDGE(Use(name=name, params=params or {}), samples))


async def scores(name: str, words: Sequence[str], params: dict[str, Any] | None = None, **fields: Any) -> list[Any]:
    return [verdict.get("score") for verdict in await judged(name, words, params, **fields)]


def thought(word: str, blocks: int = 2) -> str:
    steps = "Then:\n```tactics\nsimp\n```\n" * (blocks - 1) + f"So:\n```tactics\n{word}\n```\n"
    return f"<think>\n{steps}</think>\n```lean4\n{word}\n```"


def test_every_recipe_that_asks_lean_is_known_to_the_tests() -> None:
    asks = {path.stem for path in GALLERY.glob("*.yaml") if "name: lean," in path.read_text(encoding="utf-8")}
    assert asks == set(RECIPES)


@pytest.mark.parametrize("name", RECIPES)
def test_every_case_names_its_number(name: str) -> None:
    cases = load_cases(REGISTRY.get(name))
    assert [
        case.title for case in cases for expect in case.expects if "score" not in expect and "fault" not in expect
    ] == []


@pytest.mark.parametrize("name", sorted(set(RECIPES) - {"kimina_prover"}))
async def test_what_nobody_could_decide_is_no_number(name: str) -> None:
    """Promise: a failure of ours, or a toolchain without a replay, never looks like a wrong proof."""
    (verdict,) = await judged(name, ["unknown"], token_count=10)
    assert (verdict["status"], verdict["reason"], verdict.get("score")) == ("undecided", "cannot_replay", None)


@pytest.mark.parametrize("name", RECIPES)
def test_the_parameters_of_lean_are_the_callers(name: str) -> None:
    (parameter,) = (one for one in load_recipe(GALLERY / f"{name}.yaml").params.values() if one.name == "options")
    PLANNER.bind(Use(name="lean", params=parameter.default))  # else it raises
    assert "lean" in parameter.description


async def test_lean_proof() -> None:
    assert await scores("lean_proof", ["proved", "wrong", "axiom", "half"]) == [1.0, 0.0, 0.0, 0.5]


async def test_lean_statement_asks_for_no_reference() -> None:
    (verdict,) = await JUDGE(Use(name="lean_statement"), [Sample(response="proved")])
    assert (verdict["score"], verdict["evidence"]["mode"]) == (1.0, "statement")
    assert await scores("lean_statement", ["wrong"]) == [0.0]


@pytest.mark.parametrize(
    ("response", "score", "reason"),
    [
        (thought("proved"), 1.0, None),
        (thought("wrong"), 0.0, "lean_error"),
        (thought("half"), 0.5, "theorem_missing"),
        (thought("proved", blocks=1), 0.0, "malformed"),
        (thought("simp").replace("lean4\nsimp", "lean4\nproved"), 0.0, "malformed"),
        (thought("proved") + "\nQ.E.D.", 0.0, "malformed"),
        (thought("wrong") + "\n```lean4\nproved\n```", 0.0, "malformed"),
        ("<think>no tactics</think>\n```lean4\nproved\n```", 0.0, "malformed"),
        ("```lean4\nproved\n```", 0.0, "malformed"),
    ],
)
async def test_kimina_prover(response: str, score: float, reason: str | None) -> None:
    (verdict,) = await judged("kimina_prover", [response])
    assert (verdict["score"], verdict.get("reason"), verdict["passed"]) == (score, reason, score == 1.0)
    assert ("proof" in verdict["components"]) == (reason != "malformed")  # a bad format costs no Lean


async def test_a_name_in_backticks_does_not_end_kiminas_block() -> None:
    response = thought("`Nat ``Nat\nproved")
    assert await scores("kimina_prover", [response]) == [1.0]


@pytest.mark.parametrize(
    ("word", "step", "score"),
    [
        ("plan:1", 0, 1.0),
        ("plan:0.5", 0, 0.75),
        ("plan:0", 0, 0.5),
        ("plan:0", 19, 0.5),
        ("plan:0", 20, 1.0),
        ("proved", 0, 1.0),
        ("screened", 0, 1.0),
        ("wrong", 0, 0.0),
    ],
)
async def test_deepseek_prover_v2(word: str, step: int, score: float) -> None:
    spec = REGISTRY.get("deepseek_prover_v2")
    progress = Progress(step=step, total_steps=100)
    outcome = (await run(spec, word, registry=REGISTRY, progress=progress)).outcome
    assert outcome.score == pytest.approx(score)
    assert outcome.passed is (word != "wrong")


async def test_deepseek_prover_v2_tells_the_weight_in_force() -> None:
    spec, progress = REGISTRY.get("deepseek_prover_v2"), Progress(step=90, total_steps=100)
    late = (await run(spec, "plan:0", registry=REGISTRY, progress=progress)).outcome
    untold = (await run(spec, "plan:0", registry=REGISTRY)).outcome
    assert (late.effective["weight"], untold.effective["weight"]) == (0.0, 0.5)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["proved", "wrong", "wrong", "wrong"], None),
        (["proved", "proved", "proved", "wrong"], None),
        (["proved"] * 4, "too_easy"),
        (["wrong"] * 4, "never_proved"),
    ],
)
async def test_goedel_prover_v2_leaves_out_the_too_easy_and_the_too_hard(words: list[str], reason: str | None) -> None:
    verdicts = await judged("goedel_prover_v2", words, token_count=100)
    assert [verdict["score"] for verdict in verdicts] == [float(word == "proved") for word in words]
    assert {verdict.get("exclude_reason") for verdict in verdicts} == {reason}


@pytest.mark.parametrize(("tokens", "penalty"), [(36864, 0.0), (37888, -0.25), (40960, -1.0), (50000, -1.0)])
async def test_goedel_prover_v2_near_the_limit(tokens: int, penalty: float) -> None:
    assert await scores("goedel_prover_v2", ["proved", "wrong"], token_count=tokens) == [1 + penalty, penalty]


CODE, SAID = "<code>\n{}\n</code>", "<interpreter>error</interpreter>"


@pytest.mark.parametrize(
    ("response", "score"),
    [
        (CODE.format("proved"), 1.1),
        (CODE.format("wrong") + SAID + CODE.format("proved"), 1.1),
        (CODE.format("wrong") + SAID, 0.1),
        (SAID + CODE.format("proved"), 1.0),
        (CODE.format("wrong") + CODE.format("proved"), 1.0),
        ("wrong", 0.0),
    ],
)
async def test_leanabell_prover_v2(response: str, score: float) -> None:
    assert await scores("leanabell_prover_v2", [response]) == [pytest.approx(score)]


async def test_proof_flow() -> None:
    words = ["proved", "wrong", "half"]
    assert await scores("proof_flow", words) == [0.0, -15.0, -15.0]
    assert await scores("proof_flow", words, {"floor": -5}) == [0.0, -5.0, -5.0]
    halved = pytest.approx(-15 - 8 * math.log(2))
    assert await scores("proof_flow", words, signals={"tactic_tokens": 46}) == [0.0, halved, halved]
    assert await scores("proof_flow", words, signals={"tactic_tokens": 92}) == [0.0, -30.0, -30.0]


async def test_gar_solver() -> None:
    words = ["proved", "changed", "axiom", "wrong"]
    assert await scores("gar_solver", words) == [1.0, 0.5, 0.0, 0.0]
    assert await scores("gar_solver", words, {"changed": 0}) == [1.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["proved", "wrong"], None),
        (["proved", "proved", "wrong"], "too_easy"),
        (["changed", "changed"], "never_proved"),
    ],
)
async def test_gar_solver_leaves_out_the_too_easy_and_the_too_hard(words: list[str], reason: str | None) -> None:
    assert {verdict.get("exclude_reason") for verdict in await judged("gar_solver", words)} == {reason}


@pytest.mark.parametrize(
    ("words", "score"),
    [
        (["proved", "wrong", "wrong", "wrong"], 0.75),
        (["proved", "changed", "wrong", "wrong"], 0.75 * 0.75),
        (["proved", "changed", "changed", "changed"], 0.75 * 0.25),
        (["proved", "proved"], 0.0),
        (["wrong", "axiom"], 0.0),
        (["changed", "changed"], 0.0),
    ],
)
async def test_gar_composer(words: list[str], score: float) -> None:
    assert await scores("gar_composer", words) == [pytest.approx(score)] * len(words)


async def test_gar_composer_counts_what_was_judged() -> None:
    assert await scores("gar_composer", ["proved", "wrong", "unknown"]) == [0.5, 0.5, None]
