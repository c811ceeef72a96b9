"""AReaL: a reward function, for its wrapper that runs it in other processes, or for a workflow that awaits it.

    from rewarden.adapters.areal import reward
    workflow = RLVRWorkflow(reward_fn=reward("math", target="http://127.0.0.1:8080"), …)
    workflow.async_reward_fn = workflow.reward_fn.asynchronous      # rather than AReaL's wrapper: see below

**No score**: raised as `NoScore`; AReaL logs it and rejects the trajectory, and with `group_size` above 1 the whole
group. A workflow can leave out the one sample, by returning None: `verdict` is for those (examples/areal), and for what
a recipe excludes, which keeps its score otherwise. `unscored=NUMBER` puts a number there.
**Groups**: none; AReaL asks for one sample at a time.

AReaL's `AsyncRewardWrapper` waits 15 s, its queue included, four times, and then takes **0** for the reward. So the
blocking form ends after `within_s` (12 s) and raises, which is tried again by the wrapper and then raised, and never a
0. It cannot help what waits in the wrapper's queue, one sample for each of its few processes at a time: what takes
seconds needs `asynchronous`, which has no queue and waits for `patience_s`, or a wrapper with larger `timeout_seconds`.

Read and driven in areal 1.0.4 (areal/api/reward_api.py, areal/workflow/rlvr.py, areal/infra/workflow_executor.py).
"""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Union

from rewarden.adapters.rows import sample_of
from rewarden.adapters.scoring import NoScore, Scorer, number_of
from rewarden.adapters.settings import Settings
from rewarden.errors import DeadlineExceeded
from rewarden.types import Verdict

_Ids = Union[Sequence[int], None]
"""The tokens of a text, where AReaL says them."""

WITHIN_S = 12.0
"""The longest time of a blocking call, in seconds; AReaL's wrapper waits 15 s by default."""


class Reward:
    """A picklable `reward_fn(prompt, completions, prompt_ids, completion_ids, **data)`; each process keeps one.

    `data` are the columns of the data set. `within_s`: how long a blocking call may last.
    """

    def __init__(self, settings: Settings, within_s: float = WITHIN_S) -> None:
        self.settings = settings
        self._within_s = within_s
        self._scorer = Scorer(settings)

    def __reduce__(self) -> tuple[Any, tuple[bytes, float]]:
        # The wrapper pickles it for every call: the process's own is found by these bytes, with its connections.
        return _kept, (pickle.dumps(self.settings), self._within_s)

    def __call__(
        self, prompt: str, completions: str, prompt_ids: _Ids = None, completion_ids: _Ids = None, **data: Any
    ) -> float:
        """The score. Raises NoScore; DeadlineExceeded after `within_s`; other RequestErrors. Never TimeoutError, which
        the wrapper would turn into a 0.
        """
        return self._scorer.run(self._limited(prompt, completions, prompt_ids, completion_ids, **data))

    async def asynchronous(
        self, prompt: str, completions: str, prompt_ids: _Ids = None, completion_ids: _Ids = None, **data: Any
    ) -> float:
        """The score, for workflows that await it: no process between, and no limit but `patience_s` and `timeout_s`.

        Raises NoScore, RequestError.
        """
        return number_of(await self.verdict(prompt, completions, prompt_ids, completion_ids, **data), self.settings)

    async def verdict(
        self, prompt: str, completions: str, prompt_ids: _Ids = None, completion_ids: _Ids = None, **data: Any
    ) -> Verdict:
        """The verdict itself, for workflows that leave samples out. Raises RequestError."""
        count = None if completion_ids is None else len(completion_ids)
        return await self._scorer.verdict(
            sample_of(completions, data, self.settings, prompt=prompt, token_count=count or None)
        )

    async def _limited(self, *asked: Any, **data: Any) -> float:
        try:
            return await asyncio.wait_for(self.asynchronous(*asked, **data), self._within_s)
        except asyncio.TimeoutError:
            raise DeadlineExceeded(
                f"no verdict within {self._within_s:g} s; give AsyncRewardWrapper a larger timeout_seconds and this a "
                "larger within_s, or await `asynchronous`"
            ) from None


def reward(use: Any = None, *, within_s: float = WITHIN_S, **settings: Any) -> Reward:
    """A reward function. `use` and the settings are those of `rewarden.adapters.Settings`.

    Raise `within_s` together with the wrapper's `timeout_seconds`, and keep it some seconds below.
    """
    return Reward(
        Settings.read(use=use, **settings).refuse("group", why="AReaL asks for one sample at a time"), within_s
    )


def reward_fn(
    prompt: str, completions: str, prompt_ids: _Ids = None, completion_ids: _Ids = None, **data: Any
) -> float:
    """Like `reward()`, with settings from the environment: for configurations that name a function by its path,
    `rewarden.adapters.areal.reward_fn`.
    """
    return _from_environment()(prompt, completions, prompt_ids, completion_ids, **data)


@lru_cache(maxsize=1)
def _from_environment() -> Reward:
    return reward()


@lru_cache(maxsize=16)
def _kept(settings: bytes, within_s: float) -> Reward:
    return Reward(pickle.loads(settings), within_s)  # noqa: S301 - within a pickle of our own


__all__ = ["NoScore", "Reward", "reward", "reward_fn"]
