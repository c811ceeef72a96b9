"""The recipes that ship: each loads, says where it comes from, and pays what its comment says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from rewarden.types import Progress
from rewarden_verifiers.cases import load_cases
from rewarden_verifiers.outcome import right, scored
from rewarden_verifiers.recipes.load import load_recipe, recipe_spec
from rewarden_verifiers.recipes.weaknesses import weaknesses
from rewarden_verifiers.registry import GALLERY, Registry
from tests.programs import LEAN
from tests.recipes.toys import ToyRegistry, run

NAMES = sorted(path.stem for path in GALLERY.glob("*.yaml"))
SQL = frozenset(name for name in NAMES if "sql" in name)
"""Those that are tried on real databases: test_sql_recipes.py."""
JUDGED = frozenset(name for name in NAMES if "params.judge}" in (GALLERY / f"{name}.yaml").read_text(encoding="utf-8"))
"""Those that ask judges: tests/judges/test_recipes.py."""
MODELLED = frozenset(
    name for name in NAMES if re.search(r"params\.models?}", (GALLERY / f"{name}.yaml").read_text(encoding="utf-8"))
)
"""Those that ask models: tests/models/test_recipes.py."""
PATCHES = frozenset({"swe_rl"})
"""Those that read patches: tests/verifiers/test_patch_similarity.py holds them to published scores."""
PLANNED = frozenset({"planner_r1"})
"""Those that judge plans: their cases say what they pay."""
SEARCHED = frozenset({"parallelsearch"})
"""Those that count searches: their cases say what they pay."""
AGREED = frozenset({"ttrl", "empo"})
"""Those that judge groups by the agreement of their members: their cases say what they pay."""
READ = frozenset({"klear_reasoner", "openvlthinker", "rlcr", "sparkle", "ssrl", "toolrl", "npr", "tgrl"})
"""Those that read tags which the toys do not know: their cases say what they pay."""
LENGTHS = frozenset({"open_r1", "group_length", "target_length"})
"""Those that measure the length or the repetition of a response: their cases say what they pay."""
STATED = frozenset(
    {
        *("critique_rl", "router_r1", "mt_r1_zero", "ftrl", "openchat_c_rlft", "tir_judge", "confclip"),
        *("step_progress", "autothink", "lightsearcher", "r1_searcher_pp", "artist", "acqo", "eviomni"),
    }
)
"""Those that read what a trainer or an environment says: their cases say what they pay."""
OTHERS = frozenset(
    {
        "dsdr",
        "thor",
        "general_points",
        "time_r1",
        "episode_return",
        "format_length",
        "repexp",
        "memory_r_plus",
        "temporal_r1",
        "crt",
        "np_engine",
        "rlvr_causal",
        "reasonrank",
        "supernova",
        "rsrm",
        "chemrlformer",
        "comfyui_r1",
        "arm2",
        "attrilens_mol",
        "logicllama",
        "criticlean",
        "re_form",
        "autotriton",
        "coderl_plus",
    }
)
"""Those that use verifiers which the toys do not know: their cases say what they pay."""
ELSEWHERE = SQL | LEAN | JUDGED | MODELLED | PATCHES | PLANNED | SEARCHED | AGREED | READ | LENGTHS | STATED | OTHERS
"""Those that the toys here cannot stand in for; test_lean_recipes.py tries the ones that prove."""
WITHOUT_REFERENCE = {
    *("mathesis", "crt", "acqo", "chemrlformer", "drlc", "best_of_n"),
    *("lean_statement", "openbezoar", "reward_design_lms", "urial_just_eval", "writing_zero", "writing_zero_grm"),
    *("a_lol", "cgpo", "deepseek_grm", "fetch", "genrm", "libra_rm", "longwriter_zero", "math_shepherd", "restl"),
    *(
        "openchat_c_rlft",
        "rlhf_workflow",
        "rlmt",
        "rlot",
        "salmon",
        "sharpening",
        "spark",
        "teacher_forcing",
        "ttrl",
        "empo",
        "format_length",
        "rethinkmcts",
    ),
}


def shipped(name: str) -> Any:
    registry = Registry() if name in ELSEWHERE else ToyRegistry()
    return recipe_spec(load_recipe(GALLERY / f"{name}.yaml"), registry, name=name)


def test_the_five_of_the_first_day_are_there() -> None:
    assert {"accuracy", "accuracy_format", "cosine_length", "logic_rl", "soft_overlong"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_each_says_what_it_is_and_has_cases_of_every_kind(name: str) -> None:
    recipe, spec = load_recipe(GALLERY / f"{name}.yaml"), shipped(name)
    assert recipe.description
    assert recipe.origin
    assert recipe.parity
    assert ("reference" in recipe.inputs) is (name not in WITHOUT_REFERENCE)
    assert (GALLERY / f"{name}.yaml").read_text().startswith("# ")
    kinds = {case.kind for case in load_cases(spec)}
    assert kinds >= {"full", "zero", "malformed", "hack"}
    assert "partial" in kinds or name in ("accuracy", "lean_statement")


@pytest.mark.parametrize(("response", "score"), [("answer 4", 1.0), ("answer 5", 0.0), ("so", 0.0)])
async def test_accuracy(response: str, score: float) -> None:
    assert (await run(shipped("accuracy"), response)).outcome.score == score


@pytest.mark.parametrize(
    ("response", "plain", "weighted"), [("- answer 4", 1.0, 1.0), ("- answer 5", 0.0, 0.1), ("answer 4", 0.0, -1.0)]
)
async def test_accuracy_format(response: str, plain: float, weighted: float) -> None:
    spec = shipped("accuracy_format")
    assert (await run(spec, response)).outcome.score == plain
    judged = await run(spec, response, params={"format_reward": 0.1, "bad_format": -1})
    assert judged.outcome.score == pytest.approx(weighted)
    assert judged.outcome.passed is (response == "- answer 4")
    assert judged.asked == (["format", "math"] if response.startswith("-") else ["format"])


@pytest.mark.parametrize(
    ("response", "score", "reason"),
    [
        ("- answer 4", 1 + 2, None),
        ("- answer 5", 1 - 1.5, "wrong"),
        ("- so", 1 - 2, "no_answer"),
        ("answer 4", -1 - 2, "bad_format"),
    ],
)
async def test_logic_rl(response: str, score: float, reason: str | None) -> None:
    outcome = (await run(shipped("logic_rl"), response)).outcome
    assert (outcome.score, outcome.reason) == (score, reason)


@pytest.mark.parametrize(
    ("response", "plain", "lmm_r1"),
    [("- answer 4", 2.0, 1.5), ("answer 4", 1.0, 1.0), ("- answer 5", 1.0, 0.5), ("so", 0.0, 0.0)],
)
async def test_accuracy_plus_format(response: str, plain: float, lmm_r1: float) -> None:
    spec = shipped("accuracy_plus_format")
    for params, score in (({}, plain), ({"format_weight": 0.5}, lmm_r1)):
        outcome = (await run(spec, response, params=params)).outcome
        assert (outcome.score, outcome.passed) == (score, response.endswith("answer 4"))


@pytest.mark.parametrize(
    ("response", "reft", "limr"), [("answer 4", 1.0, 1.0), ("answer 5", 0.1, -0.5), ("so", 0.0, -1.0)]
)
async def test_three_outcomes(response: str, reft: float, limr: float) -> None:
    spec = shipped("three_outcomes")
    for params, score in (({}, reft), ({"readable": "any", "wrong": -0.5, "unreadable": -1}, limr)):
        assert (await run(spec, response, params=params)).outcome.score == score


@pytest.mark.parametrize(("tokens", "right", "wrong"), [(0, 3.0, -1.0), (1792, 2.5, -0.5), (9999, 2.0, 0.0)])
async def test_cosine_plus_format(tokens: int, right: float, wrong: float) -> None:
    spec = shipped("cosine_plus_format")
    for response, score in (("- answer 4", right), ("- answer 5", wrong)):
        outcome = (await run(spec, response, token_count=tokens)).outcome
        assert outcome.score == pytest.approx(score)
        assert outcome.components["length"].score == pytest.approx(score - 1)


@pytest.mark.parametrize(
    ("tokens", "right", "wrong"),
    [
        (0, 1.0, -1.0),
        (1024, 0.9267767, -0.9267767),  # 0.5 + 0.25 * (1 + cos(pi/4))
        (2048, 0.75, -0.75),
        (3072, 0.5732233, -0.5732233),
        (4096, -1.0, -1.0),
        (9999, -1.0, -1.0),
    ],
)
async def test_cosine_length(tokens: int, right: float, wrong: float) -> None:
    spec = shipped("cosine_length")
    for response, score in (("answer 4", right), ("answer 5", wrong)):
        outcome = (await run(spec, response, token_count=tokens)).outcome
        assert outcome.score == pytest.approx(score, abs=1e-6)
        assert outcome.components["length"].score == outcome.score


@pytest.mark.parametrize(("tokens", "penalty"), [(0, 0.0), (16384, 0.0), (17408, -0.25), (18432, -0.5), (20480, -1.0)])
async def test_soft_overlong(tokens: int, penalty: float) -> None:
    spec = shipped("soft_overlong")
    for response, base in (("answer 4", 1.0), ("answer 5", -1.0)):
        outcome = (await run(spec, response, token_count=tokens, finish_reason="stop")).outcome
        assert (outcome.score, outcome.exclude) == (base + penalty, False)
        assert outcome.components["length"].score == penalty


@pytest.mark.parametrize(("step", "score"), [(None, 1.0), (200, 1.0), (201, 1.2)])
async def test_critique_rl_counts_the_refinement_from_its_second_stage_on(step: int | None, score: float) -> None:
    judged = await run(
        shipped("critique_rl"),
        signals={"refined": 1.0},
        outcomes={"label": right(extracted="Wrong"), "format": scored(0.5)},
        progress=None if step is None else Progress(step=step),
        registry=Registry(),
    )
    assert judged.outcome.score == pytest.approx(score)


async def test_soft_overlong_excludes_what_was_cut_off() -> None:
    outcome = (await run(shipped("soft_overlong"), "answer 4", token_count=20480, finish_reason="length")).outcome
    assert (outcome.score, outcome.exclude, outcome.exclude_reason) == (0.0, True, "truncated")


@pytest.mark.parametrize(
    ("response", "score", "soft"), [("program 4", 1.0, 1.0), ("program half", 0.0, 0.5), ("program 5", 0.0, 0.0)]
)
async def test_code_all_and_code_fraction(response: str, score: float, soft: float) -> None:
    assert (await run(shipped("code_all"), response)).outcome.score == score
    assert (await run(shipped("code_fraction"), response)).outcome.score == soft


@pytest.mark.parametrize(
    ("response", "plain", "weighted"),
    [("- 4", 1.0, 1.0), ("- half", 0.0, 0.1 + 0.9 * 0.5), ("- 5", 0.0, 0.1), ("4", 0.0, -1.0)],
)
async def test_code_format(response: str, plain: float, weighted: float) -> None:
    spec = shipped("code_format")
    assert (await run(spec, response)).outcome.score == plain
    params = {"scoring": "fraction", "format_reward": 0.1, "bad_format": -1}
    judged = await run(spec, response, params=params)
    assert judged.outcome.score == pytest.approx(weighted)
    assert judged.asked == (["format", "code"] if response.startswith("-") else ["format"])


@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith("code_") and name not in ELSEWHERE])
async def test_the_verifier_of_answers_may_be_another(name: str) -> None:
    judged = await run(shipped(name), "- good", params={"verifier": "judge"}, token_count=1, finish_reason="stop")
    assert judged.outcome.passed
    assert "judge" in judged.asked
    assert "math" not in judged.asked


def test_gallery_files_are_named_like_their_recipes() -> None:
    assert [load_recipe(Path(GALLERY / f"{name}.yaml")).name for name in NAMES] == NAMES


@pytest.mark.parametrize("name", NAMES)
async def test_no_recipe_pays_as_much_without_an_answer(name: str) -> None:
    registry = Registry()
    recipe = load_recipe(GALLERY / f"{name}.yaml")
    found = await weaknesses(recipe, recipe_spec(recipe, registry), registry)
    assert [one for one in found or [] if one.severe] == []
