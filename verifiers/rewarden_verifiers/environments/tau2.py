"""The domains of tau2-bench, from a checkout of it (extra `tau2`): a policy at a service desk with the domain's tools,
a user who follows a script or is played by a judge, or no user, and the benchmark's own criteria."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any, Literal

from rewarden.errors import near
from rewarden_verifiers.environments import tau2_checkout, tau2_user
from rewarden_verifiers.environments.contract import (
    MOST_OBSERVED,
    BadOptions,
    Corpora,
    Environment,
    NotAMove,
    Observation,
    Tool,
    Turn,
    read_action,
)
from rewarden_verifiers.games.rules import shown

_TOOLS = (
    Tool(name="say", argument="text", meaning="Write to the user, who answers.", speech=True),
    Tool(name="call", argument="tool", more=("arguments",), meaning="Call a tool of the domain.", others=True),
    Tool(name="done", meaning="Say that everything is done, which ends the episode."),
)
_PARTS: Mapping[str, str] = {
    "DB": "wrong",
    "ENV_ASSERTION": "not_met",
    "ACTION": "not_called",
    "COMMUNICATE": "not_told",
}
"""The criteria, and the verdict's reason if one is not met; the first in this order counts."""

_LAST_WORDS = "I have nothing to add."
_SIDES: Mapping[str, tau2_user.By] = {"assistant": "agent", "user": "user"}


@dataclass(frozen=True, kw_only=True)
class UserCall:
    """A call of the user. tool: the tool's name. arguments: an object."""

    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class PlayedUser:
    """A user played by a judge. judge: the name of one of the server's judges."""

    judge: str


@dataclass(frozen=True, kw_only=True)
class Tau2Options:
    """Options of `tau2`.

    corpus: the name of the checkout (`environments.corpora`). domain: one of the benchmark's. task: its id; by default
    one of the `split`, drawn by the seed. user: `script`; or `none`, the benchmark's solo mode, in which the policy has
    the user's tools and the ticket; or a judge that plays the user in live episodes. script: the user's words, a text
    for each answer, and the tool calls that precede them; by default what the task tells the user, or nothing with a
    judge, whose words are added.
    """

    domain: str
    corpus: str = "tau2"
    task: str | None = None
    split: str | None = None
    user: Literal["script", "none"] | PlayedUser = "script"
    script: tuple[str | UserCall, ...] | None = None


class Tau2(Environment):
    """A domain of tau2-bench. Its tools are called by their names, with an object of arguments."""

    options = Tau2Options
    tools = _TOOLS

    @classmethod
    def load(cls, options: Tau2Options, corpora: Corpora) -> None:
        """Imports the domain. Raises MissingDependency, BadOptions."""
        _domain(_root(options, corpora), options.domain)

    def reset(self, seed: int, options: Tau2Options) -> Observation:
        """See `Environment`."""
        self._root, self._options = _root(options, self.corpora), options
        self._task = _chosen(self._root, options, seed)
        self._desk = _begun(self._root, options.domain, self._task, alone=options.user == "none")
        self._calls: list[Any] = []
        self._said: list[str] = []
        self._script = list(_script(self._task, options) if options.script is None else options.script)
        history = (self._task.initial_state and self._task.initial_state.message_history) or []
        before = [f"{each.role}: {each.content}" for each in history if each.content]
        self._talk = [tau2_user.Spoken(_SIDES[each.role], each.content) for each in history if _is_talk(each)]
        first = f"Ticket: {self._task.ticket}" if options.user == "none" else f"The user writes: {self._opening()}"
        known = self._schemas()
        names = ", ".join(each["function"]["name"] for each in known)
        text = "\n".join([f"Tools: {names}.", *before, first])
        policy = self._desk.get_policy()
        whole = f"{policy}\n{json.dumps(known)}\n{text}"
        return Observation(whole if len(whole) <= MOST_OBSERVED else text, {"policy": policy, "tools": known})

    def step(self, action: str) -> Turn:
        """See `Environment`. The answer to a call that the domain refuses is its error, as in the benchmark."""
        name, arguments = read_action(_TOOLS, action)
        if name == "done":
            return self._ended()
        if name == "say":
            self._said.append(arguments[0])
            self._talk.append(tau2_user.Spoken("agent", arguments[0]))
            # Only the words are returned, as in the transcript of a conversation.
            answer = "Nobody answers." if self._options.user == "none" else self._answer()
            words = tau2_user.last_words(answer) if self._played else None
            return Turn(observation=Observation(answer)) if words is None else self._ended(words, cost=1.0)
        try:
            given = json.loads(arguments[1] or "{}")
        except (ValueError, RecursionError):
            given = None
        if not isinstance(given, dict):
            raise NotAMove(f"the arguments of {shown(arguments[0])} are the JSON of an object")
        return Turn(observation=Observation(self._called(arguments[0], given, "assistant")))

    def _called(self, tool: str, arguments: dict[str, Any], by: Literal["assistant", "user"]) -> str:
        """The domain's answer to a call."""
        if tool == "calculate" and "**" in str(arguments.get("expression")):
            # Attack: a tower of powers, which the domain would evaluate.
            return "Error: Invalid characters in expression"
        message = tau2_checkout.module(self._root, "data_model.message")
        call = message.ToolCall(name=tool, arguments=arguments, requestor=by)
        answer = self._desk.get_response(call)
        if not answer.error:
            # Attack: calls without arguments, which fail but match every expected call of the tool.
            self._calls.append(call)
        return str(answer.content)

    @property
    def _played(self) -> bool:
        """True if a judge plays the user."""
        return isinstance(self._options.user, PlayedUser)

    def _opening(self) -> str:
        """The user's first words. Raises BadOptions if they end the conversation."""
        words = self._answer()
        if self._played and tau2_user.last_words(words) is not None:
            raise BadOptions("the user ends the conversation before it has begun", "script")
        return words

    def _answer(self) -> str:
        """The user's next words, after the calls that precede them. If a judge has yet to say them, the environment
        asks.
        """
        while self._script:
            entry = self._script.pop(0)
            if isinstance(entry, str):
                self._talk.append(tau2_user.Spoken("user", entry))
                return entry
            answer = self._called(entry.tool, entry.arguments, "user")
            self._talk.append(tau2_user.Spoken("tool", f"{entry.tool} {json.dumps(entry.arguments)}\n{answer}"))
        if not isinstance(self._options.user, PlayedUser):
            return _LAST_WORDS
        scenario, tools = tau2_user.scenario(self._task.user_scenario), self._user_schemas()
        self.asked = tau2_user.asked(self._options.user.judge, scenario, self._talk, tools)
        return ""

    def _schemas(self) -> list[dict[str, Any]]:
        own = [tool.openai_schema for tool in self._desk.get_tools()]
        return own + (self._user_schemas() if self._options.user == "none" else [])

    def _user_schemas(self) -> list[dict[str, Any]]:
        if self._desk.user_tools is None:
            return []
        return [tool.openai_schema for tool in self._desk.get_user_tools(self._task.user_tools)]

    def _ended(self, told: str = "The episode has ended.", cost: float = 0.0) -> Turn:
        parts = self._judged()
        unmet = next((why for part, why in _PARTS.items() if parts.get(part, 1.0) < 1.0), None)
        return Turn(
            observation=Observation(told),
            reward=float(unmet is None),
            done=True,
            success=unmet is None,
            why=unmet,
            cost=cost,
            parts={part.lower(): value for part, value in parts.items()},
        )

    def _judged(self) -> dict[str, float]:
        """The criteria in the task's reward basis, each 0 or 1."""
        criteria = self._task.evaluation_criteria
        met: dict[str, bool] = {}
        for part in _basis(self._task):
            if part == "DB":
                # As in the benchmark: without actions and assertions, any state is right.
                free = criteria.actions is None and criteria.env_assertions is None
                met[part] = free or _wanted(self._root, self._options.domain, self._task.id)[0] == _state(self._desk)
            elif part == "ENV_ASSERTION":
                met[part] = all(_holds(self._desk, assertion) for assertion in criteria.env_assertions or [])
            elif part == "ACTION":
                met[part] = all(
                    any(action.compare_with_tool_call(call) for call in self._calls)
                    for action in criteria.actions or []
                )
            else:
                told = [text.lower().replace(",", "") for text in self._said]
                met[part] = all(any(info.lower() in text for text in told) for info in criteria.communicate_info or [])
        return {part: float(value) for part, value in met.items()}


def _root(options: Tau2Options, corpora: Corpora) -> Path:
    """The checkout. Raises BadOptions."""
    found = corpora.get(options.corpus)
    if found is None or not found.is_dir():
        known = ", ".join(name for name, path in corpora.items() if path.is_dir()) or "none"
        raise BadOptions(
            f"there is no checkout of tau2-bench named {shown(options.corpus)}; known: {known} (environments.corpora)",
            "corpus",
        )
    return found


def _domain(root: Path, name: str) -> Any:
    """The module of a domain. Raises BadOptions, MissingDependency."""
    known = tau2_checkout.domains(root)
    if name not in known:
        raise BadOptions(f"there is no domain {shown(name)}{near(name, known)}", "domain")
    return tau2_checkout.module(root, f"domains.{name}.environment")


@lru_cache(maxsize=16)
def _tasks(root: Path, domain: str, split: str | None) -> Sequence[Any]:
    """The tasks of a split, or all. Raises BadOptions."""
    try:
        return tuple(_domain(root, domain).get_tasks(split))
    except (ValueError, OSError, AttributeError) as error:
        raise BadOptions(f"the tasks of {domain} cannot be read: {error}", "split" if split else "domain") from None


def _chosen(root: Path, options: Tau2Options, seed: int) -> Any:
    """The chosen task. Raises BadOptions if there is none, or if this environment cannot judge it."""
    tasks = _tasks(root, options.domain, options.split)
    if options.task is None:
        fitting = [task for task in tasks if _unfit(task, options) is None]
        drawn = Random(seed).sample(fitting, len(fitting))
        found = next((task for task in drawn if _can_be_won(root, options.domain, task)), None)
        if found is None:
            raise BadOptions("there is no such task that can be judged here", "domain")
        return found
    found = next((task for task in tasks if task.id == options.task), None)
    if found is None:
        raise BadOptions(f"there is no task {shown(options.task)}{near(options.task, [t.id for t in tasks])}", "task")
    why = _unfit(found, options)
    if why is None and not _can_be_won(root, options.domain, found):
        why = "the domain refuses the task's own actions, or the state after them does not meet its own assertions"
    if why is not None:
        raise BadOptions(why, "task")
    return found


def _unfit(task: Any, options: Tau2Options) -> str | None:
    """The reason why a task cannot be played or judged, or None."""
    if task.evaluation_criteria is None:
        return "the task has no criteria"
    strange = set(_basis(task)) - _PARTS.keys()
    criteria = task.evaluation_criteria
    if criteria.actions is None and not criteria.env_assertions and not criteria.communicate_info:
        # In the benchmark, a task without criteria is passed by any conversation.
        return "the task has no criteria but those that a model judges"
    if strange:
        return f"the task is judged by a model: {', '.join(sorted(strange))}"
    if options.user == "none":
        return None if task.ticket else "the task has no ticket, which the mode without a user needs"
    if (
        options.user == "script"
        and options.script is None
        and any(one.requestor == "user" for one in criteria.actions or [])
    ):
        return (
            "the task's user has to call tools: write their script, or give the task to the policy alone (user: none)"
        )
    return None


def _basis(task: Any) -> list[str]:
    return [str(part.value) for part in task.evaluation_criteria.reward_basis]


def _begun(root: Path, domain: str, task: Any, *, alone: bool) -> Any:
    """The domain's desk at the start of a task. Raises BadOptions."""
    try:
        desk = _domain(root, domain).get_environment(**({"solo_mode": True} if alone else {}))
    except ValueError as error:
        raise BadOptions(str(error), "user") from None
    state = task.initial_state
    desk.set_state(
        initialization_data=state and state.initialization_data,
        initialization_actions=state and state.initialization_actions,
        message_history=list((state and state.message_history) or []),
    )
    return desk


def _holds(desk: Any, assertion: Any) -> bool:
    try:
        return bool(desk.run_env_assertion(assertion, raise_assertion_error=False))
    except Exception:  # noqa: BLE001 - a domain raises what it likes
        # Attack: a state that makes the assertion raise, for example by removing its object, to leave the episode
        # without a score.
        return False


def _can_be_won(root: Path, domain: str, task: Any) -> bool:
    """False if the task's expected state contradicts its assertions, or its domain refuses its calls."""
    return task.evaluation_criteria.actions is None or _wanted(root, domain, task.id)[1]


def _state(desk: Any) -> tuple[str | None, str | None]:
    return desk.get_db_hash(), desk.get_user_db_hash()


@lru_cache(maxsize=256)
def _wanted(root: Path, domain: str, id: str) -> tuple[tuple[str | None, str | None], bool]:
    """The state after the task's own actions, and whether it satisfies the assertions that count, without a refusal of
    any call that counts.
    """
    refused = False
    task = next(task for task in _tasks(root, domain, None) if task.id == id)
    desk = _begun(root, domain, task, alone=False)
    for action in task.evaluation_criteria.actions or []:
        try:
            desk.make_tool_call(tool_name=action.name, requestor=action.requestor, **action.arguments)
        except Exception:  # noqa: BLE001 - a domain raises what it likes
            # As in the benchmark: a refused call leaves the state unchanged.
            refused = True
    state, basis = _state(desk), set(_basis(task))
    if refused and "ACTION" in basis:
        return state, False
    counted = {"DB", "ENV_ASSERTION"} <= basis
    return state, not counted or all(_holds(desk, one) for one in task.evaluation_criteria.env_assertions or [])


def _is_talk(message: Any) -> bool:
    """Returns whether a message goes from one side to the other."""
    return message.role in _SIDES and bool(message.content)


def _script(task: Any, options: Tau2Options) -> list[str]:
    """The scenario of the task's user: their reason, what they know, and what they want. Empty if a judge plays the
    user."""
    if options.user != "script":
        return []
    told = task.user_scenario.instructions
    if isinstance(told, str):
        return [told]
    return [text for text in (told.reason_for_call, told.known_info, told.task_instructions) if text]
