"""TRL's `reward_funcs` (GRPO, RLOO, async GRPO), also for unsloth, axolotl and open-r1, which use the same functions.

    from rewarden.adapters.trl import reward
    math = reward("math", target="http://127.0.0.1:8080")
    trainer = GRPOTrainer(model, reward_funcs=math, train_dataset=dataset, args=args)

`areward` returns a coroutine function instead, for trainers that await several rewards at a time. Both can be pickled.
All columns of the data set are passed; the expected answer is in the column that `reference` names, or in the first of
the usual names (`answer`, `solution`, …).

**No score**: `None`. Since 1.6.0, TRL excludes such samples from the group's baseline and gives them no advantage.
Older versions treat None as 0, so with them the call raises `NoScore`, as it does everywhere with `unscored="raise"`.
TRL sums several functions and counts a None as 0 in that sum, so combine rewards in one recipe instead. A call without
any score raises too if Rewarden or the caller is at fault, or if no column holds an expected answer, because a trainer
that gets only None continues and learns nothing. A call also raises if the server is unavailable for `patience_s`.
**Excluded samples**: a verdict with `exclude` becomes None as well. **Groups**: `group="prompt"` judges consecutive
samples with the same prompt as one group. Give `group_size` (TRL's `num_generations`), so that an incomplete group has
no score instead of a wrong one.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal

from rewarden.adapters.example import said
from rewarden.adapters.plain import samples_of
from rewarden.adapters.preflight import checked
from rewarden.adapters.rows import progress_of, usual_columns
from rewarden.adapters.scoring import NoScore, Scorer, number_of, score_or_none
from rewarden.adapters.settings import Settings
from rewarden.errors import InvalidRequest
from rewarden.logging.trl import LogExtra, LogMetric, report
from rewarden.types import Sample, Verdict

LEAVES_OUT_SINCE = (1, 6)
"""The first version of TRL whose GRPO and RLOO skip samples with None; earlier ones count it as 0."""

_OURS = frozenset({"infra", "caller"})


class _Function:
    """The part that the sync and the async function share."""

    def __init__(self, settings: Settings, name: str, group_size: int | None, eos_token_ids: frozenset[int]) -> None:
        self.__name__ = name
        self._scorer = Scorer(settings)
        self._group_size = group_size
        self._eos_token_ids = eos_token_ids

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._scorer.settings, self.__name__, self._group_size, self._eos_token_ids)

    def _samples(
        self,
        prompts: Sequence[Any] | None,
        completions: Sequence[Any],
        ids: Sequence[Any] | None,
        columns: dict[str, Any],
    ) -> list[Sample]:
        settings = self._scorer.settings
        by_prompt = settings.group == "prompt" and prompts is not None and "prompt" not in columns
        samples = samples_of(prompts, completions, columns, replace(settings, group=None) if by_prompt else settings)
        if settings.group == "prompt" and prompts is not None:
            groups = siblings(prompts, self._group_size)
            samples = [replace(sample, group=group) for sample, group in zip(samples, groups, strict=True)]
        if self._group_size is not None:
            size = self._group_size
            samples = [replace(sample, group_size=size) if sample.group else sample for sample in samples]
        if ids is not None:
            samples = [self._measured(sample, tokens) for sample, tokens in zip(samples, ids, strict=True)]
        return samples

    def _measured(self, sample: Sample, tokens: Sequence[int]) -> Sample:
        """Returns the sample with its length and finish reason, as TRL counts them.

        With tools, their tokens are between those of the policy, so the number of the policy's tokens is unknown.
        """
        own = isinstance(sample.response, str) or len(sample.response) == 1
        finish: Literal["stop", "length"] | None = None
        if self._eos_token_ids and len(tokens):
            finish = "stop" if int(tokens[-1]) in self._eos_token_ids else "length"
        return replace(sample, token_count=len(tokens) if own else None, finish_reason=finish)

    def _rewards(self, verdicts: Sequence[Verdict], columns: Collection[str]) -> list[float | None]:
        """Returns the rewards for TRL, None for samples that it leaves out. Raises NoScore."""
        settings = self._scorer.settings
        if not leaves_out():
            return [_number(verdict, settings) for verdict in verdicts]
        unscored = [verdict for verdict in verdicts if verdict.status != "scored"]
        if settings.unscored is None and unscored and len(unscored) == len(verdicts):
            if all(verdict.fault in _OURS for verdict in unscored):
                raise NoScore(unscored[0])
            if settings.reference is None and not usual_columns(columns):
                raise NoScore(unscored[0]) from InvalidRequest(
                    f"no column contains the expected answer; give reference=COLUMN, one of {', '.join(columns)}"
                )
        return [score_or_none(verdict, settings) for verdict in verdicts]


class Reward(_Function):
    """A blocking reward function for TRL. It can be called in a running event loop."""

    def __call__(
        self,
        prompts: Sequence[Any] | None,
        completions: Sequence[Any],
        completion_ids: Sequence[Any] | None = None,
        trainer_state: Any = None,
        log_extra: LogExtra | None = None,
        log_metric: LogMetric | None = None,
        **columns: Any,
    ) -> list[float | None]:
        """Returns a number or None for each completion, in order. Raises NoScore, RequestError."""
        samples = self._samples(prompts, completions, completion_ids, columns)
        verdicts = self._scorer.score(samples, progress=progress_of(trainer_state))
        report(verdicts, log_metric, log_extra, samples=samples, name=self.__name__)
        return self._rewards(verdicts, columns)


class AsyncReward(_Function):
    """An async reward function for TRL, which `inspect.iscoroutinefunction` recognizes."""

    def __init__(self, settings: Settings, name: str, group_size: int | None, eos_token_ids: frozenset[int]) -> None:
        super().__init__(settings, name, group_size, eos_token_ids)
        # A plain function has one name, and a partial keeps it; a trainer needs a name for each. `inspect` takes what
        # has a function's attributes for a function, and trainers ask `inspect` whether to await.
        call = type(self).__call__
        self.__code__ = call.__code__
        self.__defaults__ = call.__defaults__
        self.__kwdefaults__ = call.__kwdefaults__
        self.__signature__ = inspect.signature(self.__call__)

    async def __call__(
        self,
        prompts: Sequence[Any] | None,
        completions: Sequence[Any],
        completion_ids: Sequence[Any] | None = None,
        trainer_state: Any = None,
        log_extra: LogExtra | None = None,
        log_metric: LogMetric | None = None,
        **columns: Any,
    ) -> list[float | None]:
        """Like `Reward`, without blocking the loop."""
        samples = self._samples(prompts, completions, completion_ids, columns)
        verdicts = await self._scorer.verdicts(samples, progress=progress_of(trainer_state))
        report(verdicts, log_metric, log_extra, samples=samples, name=self.__name__)
        return self._rewards(verdicts, columns)


def reward(
    use: Any = None,
    *,
    name: str | None = None,
    group_size: int | None = None,
    eos_token_id: int | Collection[int] | None = None,
    **settings: Any,
) -> Reward:
    """Returns a reward function. `use` and the settings are those of `rewarden.adapters.Settings`.

    name: its name in TRL's logs (default: the verifier's or recipe's name). Two functions of a trainer need different
    names. group_size: the number of samples in a group; only with `group`. eos_token_id: the token or tokens that end a
    generation (the tokenizer's `eos_token_id`, and `pad_token_id` if it differs). They show which completions were
    truncated, by the same rule as TRL's `mask_truncated_completions`.
    """
    return Reward(*_arguments(use, name, group_size, eos_token_id, settings))


def areward(
    use: Any = None,
    *,
    name: str | None = None,
    group_size: int | None = None,
    eos_token_id: int | Collection[int] | None = None,
    **settings: Any,
) -> AsyncReward:
    """Like `reward`, but returns a coroutine function; TRL awaits all of them concurrently."""
    return AsyncReward(*_arguments(use, name, group_size, eos_token_id, settings))


def row_sample(row: Mapping[str, Any], response: str, settings: Settings) -> Sample:
    """Returns the sample of a row of a data set; TRL reads `prompt`. See `rewarden.adapters.example`.

    Raises InvalidRequest for a row without that column.
    """
    columns = {name: [value] for name, value in row.items()}
    if "prompt" not in columns:
        raise InvalidRequest(f"TRL needs a column 'prompt'; the columns are {', '.join(columns)}")
    prompts = columns.pop("prompt")
    return samples_of(prompts, [said(response, prompts[0])], columns, replace(settings, group=None))[0]


def siblings(prompts: Sequence[Any], size: int | None = None) -> list[str]:
    """Returns a group name for each prompt: up to `size` consecutive samples with the same prompt are siblings."""
    names: list[str] = []
    first = 0
    for place, prompt in enumerate(prompts):
        if prompt != prompts[first] or (size is not None and place - first == size):
            first = place
        names.append(str(first))
    return names


@lru_cache(maxsize=1)
def leaves_out() -> bool:
    """Returns whether the installed TRL skips samples with None; True if TRL is not installed."""
    try:
        found = re.match(r"(\d+)\.(\d+)", version("trl"))
    except PackageNotFoundError:
        return True
    return found is None or (int(found[1]), int(found[2])) >= LEAVES_OUT_SINCE


def _arguments(
    use: Any,
    name: str | None,
    group_size: int | None,
    eos_token_id: int | Collection[int] | None,
    given: dict[str, Any],
) -> tuple[Settings, str, int | None, frozenset[int]]:
    settings = checked(Settings.read(use=use, **given))
    judge = settings.use
    if name is None and judge is not None:
        name = judge.name or str((judge.recipe or {}).get("name", "recipe"))
    ids = (eos_token_id,) if isinstance(eos_token_id, int) else eos_token_id or ()
    return settings, name or "rewarden", group_size, frozenset(ids)


def _number(verdict: Verdict, settings: Settings) -> float:
    try:
        return number_of(verdict, settings)
    except NoScore as error:
        since = ".".join(map(str, LEAVES_OUT_SINCE))
        raise error from RuntimeError(f"this version of TRL treats None as 0; since {since} it skips such samples")
