"""`environment`: episodes by seed, the policy's actions and mistakes, returns, and errors of the row."""

from __future__ import annotations

import atexit
import copy
import importlib
import inspect
import json
import random
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarden.errors import InvalidReference, MissingDependency, PluginError
from rewarden.types import Outcome, Step, Use
from rewarden_server.engine.plan import Planner
from rewarden_server.verifier_resources import plugin_code
from rewarden_verifiers.contract import Unwatched, VerifierSpec, spec_of
from rewarden_verifiers.environments import table
from rewarden_verifiers.environments.board_games import SokobanGame, SokobanLevel
from rewarden_verifiers.environments.contract import MOST_CHARACTERS, Environment, Illegal, NotAMove
from rewarden_verifiers.environments.entries import check_entries
from rewarden_verifiers.environments.environment import Prepared, environment, prepare
from rewarden_verifiers.environments.episode import MOST_SEED, Episode, Start
from rewarden_verifiers.environments.resources import EnvironmentResources
from rewarden_verifiers.fingerprint.closure import closure
from rewarden_verifiers.registry import Registry
from rewarden_verifiers.schema import parse_reference
from tests.verifiers.tau2_desk import write_desk

PLANNER = Planner(Registry())
DOCUMENTS = [{"id": "a", "title": "Ulm", "text": "Its church is tall."}, {"id": "b", "text": "A tall tree."}]
QUESTION = {"question": "Where is the church?", "answer": "Ulm", "documents": DOCUMENTS}
OPTIONS: dict[str, dict[str, Any]] = {
    "search": QUESTION,
    "reasoning_gym": {"dataset": "chain_sum", "attempts": 20},
    "tau2": {"domain": "desk"},
    "sql": {
        "question": "How many are there?",
        "answer": "2",
        "database": {"tables": {"birds": {"columns": ["name"], "rows": [["wren"], ["heron"]]}}},
    },
}
NEEDS = {
    "chess": "chess",
    "search": "bm25s",
    "sql": "apsw",
    "minigrid": "minigrid",
    "textarena": "textarena",
    "textworld": "textworld",
    "reasoning_gym": "reasoning_gym",
    **dict.fromkeys(("frozen_lake", "taxi", "cliff_walking", "blackjack"), "gymnasium"),
}


def prepared(reference: dict[str, Any], resources: EnvironmentResources | None = None) -> Prepared:
    spec = spec_of(environment)
    assert isinstance(spec, VerifierSpec)
    start = parse_reference(spec, reference)
    return prepare(
        start, PLANNER.bind(Use(name="environment")).params, resources or EnvironmentResources(), Unwatched()
    )


def judged(response: Any, reference: dict[str, Any], steps: Any = None, **params: Any) -> Outcome:
    checked = PLANNER.bind(Use(name="environment", params=params)).params
    outcome = environment(response, prepared(reference), checked, steps)
    assert isinstance(outcome, Outcome)
    return outcome


def acted(*texts: str) -> str:
    return "".join(f"<action>{text}</action>" for text in texts)


def begun(name: str, seed: int = 0, **fields: Any) -> Episode:
    pytest.importorskip(NEEDS.get(name, "json"), reason=f"{NEEDS.get(name)} is not installed")
    corpora = {"tau2": checkout()} if name == "tau2" else {}
    return Start(environment=name, options=OPTIONS.get(name, {}), seed=seed, **fields).begin(corpora)


@cache
def checkout() -> Path:
    """A stand-in for a checkout of tau2-bench, for as long as the tests run."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    return write_desk(Path(folder.name) / "bench")


def played(name: str, seed: int) -> list[Any]:
    """An episode of actions that are drawn by the seed, as all that the policy sees of it."""
    choose, episode = random.Random(seed), begun(name, seed, illegal="again")
    words = ["1", "2", "3", "4", "5", "1:1", "2:1", "e4", "e5", "Nf3", "U", "RD", "hit", "stick", "up", "down", "left"]
    words += ["right", "pickup", "north", "search: church", "open: b", "calculate: 2*3", "answer: 6"]
    words += ["list: /", "write: /a\nb", "find: a", "schema", "query: SELECT * FROM birds", "search: kettle", "next"]
    words += ["take coin", "go north", "look", "call: see", 'call: add\n{"thing": "milk"}']
    words += ["say: What is your e-mail address?", "product: lamp", "forward", "toggle", "drop", "[1 2 3 4]"]
    seen: list[Any] = [episode.first]
    while episode.ended is None and len(episode.steps) < 40:
        seen.append(episode.act(choose.choice(words)))
    return [*seen, episode.ended, episode.total, episode.cost]


@pytest.mark.parametrize("name", table.BUILT_IN)
def test_equal_seeds_make_equal_episodes(name: str) -> None:
    assert [played(name, seed) for seed in range(5)] == [played(name, seed) for seed in range(5)]


@pytest.mark.parametrize(
    "name",
    [
        "nim",
        "sokoban",
        "taxi",
        "blackjack",
        "calculator",
        "reasoning_gym",
        "files",
        "shop",
        "retail",
        "minigrid",
        "textworld",
    ],
)
def test_other_seeds_make_other_episodes(name: str) -> None:
    assert len({begun(name, seed).first.text for seed in range(20)}) > 1


@pytest.mark.parametrize("name", table.BUILT_IN)
@pytest.mark.parametrize("seed", [0, MOST_SEED])
def test_every_seed_in_range_begins_an_episode(name: str, seed: int) -> None:
    assert begun(name, seed).first.text


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("boxes", [1, 3])
def test_a_level_of_sokoban_can_be_solved(seed: int, boxes: int) -> None:
    """A search finds a way: the states are the player's and the boxes' places."""
    game = SokobanGame()
    game.reset(seed, SokobanLevel(size=4, boxes=boxes))
    waiting, seen = [game._board], set()
    while waiting:
        board = waiting.pop()
        if board.winner() is not None:
            return
        if (text := board.shown()) in seen:
            continue
        seen.add(text)
        for move in board.moves():
            after = copy.copy(board)
            after.play(move)
            waiting.append(after)
    pytest.fail("no way to the goals")


@pytest.mark.parametrize(
    "grid",
    [
        ["#####", "#$@.#", "#####"],  # against the wall, away from the goal
        ["######", "#$  .#", "#  @ #", "######"],  # in a corner
        ["#######", "#@#$ .#", "#######"],  # out of reach
        ["#######", "#.$@$ #", "#    .#", "#######"],  # one box could go home, the other not
    ],
)
def test_a_level_of_sokoban_without_a_solution_is_refused(grid: list[str]) -> None:
    with pytest.raises(InvalidReference, match="no pushes lead") as error:
        prepared({"environment": "sokoban", "options": {"grid": grid}, "seed": 0})
    assert error.value.details["path"] == "reference.options.grid"


ROOM = ("########", "#@     #", "# $.   #", "#    $.#", "########")


def paid(*actions: str) -> list[float]:
    """Returns the rewards of steps in a room whose boxes pay."""
    game = SokobanGame()
    game.reset(0, SokobanLevel(grid=ROOM, rewards="boxes"))
    return [game.step(action).reward for action in actions]


def test_boxes_pay_on_their_goals_and_lose_it_off_them() -> None:
    assert paid("D", "R", "R") == pytest.approx([-0.1, 0.9, -1.1])
    assert paid("DR") == pytest.approx([0.8])
    assert paid("D", "R", "DRRR") == pytest.approx([-0.1, 0.9, 10.6])


def test_a_step_that_is_stopped_costs_as_much_as_one_that_is_made() -> None:
    assert paid("L", "U", "LUD") == pytest.approx([-0.1, -0.1, -0.3])
    game = SokobanGame()
    game.reset(0, SokobanLevel(grid=ROOM))
    with pytest.raises(Illegal):
        game.step("L")


def test_what_is_no_step_is_refused_even_where_boxes_pay() -> None:
    game = SokobanGame()
    game.reset(0, SokobanLevel(grid=ROOM, rewards="boxes"))
    with pytest.raises(NotAMove):
        game.step("jump")
    with pytest.raises(Illegal, match="before the last step"):
        game.step("DRDRRRL")


def test_a_level_whose_only_way_is_around_the_box_is_played() -> None:
    grid = ["#######", "#     #", "#  $@.#", "#     #", "#######"]
    assert prepared({"environment": "sokoban", "options": {"grid": grid}, "seed": 0})


def test_a_level_that_the_search_does_not_decide_is_played() -> None:
    """The room is too large to be searched: that is no proof against it, and the search ends."""
    wide = ["#" * 30, *["#" + " " * 28 + "#" for _ in range(28)], "#" * 30]
    wide[1] = "#@" + " " * 27 + "#"
    for row, column in ((5, 5), (9, 9), (13, 13), (17, 17), (21, 21)):
        wide[row] = wide[row][:column] + "$" + wide[row][column + 1 : 20] + "." + wide[row][21:]
    assert prepared({"environment": "sokoban", "options": {"grid": wide}, "seed": 0})


@pytest.mark.parametrize("slippery", [True, False])
def test_a_lake_whose_goal_is_out_of_reach_is_refused(slippery: bool) -> None:
    pytest.importorskip("gymnasium", reason="gymnasium is not installed")
    lake = {"environment": "frozen_lake", "seed": 0}
    with pytest.raises(InvalidReference, match="no way over the ice") as error:
        prepared({**lake, "options": {"map": ["SFF", "HHH", "FFG"], "slippery": slippery}})
    assert error.value.details["path"] == "reference.options.map"
    with pytest.raises(InvalidReference, match="no way over the ice"):
        prepared({**lake, "options": {"map": ["SH", "HG"], "slippery": slippery}})
    assert prepared({**lake, "options": {"map": ["SFF", "HHF", "GFF"], "slippery": slippery}})


@pytest.mark.parametrize("name", table.BUILT_IN)
@pytest.mark.parametrize(
    "text", ["", " ", "x" * (MOST_CHARACTERS + 1), "\x00", "__import__('os')", "٣", "1e0", "answer:", "-1", "9" * 1999]
)
def test_a_text_that_is_no_action_is_the_policys_mistake(name: str, text: str) -> None:
    episode = begun(name)
    step = episode.act(text)
    if name == "reasoning_gym" or episode.ended == "rules":
        return
    assert (episode.ended, step.turn.done, step.turn.reward) == (step.turn.why, True, 0.0)
    assert episode.ended in ("malformed", "illegal")


@given(st.lists(st.text(max_size=60), max_size=12))
@pytest.mark.parametrize("name", ["tic_tac_toe", "nim", "sokoban", "calculator", "connect_four", "files", "retail"])
def test_no_texts_break_an_episode(name: str, texts: list[str]) -> None:
    outcome = judged(json.dumps(texts), {"environment": name, "seed": 3}, actions="json")
    assert (outcome.status, outcome.score) == ("scored", 0.0) or outcome.passed


def test_with_again_an_illegal_action_costs_a_step_and_changes_nothing() -> None:
    whole, mended = begun("tic_tac_toe", 7), begun("tic_tac_toe", 7, illegal="again")
    for text in ("1", "2", "3"):
        whole.act(text)
        for bad in ("1", "corner", "1 2"):
            if mended.steps:
                assert mended.act(bad).turn.done is False
        mended.act(text)
    assert mended.observation == whole.observation
    assert (mended.success, len(mended.steps)) == (True, 9)


def test_an_endless_episode_ends_at_its_limit() -> None:
    pytest.importorskip("gymnasium", reason="gymnasium is not installed")
    lake = {"environment": "frozen_lake", "options": {"slippery": False}, "seed": 0, "max_steps": 1000}
    outcome = judged(acted(*["left"] * 5000), lake)
    assert (outcome.reason, outcome.evidence["steps"], outcome.flags) == ("too_many_steps", 1000, ("after_end",))


def test_a_response_of_megabytes_is_too_expensive() -> None:
    outcome = judged("<action>1</action>" * 200_000, {"environment": "tic_tac_toe", "seed": 0})
    assert (outcome.score, outcome.reason) == (0.0, "too_expensive")


def test_the_next_action_of_an_episode_gives_the_same_as_a_replay() -> None:
    reference = {"environment": "connect_four", "seed": 5}
    kept, params = prepared(reference), PLANNER.bind(Use(name="environment")).params
    columns = random.Random(1).choices("1234567", k=20)
    for size in (*range(20), 7, 3, 20, 0, 12):
        text = acted(*columns[:size])
        assert environment(text, kept, params) == environment(text, prepared(reference), params)


def test_only_what_the_policy_wrote_is_an_action() -> None:
    game = {"environment": "tic_tac_toe", "seed": 7}
    told = "<action>2</action><action>3</action>"
    text = f"<action>1</action>{told}"
    spans = [Step(message=0, start=text.index(told), end=len(text), kind="tool")]
    assert judged(text, game).passed
    assert judged(text, game, spans).reason == "unfinished"
    talk = [{"role": "assistant", "content": "<action>1</action>"}, {"role": "tool", "content": told}]
    assert judged(talk, game).reason == "unfinished"


def test_calls_of_other_tools_are_not_actions() -> None:
    def call(name: str, arguments: Any) -> dict[str, Any]:
        return {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"function": {"name": name, "arguments": arguments}}],
        }

    game = {"environment": "tic_tac_toe", "seed": 7}
    talk = [call("move", {"move": "1"}), call("think", {"move": "9"}), call("step", {"action": "2"})]
    assert judged([*talk, call("move", '{"move": 3}')], game).passed
    for arguments in ("{", "[]", {"move": True}, {"move": ["3"]}, {"move": "3", "side": "first"}, None):
        outcome = judged([*talk, call("move", arguments)], game)
        assert (outcome.score, outcome.reason) == (0.0, "malformed")


def test_a_replay_that_differs_from_what_was_told_is_flagged() -> None:
    def talk(seed: int) -> list[dict[str, Any]]:
        episode = begun("nim", seed)
        return [
            {"role": "assistant", "content": "<action>1:1</action>"},
            {"role": "tool", "content": f"<result>\n{episode.act('1:1').turn.observation.text}\n</result>"},
        ]

    assert judged(talk(4), {"environment": "nim", "seed": 4}).flags == ()
    assert judged(talk(4), {"environment": "nim", "seed": 5}).flags == ("replay_differs",)


def test_the_rewards_of_steps_are_in_the_verdict() -> None:
    pytest.importorskip("gymnasium", reason="gymnasium is not installed")
    way = ["up", *["right"] * 11, "down"]
    walk = {"environment": "cliff_walking", "seed": 0}
    outcome = judged(acted(*way), walk, score="return")
    assert [step.score for step in outcome.steps] == [-1.0] * 13
    assert (outcome.score, outcome.raw, outcome.passed) == (1.0, -13.0, True)
    fall = judged(acted("right", *way), walk, score="return")
    assert fall.score == pytest.approx((200 - 113) / 187)
    assert judged(acted("up"), walk, score="return").score == 0.0
    assert judged(acted("up"), walk, score="return", unfinished="return", low=-10, high=0).score == 0.9


@pytest.mark.parametrize(
    ("reference", "path"),
    [
        ({"environment": "go", "seed": 0}, "reference.environment"),
        ({"environment": "nim"}, "reference.seed"),
        ({"environment": "nim", "seed": "0"}, "reference.seed"),
        ({"environment": "nim", "seed": True}, "reference.seed"),
        ({"environment": "nim", "seed": 1.5}, "reference.seed"),
        ({"environment": "nim", "seed": -1}, "reference.seed"),
        ({"environment": "nim", "seed": 2**63}, "reference.seed"),
        ({"environment": "nim", "seed": 0, "max_steps": 0}, "reference.max_steps"),
        ({"environment": "nim", "seed": 0, "max_steps": 10**6}, "reference.max_steps"),
        ({"environment": "nim", "seed": 0, "illegal": "never"}, "reference.illegal"),
        ({"environment": "nim", "seed": 0, "level": 1}, "reference.level"),
        ({"environment": "nim", "seed": 0, "options": []}, "reference.options"),
        ({"environment": "nim", "seed": 0, "options": {"heap": [3]}}, "reference.options.heap"),
        ({"environment": "nim", "seed": 0, "options": {"heaps": ["many"]}}, "reference.options.heaps[0]"),
        ({"environment": "nim", "seed": 0, "options": {"heaps": [10**9]}}, "reference.options"),
        ({"environment": "nim", "seed": 0, "options": {"draw": float("nan")}}, "reference.options"),
        ({"environment": "tic_tac_toe", "seed": 0, "options": {"moves": "5 5"}}, "reference.options.moves"),
        ({"environment": "connect_four", "seed": 0, "options": {"opponent": "best"}}, "reference.options"),
        ({"environment": "sokoban", "seed": 0, "options": {"grid": "#" * 2000}}, "reference.options.grid"),
        ({"environment": "sokoban", "seed": 0, "options": {"size": 10**6}}, "reference.options"),
        ({"environment": "calculator", "seed": 0, "options": {"question": "?"}}, "reference.options"),
        (
            {"environment": "calculator", "seed": 0, "options": {"question": "?", "answer": "1/0"}},
            "reference.options.answer",
        ),
    ],
)
def test_an_error_in_the_row_names_its_field(reference: dict[str, Any], path: str) -> None:
    with pytest.raises(InvalidReference) as error:
        prepared(reference)
    assert error.value.details["path"] == path


def test_documents_are_found_by_their_words(tmp_path: Path) -> None:
    pytest.importorskip("bm25s", reason="bm25s is not installed")
    file = tmp_path / "corpus.jsonl"
    file.write_text("".join(json.dumps(each) + "\n" for each in DOCUMENTS), encoding="utf-8")
    corpora = EnvironmentResources.of({"towns": file})
    options = {"question": "?", "answer": "Ulm", "corpus": "towns", "gold": ["a"]}
    reference = {"environment": "search", "options": options, "seed": 0}
    params = PLANNER.bind(Use(name="environment")).params
    text = acted("search: tall CHURCH", "search: zzz", "answer: the Ulm")
    assert environment(text, prepared(reference, corpora), params).passed
    found = prepared(reference, corpora).after(["search: tall", "open: a", "open: z"])
    assert found.steps[0].turn.observation.fields["ids"] == ["b", "a"]  # the shorter one first
    assert found.steps[1].turn.observation.text == "[a] Ulm\nIts church is tall."
    assert found.observation.text == "There is no document 'z'."
    with pytest.raises(InvalidReference, match="unknown corpus 'seas'; known: towns"):
        prepared({**reference, "options": {**options, "corpus": "seas"}}, corpora)
    before = corpora.fingerprint
    file.write_text('{"id": "a", "text": "changed"}\n', encoding="utf-8")
    assert EnvironmentResources.of({"towns": file}).fingerprint != before


@pytest.mark.parametrize("line", ["{", "[]", '{"id": 1}', '{"id": "a", "text": 3}', '{"text": "x"}', "null"])
def test_a_line_of_a_corpus_that_is_no_document_is_named(line: str, tmp_path: Path) -> None:
    file = tmp_path / "corpus.jsonl"
    file.write_text(f'{{"id": "a", "text": "x"}}\n{line}\n', encoding="utf-8")
    with pytest.raises(ValueError, match=r"corpus\.jsonl:2"):
        check_entries(file)


def test_an_environment_without_its_package_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bm25s", None)
    with pytest.raises(MissingDependency, match=r"rewarden-server\[environments\]"):
        prepared({"environment": "search", "options": QUESTION, "seed": 0})


@pytest.mark.parametrize("name", table.BUILT_IN)
def test_every_environment_declares_its_tools_and_a_summary(name: str) -> None:
    kind = table.environment_of(name)
    assert issubclass(kind, Environment)
    assert kind.tools
    assert kind.returns[0] < kind.returns[1]
    assert (inspect.getdoc(kind) or "").split("\n")[0].endswith(".")


@pytest.mark.parametrize("name", table.BUILT_IN)
def test_the_code_of_every_environment_is_in_the_fingerprint(name: str) -> None:
    module, _ = table.BUILT_IN[name]
    assert module in closure("rewarden_verifiers.environments.environment").code


def test_the_code_of_a_plug_in_is_in_the_fingerprint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    found = [EnvironmentResources().fingerprint]

    def now() -> str:
        return EnvironmentResources.of({}, plugin_code()).fingerprint

    for name, helper in (("guess_one", "a = 1"), ("guess_two", "a = 1"), ("guess_two_more", "a = 2")):
        (tmp_path / f"{name}.py").write_text(f"import {name}_helper\n")
        (tmp_path / f"{name}_helper.py").write_text(f"{helper}\n")
        place = {"guess": (name, "Guess")}
        monkeypatch.setattr("rewarden_server.verifier_resources.plugins", lambda place=place: place)
        found.append(now())
    assert len(set(found)) == len(found)
    assert now() == found[-1]


def test_the_pages_own_environment_is_found_by_its_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[2] / "docs" / "environments.md").read_text(encoding="utf-8")
    code = page.partition("## Your own environment")[2].partition("```python\n")[2].partition("```")[0]
    (tmp_path / "my_package.py").write_text(code, encoding="utf-8")
    entries = tmp_path / "my_package-1.dist-info"
    entries.mkdir()
    (entries / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1\n")
    (entries / "entry_points.txt").write_text("[rewarden.environments]\nguess = my_package:Guess\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    for kept in (table.plugins, table.environment_of):
        kept.cache_clear()
    try:
        again = {"environment": "guess", "seed": 3, "options": {"most": 10}}
        assert judged(acted(*map(str, range(1, 11))), again).passed
        assert judged(acted("ten"), again).reason == "malformed"
        (entries / "entry_points.txt").write_text("[rewarden.environments]\nnim = my_package:Guess\n")
        importlib.invalidate_caches()
        table.plugins.cache_clear()
        with pytest.raises(PluginError, match="'nim', a name already taken"):
            table.names()
    finally:
        for kept in (table.plugins, table.environment_of):
            kept.cache_clear()
