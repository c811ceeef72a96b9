"""ms-swift's `--reward_funcs`: a file for `--external_plugins`, and a reward function for its trainers.

    export REWARDEN_TARGET=http://127.0.0.1:8080 REWARDEN_USE=math
    swift rlhf --rlhf_type grpo --external_plugins "$(python -m rewarden.adapters swift)" --reward_funcs rewarden …

The reward is configured by environment variables (see `rewarden.adapters.Settings`). `async_rewarden` is the same as an
`AsyncORM`, for several rewards at a time. In Python, where swift accepts functions, use `reward("math", target=…)`.

**No score**: swift accepts None, but sums it as 0 (4.6.0, `rl_core/advantage.py`). The call therefore retries transient
errors for `patience_s` and then raises `NoScore`, which ends the run; `unscored=NUMBER`, or `REWARDEN_UNSCORED` in the
environment, returns a number instead. A recipe's `exclude` has no effect: the sample keeps its score. **Groups**:
`group="prompt_id"` judges the samples of a call with the same prompt as one group.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

from rewarden.adapters.example import prompt_of
from rewarden.adapters.plain import samples_of
from rewarden.adapters.preflight import checked
from rewarden.adapters.rows import progress_of
from rewarden.adapters.scoring import Scorer, number_of
from rewarden.adapters.settings import Settings
from rewarden.columns import finish_reason
from rewarden.types import Sample


class Reward:
    """A picklable, blocking reward function for swift. It can be called in a running event loop."""

    def __init__(self, settings: Settings) -> None:
        self._scorer = Scorer(settings)

    def __call__(self, completions: Sequence[str], trainer_state: Any = None, **columns: Any) -> list[float]:
        """Returns a number for each completion, in order. Raises NoScore, RequestError.

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
            # swift runs each batch in a new event loop, which ends with it.
            await self._scorer.close()
        return [number_of(verdict, settings) for verdict in verdicts]


def reward(use: Any = None, **settings: Any) -> Reward:
    """Returns a reward function. `use` and the settings are those of `rewarden.adapters.Settings`."""
    return Reward(checked(Settings.read(use=use, **settings)))


def register(**settings: Any) -> None:
    """Registers `rewarden` and `async_rewarden` as reward functions of swift. Needs ms-swift.

    The settings are read when swift creates the function, so mistakes in them raise then.
    """
    rewards: Any = import_module("swift.rewards")

    class Rewarden(rewards.ORM):  # type: ignore[misc]
        def __init__(self, args: Any = None, **kwargs: Any) -> None:
            super().__init__(args, **kwargs)
            self.reward = Reward(checked(Settings.read(**settings).of_run(getattr(args, "run_name", None))))

        def __call__(self, completions: Sequence[str], **columns: Any) -> list[float]:
            return self.reward(completions, **columns)

    class AsyncRewarden(rewards.AsyncORM):  # type: ignore[misc]
        def __init__(self, args: Any = None, **kwargs: Any) -> None:
            super().__init__(args, **kwargs)
            self.reward = AsyncReward(checked(Settings.read(**settings).of_run(getattr(args, "run_name", None))))

        async def __call__(self, completions: Sequence[str], **columns: Any) -> list[float]:
            return await self.reward(completions, **columns)

    rewards.orms.update(rewarden=Rewarden, async_rewarden=AsyncRewarden)


def row_sample(row: Mapping[str, Any], response: str, settings: Settings) -> Sample:
    """Returns the sample of a row of a data set: swift adds the response to its `messages`. See
    `rewarden.adapters.example`."""
    prompt = prompt_of({name: value for name, value in row.items() if name != "messages"}) or ""
    asked = list(row.get("messages") or [{"role": "user", "content": prompt}])
    if asked[-1]["role"] == "assistant":  # of a data set for SFT; swift removes it
        asked.pop()
    columns = {name: [value] for name, value in row.items() if name != "messages"}
    messages = [*asked, {"role": "assistant", "content": response}]
    return _samples([response], {**columns, "messages": [messages]}, settings)[0]


def _samples(completions: Sequence[str], columns: dict[str, Any], settings: Settings) -> list[Sample]:
    """Returns the samples of a call. swift's rows contain the whole conversation and the finish reason."""
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
    """Returns the number of tokens, or None for several turns, which come as several lists."""
    turns = ids if ids and isinstance(ids[0], list) else [ids or []]
    return len(turns[0]) if len(turns) == 1 and turns[0] else None
