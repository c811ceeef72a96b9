"""ms-swift's `--reward_funcs`: a file for `--external_plugins`, and a reward function for its trainers.

    export REWARDEN_TARGET=http://127.0.0.1:8080 REWARDEN_USE=math
    swift rlhf --rlhf_type grpo --external_plugins "$(python -m rewarden.adapters swift)" --reward_funcs rewarden …

The reward is configured by the environment (`rewarden.adapters.Settings` lists the names). `async_rewarden` is the same
as an `AsyncORM`, for several rewards at a time. From Python, where swift takes functions: `reward("math", target=…)`.

**No score**: swift can be given None, but adds it up as 0 (4.6.0, `rl_core/advantage.py`), so the call retries
transient errors for `patience_s` and then raises `NoScore`, which ends the run; `unscored=NUMBER`, in the environment
`REWARDEN_UNSCORED`, puts a number there. A recipe's wish to leave a sample out (`exclude`) cannot be honoured either:
its score stays. **Groups**: `group="prompt_id"` judges the samples of a call with the same prompt as one group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

from rewarden.adapters.plain import samples_of
from rewarden.adapters.rows import progress_of
from rewarden.adapters.scoring import Scorer, number_of
from rewarden.adapters.settings import Settings
from rewarden.columns import finish_reason
from rewarden.types import Sample


class Reward:
    """A picklable reward function for swift. It blocks; it may be called in a running event loop."""

    def __init__(self, settings: Settings) -> None:
        self._scorer = Scorer(settings)

    def __call__(self, completions: Sequence[str], trainer_state: Any = None, **columns: Any) -> list[float]:
        """A number for each completion, in order. Raises NoScore, RequestError.

        `columns` are those of the data set, and swift's own: `messages`, `prompt_id`, `finish_reason` …
        """
        settings = self._scorer.settings
        verdicts = self._scorer.score(_samples(completions, columns, settings), progress=progress_of(trainer_state))
        return [number_of(verdict, settings) for verdict in verdicts]


class AsyncReward(Reward):
    """Like `Reward`, but awaited."""

    async def __call__(  # type: ignore[override]
        self, completions: Sequence[str], trainer_state: Any = None, **columns: Any
    ) -> list[float]:
        """Like `Reward`, without blocking the loop."""
        settings = self._scorer.settings
        samples = _samples(completions, columns, settings)
        try:
            verdicts = await self._scorer.verdicts(samples, progress=progress_of(trainer_state))
        finally:
            # swift awaits each batch in a loop of its own, which ends with it.
            await self._scorer.close()
        return [number_of(verdict, settings) for verdict in verdicts]


def reward(use: Any = None, **settings: Any) -> Reward:
    """A reward function. `use` and the settings are those of `rewarden.adapters.Settings`."""
    return Reward(Settings.read(use=use, **settings))


def register(**settings: Any) -> None:
    """Enter `rewarden` and `async_rewarden` in swift's table of reward functions. Needs ms-swift.

    The settings are read when swift makes the function, so that a mistake in them is told then.
    """
    rewards: Any = import_module("swift.rewards")

    class Rewarden(rewards.ORM):  # type: ignore[misc]
        def __init__(self, args: Any = None, **kwargs: Any) -> None:
            super().__init__(args, **kwargs)
            self.reward = Reward(Settings.read(**settings))

        def __call__(self, completions: Sequence[str], **columns: Any) -> list[float]:
            return self.reward(completions, **columns)

    class AsyncRewarden(rewards.AsyncORM):  # type: ignore[misc]
        def __init__(self, args: Any = None, **kwargs: Any) -> None:
            super().__init__(args, **kwargs)
            self.reward = AsyncReward(Settings.read(**settings))

        async def __call__(self, completions: Sequence[str], **columns: Any) -> list[float]:
            return await self.reward(completions, **columns)

    rewards.orms.update(rewarden=Rewarden, async_rewarden=AsyncRewarden)


def _samples(completions: Sequence[str], columns: dict[str, Any], settings: Settings) -> list[Sample]:
    """The samples of a call. swift's rows tell the conversation with its end, and how the generation ended."""
    conversations = columns.pop("messages", None)
    prompts = None if conversations is None else [messages[:-1] for messages in conversations]
    samples = samples_of(prompts, completions, columns, settings)
    ends = columns.get("finish_reason") or [None] * len(samples)
    tokens = columns.get("response_token_ids") or [None] * len(samples)
    return [
        replace(sample, finish_reason=finish_reason(end), token_count=_count(ids))
        for sample, end, ids in zip(samples, ends, tokens, strict=True)
    ]


def _count(ids: Any) -> int | None:
    """The number of tokens; None for several turns, which come as several lists and are not one response."""
    turns = ids if ids and isinstance(ids[0], list) else [ids or []]
    return len(turns[0]) if len(turns) == 1 and turns[0] else None
