"""The contract: an environment is a class that is reset by a seed and options, and stepped by texts of the policy's.

    class Guess(Environment):
        options = GuessOptions                     # a frozen dataclass; its annotations are the schema
        tools = (Tool("guess", "number"),)

        def reset(self, seed: int, options: GuessOptions) -> Observation: ...
        def step(self, action: str) -> Turn: ...

Equal seeds and options make equal episodes: all that is random comes from `random.Random(seed)` or a generator of the
same kind. `step` reads the policy's text strictly and raises `NotAMove` for a text that has not the form of an action,
and `Illegal` for one that the rules forbid now; the episode then ends, or goes on unchanged, as its caller asked. A
step's work is bounded, because actions are short (`MOST_CHARACTERS`) and an episode has at most `max_steps` of them.
Nothing of an action is evaluated, imported or opened.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

from rewarden_verifiers.games.rules import Illegal as Illegal
from rewarden_verifiers.games.rules import NotAMove as NotAMove

MOST_CHARACTERS = 2000
"""Characters of an action; a longer one is malformed."""

MOST_STEPS = 1000
"""Steps of an episode, whatever its caller asks for."""

MOST_OBSERVED = 20_000
"""Characters of an observation; the rest is cut off."""


Corpora = Mapping[str, Path]
"""The names of corpora to their files, JSON lines of `id`, `title` and `text`, or to the folders of checkouts."""


class BadOptions(ValueError):
    """Options of which no episode can be made. path: from the options, such as `heaps[0]`."""

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(message)
        self.path = path


def function_schema(name: str, meaning: str, arguments: Mapping[str, str]) -> dict[str, Any]:
    """Returns a tool as chat templates take it. arguments: names to meanings; all are texts, and all are required."""
    parameters = {
        "type": "object",
        "properties": {key: {"type": "string", "description": text} for key, text in arguments.items()},
        "required": [*arguments],
        "additionalProperties": False,
    }
    return {"type": "function", "function": {"name": name, "description": meaning, "parameters": parameters}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A kind of action, as a tool that the policy calls.

    argument: its name; empty if the tool has none. more: the names of further arguments. In text the action is
    `name: argument`, and each further argument begins a line of its own; only the last can have several lines. If
    `bare`, the argument alone; without an argument, the name alone. others: it takes the calls of tools with other
    names, such as those of a domain; its arguments are the name and the JSON of an object. speech: it takes what the
    policy writes in a turn without a call.
    """

    name: str
    argument: str = ""
    more: tuple[str, ...] = ()
    meaning: str
    bare: bool = False
    others: bool = False
    speech: bool = False

    @property
    def arguments(self) -> tuple[str, ...]:
        """The names of all arguments."""
        return (self.argument, *self.more) if self.argument else ()

    def written(self, *values: str) -> str:
        """The action as text. Raises ValueError for a value that the text could not hold."""
        if not values:
            return self.name
        if any("\n" in value for value in values[:-1]):
            raise ValueError("only the last argument can have several lines")
        text = "\n".join(values)
        return text if self.bare else f"{self.name}: {text}"

    def form(self) -> str:
        """The action with capitals in place of arguments."""
        return self.written(*(name.upper() for name in self.arguments))

    def schema(self) -> dict[str, Any]:
        """The tool as chat templates take it."""
        return function_schema(self.name, self.meaning, {name: f"The {name}." for name in self.arguments})


def read_action(tools: Sequence[Tool], action: str) -> tuple[str, tuple[str, ...]]:
    """The name of the tool that an action calls, and its arguments. Those that are missing behind the first are empty.
    Raises NotAMove."""
    name, colon, rest = action.strip().partition(":")
    tool = next((tool for tool in tools if tool.name == name and bool(tool.argument) == bool(colon)), None)
    if tool is not None and not tool.argument:
        return name, ()
    if tool is not None:
        *before, last = rest.split("\n", len(tool.more)) if tool.more else [rest.strip()]
        values = (*(value.strip() for value in before), last if before else last.strip())
        if values[0]:
            return name, (*values, *[""] * (len(tool.arguments) - len(values)))
    raise NotAMove(f"an action is one of {', '.join(ascii(tool.form())[1:-1] for tool in tools)}")


@dataclass(frozen=True, slots=True)
class Observation:
    """The state as the policy sees it: a text, and the same in fields that JSON can hold."""

    text: str
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """The result of an action.

    done: the episode has ended by its rules. success: it reached its goal. why: a reason in snake_case, which a verdict
    without success repeats (`loss`, `draw`, `wrong`). cost: of this action, in the environment's own units. parts:
    criteria and their values from 0 to 1, which the verdict's components have as well.
    """

    observation: Observation
    reward: float = 0.0
    done: bool = False
    success: bool = False
    why: str | None = None
    cost: float = 1.0
    parts: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question to a judge that plays a part in the episode, which waits for the answer.

    judge: the name of the judge. The answer belongs at the end of the option `script`: the words, or each call of the
    tools as `{"tool": …, "arguments": {…}}`. messages, tools: as `chat.Question` has them. control: the messages with a
    neutral text in place of what the policy wrote last; where only that can be answered, the answer is `otherwise`.
    never: texts that the words must not contain.
    """

    judge: str
    messages: Sequence[Mapping[str, str]]
    tools: Sequence[Mapping[str, Any]] = ()
    control: Sequence[Mapping[str, str]] | None = None
    otherwise: str = ""
    never: tuple[str, ...] = ()


class Environment(ABC):
    """See the module. An instance lives for one episode.

    options: the type of its options. tools: the kinds of actions. max_steps: of an episode, by default. returns: the
    ends of an episode's return, by which it is scaled to 0 to 1; what lies beyond is cut off.
    """

    options: ClassVar[type]
    tools: ClassVar[tuple[Tool, ...]]
    max_steps: ClassVar[int] = 100
    returns: ClassVar[tuple[float, float]] = (0.0, 1.0)

    corpora: Corpora = MappingProxyType({})
    """The corpora of this server, which `reset` may use."""

    asked: Asked | None = None
    """The question whose answer the last reset or step lacks. Nothing can be done after it."""

    @classmethod  # noqa: B027 - most need nothing
    def load(cls, options: Any, corpora: Corpora) -> None:
        """Imports and reads what an episode with these options needs of this machine; its time is no sample's. Raises
        MissingDependency, BadOptions."""

    @abstractmethod
    def reset(self, seed: int, options: Any) -> Observation:
        """Begins the episode. Raises BadOptions."""

    @abstractmethod
    def step(self, action: str) -> Turn:
        """Does what the policy wrote. Raises NotAMove or Illegal, after which the state is as before."""
