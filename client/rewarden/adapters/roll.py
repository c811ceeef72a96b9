"""ROLL: a reward worker for `rewards` of its RLVR pipeline.

    rewards:
      math:
        worker_cls: rewarden.adapters.roll.RewardenWorker
        reward_manager_config: [{use: math, target: "http://127.0.0.1:8080"}]

The first entry of `reward_manager_config` has the settings of `rewarden.adapters.Settings`; the environment has the
rest. The columns are the fields of ROLL's batch, in which its data sets have `ground_truth`.

**No score**: every reward in ROLL is a number that counts in its group. A call therefore retries transient errors for
`patience_s` and then raises `NoScore`, which stops the pipeline; `unscored: NUMBER` returns a number instead. An
excluded sample keeps its score. **Groups**: with `group: column`, the samples of a call with the same value there are
judged as one group; ROLL calls a worker with the samples of one prompt.

Checked and run with ROLL at 8eb27cc (2026-08-19; roll/pipeline/rlvr/rewards, roll/distributed/scheduler).
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import Any

from rewarden.adapters.plain import samples_of
from rewarden.adapters.scoring import NoScore, number_of, scorer
from rewarden.adapters.settings import unwrapped
from rewarden.errors import InvalidRequest


def __getattr__(name: str) -> Any:
    """Creates `RewardenWorker` on first use, so that this module can be imported without ROLL."""
    if name != "RewardenWorker":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _worker()


@lru_cache(maxsize=1)
def _worker() -> type[Any]:
    base: Any = import_module("roll.distributed.executor.worker").Worker
    calls = import_module("roll.distributed.scheduler.decorator")
    protocol = import_module("roll.distributed.scheduler.protocol")
    torch = import_module("torch")

    class RewardenWorker(base):  # type: ignore[misc]
        """A worker that scores the responses of a batch."""

        def __init__(self, worker_config: Any) -> None:
            super().__init__(worker_config=worker_config)
            self.rank_info.dp_rank = self.rank_info.rank
            self.rank_info.dp_size = self.rank_info.world_size
            provider = import_module("roll.models.model_providers").default_tokenizer_provider
            self.tokenizer = provider(model_args=worker_config.model_args)
            self._settings = _settings(worker_config.reward_manager_config)

        @calls.register(dispatch_mode=calls.Dispatch.ONE_TO_ALL)  # type: ignore[untyped-decorator]
        def initialize(self, pipeline_config: Any) -> None:
            """Checks the settings. Raises InvalidRequest."""
            scorer(**self._settings)

        @calls.register(dispatch_mode=calls.Dispatch.DP_MP_COMPUTE, clear_cache=False)  # type: ignore[untyped-decorator]
        def compute_rewards(self, data: Any) -> Any:
            """Returns a `DataProto` with a reward for each response. Raises NoScore, RequestError."""
            prompts, responses = (
                self.tokenizer.batch_decode(data.batch[name], skip_special_tokens=True)
                for name in ("prompts", "responses")
            )
            rewards = torch.tensor(rewards_of(prompts, responses, data.non_tensor_batch, **self._settings))
            return protocol.DataProto.from_dict(
                tensors={
                    "token_level_rewards": torch.zeros_like(data.batch["responses"], dtype=torch.float32),
                    "response_level_rewards": rewards,
                    "scores": rewards.clone(),
                }
            )

    RewardenWorker.__module__, RewardenWorker.__qualname__ = __name__, "RewardenWorker"
    return RewardenWorker


def rewards_of(prompts: list[str], responses: list[str], columns: Any, **settings: Any) -> list[float]:
    """Returns the rewards of a batch, in order. Raises NoScore, RequestError."""
    found = scorer(**settings)
    verdicts = found.score(samples_of(prompts, responses, columns, found.settings))
    return [number_of(verdict, found.settings) for verdict in verdicts]


def _settings(config: Any) -> dict[str, Any]:
    """Returns the settings in a worker's configuration. Raises InvalidRequest."""
    told = unwrapped(config or [])
    if len(told) > 1:
        raise InvalidRequest("reward_manager_config: must have one entry, with the settings of Rewarden")
    return dict(told[0]) if told else {}


__all__ = ["NoScore", "rewards_of"]
