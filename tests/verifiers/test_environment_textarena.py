"""`textarena`: the games that are offered, their wins, and what their seeds decide."""

from __future__ import annotations

import itertools
import json
import random
import socket
import sys
from typing import Any

import pytest

from rewarden.errors import InvalidReference, MissingDependency
from rewarden_verifiers.environments.episode import MOST_SEED, Episode, Start
from tests.verifiers.test_environment import judged

pytest.importorskip("textarena", reason="textarena is not installed")

from rewarden_verifiers.environments.textarena import GAMES, TextArena

HANOI = ["[A C]", "[A B]", "[C B]", "[A C]", "[B A]", "[B C]", "[A C]"]
ACTIONS = [
    "[up]",
    "[left]",
    "[Down]",
    "[1 2 3 4]",
    "[2 1 4 3]",
    "[4 1]",
    "[6 1]",
    "[7]",
    "[12]",
    "[0 0]",
    "[2 3]",
    "[A C]",
]


def begun(id: str, seed: int = 0, illegal: str = "again") -> Episode:
    return Start(environment="textarena", options={"id": id}, seed=seed, illegal=illegal).begin()  # type: ignore[arg-type]


def played(id: str, seed: int) -> list[Any]:
    episode, choose = begun(id, seed), random.Random(seed)
    seen: list[Any] = [episode.first]
    while episode.ended is None and len(seen) < 60:
        seen.append(episode.act(choose.choice(ACTIONS)))
    return seen


@pytest.mark.parametrize("id", GAMES)
def test_equal_seeds_make_equal_games_without_a_network(id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket.socket, "connect", refused)
    monkeypatch.setattr(socket, "getaddrinfo", refused)
    for seed in (0, 5, MOST_SEED):
        random.seed(1)
        first = played(id, seed)
        random.seed(2)
        assert played(id, seed) == first
        json.dumps(first[0].text)


def test_other_seeds_make_other_games() -> None:
    assert len({str(played("Mastermind-v0", seed)[1:]) for seed in range(10)}) > 1
    assert len({begun("LightsOut-v0", seed).first.text for seed in range(10)}) > 1


def test_a_game_neither_disturbs_nor_is_disturbed_by_what_others_draw() -> None:
    random.seed(9)
    expected = [random.random() for _ in range(10)]
    random.seed(9)
    whole, game, drawn = begun("2048-v0-easy", 3), begun("2048-v0-easy", 3), []
    for action in itertools.islice(itertools.cycle(["[up]", "[left]", "[down]", "[right]"]), 10):
        game.act(action)
        drawn.append(random.random())
    for action in itertools.islice(itertools.cycle(["[up]", "[left]", "[down]", "[right]"]), 10):
        whole.act(action)
    assert drawn == expected
    assert game.steps == whole.steps


def test_the_tower_is_moved() -> None:
    reference = {"environment": "textarena", "options": {"id": "TowerOfHanoi-v0"}, "seed": 0}
    assert judged(json.dumps(HANOI), reference, actions="json").score == 1.0
    assert judged(json.dumps(HANOI[:-1]), reference, actions="json").reason == "unfinished"


@pytest.mark.parametrize("seed", range(10))
def test_a_number_is_found_by_halving(seed: int) -> None:
    episode, low, high = begun("GuessTheNumber-v0", seed), 1, 20
    while episode.ended is None:
        guess = (low + high) // 2
        told = episode.act(f"[{guess}]").turn.observation.text
        low, high = (guess + 1, high) if "higher" in told else (low, guess - 1)
    assert episode.success


@pytest.mark.parametrize("seed", range(10))
def test_a_code_is_found_by_what_the_pegs_leave(seed: int) -> None:
    episode = begun("Mastermind-v0", seed)
    left = list(itertools.permutations(range(1, 7), 4))
    while episode.ended is None:
        guess = left[0]
        words = episode.act(f"[{' '.join(map(str, guess))}]").turn.observation.text.split("Feedback: ")
        if len(words) == 2:
            black, white = (int(word) for word in words[1].split() if word.isdigit())
            left = [code for code in left if pegs(code, guess) == (black, white)]
    assert episode.success


def pegs(code: tuple[int, ...], guess: tuple[int, ...]) -> tuple[int, int]:
    black = sum(a == b for a, b in zip(code, guess, strict=True))
    return black, len(set(code) & set(guess)) - black


@pytest.mark.parametrize("seed", range(10))
def test_the_lights_can_be_put_out(seed: int) -> None:
    episode = begun("LightsOut-v0", seed)
    for row, column in solved(lights(episode.first.text)):
        episode.act(f"[{row} {column}]")
    assert episode.success


def lights(text: str) -> list[list[bool]]:
    rows = [line.partition(": ")[2].split() for line in text.split("\n") if line[:2] in ("0:", "1:", "2:", "3:", "4:")]
    return [[cell == "O" for cell in row] for row in rows]


def solved(grid: list[list[bool]]) -> list[tuple[int, int]]:
    """The shortest way: a choice for the first row decides all others."""
    ways = []
    for first in itertools.product((False, True), repeat=5):
        work, way = [row[:] for row in grid], []
        for row in range(5):
            for column in range(5):
                if first[column] if row == 0 else work[row - 1][column]:
                    way.append((row, column))
                    for r, c in (
                        (row, column),
                        (row - 1, column),
                        (row + 1, column),
                        (row, column - 1),
                        (row, column + 1),
                    ):
                        if 0 <= r < 5 and 0 <= c < 5:
                            work[r][c] = not work[r][c]
        if not any(map(any, work)):
            ways.append(way)
    return min(ways, key=len)


def test_a_lost_game_is_no_success_whatever_it_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    episode = begun("2048-v0-ultra-easy")
    environment = episode._environment
    assert isinstance(environment, TextArena)
    monkeypatch.setattr(type(environment._game), "_check_status", lambda game: "lose")
    monkeypatch.setattr(type(environment._game), "_get_percentage_completion", lambda game: 1.0)
    for action in ("[up]", "[left]", "[down]", "[right]"):
        if episode.ended is None:
            episode.act(action)
    assert (episode.ended, episode.success, episode.total, episode.steps[-1].why) == ("rules", False, 1.0, "loss")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "A C",
        "[A C",
        "[A C][A B]",
        "[A C] [A B]",
        "I move [A C]",
        "[]",
        "[٣]",
        "[A\nC]",
        "[" + "1" * 41 + "]",
        "[A C]\n[A B]",
    ],
)
def test_an_action_is_one_pair_of_brackets(text: str) -> None:
    assert begun("TowerOfHanoi-v0").act(text).turn.why == "malformed"


def test_a_move_that_the_game_does_not_take_changes_nothing() -> None:
    episode = begun("TowerOfHanoi-v0")
    for action in HANOI:
        for wrong in ("[B A]", "[A D]", "[3]"):
            if episode.steps == []:
                assert episode.act(wrong).turn.why == "illegal"
        episode.act(action)
    assert episode.success
    assert begun("GuessTheNumber-v0", illegal="end").act("[99]").turn.why == "illegal"


def test_trying_again_after_a_refusal_tells_nothing_new() -> None:
    """A number that was guessed is refused, and so are those out of range: none of it costs a guess or gives a hint."""
    episode = begun("GuessTheNumber-v0")
    first = episode.act("[1]").turn.observation.text
    for wrong in ("[1]", "[0]", "[21]"):
        told = episode.act(wrong).turn
        assert told.why == "illegal"
        assert "target number is" not in told.observation.text.replace(first, "")


@pytest.mark.parametrize(
    "id", ["", "Wordle-v0", "Sudoku-v0", "TwentyQuestions-v0", "FifteenPuzzle-v0", "2048-v0-extreme"]
)
def test_a_game_that_is_not_offered_is_refused(id: str) -> None:
    with pytest.raises(InvalidReference, match="there is no") as error:
        begun(id)
    assert error.value.details["path"] == "reference.options.id"


def test_without_the_package_the_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "textarena.envs.registration", None)
    with pytest.raises(MissingDependency, match=r"rewarden-server\[textarena\]"):
        begun("PegJump-v0")
