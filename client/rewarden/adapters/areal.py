"""AReaL: a reward function, for its wrapper (which runs it in other processes) or for a workflow that awaits it.

    from rewarden.adapters.areal import reward
    workflow = RLVRWorkflow(reward_fn=reward("math", target="http://127.0.0.1:8080"), …)
    workflow.async_reward_fn = workflow.reward_fn.asynchronous      # rather than AReaL's wrapper: see below

**No score**: raises `NoScore`. AReaL logs it and rejects the trajectory, and with `group_size` above 1 the whole group.
A workflow can drop a single sample by returning None: use `verdict` for that (examples/areal), and for samples that a
recipe excludes, which otherwise keep their score. `unscored=NUMBER` returns a number instead.
**Groups**: not supported, because AReaL passes one sample at a time.

AReaL's `AsyncRewardWrapper` waits four times for 15 s, including time in its queue, and then uses **0** as the reward.
The blocking form therefore raises after `within_s` (12 s); the wrapper retries that and finally raises it, instead of a
0. This does not cover time in the wrapper's queue, in which each of its few processes runs one sample at a time. If a
verdict takes seconds, use `asynchronous`, which has no queue and waits for `patience_s`, or a wrapper with a larger
`timeout_seconds`.

Checked and run with areal 1.0.4 (areal/api/reward_api.py, areal/workflow/rlvr.py, areal/infra/workflow_executor.py).
"""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Union

from rewarden.adapters.example import prompt_of, text_of_prompt
from rewarden.adapters.preflight import checked
from rewarden.adapters.rows import sample_of
from rewarden.adapters.scoring import NoScore, Scorer, number_of
from rewarden.adapters.settings import Settings
from rewarden.errors import DeadlineExceeded
from rewarden.types import Sample, Verdict

_Ids = Union[Sequence[int], None]
"""The tokens of a text, if AReaL passes them."""

WITHIN_S = 12.0
"""The longest time of a blocking call, in seconds; AReaL's wrapper waits 15 s by default."""


class Reward:
    """A picklable `reward_fn(prompt, completions, prompt_ids, completion_ids, **data)`; each process keeps one.

    `data` are the columns of the data set. `within_s`: the longest time of a blocking call, in seconds.
    """

    def __init__(self, settings: Settings, within_s: float = WITHIN_S) -> None:
        self.settings = settings
        self._within_s = within_s
        self._scorer = Scorer(settings)

    def __reduce__(self) -> tuple[Any, tuple[bytes, float]]:
        # The wrapper pickles it for every call; these bytes find the process's own instance, with its connections.
        return _kept, (pickle.dumps(self.settings), self._within_s)

    def __call__(
        self, prompt: str, completions: str, prompt_ids: _Ids = None, completion_ids: _Ids = None, **data: Any
    ) -> float:
        """Returns the score. Raises NoScore, DeadlineExceeded after `within_s`, and other RequestErrors, but never
        TimeoutError, which the wrapper would turn into a 0.
        """
        return self._scorer.run(self._limited(prompt, completions, prompt_ids, completion_ids, **data))

    async def asynchronous(
        self, prompt: str, completions: str, prompt_ids: _Ids = None, completion_ids: _Ids = None, **data: Any
    ) -> float:
        """Returns the score, for workflows that await it: no other process, limited by `patience_s` and `timeout_s`.

        Raises NoScore, RequestError.
        """
        return number_of(await self.verdict(prompt, completions, prompt_ids, completion_ids, **data), self.settings)

    async def verdict(
        self, prompt: str, completions: str, prompt_ids: _Ids = None, completion_ids: _Ids = None, **data: Any
    ) -> Verdict:
        """Returns the verdict, for workflows that drop samples. Raises RequestError."""
        count = None if completion_ids is None else len(completion_ids)
        return await self._scorer.verdict(
            sample_of(completions, data, self.settings, prompt=prompt, token_count=count or None)
        )

    async def _limited(self, *asked: Any, **data: Any) -> float:
        try:
            return await asyncio.wait_for(self.asynchronous(*asked, **data), self._within_s)
        except asyncio.TimeoutError:
            raise DeadlineExceeded(
                f"no verdict within {self._within_s:g} s; raise timeout_seconds of AsyncRewardWrapper and within_s "
                "of this function, or await `asynchronous`"
            ) from None


def reward(use: Any = None, *, within_s: float = WITHIN_S, **settings: Any) -> Reward:
    """Returns a reward function. `use` and the settings are those of `rewarden.adapters.Settings`.

    If you raise `within_s`, raise the wrapper's `timeout_seconds` too, and keep it some seconds higher.
    """
    read = Settings.read(use=use, **settings).refuse("group", why="AReaL passes one sample at a time")
    return Reward(checked(read), within_s)


def reward_fn(
    prompt: str, completions: str, prompt_ids: _Ids = None, completion_ids: _Ids = None, **data: Any
) -> float:
    """Like `reward()`, with settings from the environment: for configurations that name a function by its path,
    `rewarden.adapters.areal.reward_fn`.
    """
    return _from_environment()(prompt, completions, prompt_ids, completion_ids, **data)


def row_sample(row: Mapping[str, Any], response: str, settings: Settings) -> Sample:
    """Returns the sample of a row of a data set. See `rewarden.adapters.example`."""
    return sample_of(response, row, settings, prompt=text_of_prompt(prompt_of(row)))


@lru_cache(maxsize=1)
def _from_environment() -> Reward:
    return reward()


@lru_cache(maxsize=16)
def _kept(settings: bytes, within_s: float) -> Reward:
    return Reward(pickle.loads(settings), within_s)  # noqa: S301 - within a pickle of our own


__all__ = ["NoScore", "Reward", "reward", "reward_fn"]
