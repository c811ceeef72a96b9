"""The contract: an environment is a class with `reset`, which takes a seed and options, and `step`, which takes a text
of the policy.

    class Guess(Environment):
        options = GuessOptions                     # a frozen dataclass; its annotations are the schema
        tools = (Tool("guess", "number"),)

        def reset(self, seed: int, options: GuessOptions) -> Observation: ...
        def step(self, action: str) -> Turn: ...

Equal seeds and options make equal episodes: all randomness comes from `random.Random(seed)` or a similar generator.
`step` parses the policy's text strictly. It raises `NotAMove` for a text that is not an action, and `Illegal` for an
action that the rules forbid now; the episode then ends, or continues unchanged, depending on the caller's choice. A
step's work is limited, because actions are short (`MOST_CHARACTERS`) and an episode has at most `max_steps` of them.
Nothing in an action is evaluated, imported or opened.
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
"""The maximum length of an action, in characters; a longer one is malformed."""

MOST_STEPS = 1000
"""The maximum number of steps of an episode, even if its caller asks for more."""

MOST_OBSERVED = 20_000
"""The maximum length of an observation, in characters; the rest is truncated."""


Corpora = Mapping[str, Path]
"""Maps the names of corpora to their files (JSON lines of `id`, `title` and `text`), or to the folders of checkouts."""


class BadOptions(ValueError):
    """No episode can be made with these options. path: the place within the options, such as `heaps[0]`."""

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(message)
        self.path = path


def function_schema(name: str, meaning: str, arguments: Mapping[str, str]) -> dict[str, Any]:
    """Returns a tool in the format of chat templates. arguments: maps names to meanings; all are required strings."""
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

    argument: its name; empty if the tool has none. more: the names of further arguments. As text, the action is `name:
    argument`, and each further argument starts a new line; only the last can span several lines. If `bare`, it is the
    argument alone; without an argument, the name alone. others: it receives the calls of all other tools, such as those
    of a domain; its arguments are the tool's name and the JSON of an object. speech: it receives what the policy writes
    in a turn without a call.
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
        """The action as text. Raises ValueError for a value that the text cannot represent."""
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
        """The tool in the format of chat templates."""
        return function_schema(self.name, self.meaning, {name: f"The {name}." for name in self.arguments})


def read_action(tools: Sequence[Tool], action: str) -> tuple[str, tuple[str, ...]]:
    """The name of the tool that an action calls, and its arguments. Missing arguments after the first are empty. Raises
    NotAMove."""
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
    """The state as the policy sees it: a text, and the same as JSON fields."""

    text: str
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """The result of an action.

    done: the episode has ended by its rules. success: it reached its goal. why: a reason in snake_case, which becomes
    the reason of a verdict without success (`loss`, `draw`, `wrong`). cost: the cost of this action, in the
    environment's own units. parts: criteria with values from 0 to 1, which become components of the verdict.
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
    """A question to a judge that plays a part in the episode, which waits for the answer. judge: the name of the judge.
    The answer is appended to the option `script`: the words, or each tool call as `{"tool": …, "arguments": {…}}`.
    messages, tools: as in `chat.Question`. control: the messages with a neutral text in place of the policy's last
    text; if the judge can only answer that, the answer is `otherwise`. never: texts that the words must not contain.
    """

    judge: str
    messages: Sequence[Mapping[str, str]]
    tools: Sequence[Mapping[str, Any]] = ()
    control: Sequence[Mapping[str, str]] | None = None
    otherwise: str = ""
    never: tuple[str, ...] = ()


class Environment(ABC):
    """See the module. An instance serves one episode. options: the type of its options. tools: the kinds of actions.
    max_steps: the default limit of an episode. returns: the lowest and highest return, which scale to 0 and 1; returns
    beyond them are clipped.
    """

    options: ClassVar[type]
    tools: ClassVar[tuple[Tool, ...]]
    max_steps: ClassVar[int] = 100
    returns: ClassVar[tuple[float, float]] = (0.0, 1.0)

    corpora: Corpora = MappingProxyType({})
    """The server's corpora, for use in `reset`."""

    asked: Asked | None = None
    """The question that must be answered after the last reset or step. No action can be taken before that."""

    @classmethod  # noqa: B027 - most need nothing
    def load(cls, options: Any, corpora: Corpora) -> None:
        """Imports and reads what an episode with these options needs from this machine. Its time does not count against
        a sample. Raises MissingDependency, BadOptions.
        """

    @abstractmethod
    def reset(self, seed: int, options: Any) -> Observation:
        """Starts the episode. Raises BadOptions."""

    @abstractmethod
    def step(self, action: str) -> Turn:
        """Takes the action that the policy wrote. Raises NotAMove or Illegal, and then leaves the state unchanged."""
