"""verifiers 0.4: a task set whose episodes are lived in turns on this server's environments.

    from rewarden.adapters.verifiers_environment import EpisodeEnv, EpisodeTaskset  # my_episodes.py

    __all__ = ["EpisodeEnv", "EpisodeTaskset"]

    [env.taskset]                                                                   # the configuration
    id = "my_episodes"
    environment = "nim"
    episodes = 1000

The environment is the user of the conversation: its observations are the user's turns, and the model's replies are
actions, or have them in `<action>` tags. The reward is the verdict of `environment`. The server is told by
`REWARDEN_TARGET`.

**No score**: the trace fails, without a reward, as with `rewarden.adapters.verifiers`. **Groups**: the rollouts of a
task have one seed. `box` and `task` are not supported, because their tools would need a server of verifiers' own for
each rollout.

Checked against verifiers 0.4.0. This module imports it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from importlib import import_module
from typing import Any

from rewarden.adapters.episodes import BOXES, Episode, Episodes, episodes_of
from rewarden.adapters.scoring import NoScore
from rewarden.adapters.verifiers import LeftOut
from rewarden.errors import InvalidRequest
from rewarden.wire.json import verdict_to_json

vf: Any = import_module("verifiers.v1")

_TAG = re.compile(r"<action>((?:(?!<action>).)*?)</action>", re.DOTALL)


class EpisodeData(vf.TaskData):  # type: ignore[misc]
    """A row: verifiers' own fields, the environment, and what its episode begins with."""

    environment: str
    start: dict[str, Any]


class EpisodeTask(vf.Task[EpisodeData]):  # type: ignore[misc]
    """The task of one rollout. episode: where it is lived."""

    episode: Episode | None = None

    @vf.reward  # type: ignore[untyped-decorator]
    async def rewarden(self, trace: Any) -> float:
        """Returns the score of the episode. Raises NoScore, LeftOut, RequestError: verifiers marks the trace as
        failed."""
        if self.episode is None:
            raise InvalidRequest("the episode was not lived: use the environment EpisodeEnv")
        reward = await self.episode.reward()
        verdict = self.episode.verdict
        assert verdict is not None
        trace.info["rewarden"] = verdict_to_json(verdict, _NOTED)
        if reward is None:
            if verdict.exclude:
                raise LeftOut(f"excluded: {verdict.exclude_reason or verdict.reason or 'by a recipe'}")
            raise NoScore(verdict)
        return reward


class EpisodeConfig(vf.TasksetConfig):  # type: ignore[misc]
    """The configuration of `EpisodeTaskset`. environment: its name on the server. options, max_steps, illegal, params:
    as for TRL. episodes: the number of tasks, which have the seeds from 0. instructions: the system prompt."""

    environment: str
    options: dict[str, Any] = {}  # noqa: RUF012 - each configuration gets its own copy
    episodes: int = 100
    max_steps: int | None = None
    illegal: str | None = None
    instructions: str | None = None


class EpisodeTaskset(vf.Taskset[EpisodeTask, EpisodeConfig]):  # type: ignore[misc]
    """Episodes of one environment."""

    def load(self) -> Iterator[EpisodeTask]:
        """The tasks, in order of their seeds. Raises InvalidRequest for boxes."""
        config = self.config
        if config.environment in BOXES:
            raise InvalidRequest(f"environment: {config.environment} needs tools; train on it with TRL")
        for seed in range(config.episodes):
            start = {"options": config.options, "max_steps": config.max_steps, "illegal": config.illegal, "seed": seed}
            data = EpisodeData(
                name=f"{config.environment}#{seed}",
                prompt=None,
                system_prompt=config.instructions,
                environment=config.environment,
                start=start,
            )
            yield EpisodeTask(data, config.task)


class EpisodeEnvConfig(vf.EnvConfig):  # type: ignore[misc]
    """The model that plays."""

    player: vf.AgentConfig = vf.AgentConfig()


class EpisodeEnv(vf.Env[EpisodeEnvConfig]):  # type: ignore[misc]
    """A conversation of the model with an environment."""

    async def run(self, task: Any, agents: Any) -> None:
        """Lives the episode of a task."""
        data = task.data
        lived = EpisodeTask(data, task.config)
        lived.episode = episode = Episode(_episodes(data.environment))
        told = await episode.begin(data.start)
        async with agents.player.interaction(lived) as interaction:
            segment = await interaction.turn(told)
            while not segment.terminated:
                for action in actions_in(segment.last_reply):
                    told = await episode.act("step", {"action": action})
                if episode.done or episode.failed:
                    break
                segment = await interaction.turn(told)


def actions_in(reply: str) -> list[str]:
    """Returns the actions of a turn: those in tags, or else the whole reply."""
    return [found[1].strip() for found in _TAG.finditer(reply)] or [reply.strip()]


@lru_cache(maxsize=64)
def _episodes(environment: str) -> Episodes:
    return episodes_of(environment)


_NOTED = ("status", "score", "passed", "reason", "fault", "feedback", "flags", "exclude", "exclude_reason", "verifier")
