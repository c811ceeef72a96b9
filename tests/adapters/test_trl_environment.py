"""TRL's environments against a real server: the tools, the reward, and whose fault a failure is."""

from __future__ import annotations

import asyncio
import inspect
import pickle
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
import pytest_asyncio

from rewarden.adapters import episodes
from rewarden.adapters.episodes import FAILED, OVER, Episode
from rewarden.adapters.scoring import NoScore
from rewarden.adapters.trl_environment import Environment, environment
from rewarden.errors import InternalError, InvalidRequest, Unavailable
from rewarden.transports.http import HttpTransport
from tests.server.box_host import HostProcess
from tests.server.box_host import host as host
from tests.server.conftest import Running, Start
from tests.server.conftest import server as server
from tests.server.launchers import launcher as launcher
from tests.server.test_openenv_boxes import SOLVE, emptied
from tests.server.test_openenv_boxes import remembered as remembered
from tests.server.test_openenv_boxes import settings as settings

pytestmark = pytest.mark.needs_server

T = TypeVar("T")
GAME = "tic_tac_toe"
WON = ("1", "2", "3")
"""A game that is won with the seed 7."""


async def apart(work: Callable[..., T], *arguments: Any, **named: Any) -> T:
    """Returns what a blocking call returns: the server lives in this loop."""
    return await asyncio.to_thread(work, *arguments, **named)


async def made(server: Running, name: str = GAME, **given: Any) -> Any:
    """An environment as TRL makes it."""
    factory = await apart(environment, name, target=server.serving.http, patience_s=5, **given)
    return factory()


def played(env: Any, moves: Any = WON, **row: Any) -> float | None:
    """The reward of an episode."""
    env.reset(**{"seed": 7, **row})
    for move in moves:
        env.move(move=move)
    reward: float | None = env.get_reward()
    return reward


class Wire:
    """The wire between the adapter and its server. `lose`: paths whose next answer is lost after the server gave it.
    `down`: nothing arrives."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.lose: list[str] = []
        self.down = False
        self.paths: list[str] = []
        real = HttpTransport.ask

        async def ask(transport: HttpTransport, method: str, path: str, value: Any = None) -> Any:
            if self.down:
                raise Unavailable("nothing listens there")
            self.paths.append(path)
            answer = await real(transport, method, path, value)
            if self.lose and path.endswith(self.lose[0]):
                self.lose.pop(0)
                raise Unavailable("the connection broke")
            return answer

        monkeypatch.setattr(HttpTransport, "ask", ask)


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch) -> Wire:
    """See `Wire`."""
    return Wire(monkeypatch)


async def test_the_tools_have_a_signature_and_a_docstring_of_which_trl_makes_a_schema(server: Running) -> None:
    env = await made(server, "search")
    found = {name: tool for name, tool in inspect.getmembers(type(env), inspect.isfunction) if name[0] != "_"}
    assert set(found) == {"search", "open", "answer", "reset", "get_reward"}
    signature = inspect.signature(env.search)
    assert [(each.name, each.annotation) for each in signature.parameters.values()] == [("query", str)]
    description, _, arguments = (env.search.__doc__ or "").partition("\n\nArgs:\n")
    assert description.endswith(".")
    assert arguments == "    query: The query."


async def test_an_episode_is_rewarded_by_its_verdict(server: Running) -> None:
    env = await made(server)
    assert await apart(played, env) == 1.0
    assert (env.verdict.verifier.name, env.done, env.failed) == ("environment", True, False)
    assert await apart(played, env, WON[:2]) == 0.0
    assert (env.verdict.reason, env.verdict.fault) == ("unfinished", "policy")
    assert await apart(played, env, ()) == 0.0, "a policy that never acts has no answer"


async def test_the_verdicts_parameters_are_the_users(server: Running) -> None:
    env = await made(server, params={"cost": 0.1})
    assert await apart(played, env) == pytest.approx(0.7)
    recipe = {"name": "half", "uses": {"game": {"name": "environment", "params": {"actions": "json"}}}, "main": "game"}
    env = await made(server, use={"recipe": {**recipe, "score": "0.5 * game.score"}})
    assert await apart(played, env) == 0.5
    with pytest.raises(InvalidRequest, match="params"):
        await made(server, use="math", params={"cost": 0.1})


async def test_the_observation_stands_apart_from_the_prompt(server: Running) -> None:
    env = await made(server, seed=7)
    board = await apart(env.reset)
    assert board.startswith("1 2 3")
    for content, between in (("Play.", "\n\n"), ("Play.\n", ""), ("", ""), ([{"type": "text", "text": "Play."}], "")):
        prompt = [{"role": "user", "content": content}]
        assert await apart(env.reset, prompt=prompt, answer="unused") == between + board


async def test_a_row_decides_its_episode(server: Running) -> None:
    env = await made(server, "nim", options={"heaps": [9]}, columns=["last"])
    assert (await apart(env.reset, seed=1)).startswith("heap 1: 9")
    for options in ({"heaps": [4, 5], "side": None}, '{"heaps": [4, 5]}'):
        assert (await apart(env.reset, seed=1, options=options, max_steps=None)).startswith("heap 1: 4\nheap 2: 5")
    with pytest.raises(InvalidRequest, match="last"):
        await apart((await made(server, "nim", columns=["last"])).reset, seed=1, last="nobody")


async def test_without_a_seed_siblings_would_play_different_episodes(server: Running) -> None:
    with pytest.raises(InvalidRequest, match="seed"):
        await apart((await made(server)).reset, prompt=[{"role": "user", "content": "Play."}])
    first, second = await made(server, seed=3), await made(server, seed=3)
    assert await apart(played, first, ("1",), seed=None) == await apart(played, second, ("1",), seed=None)


@pytest.mark.parametrize(
    "arguments",
    [{"square": "1"}, {}, {"move": "1", "more": "2"}, {"move": None}, {"move": float("nan")}, {"move": "\ud800"},
     {"move": 10**400}, {"move": "1" * 3_000_000}, {"move": ["1"]}, {"self": "1"}, {"move": "corner"}],
)  # fmt: skip
async def test_the_policys_mistakes_are_observed_and_score_the_minimum(server: Running, arguments: Any) -> None:
    env = await made(server)
    await apart(env.reset, seed=7)
    told = await apart(env.move, **arguments)
    assert told not in ("", FAILED)
    assert len(told) < 1000
    assert await apart(env.get_reward) == 0.0
    assert (env.verdict.fault, env.failed) == ("policy", False)


async def test_after_the_end_nothing_happens(server: Running, wire: Wire) -> None:
    env = await made(server)
    await apart(env.reset, seed=7)
    for move in WON:
        await apart(env.move, move=move)
    asked = len(wire.paths)
    assert await apart(env.move, move="4") == OVER
    assert len(wire.paths) == asked


async def test_an_action_whose_answer_was_lost_is_not_done_twice(server: Running, wire: Wire) -> None:
    env = await made(server)
    await apart(env.reset, seed=7)
    before = [await apart(env.move, move=move) for move in WON[:2]]
    await apart(env.reset, seed=7)
    wire.lose = ["/step"]
    assert [await apart(env.move, move=move) for move in WON[:2]] == before
    await apart(env.move, move=WON[2])
    assert await apart(env.get_reward) == 1.0


@pytest.mark.parametrize("after", range(4))
async def test_a_game_survives_a_server_that_has_forgotten_it(server: Running, after: int) -> None:
    env = await made(server)
    await apart(env.reset, seed=7)
    for place, move in enumerate((*WON, None)):
        if place == after:
            (place_held,) = server.serving.service.episodes._open.values()
            server.serving.service.episodes.close(place_held)
        if move is not None:
            await apart(env.move, move=move)
    assert await apart(env.get_reward) == 1.0


async def test_a_replay_that_differs_has_no_reward(
    server: Running, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = await made(server)
    await apart(env.reset, seed=7)
    assert await apart(env.move, move="1") != FAILED
    env._episode._body["seed"] = 8  # as another version of a library would play it
    wire.lose = ["/step"]
    assert await apart(env.move, move="2") == FAILED
    assert await apart(env.get_reward) is None
    assert (env.verdict.reason, env.verdict.fault) == ("replay_differs", "infra")


async def test_an_error_of_ours_is_never_shown_to_the_policy(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    env = await made(server)
    for error in (InternalError("secret"), KeyError("secret"), Unavailable("secret", retry_after_s=1000.0)):
        await apart(env.reset, seed=7)

        async def failing(*_: Any, error: Exception = error) -> Any:
            raise error

        with monkeypatch.context() as patch:
            patch.setattr(Episode, "_acted", failing)
            assert await apart(env.move, move="1") == FAILED
        assert await apart(env.move, move="2") == FAILED, "the episode does not go on"
        if isinstance(error, Unavailable):
            with pytest.raises(Unavailable):
                await apart(env.get_reward)
        else:
            assert await apart(env.get_reward) is None
            assert env.failed
    assert await apart(played, env) == 1.0, "the next episode is another one"


async def test_a_server_that_is_gone_stops_the_training(server: Running, wire: Wire) -> None:
    factory = await apart(environment, GAME, target=server.serving.http, patience_s=0.1)
    env = factory()
    await apart(env.reset, seed=7)
    wire.down = True
    assert await apart(env.move, move="1") == FAILED
    with pytest.raises(Unavailable):
        await apart(env.get_reward)
    with pytest.raises(Unavailable):
        await apart(env.reset, seed=7)


async def test_a_bad_row_has_no_reward_but_bad_settings_stop_the_training(server: Running) -> None:
    with pytest.raises(InvalidRequest, match="heaps"):
        await apart((await made(server, "nim", seed=1, options={"heaps": ["many"]})).reset)
    env = await made(server, "nim", seed=1)
    await apart(env.reset)
    assert await apart(env.reset, options={"heaps": ["many"]}) == FAILED
    assert await apart(env.get_reward) is None
    assert (env.verdict.status, env.verdict.fault) == ("error", "reference")


async def test_many_episodes_without_a_score_stop_the_training(
    server: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(episodes, "_MOST_FAILED", 3)
    env = await made(server, "nim", seed=1)

    async def failed() -> float | None:
        await apart(env.reset, options={"heaps": ["many"]})
        reward: float | None = await apart(env.get_reward)
        return reward

    await apart(env.reset)
    assert [await failed(), await failed()] == [None, None]
    await apart(env.reset)
    assert await apart(env.get_reward) == 0.0, "one with a score begins the count anew"
    assert [await failed(), await failed()] == [None, None]
    with pytest.raises(NoScore, match="heaps"):
        await failed()


async def test_a_number_can_stand_for_what_has_no_score(server: Running) -> None:
    env = await made(server, "nim", seed=1, unscored=-1)
    await apart(env.reset)
    await apart(env.reset, options={"heaps": ["many"]})
    assert await apart(env.get_reward) == -1.0


async def test_a_factory_is_pickled_for_the_process_that_plays(server: Running) -> None:
    factory = await apart(environment, GAME, target=server.serving.http, name="game")
    again = pickle.loads(pickle.dumps(factory))  # noqa: S301 - our own
    assert type(again()).__name__ == "game"
    assert type(again()) is type(again()), "TRL tells environments by their class"
    assert await apart(played, again()) == 1.0


async def test_episodes_of_many_environments_live_beside_each_other(server: Running) -> None:
    factory = await apart(environment, GAME, target=server.serving.http)
    lived = await asyncio.gather(*(apart(played, factory(), WON if place % 2 else WON[:1]) for place in range(16)))
    assert lived == [0.0, 1.0] * 8


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"environment": "chess960"}, "chess960"),
        ({"environment": ""}, "name"),
        ({"columns": "seed"}, "columns"),
        ({"group": "prompt"}, "group"),
        ({"target": "local"}, "HTTP"),
        ({"environment": "task", "use": "math"}, "tests"),
        ({"use": "matth"}, "matth"),
    ],
)
async def test_wrong_settings_are_named_at_once(
    server: Running, monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], message: str
) -> None:
    monkeypatch.delenv("REWARDEN_PREFLIGHT")
    arguments = {"target": server.serving.http, **given}
    with pytest.raises(Exception, match=message):
        await apart(environment, arguments.pop("environment", GAME), **arguments)


def test_the_base_has_no_name_that_could_be_a_tool() -> None:
    public = {name for name, _ in inspect.getmembers(Environment, inspect.isfunction) if not name.startswith("_")}
    assert public == {"reset"}


@pytest_asyncio.fixture
async def boxes(start: Start, settings: dict[str, Any]) -> AsyncIterator[Running]:
    """A server with tasks, in which no box is left at the end."""
    running = await start(settings)
    yield running
    await emptied(running)


@pytest.mark.slow
async def test_a_task_is_rewarded_by_its_tests_whether_the_policy_submits_it_or_not(boxes: Running) -> None:
    env = await made(boxes, "task", max_steps=5)
    for submits in (True, False):
        told = await apart(env.reset, task="greeting", prompt=[{"role": "user", "content": "Work."}])
        assert told.startswith("\n\n")
        assert await apart(env.exec, command="echo bad >&2; exit 3") == "bad\n\n[exit code 3]"
        assert await apart(env.exec, command=SOLVE) == ""
        if submits:
            await apart(env.submit)
        assert await apart(env.get_reward) == 1.0
    await apart(env.reset, task="greeting")
    assert "arguments" in await apart(env.write, path="greeting.txt")
    assert await apart(env.get_reward) == 0.0


@pytest.mark.slow
async def test_a_task_with_steps_is_rewarded_by_their_mean(boxes: Running) -> None:
    env = await made(boxes, "task")
    await apart(env.reset, task="steps")
    await apart(env.exec, command="echo a >>/app/log")
    assert await apart(env.submit) == "Log b."
    await apart(env.exec, command="echo b >>/app/log")
    assert await apart(env.get_reward) == 1.0
    await apart(env.reset, task="steps")
    await apart(env.exec, command="echo a >>/app/log")
    assert await apart(env.get_reward) == 0.5, "the second step was not reached"
    await emptied(boxes)


@pytest.mark.slow
async def test_a_box_is_rewarded_by_the_verdict_that_the_row_asks_for(boxes: Running) -> None:
    env = await made(boxes, "box", most_observed=10)
    score = {"use": "math", "response_file": "answer.txt", "reference": "42", "never": None}
    await apart(env.reset, score=score, files={"a": "6", "other": None})
    assert await apart(env.python, code="open('answer.txt', 'w').write('42'); 'x' * 100") != FAILED
    assert "left out" in await apart(env.exec, command="seq 1000")
    assert await apart(env.get_reward) == 1.0


@pytest.mark.slow
async def test_a_submission_whose_answer_was_lost_is_rewarded(boxes: Running, wire: Wire) -> None:
    env = await made(boxes, "task")
    await apart(env.reset, task="greeting")
    await apart(env.exec, command=SOLVE)
    wire.lose = ["/step"]
    assert await apart(env.get_reward) == 1.0


@pytest.mark.slow
async def test_a_command_whose_answer_was_lost_ends_the_episode_without_a_reward(boxes: Running, wire: Wire) -> None:
    env = await made(boxes, "task")
    await apart(env.reset, task="greeting")
    wire.lose = ["/step"]
    assert await apart(env.exec, command=SOLVE) == FAILED
    assert await apart(env.get_reward) is None
    assert (env.verdict.reason, env.verdict.fault) == ("box_lost", "infra")
    await emptied(boxes)


@pytest.mark.slow
async def test_a_box_that_is_lost_is_no_zero(
    start: Start, settings: dict[str, Any], launcher: str, tmp_path: Path
) -> None:
    own = await apart(HostProcess, tmp_path, launcher)
    try:
        server = await start(settings | {"sandbox.address": own.address})
        env = await made(server, "task")
        await apart(env.reset, task="greeting")
        own.kill()
        assert await apart(env.exec, command=SOLVE) == FAILED
        assert await apart(env.get_reward) is None
        assert env.verdict.fault == "infra"
    finally:
        own.end()
