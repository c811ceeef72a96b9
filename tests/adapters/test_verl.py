"""verl's reward function and reward manager, called as verl 0.9.1 calls them."""

from __future__ import annotations

import asyncio
import pickle
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from rewarden.adapters import NoScore
from rewarden.adapters.scoring import scorer
from rewarden.adapters.verl import KEYS, acompute_score, compute_score, compute_score_batch, sample
from rewarden.errors import InvalidRequest, Unavailable
from rewarden.types import Progress, Sample
from tests.client.servers import Script, http_server
from tests.server.process import ServerProcess

pytestmark = pytest.mark.needs_server

RIGHT, WRONG, SILENT = "So it is \\boxed{72}.", "So it is \\boxed{71}.", "It is seventy-"
BAD_REFERENCE = "\\frac{"


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server."""
    with ServerProcess(tmp_path_factory.mktemp("server")) as server:
        yield server.http


def told(target: str, **settings: Any) -> dict[str, Any]:
    """`reward_kwargs`."""
    return {"use": "math", "target": target, "patience_s": 0, **settings}


async def test_every_sample_has_the_same_keys_and_types(target: str) -> None:
    rows = [(RIGHT, "72"), (WRONG, "72"), (SILENT, "72"), (RIGHT, BAD_REFERENCE)]
    kwargs = told(target, unscored=-1)
    found = await asyncio.gather(
        *(
            acompute_score(data_source="d", solution_str=text, ground_truth=truth, extra_info={}, **kwargs)
            for text, truth in rows
        )
    )
    assert [tuple(scores) for scores in found] == [KEYS] * 4
    assert {tuple(type(value) for value in scores.values()) for scores in found} == {(float,) * 6 + (str,) * 3}
    assert [scores["score"] for scores in found] == [1.0, 0.0, 0.0, -1.0]
    assert [scores["unscored"] for scores in found] == [0.0, 0.0, 0.0, 1.0]
    assert [scores["no_answer"] for scores in found] == [0.0, 0.0, 1.0, 0.0]
    assert [scores["pred"] for scores in found[:2]] == ["72", "71"]
    assert found[3]["fault"] == "reference"


async def test_without_a_number_of_the_users_nothing_stands_for_no_score(target: str) -> None:
    row = {"data_source": "d", "solution_str": RIGHT, "ground_truth": BAD_REFERENCE, "extra_info": {}}
    with pytest.raises(NoScore):
        await acompute_score(**row, **told(target))
    with pytest.raises(NoScore):
        await asyncio.to_thread(lambda: compute_score(**row, **told(target)))
    with pytest.raises(NoScore):
        await asyncio.to_thread(compute_score_batch, ["d"] * 2, [RIGHT] * 2, ["72", BAD_REFERENCE], **told(target))
    with pytest.raises(Unavailable):
        await acompute_score("d", RIGHT, "72", {}, use="math", target="http://127.0.0.1:9", patience_s=0)


async def test_in_threads_and_in_a_batch_it_is_the_same(target: str) -> None:
    kwargs = told(target)
    row = ("d", RIGHT, "72", {"index": 1, "num_turns": 2})
    alone = await acompute_score(*row, **kwargs)
    threads = await asyncio.gather(
        *(asyncio.to_thread(compute_score, *row, reward_router_address="h:1", **kwargs) for _ in range(8))
    )
    assert threads == [alone] * 8
    batch = await asyncio.to_thread(
        compute_score_batch,
        data_sources=["d"] * 2,
        solution_strs=[RIGHT, WRONG],
        ground_truths=["72", "72"],
        extra_infos=[{}, {}],
        **kwargs,
    )
    assert [scores["score"] for scores in batch] == [1.0, 0.0]
    assert batch[0] == alone


async def test_the_data_source_chooses_the_judge(target: str, tmp_path: Any) -> None:
    (tmp_path / "routes.toml").write_text('[[route]]\ndata_source = "gsm*"\nuse = "math"\n')
    kwargs = {**told(target), "use": None, "routing": str(tmp_path / "routes.toml")}
    assert (await acompute_score("gsm8k", RIGHT, "72", None, **kwargs))["score"] == 1.0
    with pytest.raises(NoScore, match="other"):
        await acompute_score("other", RIGHT, "72", None, **kwargs)


async def test_the_function_sends_the_step_of_the_weights(script: Script) -> None:
    info = {"global_steps": 6, "min_global_steps": 5, "max_global_steps": 6, "index": 1}
    async with http_server(script) as address:
        await acompute_score("d", "x", "x", info, target=address)
        await asyncio.to_thread(lambda: compute_score("d", "x", "x", info, target=address))
        await acompute_score("d", "x", "x", {"max_global_steps": None}, target=address)
    steps = [header.progress for header in script.headers]
    assert steps == [Progress(step=6), Progress(step=6), None]
    (sample,) = script.streams[1]
    assert isinstance(sample, Sample)
    assert sample.metadata == {"index": 1}


def test_extra_info_is_metadata_as_far_as_it_tells_of_the_problem() -> None:
    info = {"index": 7, "image": "x" * 70_000, "num_turns": 3, "rollout_reward_scores": {}, "split": None}
    made = sample("d", "r", {"a": 1}, info, scorer(use="math").settings)
    assert (made.metadata, made.reference, made.data_source) == ({"index": 7}, {"a": 1}, "d")


def test_one_scorer_for_the_same_settings() -> None:
    one = scorer(use={"name": "math"}, unscored=0)
    assert scorer(unscored=0, use={"name": "math"}) is one
    assert scorer(use="math", unscored=1) is not one
    assert pickle.loads(pickle.dumps(one)).settings == one.settings  # noqa: S301 - our own


def test_a_group_is_refused_where_siblings_cannot_meet() -> None:
    with pytest.raises(InvalidRequest, match="reward manager"):
        compute_score("d", RIGHT, "72", {"uid": "a"}, use="consensus", group="uid")


async def test_the_batch_function_judges_groups(target: str) -> None:
    found = await asyncio.to_thread(
        compute_score_batch,
        ["d"] * 3,
        [RIGHT, RIGHT, WRONG],
        [None] * 3,
        [{"index": 0}] * 3,
        **told(target, use="consensus", group="index"),
    )
    assert [scores["score"] for scores in found] == [1.0, 1.0, 0.0]


# --- the reward manager ----------------------------------------------------------------------------------------------


class Settled(dict[str, Any]):
    """A mapping whose entries are attributes too, as those of verl's configuration."""

    __getattr__ = dict.__getitem__


class Row(list[int]):
    """One dimension of a tensor, as far as the manager looks at it."""

    @property
    def shape(self) -> tuple[int, ...]:
        """As a tensor has it."""
        return (len(self),)

    def __getitem__(self, at: Any) -> Any:
        return Row(super().__getitem__(at)) if isinstance(at, slice) else super().__getitem__(at)

    def sum(self) -> int:
        """As a tensor has it."""
        return sum(self)

    def tolist(self) -> list[int]:
        """As a tensor has it."""
        return list(self)


class Letters:
    """A tokenizer whose tokens are characters; 0 ends."""

    eos_token_id = 0

    def decode(self, ids: list[int], skip_special_tokens: bool) -> str:
        """The text."""
        return "".join(map(chr, filter(None, ids)))


def rollout(text: str, *, ended: bool = True, **columns: Any) -> list[Any]:
    """A DataProto of one rollout: a prompt of two tokens, and padding after the response."""
    ids = [*map(ord, text), *([0] if ended else [])]
    tensors = {"responses": Row([*ids, 0, 0, 0]), "attention_mask": Row([1, 1, *(1 for _ in ids), 0, 0, 0])}
    told = {"data_source": "d", "reward_model": {"ground_truth": "72"}, "extra_info": {"index": 7}, **columns}
    return [SimpleNamespace(batch=tensors, non_tensor_batch=told)]


@dataclass
class Managers:
    """Makes managers, and shows what they send."""

    make: Callable[..., Any]


@pytest.fixture
def managers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Managers]:
    """The manager's module, upon a stand-in of verl's base class; examples/verl/check.py runs it upon verl itself."""

    class RewardManagerBase:
        def __init__(self, config: Any, tokenizer: Any, compute_score: Any) -> None:
            self.config = config

    name = "verl.experimental.reward_loop.reward_manager.base"
    base = ModuleType(name)
    base.RewardManagerBase = RewardManagerBase  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, name, base)
    verl_manager = import_module("rewarden.adapters.verl_manager")

    def make(kwargs: dict[str, Any], *, workers: int = 8, n: int = 3, use_v1: bool = True, longest: int = 200) -> Any:
        config = Settled(
            reward=Settled(num_workers=workers, custom_reward_function=Settled(path=None, reward_kwargs=kwargs)),
            actor_rollout_ref=Settled(rollout=Settled(n=n, val_kwargs=Settled(n=n), response_length=longest)),
            data=Settled(train_batch_size=16, val_batch_size=16),
            trainer=Settled(use_v1=use_v1, experiment_name="qwen-grpo"),
        )
        return verl_manager.RewardManager(config, Letters(), None, reward_router_address=None)

    yield Managers(make)
    sys.modules.pop("rewarden.adapters.verl_manager", None)


async def test_the_manager_tells_the_length_and_whether_it_was_cut_off(target: str, managers: Managers) -> None:
    manager = managers.make(told(target), longest=len(SILENT))
    right = await manager.run_single(rollout(RIGHT))
    assert (right["reward_score"], right["reward_extra_info"]["truncated"]) == (1.0, 0.0)
    cut = await manager.run_single(rollout(SILENT, ended=False))
    assert tuple(cut["reward_extra_info"]) == KEYS
    assert (cut["reward_score"], cut["reward_extra_info"]["truncated"]) == (0.0, 1.0)


async def test_the_manager_sends_the_step_of_the_prompt(script: Script, managers: Managers) -> None:
    async with http_server(script) as address:
        manager = managers.make({"target": address, "unscored": 0})
        await manager.run_single(rollout(RIGHT, global_steps=7))
        await manager.run_single(rollout(RIGHT))
    assert [header.progress for header in script.headers] == [Progress(step=7), None]


async def test_the_manager_names_the_run_as_the_trainer_does(
    script: Script, managers: Managers, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("REWARDEN_RUN", "WANDB_NAME", "WANDB_RUN_ID", "MLFLOW_RUN_NAME"):
        monkeypatch.delenv(variable, raising=False)
    async with http_server(script) as address:
        await managers.make({"target": address, "unscored": 0}).run_single(rollout(RIGHT))
        await managers.make({"target": address, "unscored": 0, "run": "mine"}).run_single(rollout(RIGHT))
    runs = [sample.metadata["run"] for stream in script.streams for sample in stream]
    assert runs == ["qwen-grpo", "mine"]


async def test_the_manager_brings_siblings_together(target: str, managers: Managers) -> None:
    manager = managers.make(told(target, use="consensus", group="uid"), workers=1)
    texts = [RIGHT, WRONG, RIGHT]
    found = await asyncio.gather(
        *(manager.run_single(rollout(text, uid="u", session_id=n)) for n, text in enumerate(texts))
    )
    assert [one["reward_score"] for one in found] == [1.0, 0.0, 1.0]


async def test_the_manager_refuses_groups_that_cannot_meet(managers: Managers) -> None:
    with pytest.raises(InvalidRequest, match="num_workers"):
        managers.make({"use": "consensus", "group": "uid"})
    with pytest.raises(InvalidRequest, match="1000"):
        managers.make({"use": "consensus", "group": "uid"}, workers=1, n=100)


async def test_what_a_recipe_excludes_is_left_out_where_the_trainer_can(target: str, managers: Managers) -> None:
    use = {"name": "consensus", "params": {"below": "exclude"}}
    kwargs = told(target, use=use, group="uid")
    split = [RIGHT, WRONG]

    async def ask(use_v1: bool, uid: str) -> list[Any]:
        manager = managers.make(kwargs, workers=1, n=2, use_v1=use_v1)
        rows = [rollout(text, uid=uid, session_id=n) for n, text in enumerate(split)]
        return await asyncio.gather(*map(manager.run_single, rows), return_exceptions=True)

    assert [type(one).__name__ for one in await ask(True, "a")] == ["LeftOut"] * 2
    assert [one["reward_extra_info"]["excluded"] for one in await ask(False, "b")] == [1.0, 1.0]
