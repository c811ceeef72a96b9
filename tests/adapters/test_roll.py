"""ROLL's reward worker: what its batches become, and what it returns."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from rewarden.adapters import NoScore
from rewarden.adapters.roll import rewards_of
from rewarden.errors import InvalidRequest
from rewarden.types import Sample
from tests.adapters.conftest import Start
from tests.client.servers import Script

WHY = "ROLL is not on PyPI; put a checkout on the path"


def test_the_module_needs_no_roll() -> None:
    code = "import sys, rewarden.adapters.roll; sys.exit('torch' in sys.modules or 'roll' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


async def test_a_batch_sends_its_columns(target: str, script: Script) -> None:
    columns = {"ground_truth": ["2", "2"], "tag": ["sums", "sums"], "level": [1, 2]}
    told = {"target": target, "patience_s": 0, "data_source": "tag", "metadata": ["level"]}
    assert await asyncio.to_thread(lambda: rewards_of(["1+1?"] * 2, ["2", "3"], columns, **told)) == [1.0, 0.0]
    _, sample = script.batches[0].samples
    assert isinstance(sample, Sample)
    assert (sample.prompt, sample.response, sample.reference) == ("1+1?", "3", "2")
    assert (sample.data_source, sample.metadata) == ("sums", {"level": 2})


async def test_a_sample_without_a_score_raises(start: Start) -> None:
    told = {"target": (await start()).serving.http, "use": "math", "patience_s": 0}
    columns = {"ground_truth": ["72", "\\frac{"]}
    texts = ["\\boxed{72}"] * 2
    with pytest.raises(NoScore):
        await asyncio.to_thread(lambda: rewards_of(["?"] * 2, texts, columns, **told))
    found = await asyncio.to_thread(lambda: rewards_of(["?"] * 2, texts, columns, unscored=-1, **told))
    assert found == [1.0, -1.0]


class Letters:
    """A tokenizer of one token for each character."""

    def batch_decode(self, rows: Any, skip_special_tokens: bool = False) -> list[str]:
        return ["".join(chr(token) for token in row.tolist() if token) for row in rows]


async def test_rolls_own_batches_go_through_the_worker(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """`DataProto` of a checkout, and the worker as ROLL's cluster finds it, outside of a cluster."""
    protocol = pytest.importorskip("roll.distributed.scheduler.protocol", reason=WHY)
    executor = pytest.importorskip("roll.distributed.executor.worker", reason=WHY)
    providers = pytest.importorskip("roll.models.model_providers", reason=WHY)
    import numpy as np
    import torch
    from roll.utils.import_utils import safe_import_class

    def bare(self: Any, worker_config: Any) -> None:
        self.rank_info = SimpleNamespace(rank=0, world_size=1)

    monkeypatch.setattr(executor.Worker, "__init__", bare)  # the cluster's ranks and addresses
    monkeypatch.setattr(providers, "default_tokenizer_provider", lambda model_args: Letters())
    made = safe_import_class("rewarden.adapters.roll.RewardenWorker")
    target = (await start()).serving.http
    told = [{"use": "math", "target": target, "patience_s": 0}]
    worker = made(SimpleNamespace(model_args=None, reward_manager_config=told))
    assert isinstance(worker, executor.Worker)
    worker.initialize(None)
    texts = ["\\boxed{72}", "\\boxed{7}"]
    rows = torch.tensor([[ord(letter) for letter in text.ljust(10, "\0")] for text in texts])
    truths = np.array(["72", "72"], dtype=object)
    data = protocol.DataProto.from_dict(
        tensors={"prompts": rows, "responses": rows}, non_tensors={"ground_truth": truths}
    )
    found = await asyncio.to_thread(worker.compute_rewards, data)
    assert found.batch["response_level_rewards"].tolist() == [1.0, 0.0]
    assert found.batch["scores"].tolist() == [1.0, 0.0]
    assert found.batch["token_level_rewards"].shape == rows.shape
    with pytest.raises(InvalidRequest, match="one entry"):
        made(SimpleNamespace(model_args=None, reward_manager_config=[{}, {}]))
