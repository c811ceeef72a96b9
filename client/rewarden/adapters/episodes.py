"""Episodes that a trainer's policy lives on a server, for adapters of trainers with environments.

An episode begins with a row of the data set, is acted on by calls of tools, and ends with a reward: the verdict of the
verifier `environment` for a game, and of whatever judges the box for `box` and `task`. The policy's mistakes are
observations. A failure that is not the policy's is remembered: the episode says so instead of observing more, and has
no score.

Games survive a restart of the server: equal seeds make equal episodes, so the actions so far are done again. A box does
not.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import secrets
import threading
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote

from rewarden.adapters.preflight import checked
from rewarden.adapters.scoring import NoScore, Patience, Scorer, score_or_none
from rewarden.adapters.settings import Settings
from rewarden.after_fork import start_in_child
from rewarden.errors import (
    DeadlineExceeded,
    Forbidden,
    InternalError,
    InvalidRequest,
    NotFound,
    Overloaded,
    RequestError,
    TooLarge,
    TooManyBoxes,
    Unauthorized,
    Unavailable,
)
from rewarden.transports.http import HttpTransport
from rewarden.types import Sample, Use, Verdict
from rewarden.wire.json import verdict_from_json

BOXES: Mapping[str, tuple[str, ...]] = {"box": ("files", "score"), "task": ("task",)}
"""The environments that are boxes, with the columns that are their options."""
OVER = "The episode has ended."
FAILED = "The environment has failed. This is not your mistake."

_OWN = ("seed", "max_steps", "illegal")
_MOST_FAILED = 64
"""Episodes without a score in a row, after which training stops: a trainer that gets none learns nothing."""
_MOST_MISTAKE = 500
_SHARED = (Unauthorized, Forbidden, TooManyBoxes, Overloaded, Unavailable, DeadlineExceeded)
"""Errors that every other episode has as well; they stop the training."""

_log = logging.getLogger("rewarden.adapters")


@dataclass(frozen=True, kw_only=True)
class Start:
    """The beginnings of an adapter's episodes. Picklable.

    environment: its name on the server. options, seed, max_steps, illegal: of every episode, unless its row has others.
    columns: columns of the data set that are options. most_observed: characters of an observation; the middle of a
    longer one is left out. None: as the server cuts it.
    """

    environment: str
    options: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None
    max_steps: int | None = None
    illegal: str | None = None
    columns: Sequence[str] = ()
    most_observed: int | None = None

    def of(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """The body that begins the episode of a row. What is None in a row is not there: so are the fields that other
        rows of a data set have. Raises InvalidRequest."""
        options = {**self.options, **_object(row.get("options"))}
        for column in (*BOXES.get(self.environment, ()), *self.columns):
            if row.get(column) is not None:
                options[column] = _filled(row[column])
        body = {name: row.get(name) if row.get(name) is not None else getattr(self, name) for name in _OWN}
        if body["seed"] is None and self.environment not in BOXES:
            # A seed of the server's own would be another one for each sibling of a group, and their rewards would be
            # compared although they played different episodes.
            raise InvalidRequest("seed: give the data set a column seed, or seed=NUMBER for all its rows", path="seed")
        return {**{name: value for name, value in body.items() if value is not None}, "options": options}


class Episodes:
    """The episodes of one adapter. Picklable; it opens connections in the process that uses it, also after a fork."""

    def __init__(self, start: Start, settings: Settings) -> None:
        self.start = start
        self.scorer = Scorer(settings)
        self._connect()
        start_in_child(self, Episodes._connect)

    def _connect(self) -> None:
        self._open: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, HttpTransport]
        self._open = weakref.WeakKeyDictionary()
        self._guard = threading.Lock()
        self._failed = 0
        self.begun = False
        """True once an episode has begun: what the server refuses after that is wrong in a row, and not in all."""

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.start, self.scorer.settings)

    @property
    def boxed(self) -> bool:
        """True if its episodes are lived in boxes."""
        return self.start.environment in BOXES

    async def tools(self) -> list[dict[str, Any]]:
        """The tools of the policy, as chat templates take them. Raises RequestError."""
        answer = await self.patiently("GET", f"/openenv/{quote(self.start.environment, safe='')}/tools")
        return [tool["function"] for tool in answer["tools"]]

    async def ask(self, method: str, path: str, value: Any = None) -> Any:
        """Asks the server once. Raises RequestError."""
        loop = asyncio.get_running_loop()
        if loop not in self._open:
            for ended in [known for known in self._open if known.is_closed()]:
                del self._open[ended]
            settings = self.scorer.settings
            key = settings.api_key or os.environ.get("REWARDEN_API_KEY") or None
            self._open[loop] = HttpTransport(settings.target, api_key=key, timeout_s=settings.timeout_s, ca=settings.ca)
        return await self._open[loop].ask(method, path, value)

    async def patiently(self, method: str, path: str, value: Any = None) -> Any:
        """Asks until the server answers, for `patience_s`; what is asked must do no harm twice. Raises RequestError."""
        patience = Patience(self.scorer.settings.patience_s)
        while True:
            try:
                return await self.ask(method, path, value)
            except (Overloaded, Unavailable, DeadlineExceeded) as error:
                await patience.wait_or_raise(error)

    def reward_of(self, verdict: Verdict) -> float | None:
        """The reward of an episode; None if it is to be left out. Raises NoScore, also for the last of too many in a
        row that have no score."""
        with self._guard:
            self._failed = self._failed + 1 if verdict.status != "scored" else 0
            stop = self._failed >= _MOST_FAILED
        reward = score_or_none(verdict, self.scorer.settings)
        if stop and reward is None and not verdict.exclude:
            raise NoScore(verdict)
        return reward


class Episode:
    """A place for one episode at a time. Its methods are awaited one after the other.

    done: it has ended by its rules. verdict: what the last reward came from.
    """

    def __init__(self, episodes: Episodes) -> None:
        self._episodes = episodes
        self._id = f"policy-{secrets.token_hex(12)}"
        self._path = f"/openenv/{quote(episodes.start.environment, safe='')}"
        self._state = f"{self._path}/state?episode_id={self._id}"
        self._clear({})

    def _clear(self, body: dict[str, Any]) -> None:
        self._body = body
        self._calls: list[dict[str, Any]] = []
        self._last, self._lost = "", False
        self._error: Exception | None = None
        self.done = False
        self.verdict: Verdict | None = None

    @property
    def failed(self) -> bool:
        """True after a failure that is not the policy's."""
        return self._error is not None

    async def begin(self, row: Mapping[str, Any]) -> str:
        """Begins an episode. Returns its first observation. Raises RequestError if no other row would do better."""
        self._clear({})
        try:
            self._body = {**self._episodes.start.of(row), "episode_id": self._id}
            answer = await self._episodes.patiently("POST", f"{self._path}/reset", self._body)
        except (InvalidRequest, TooLarge, InternalError) as error:
            if not self._episodes.begun:
                raise
            return self._fails(error)
        self._episodes.begun = True
        return self._seen(answer)

    async def act(self, tool: str, arguments: Any) -> str:
        """Calls a tool as the policy did. Returns the observation; raises nothing, because trainers show the policy
        what a tool raises."""
        if self._error is not None:
            return FAILED
        if self.done:
            return OVER
        call = {"tool": tool, "arguments": _sendable(arguments)}
        try:
            answer = await self._acted(call)
        except (InvalidRequest, TooLarge) as error:
            # The form of the request is ours, so it is refused for what the policy wrote; nothing has happened.
            return error.message[:_MOST_MISTAKE]
        except Exception as error:  # noqa: BLE001 - attack: any error of ours that a trainer would show the policy
            return self._fails(error)
        self._calls.append(call)
        return self._seen(answer)

    async def reward(self) -> float | None:
        """Returns the reward of the episode as it is now; None if it has no score, or is excluded. Raises NoScore, and
        RequestError for a failure that other episodes have as well."""
        boxed = self._episodes.boxed
        if self._error is None:
            try:
                state = await (self._submitted() if boxed else self._lived())
            except RequestError as error:
                self._fails(error)
        if boxed and not self.done:
            await self._leave()
        if isinstance(self._error, _SHARED):
            raise self._error
        if self._error is not None:
            self.verdict = _verdict_of(self._error, self._episodes.start.environment)
        else:
            self.verdict = self._verdict_in(state) if boxed else await self._verdict_on(state)
        return self._episodes.reward_of(self.verdict)

    async def _leave(self) -> None:
        """Closes the box of an episode that has not ended; it would count against the key's quota until it expires."""
        with suppress(RequestError):  # then it ends by its own times
            state = await self._episodes.ask("GET", self._state)
            if state.get("box") is not None:
                await self._episodes.ask("DELETE", f"/v1/sessions/{quote(state['box'], safe='')}")

    def _fails(self, error: Exception) -> str:
        self._error = error
        _log.warning("an episode of %s has failed: %s", self._episodes.start.environment, error)
        return FAILED

    def _seen(self, answer: Mapping[str, Any]) -> str:
        observation = answer["observation"]
        self.done = bool(answer.get("done"))
        self._last = str(observation.get("text", ""))
        text = _cut(self._last, self._episodes.start.most_observed)
        ended = [f"{name} {observation[key]}" for key, name in _ENDS.items() if observation.get(key)]
        return "\n".join([*([text] if text else []), f"[{', '.join(ended)}]"]) if ended else text

    async def _acted(self, call: Mapping[str, Any]) -> Any:
        """Raises RequestError once patience is over, or for what cannot be done twice."""
        episodes = self._episodes
        patience = Patience(episodes.scorer.settings.patience_s)
        body = {"episode_id": self._id, "action": call}
        while True:
            try:
                if self._lost:
                    await self._live_again()
                return await episodes.ask("POST", f"{self._path}/step", body)
            except Overloaded as error:
                await patience.wait_or_raise(error)
            except (Unavailable, DeadlineExceeded, NotFound) as error:
                # Of a command in a box nobody knows how far it came; a submission can be sent again.
                if episodes.boxed and (call["tool"] != "submit" or isinstance(error, NotFound)):
                    raise _lost(error) from error
                self._lost = not episodes.boxed
                await patience.wait_or_raise(error)

    async def _live_again(self) -> None:
        """Does all actions so far in a new episode, whose end must be observed as before. Raises RequestError."""
        answer = await self._episodes.ask("POST", f"{self._path}/reset", self._body)
        for call in self._calls:
            answer = await self._episodes.ask("POST", f"{self._path}/step", {"episode_id": self._id, "action": call})
        if str(answer["observation"].get("text", "")) != self._last:
            raise InternalError("the episode was lost, and its replay differs", reason="replay_differs")
        self._lost = False

    async def _lived(self) -> Any:
        """The state of a game on the server. Raises RequestError."""
        try:
            return await self._episodes.patiently("GET", self._state)
        except NotFound:  # the server was started anew, or has forgotten a long episode
            await self._live_again()
            return await self._episodes.patiently("GET", self._state)

    async def _submitted(self) -> Any:
        """The state of a box that was submitted, by the policy or now. Raises RequestError."""
        if not self.done:
            try:
                self.done = bool((await self._acted({"tool": "submit", "arguments": {}}))["done"])
            except RequestError as error:
                if error.http_status != _ENDED:  # a submission whose answer was lost: the state has its verdict
                    raise
        return await self._episodes.patiently("GET", self._state)

    async def _verdict_on(self, state: Mapping[str, Any]) -> Verdict:
        sample = Sample(response=json.dumps(state["actions"]), reference=state["reference"])
        return await self._episodes.scorer.verdict(sample)

    def _verdict_in(self, state: Mapping[str, Any]) -> Verdict:
        """The verdict of a box; for a task with steps with the mean of all, where one that was not reached is 0."""
        verdicts = [verdict_from_json(each) for each in state["verdicts"]]
        if not verdicts:
            raise InvalidRequest("score: is missing, and so the episode has no reward", path="score")
        log = self._episodes.scorer.settings.log
        if log is not None:
            log.add(verdicts, [Sample(response="") for _ in verdicts], retried=False)
        excluded = next((verdict for verdict in verdicts if verdict.exclude), None)
        if excluded is not None or state["submissions"] == 1:
            return excluded or verdicts[0]
        mean = sum(verdict.score or 0.0 for verdict in verdicts) / state["submissions"]
        return replace(verdicts[-1], score=mean, passed=None)


_ENDED = 409
_ENDS = {"exit_code": "exit code", "signal": "signal", "limit": "limit"}


def episodes_of(
    environment: str,
    *,
    options: Mapping[str, Any] | None = None,
    seed: int | None = None,
    max_steps: int | None = None,
    illegal: str | None = None,
    columns: Sequence[str] = (),
    params: Mapping[str, Any] | None = None,
    most_observed: int | None = None,
    **settings: Any,
) -> Episodes:
    """The episodes of an adapter, with its settings checked. Raises InvalidRequest."""
    if not isinstance(environment, str) or not environment:
        raise InvalidRequest(f"environment: must be a name, not {environment!r}")
    if isinstance(columns, str) or not all(isinstance(each, str) for each in columns):
        raise InvalidRequest(f"columns: must be names of columns, not {columns!r}")
    start = Start(
        environment=environment,
        options=dict(options or {}),
        seed=seed,
        max_steps=max_steps,
        illegal=illegal,
        columns=tuple(columns),
        most_observed=most_observed,
    )
    read = Settings.read(**settings)
    for name in ("routing", "group"):
        if settings.get(name) is not None:
            raise InvalidRequest(f"{name}: an episode is judged by itself")
    # What the environment of the process names (`REWARDEN_USE`) judges responses, and no episodes.
    use = read.use if settings.get("use") is not None else None
    if environment in BOXES:
        if params is not None or use is not None:
            raise InvalidRequest("params, use: a box is judged by its option score, and a task by its tests")
    elif use is None:
        use = Use(name="environment", params={**(params or {}), "actions": "json"})
    elif params is not None:
        raise InvalidRequest("params: are those of the verifier environment; give them in use")
    read = replace(read, use=use, routing=None)
    if not read.target.startswith(("http://", "https://")):
        raise InvalidRequest(f"target: episodes are lived over HTTP, not at {read.target!r}")
    return Episodes(start, checked(read))


def _object(value: Any) -> dict[str, Any]:
    """The options in a column: an object, or the JSON of one."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            raise InvalidRequest("options: is not JSON", path="options") from None
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidRequest(f"options: must be an object, not {type(value).__name__}", path="options")
    return dict(_filled(value))


def _filled(value: Any) -> Any:
    """A value without the fields that are None: a data set gives each row the fields of all others."""
    if isinstance(value, Mapping):
        return {name: _filled(each) for name, each in value.items() if each is not None}
    return value


def _sendable(arguments: Any) -> Any:
    """Arguments that JSON can hold. Attack: a policy that writes what cannot be sent, so that its episode fails and has
    no score instead of a bad one."""
    try:
        json.dumps(arguments, allow_nan=False).encode()
        json.dumps(arguments, allow_nan=False, ensure_ascii=False).encode()
    except (ValueError, TypeError, RecursionError):
        return None
    return arguments


def _cut(text: str, most: int | None) -> str:
    if most is None or len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n[{len(text) - 2 * half} characters left out]\n{text[len(text) - half :]}"


def _lost(error: RequestError) -> RequestError:
    """The failure of an episode in a box that is lost, which says nothing about other episodes."""
    return InternalError(f"the box was lost: {error.message}", reason="box_lost", fault="infra")


def _verdict_of(error: Exception, environment: str) -> Verdict:
    """The verdict of an episode that failed."""
    details = error.details if isinstance(error, RequestError) else {}
    ours = not isinstance(error, (InvalidRequest, TooLarge))
    return Verdict(
        status="error",
        reason=str(details.get("reason") or "episode_failed"),
        fault="infra" if ours else "reference",
        feedback=error.message if isinstance(error, RequestError) else f"{type(error).__name__}: {error}",
        data_source=environment,
    )
