"""TRL's `environment_factory`: a policy is trained in turns on this server's environments, boxes and task folders.

    from rewarden.adapters.trl_environment import environment

    trainer = GRPOTrainer(
        model,
        environment_factory=environment("nim", target="http://127.0.0.1:8080", options={"heaps": [3, 4, 5]}),
        train_dataset=dataset,  # prompts, and a column seed
        args=args,
    )

The tools are those of the environment on the server, the first observation is added to the prompt, and the reward is a
verdict: of `environment` for a game, of the tests for a task, of the option `score` for a box.

**No score**: a failure that is not the policy's (a lost box, an episode that cannot be replayed) gives the reward None,
which TRL leaves out since 1.6.0; in a tool it raises nothing, because TRL shows the policy what a tool raises. A server
that cannot be reached for `patience_s` stops the training, and so do 64 episodes without a score in a row. A restart of
the server ends no game: its actions are done again. **Groups**: siblings begin with the same row, and so with the same
seed.

Checked against trl 1.16.0, where `environment_factory` is experimental.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rewarden.adapters.episodes import Episode, Episodes, episodes_of
from rewarden.errors import InvalidRequest
from rewarden.types import Verdict


class Environment:
    """The base of the classes whose instances TRL plays with: one episode at a time. Their other methods are the tools
    of the environment."""

    def __init__(self, episodes: Episodes) -> None:
        self._episodes = episodes
        self._episode = Episode(episodes)

    def reset(self, **row: Any) -> str:
        """Begins the episode of a row. Returns the observation, which TRL adds to the prompt. Raises RequestError."""
        text = self._episodes.scorer.run(self._episode.begin(row))
        return f"{_apart(row.get('prompt'))}{text}"

    @property
    def verdict(self) -> Verdict | None:
        """Returns the verdict that the last reward came from."""
        return self._episode.verdict

    @property
    def failed(self) -> bool:
        """True after a failure that is not the policy's."""
        return self._episode.failed

    @property
    def done(self) -> bool:
        """True once the episode has ended by its rules, or the work was submitted."""
        return self._episode.done


class Factory:
    """Makes environments of one class. Picklable, as async GRPO needs it."""

    def __init__(self, episodes: Episodes, tools: Sequence[Mapping[str, Any]], name: str) -> None:
        self._made = episodes, tools, name
        methods: dict[str, Any] = {"get_reward": _get_reward, "__doc__": f"Episodes of {name}."}
        for tool in tools:
            if not tool["name"].isidentifier() or tool["name"].startswith("_") or hasattr(Environment, tool["name"]):
                raise InvalidRequest(f"TRL cannot call the tool {tool['name']!r} of {name}")
            methods[tool["name"]] = _method(tool)
        self.kind = type(name, (Environment,), methods)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._made

    def __call__(self) -> Any:
        """Returns a place for one episode at a time."""
        return self.kind(self._made[0])


def environment(
    environment: str,
    *,
    options: Mapping[str, Any] | None = None,
    seed: int | None = None,
    max_steps: int | None = None,
    illegal: str | None = None,
    columns: Sequence[str] = (),
    params: Mapping[str, Any] | None = None,
    most_observed: int | None = None,
    name: str | None = None,
    **settings: Any,
) -> Factory:
    """Returns a factory for TRL's `environment_factory`, or for one entry of it. Raises RequestError.

    environment: its name on the server. options, seed, max_steps, illegal: of every episode; the columns `options` (an
    object, or the JSON of one), `seed`, `max_steps` and `illegal` of a row override them. columns: further columns that
    are options; those of `task` and `box` (`task`; `files`, `score`) are always. params: of the verifier `environment`,
    such as `{"score": "return"}`. most_observed: characters of an observation that the policy sees. name: the name in
    TRL's logs (default: the environment's). The settings are those of `rewarden.adapters.Settings`; `use` names another
    judge of games, which gets the actions as a JSON list.
    """
    episodes = episodes_of(
        environment,
        options=options,
        seed=seed,
        max_steps=max_steps,
        illegal=illegal,
        columns=columns,
        params=params,
        most_observed=most_observed,
        **settings,
    )
    return Factory(episodes, episodes.scorer.run(episodes.tools()), name or environment)


def _get_reward(self: Environment) -> float | None:
    """Returns the reward of the episode, None to leave it out. Raises NoScore, RequestError."""
    return self._episodes.scorer.run(self._episode.reward())


def _method(tool: Mapping[str, Any]) -> Callable[..., str]:
    """A method with the signature and the docstring of a tool, of which TRL makes the tool's schema."""
    name, properties = tool["name"], tool["parameters"]["properties"]

    def called(self: Environment, /, **arguments: Any) -> str:
        return self._episodes.scorer.run(self._episode.act(name, arguments))

    # Any arguments can be given: those that do not fit are the policy's mistake, which the server judges.
    given = [inspect.Parameter(each, inspect.Parameter.KEYWORD_ONLY, annotation=str) for each in properties]
    receiver = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    called.__signature__ = inspect.Signature([receiver, *given], return_annotation=str)  # type: ignore[attr-defined]
    called.__annotations__ = {**dict.fromkeys(properties, str), "return": str}
    called.__name__ = called.__qualname__ = name
    lines = [f"{each}: {value['description']}" for each, value in properties.items()]
    said = "\n".join([tool["description"], "", "Args:", *(f"    {line}" for line in lines)] if lines else [])
    called.__doc__ = said or tool["description"]
    return called


def _apart(prompt: Any) -> str:
    """Returns what comes between a prompt and the observation that TRL puts right after it."""
    content = prompt[-1].get("content") if isinstance(prompt, list) and prompt else None
    return "\n\n" if isinstance(content, str) and content and not content.endswith("\n") else ""


__all__ = ["Environment", "Factory", "environment"]
