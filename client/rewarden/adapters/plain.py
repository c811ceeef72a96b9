"""A reward function for any trainer: lists in, a list of numbers out.

    from rewarden.adapters.plain import reward
    score = reward("math", target="http://127.0.0.1:8080")
    score(prompts, completions, answer=answers)         # [1.0, 0.0, …]

**No score**: a list of numbers cannot express it, so the call retries transient errors for `patience_s` and then raises
`NoScore`; `unscored=NUMBER` returns a number instead. A trainer that can skip samples uses `reward.verdicts`, which
raises only if the server is unavailable, and reads `status` and `exclude`. **Groups**: with `group="column"`, samples
of a call that share a value in that column are judged as one group.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rewarden.adapters.example import prompt_of, said
from rewarden.adapters.preflight import checked
from rewarden.adapters.rows import sample_of
from rewarden.adapters.scoring import Scorer, number_of
from rewarden.adapters.settings import Settings
from rewarden.errors import InvalidRequest
from rewarden.types import Sample, Verdict


class Reward:
    """A picklable `reward(prompts, completions, **columns)`.

    `completions` are strings or lists of chat messages; `prompts` are the same, or None. A column is a list (an array,
    a tensor) with a value per completion, or any other value, which then applies to all completions.
    """

    def __init__(self, settings: Settings) -> None:
        self._scorer = Scorer(settings)
        self.__name__ = "rewarden"  # trainers log a function's rewards under its name

    def __call__(self, prompts: Sequence[Any] | None, completions: Sequence[Any], **columns: Any) -> list[float]:
        """Returns the scores, in order. Raises NoScore, RequestError."""
        verdicts = self.verdicts(prompts, completions, **columns)
        return [number_of(verdict, self._scorer.settings) for verdict in verdicts]

    def verdicts(self, prompts: Sequence[Any] | None, completions: Sequence[Any], **columns: Any) -> list[Verdict]:
        """Returns the verdicts, in order. Raises RequestError."""
        return self._scorer.score(samples_of(prompts, completions, columns, self._scorer.settings))

    async def averdicts(
        self, prompts: Sequence[Any] | None, completions: Sequence[Any], **columns: Any
    ) -> list[Verdict]:
        """Like `verdicts`, for callers in an event loop."""
        return await self._scorer.verdicts(samples_of(prompts, completions, columns, self._scorer.settings))


def reward(use: Any = None, **settings: Any) -> Reward:
    """Returns a reward function. `use` and the settings are those of `rewarden.adapters.Settings`."""
    return Reward(checked(Settings.read(use=use, **settings)))


def row_sample(row: Mapping[str, Any], response: str, settings: Settings) -> Sample:
    """Returns the sample of a row of a data set. See `rewarden.adapters.example`."""
    prompt = prompt_of(row)
    columns = {name: [value] for name, value in row.items()}
    return samples_of([prompt], [said(response, prompt)], columns, settings)[0]


def samples_of(
    prompts: Sequence[Any] | None, completions: Sequence[Any], columns: Mapping[str, Any], settings: Settings
) -> list[Sample]:
    """Returns the samples of a call. Raises InvalidRequest for a list whose length differs from `completions`."""
    rows = {name: _values(value) for name, value in {"prompts": prompts, **columns}.items()}
    for name, values in rows.items():
        if values is not None and len(values) != len(completions):
            raise InvalidRequest(f"{name}: {len(values)} values for {len(completions)} completions")
    asked = rows.pop("prompts")
    return [
        sample_of(
            completion,
            {name: columns[name] if values is None else values[place] for name, values in rows.items()},
            settings,
            prompt=None if asked is None else asked[place],
        )
        for place, completion in enumerate(completions)
    ]


def _values(column: Any) -> Sequence[Any] | None:
    """Returns the values of a column with one per sample, or None for a column that applies to all samples."""
    if hasattr(column, "tolist"):  # numpy, torch, pandas
        column = column.tolist()
    return column if isinstance(column, Sequence) and not isinstance(column, (str, bytes)) else None
