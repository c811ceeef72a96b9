"""TRL's GRPOTrainer lives episodes on a real server in turns, and a model with random weights learns to win."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from rewarden.adapters.episodes import Episode
from rewarden.adapters.trl_environment import environment
from rewarden.errors import InternalError
from tests.server.process import ServerProcess

LACKING = [name for name in ("torch", "trl") if importlib.util.find_spec(name) is None]

pytestmark = [
    pytest.mark.needs_server,
    pytest.mark.slow,
    pytest.mark.skipif(bool(LACKING), reason=f"{LACKING[0]} is not installed" if LACKING else ""),
]

_EXAMPLE = Path(__file__).parents[2] / "examples" / "trl" / "environment.py"


@pytest.fixture(scope="module")
def example() -> Any:
    """examples/trl/environment.py."""
    spec = importlib.util.spec_from_file_location("rewarden_example_environment", _EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with ServerProcess(tmp_path_factory.mktemp("server")) as server:
        yield server.http


def test_a_model_learns_a_game_of_several_turns(example: Any, target: str, tmp_path: Path) -> None:
    model, tokenizer = example.load(None)
    logged = example.train(example.game(target), str(tmp_path), model, tokenizer, steps=16)
    curve = [entry["reward"] for entry in logged]
    assert len(curve) == 16
    first, last = sum(curve[:4]) / 4, sum(curve[-4:]) / 4
    assert last > first + 0.2, curve
    assert {entry["tools/failure_frequency"] for entry in logged} == {0.0}
    assert min(entry["tools/call_frequency"] for entry in logged) > 1.0, "episodes have several turns"
    assert [entry["rewards/nim/mean"] for entry in logged] == curve


def test_trl_leaves_episodes_that_failed_out_of_their_group(
    example: Any, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, tokenizer = example.load(None)
    factory, count = example.game(target), 0
    real = Episode._acted

    async def failing(episode: Episode, call: Any) -> Any:
        nonlocal count
        count += 1
        if count % 3 == 0:
            raise InternalError("a worker died")
        return await real(episode, call)

    monkeypatch.setattr(Episode, "_acted", failing)
    made: list[Any] = []

    def noted() -> Any:
        made.append(factory())
        return made[-1]

    (entry,) = example.train(noted, str(tmp_path), model, tokenizer, steps=1)
    scored = [env.verdict.score for env in made if env.verdict.status == "scored"]
    assert 0 < len(scored) < len(made), "some episodes failed, and some did not"
    assert entry["rewards/nim/mean"] == pytest.approx(sum(scored) / len(scored))
    assert entry["tools/failure_frequency"] == 0.0, "the policy was shown no error"


def test_several_environments_are_played_in_one_run(example: Any, target: str, tmp_path: Path) -> None:
    trl, datasets = import_module("trl"), import_module("datasets")
    model, tokenizer = example.load(None)
    prompt = [{"role": "user", "content": "Play."}]
    rows = [
        {"prompt": prompt, "environment": "nim", "options": {"heaps": [1]}, "seed": 1},
        {"prompt": prompt, "environment": "board", "options": None, "seed": 2},
    ]
    config = trl.GRPOConfig(
        output_dir=str(tmp_path),
        max_steps=1,
        per_device_train_batch_size=8,
        num_generations=4,
        max_tool_calling_iterations=1,
        use_cpu=True,
        bf16=False,
        logging_steps=1,
        report_to=[],
        save_strategy="no",
        disable_tqdm=True,
    )
    factories = {"nim": environment("nim", target=target), "board": environment("tic_tac_toe", target=target)}
    trainer = trl.GRPOTrainer(
        model=model,
        environment_factory=factories,
        args=config,
        train_dataset=datasets.Dataset.from_list(rows),
        processing_class=tokenizer,
    )
    trainer.train()
    names = set(trainer.state.log_history[0])
    assert {"rewards/nim/mean", "rewards/tic_tac_toe/mean"} <= names
    played = {env._episode._body["options"].get("heaps", [0])[0] for env in trainer.environments}
    assert played == {0, 1}, "each row has the options of its own environment"


def test_trl_reads_the_tools_of_every_environment(target: str) -> None:
    utils = pytest.importorskip("transformers.utils", reason="transformers is not installed")
    factory = environment("search", target=target)
    schema = utils.get_json_schema(factory().search)["function"]
    assert (schema["name"], schema["parameters"]["required"]) == ("search", ["query"])
    assert schema["parameters"]["properties"]["query"] == {"type": "string", "description": "The query."}
    assert schema["description"].endswith(".")
