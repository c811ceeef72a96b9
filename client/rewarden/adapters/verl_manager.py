"""verl's reward manager: like `rewarden.adapters.verl`, with more data on each sample than a reward function has.

    reward.reward_manager.source=importlib reward.reward_manager.name=RewardManager
    reward.reward_manager.module.path=pkg://rewarden.adapters.verl_manager
    +reward.custom_reward_function.reward_kwargs.use=math

It sends the prompt, the response's length in tokens and whether it was truncated, and can judge groups. Its settings
are in the same place as those of a reward function, with or without `custom_reward_function.path`.

**No score**: as in `rewarden.adapters.verl`. verl's default trainer (`trainer.use_v1`) drops samples whose reward
raises, so samples that a recipe excludes raise too (`LeftOut`).
**Groups**: `reward_kwargs.group=uid`. verl sends each rollout to a random reward worker as soon as it is generated.
Groups therefore need `reward.num_workers=1`, as many rollouts in validation as in training, and batches of at most
1,000 rollouts, the number of calls that a Ray actor runs at a time. Otherwise the manager raises an error.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from rewarden.adapters.rows import plain, step_of
from rewarden.adapters.scoring import scorer
from rewarden.adapters.verl import sample, scores_of
from rewarden.columns import value_of
from rewarden.errors import InvalidRequest, RewardenError
from rewarden.types import FinishReason

if TYPE_CHECKING:
    Base = object
else:
    from verl.experimental.reward_loop.reward_manager.base import RewardManagerBase as Base

_ACTOR_CALLS = 1000
"""The number of concurrent calls of an async Ray actor, by default."""


class LeftOut(RewardenError):
    """A recipe excludes the sample from training (`exclude`)."""


class RewardManager(Base):
    """Scores rollouts one at a time, as verl's reward loop requires."""

    def __init__(
        self,
        config: Any,
        tokenizer: Any,
        compute_score: Any = None,
        reward_router_address: str | None = None,
        reward_model_tokenizer: Any = None,
    ) -> None:
        """`config` is verl's whole configuration; `compute_score` and the arguments on its reward model are not used.

        Raises InvalidRequest.
        """
        super().__init__(config, tokenizer, compute_score)  # type: ignore[call-arg]
        self._tokenizer = tokenizer
        kwargs = dict(config.reward.custom_reward_function.get("reward_kwargs") or {})
        self._scorer = scorer(config.trainer.get("experiment_name"), **kwargs)
        self._longest = int(config.actor_rollout_ref.rollout.response_length)
        self._leaves_out = bool(config.trainer.get("use_v1", False))
        self._group_size = None if self._scorer.settings.group is None else _group_size(config)

    async def run_single(self, data: Any) -> dict[str, Any]:
        """Returns `reward_score` and `reward_extra_info` of a rollout (a DataProto, whose last sequence counts).

        Raises NoScore, LeftOut, RequestError.
        """
        row = data[-1:][0]
        columns, settings = row.non_tensor_batch, self._scorer.settings
        ids = _response_ids(row)
        text = await asyncio.to_thread(self._tokenizer.decode, ids, skip_special_tokens=True)
        fields: dict[str, Any] = {
            "prompt": plain(columns.get("raw_prompt")),
            "token_count": len(ids),
            "finish_reason": self._finish_reason(ids),
        }
        if columns.get("uid") is not None and columns.get("session_id") is not None:
            fields["id"] = f"{columns['uid']}_{columns['session_id']}"
        if settings.group is not None:
            group = value_of(columns, settings.group)
            if group is None:
                raise InvalidRequest(f"group: no column {settings.group!r}")
            fields |= {"group": str(group), "group_size": self._group_size}
        truth = columns["reward_model"].get("ground_truth")
        one = sample(columns["data_source"], text, truth, columns.get("extra_info"), settings, **fields)
        # The step whose prompt it is, which all siblings share; verl's default trainer passes it.
        verdict = await self._scorer.verdict(one, progress=step_of(columns.get("global_steps")))
        if verdict.exclude and self._leaves_out:
            raise LeftOut(f"excluded from training: {verdict.exclude_reason or verdict.reason}")
        scores = scores_of(verdict, settings)
        return {"reward_score": scores["score"], "reward_extra_info": scores}

    def _finish_reason(self, ids: list[int]) -> FinishReason | None:
        """Returns the reason, or None if the tokens do not show it: models may end with other tokens than their
        tokenizer's end."""
        if ids and ids[-1] == self._tokenizer.eos_token_id:
            return "stop"
        return "length" if len(ids) >= self._longest else None


def _response_ids(row: Any) -> list[int]:
    responses = row.batch["responses"]
    count = int(row.batch["attention_mask"][-responses.shape[-1] :].sum())
    found: list[int] = responses[:count].tolist()
    return found


def _group_size(config: Any) -> int:
    """Returns the size of a group. Raises InvalidRequest if its members would not all go to one worker."""
    rollout, data = config.actor_rollout_ref.rollout, config.data
    if config.reward.num_workers != 1:
        raise InvalidRequest("group: all siblings must go to one reward worker; set reward.num_workers=1")
    if rollout.val_kwargs.n != rollout.n:
        raise InvalidRequest(
            "group: actor_rollout_ref.rollout.val_kwargs.n must equal rollout.n, because no sample says which applies"
        )
    for name in ("train_batch_size", "val_batch_size"):
        size = data.get(name)
        if size is None or size * rollout.n > _ACTOR_CALLS:
            raise InvalidRequest(
                f"group: data.{name} × rollout.n must be at most {_ACTOR_CALLS}: further rollouts would wait "
                "outside the reward worker, while their siblings inside wait for them"
            )
    return int(rollout.n)
