"""A data set of Tinker's cookbook whose problems Rewarden judges, for `tinker_cookbook.rl.train`.

Give `Problems` a list of rows with `question` and `answer`. Ran with tinker-cookbook 0.6.1.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from tinker_cookbook.renderers import Renderer
from tinker_cookbook.rl.problem_env import ProblemGroupBuilder
from tinker_cookbook.rl.types import EnvGroupBuilder, RLDataset

from rewarden.adapters.tinker import RewardenEnv


class Problems(RLDataset):  # type: ignore[misc]
    """Batches of groups, one group for each row."""

    def __init__(self, rows: Sequence[Mapping[str, Any]], renderer: Renderer, batch_size: int, group_size: int) -> None:
        self._rows = rows
        self._renderer = renderer
        self._batch_size = batch_size
        self._group_size = group_size

    def get_batch(self, index: int) -> Sequence[EnvGroupBuilder]:
        """Returns the groups of a batch."""
        start = index * self._batch_size
        return [self._group(row) for row in self._rows[start : start + self._batch_size]]

    def __len__(self) -> int:
        return -(-len(self._rows) // self._batch_size)

    def _group(self, row: Mapping[str, Any]) -> EnvGroupBuilder:
        target = os.environ.get("REWARDEN_TARGET", "http://127.0.0.1:8080")
        make = partial(RewardenEnv, self._renderer, row["question"], row, use="math", target=target)
        return ProblemGroupBuilder(env_thunk=make, num_envs=self._group_size, dataset_name="problems")
