"""A reward function for any trainer: lists in, a list of numbers out.

    from rewarden.adapters.plain import reward
    score = reward("math", target="http://127.0.0.1:8080")
    score(prompts, completions, answer=answers)         # [1.0, 0.0, …]

**No score**: a list of numbers has no way to say it, so by default the call blocks while a failure may pass
(`patience_s`) and then raises `NoScore`; `unscored=NUMBER` puts a number there, `unscored=None` is no option here, for
who can skip a sample takes `reward.verdicts`. **Groups**: with `group="column"`, the samples of a call whose column is
equal are judged as one group.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rewarden.adapters.rows import sample_of
from rewarden.adapters.scoring import Scorer, number_of
from rewarden.adapters.settings import Settings
from rewarden.types import Sample, Verdict


class Reward:
    """A picklable `reward(prompts, completions, **columns)`.

    `completions` are texts or lists of chat messages. Every column is a list as long as `completions`, or one value for
    all of them.
    """

    def __init__(self, settings: Settings) -> None:
        self._scorer = Scorer(settings)

    def __call__(self, prompts: Sequence[Any] | None, completions: Sequence[Any], **columns: Any) -> list[float]:
        """The scores, in order. Raises NoScore, RequestError."""
        verdicts = self.verdicts(prompts, completions, **columns)
        return [number_of(verdict, self._scorer.settings) for verdict in verdicts]

    def verdicts(self, prompts: Sequence[Any] | None, completions: Sequence[Any], **columns: Any) -> list[Verdict]:
        """The verdicts themselves, in order. Raises RequestError."""
        return self._scorer.score(samples_of(prompts, completions, columns, self._scorer.settings))

    async def averdicts(
        self, prompts: Sequence[Any] | None, completions: Sequence[Any], **columns: Any
    ) -> list[Verdict]:
        """As `verdicts`, for callers in an event loop."""
        return await self._scorer.verdicts(samples_of(prompts, completions, columns, self._scorer.settings))


def reward(use: Any = None, **settings: Any) -> Reward:
    """A reward function. `use` and the settings are those of `rewarden.adapters.Settings`."""
    return Reward(Settings.read(use=use, **settings))


def samples_of(
    prompts: Sequence[Any] | None, completions: Sequence[Any], columns: Mapping[str, Any], settings: Settings
) -> list[Sample]:
    """The samples of a call with a list in each column. Raises InvalidRequest for a column of another length."""
    count = len(completions)
    lists = {name: value for name, value in columns.items() if isinstance(value, Sequence) and len(value) == count}
    lists = {name: value for name, value in lists.items() if not isinstance(value, (str, bytes))}
    single = {name: value for name, value in columns.items() if name not in lists}
    return [
        sample_of(
            completion,
            {**single, **{name: value[place] for name, value in lists.items()}},
            settings,
            prompt=None if prompts is None else prompts[place],
        )
        for place, completion in enumerate(completions)
    ]
