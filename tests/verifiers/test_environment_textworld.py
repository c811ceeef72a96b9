"""`textworld`: its games are made by their seeds, are won by those who look, and cannot be won past their rules."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from rewarden.errors import InvalidReference, MissingDependency
from rewarden_verifiers.environments.episode import MOST_SEED, Episode, Start
from tests.verifiers.test_environment import judged

pytest.importorskip("textworld", reason="textworld is not installed")

from rewarden_verifiers.environments.textworld import LEVELS, TextWorld, _made

MEAL = {"game": "cooking", "recipe": 2, "take": 2, "rooms": 6, "open": True, "cook": True, "cut": True}
GAMES: list[dict[str, Any]] = [
    {},
    {"level": 5},
    {"level": 40},
    {"level": 213},
    {"game": "treasure_hunter", "level": 1},
    {"game": "treasure_hunter", "level": 14},
    {"game": "treasure_hunter", "level": 21},
    {"game": "cooking"},
    {"game": "cooking", "recipe": 3, "take": 2, "rooms": 9, "open": True, "split": "valid"},
    {"game": "cooking", "recipe": 4, "take": 4, "rooms": 12, "cook": True, "cut": True, "split": "test"},
    MEAL,
]


def begun(options: dict[str, Any], seed: int = 0, illegal: str = "again") -> Episode:
    return Start(environment="textworld", options=options, seed=seed, illegal=illegal, max_steps=300).begin()  # type: ignore[arg-type]


def way(episode: Episode) -> list[str]:
    """A way through the game: the library's own, some of whose commands do what is done already, or a search for the
    coin."""
    environment = episode._environment
    assert isinstance(environment, TextWorld)
    game = environment._game
    if "walkthrough" in game.metadata:
        return list(game.metadata["walkthrough"])
    if episode.start.options.get("game") == "treasure_hunter":
        names = {id: info.name or "" for id, info in game.infos.items()}
        return [action.format_command(names) for action in environment._progress.winning_policy]
    rooms = {room.id: room for room in game.world.rooms}
    (goal,) = [id for id, room in rooms.items() if any(thing.name == "o_0" for thing in room.content)]
    ways = {game.world.player_room.id: list[str]()}
    queue = list(ways)
    for id in queue:
        for direction, beyond in rooms[id].exits.items():
            if beyond.name not in ways:
                ways[beyond.name] = [*ways[id], f"go {direction}"]
                queue.append(beyond.name)
    return [*ways[goal], "take coin"]


def walked(options: dict[str, Any], seed: int) -> Episode:
    episode = begun(options, seed)
    for command in way(episode):
        if episode.ended is None:
            episode.act(command)
    return episode


@pytest.mark.parametrize("options", GAMES)
@pytest.mark.parametrize("seed", [0, MOST_SEED])
def test_the_way_through_a_game_wins_it(options: dict[str, Any], seed: int) -> None:
    episode = walked(options, seed)
    assert episode.success
    assert episode.total == pytest.approx(1.0)
    json.dumps([dict(step.turn.observation.fields) for step in episode.steps])


@pytest.mark.parametrize("options", GAMES[:8])
def test_equal_seeds_make_equal_games(options: dict[str, Any]) -> None:
    first = walked(options, 7)
    _made.cache_clear()
    second = walked(options, 7)
    assert (first.first, first.steps) == (second.first, second.steps)


def test_equal_seeds_make_equal_games_in_every_process() -> None:
    """Sets in another order must not make another game."""
    program = (
        "from rewarden_verifiers.environments.episode import Start\n"
        f"options = {MEAL | {'commands': True}!r}\n"
        "episode = Start(environment='textworld', options=options, seed=5).begin()\n"
        "print(episode.first, [episode.act(text) for text in ('look', 'inventory')])\n"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(told) == 1


def test_an_episode_does_not_change_the_game_of_another() -> None:
    walked({"level": 5}, 3)
    assert walked({"level": 5}, 3).success


def test_a_game_is_made_without_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library compiles some games and plays them, to note the way; no worker may start a program."""

    def refused(*_: object, **__: object) -> None:
        raise AssertionError("a program was started")

    monkeypatch.setattr(subprocess, "Popen", refused)
    _made.cache_clear()
    for options in GAMES:
        begun(options, 11)


def test_other_seeds_make_other_games() -> None:
    assert len({begun({"level": 5}, seed).first.text for seed in range(10)}) > 1
    assert len({walked({"game": "cooking"}, seed).steps[0].turn.observation.text for seed in range(5)}) > 1


def test_the_verifier_judges_a_game() -> None:
    reference = {"environment": "textworld", "options": {"level": 5}, "seed": 3}
    commands = way(begun({"level": 5}, 3))
    assert judged(json.dumps(commands), reference, actions="json").score == 1.0
    assert judged(json.dumps(commands[:-1]), reference, actions="json").reason == "unfinished"


def test_the_goal_does_not_tell_the_way() -> None:
    """The library's own text of the goal lists every step."""
    text = begun({"level": 5}).first.text
    assert text.startswith("Find the coin and take it.\n")
    hunted = begun({"game": "treasure_hunter", "level": 14}).first.text.split("\n")[0]
    assert not {"north", "east", "south", "west"} & set(hunted.replace(".", "").split())


def test_what_is_in_a_closed_container_is_not_seen() -> None:
    episode = begun(MEAL, 3)
    commands = way(episode)
    opened = commands.index("open fridge")
    for command in commands[:opened]:
        episode.act(command)
    assert "fridge (closed)" in episode.observation.text
    assert "fridge (open, in it: " in episode.act("open fridge").turn.observation.text


def test_a_recipe_is_read_in_the_cookbook() -> None:
    episode = begun(MEAL, 3)
    said = []
    for command in way(episode):
        if episode.ended is None:
            turn = episode.act(command).turn
            said += [turn.observation.text] if command == "examine cookbook" else []
    assert len(said) == 1
    assert "Ingredients:" in said[0]


def test_a_meal_needs_all_ingredients() -> None:
    """By the library's rules the first ingredient alone makes a meal, and the meal wins."""
    for seed in range(3):
        episode = begun(MEAL, seed)
        for command in way(episode):
            if command == "prepare meal":
                break
            episode.act(command)
        carried = [one.split(" (")[0] for one in episode.observation.fields["carried"]]
        left = next(one for one in carried if one != "knife")
        assert episode.act(f"drop {left}").turn.why is None
        assert episode.act("prepare meal").turn.why == "illegal"
        episode.act(f"take {left}")
        assert episode.act("prepare meal").turn.why is None


def test_taking_the_wrong_thing_loses() -> None:
    lost = []
    for seed in range(8):
        episode = begun({"game": "treasure_hunter"}, seed)
        goal = episode.first.text.split("Find the ")[1].split(" and take it")[0]
        seen = episode.first.text.split("You see: ")[1].split(".\n")[0].split("; ")
        if len(seen) == 2:  # the other thing is in another room, if not
            (wrong,) = [one for one in seen if one != goal]
            turn = episode.act(f"take {wrong}").turn
            lost.append((turn.done, turn.success, turn.why, turn.reward))
    assert lost
    assert set(lost) == {(True, False, "loss", 0.0)}


def test_possible_commands_are_listed_if_asked_for() -> None:
    seen = begun({"level": 5, "commands": True}, 3).first
    assert "look" in seen.fields["commands"]
    assert "commands" not in begun({"level": 5}, 3).first.fields
    for command in seen.fields["commands"]:
        assert begun({"level": 5, "commands": True}, 3).act(command).turn.why is None


@pytest.mark.parametrize(
    "text", ["", "north", "take", "1", "go\nnorth; take coin", "go north.", "[go north]", "xyzzy coin", "tаke coin"]
)
def test_a_text_that_is_no_command_is_malformed(text: str) -> None:
    expected = "illegal" if text == "take" else "malformed"
    assert begun({}, illegal="end").act(text).turn.why == expected


def test_a_command_that_is_not_possible_now_is_illegal_and_changes_nothing() -> None:
    episode = begun({}, 3)
    before = episode.first.text
    turn = episode.act("go north").turn
    assert turn.why == "illegal"
    assert turn.observation.text.endswith(before)
    assert episode.act(" Take  COIN ").turn.success


@pytest.mark.parametrize(
    ("options", "path"),
    [
        ({"level": 0}, "level"),
        ({"level": 41}, "level"),
        ({"game": "treasure_hunter", "level": 30}, "level"),
        ({"game": "cooking", "level": 2}, "level"),
        ({"game": "cooking", "recipe": 6}, "recipe"),
        ({"game": "cooking", "take": 2}, "take"),
        ({"game": "cooking", "rooms": 2}, "rooms"),
        ({"game": "cooking", "cut": True}, "cut"),
        ({"cook": True}, "cook"),
    ],
)
def test_options_without_a_game_are_refused(options: dict[str, Any], path: str) -> None:
    with pytest.raises(InvalidReference) as error:
        begun(options)
    assert error.value.details["path"] == f"reference.options.{path}"


@pytest.mark.parametrize("game", LEVELS)
def test_a_level_that_is_offered_is_one_of_the_librarys(game: str) -> None:
    most = {"coin_collector": 300, "treasure_hunter": 30}[game]
    assert all(1 <= level <= most for level in LEVELS[game])  # type: ignore[index]


def test_without_the_package_the_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "textworld", None)
    with pytest.raises(MissingDependency, match=r"rewarden-server\[textworld\].*C compiler"):
        begun({})
