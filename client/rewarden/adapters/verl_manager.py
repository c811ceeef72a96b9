"""verl's reward manager: as `rewarden.adapters.verl`, and tells the server more than a reward function is told.

    reward.reward_manager.source=importlib reward.reward_manager.name=RewardManager
    reward.reward_manager.module.path=pkg://rewarden.adapters.verl_manager
    +reward.custom_reward_function.reward_kwargs.use=math

It sends the prompt, the response's length in tokens and whether it was cut off, and can bring the siblings of a group
together. Settings stand where those of a reward function do, with or without `custom_reward_function.path`.

**No score**: as in `rewarden.adapters.verl`. Under verl's default trainer (`trainer.use_v1`), which goes on without a
sample whose reward raises, a sample that its recipe excludes is left out in the same way (`LeftOut`).
**Groups**: `reward_kwargs.group=uid`. verl gives each rollout to a reward worker by chance as soon as it is generated,
so this needs `reward.num_workers=1`, as many rollouts in validation as in training, and batches of at most 1,000
rollouts, which is what a Ray actor takes at a time; it says so where one is missing.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from rewarden.adapters.rows import plain
from rewarden.adapters.scoring import scorer
from rewarden.adapters.verl import sample, scores_of
from rewarden.errors import InvalidRequest, RewardenError
from rewarden.types import FinishReason

if TYPE_CHECKING:
    Base = object
else:
    from verl.experimental.reward_loop.reward_manager.base import RewardManagerBase as Base

_ACTOR_CALLS = 1000
"""Calls that an asynchronous Ray actor works on at a time, by default."""


class LeftOut(RewardenError):
    """A recipe asks to leave a sample out of training (`exclude`)."""


class RewardManager(Base):
    """Scores rollouts one at a time, as verl's reward loop asks it to."""

    def __init__(
        self,
        config: Any,
        tokenizer: Any,
        compute_score: Any = None,
        reward_router_address: str | None = None,
        reward_model_tokenizer: Any = None,
    ) -> None:
        """`config` is verl's whole configuration; `compute_score` and what concerns its reward model are not used.

        Raises InvalidRequest.
        """
        super().__init__(config, tokenizer, compute_score)  # type: ignore[call-arg]
        self._tokenizer = tokenizer
        self._scorer = scorer(**dict(config.reward.custom_reward_function.get("reward_kwargs") or {}))
        self._longest = int(config.actor_rollout_ref.rollout.response_length)
        self._leaves_out = bool(config.trainer.get("use_v1", False))
        self._group_size = None if self._scorer.settings.group is None else _group_size(config)

    async def run_single(self, data: Any) -> dict[str, Any]:
        """`reward_score` and `reward_extra_info` of one rollout, a DataProto; of several sequences the last counts.

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
            if columns.get(settings.group) is None:
                raise InvalidRequest(f"group: there is no column {settings.group!r}")
            fields |= {"group": str(columns[settings.group]), "group_size": self._group_size}
        truth = columns["reward_model"].get("ground_truth")
        one = sample(columns["data_source"], text, truth, columns.get("extra_info"), settings, **fields)
        verdict = await self._scorer.verdict(one)
        if verdict.exclude and self._leaves_out:
            raise LeftOut(f"left out of training: {verdict.exclude_reason or verdict.reason}")
        scores = scores_of(verdict, settings)
        return {"reward_score": scores["score"], "reward_extra_info": scores}

    def _finish_reason(self, ids: list[int]) -> FinishReason | None:
        """Returns the reason, or None where the tokens do not show it: models may end with other tokens than their
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
    """The siblings that a group has. Raises InvalidRequest where they would not all meet."""
    rollout, data = config.actor_rollout_ref.rollout, config.data
    if config.reward.num_workers != 1:
        raise InvalidRequest("group: siblings meet in one reward worker only; set reward.num_workers=1")
    if rollout.val_kwargs.n != rollout.n:
        raise InvalidRequest(
            "group: set actor_rollout_ref.rollout.val_kwargs.n as rollout.n; no sample says which it is"
        )
    for name in ("train_batch_size", "val_batch_size"):
        size = data.get(name)
        if size is None or size * rollout.n > _ACTOR_CALLS:
            raise InvalidRequest(
                f"group: data.{name} × rollout.n must be at most {_ACTOR_CALLS}: further rollouts would wait "
                "outside the reward worker while their siblings wait for them inside"
            )
    return int(rollout.n)
