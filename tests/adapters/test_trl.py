"""TRL's reward functions: what they return, that other processes can have them, and which of them are awaited.

`test_grpo.py` runs TRL itself.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import multiprocessing
import pickle
import subprocess
import sys
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rewarden.adapters import NoScore
from rewarden.adapters import trl as adapter
from rewarden.adapters.trl import areward, reward, siblings
from rewarden.errors import InvalidRequest, Unavailable
from rewarden.types import Sample, Verdict
from tests.adapters.conftest import Start
from tests.client.servers import Script, judge

BROKEN = Verdict(status="error", reason="sandbox_failed", fault="infra")
BAD_REFERENCE = Verdict(status="undecided", reason="invalid_reference", fault="reference")


def chat(text: str, role: str = "assistant") -> list[dict[str, str]]:
    return [{"role": role, "content": text}]


def judged_as(outcomes: dict[str, Verdict]) -> Any:
    """A judge that gives certain responses certain outcomes."""

    def judged(sample: Sample, index: int) -> Verdict:
        known = outcomes.get(str(sample.response))
        return judge(sample, index) if known is None else replace(known, index=index, group=sample.group)

    return judged


async def test_chat_and_text_are_judged_and_what_cannot_be_is_none(start: Start) -> None:
    target = (await start()).serving.http
    prompts, answer = [chat("1 + 1?", "user")] * 4, ["2", "2", "2", ""]
    right, wrong, none = chat("\\boxed{2}"), chat("\\boxed{3}"), chat("I cannot say")
    judged = await areward("math", target=target)(prompts, [right, wrong, none, right], answer=answer)
    assert judged == [1.0, 0.0, 0.0, None]
    texts = await areward("math", target=target)(["1 + 1?"], ["It is \\boxed{2}"], solution=["2"])
    assert texts == [1.0]
    blocking = reward("math", target=target)
    assert await asyncio.to_thread(blocking, prompts[:1], [right], solution=["2"], reference=["3"]) == [0.0]


async def test_columns_prompts_and_tokens_arrive(target: str, script: Script) -> None:
    scored = areward(target=target, reference="solution", data_source="origin", metadata=("level",), eos_token_id=2)
    tooled = [*chat("f()"), {"role": "tool", "content": "7"}, *chat("7")]
    await scored(
        [chat("a", "user"), "b", "c"],
        [chat("x"), "y", tooled],
        completion_ids=[[5, 2], [5, 6, 7], [5, 9, 9, 5, 2]],
        trainer_state=SimpleNamespace(global_step=30, max_steps=100),
        environments=[object(), object(), object()],
        solution=["x", "y", "7"],
        answer=["not this", "one", "!"],
        origin=["one", "two", "two"],
        level=[1, 2, 3],
    )
    (batch,) = script.batches
    assert batch.progress is not None
    assert (batch.progress.step, batch.progress.total_steps) == (30, 100)
    first, second, third = batch.samples
    assert isinstance(first, Sample)
    assert isinstance(second, Sample)
    assert isinstance(third, Sample)
    assert (first.prompt, first.response, first.reference) == (chat("a", "user"), chat("x"), "x")
    assert (second.prompt, second.data_source, second.metadata) == ("b", "two", {"level": 2})
    assert [(s.token_count, s.finish_reason) for s in (first, second)] == [(2, "stop"), (3, "length")]
    assert (third.token_count, third.finish_reason) == (None, "stop"), "a tool's tokens are not the policy's"


async def test_without_the_end_token_nobody_guesses_how_it_ended(target: str, script: Script) -> None:
    await areward(target=target)(None, ["x"], completion_ids=[[1, 2, 3]], answer=["x"])
    (sample,) = script.batches[0].samples
    assert isinstance(sample, Sample)
    assert (sample.token_count, sample.finish_reason, sample.prompt) == (3, None, None)
    assert script.batches[0].progress is None


async def test_an_excluded_sample_is_none_and_a_number_of_the_users_stands_where_it_is_asked_for(
    target: str, script: Script
) -> None:
    overlong = Verdict(status="scored", score=0.5, exclude=True, exclude_reason="overlong")
    script.judge = judged_as({"long": overlong, "odd": BAD_REFERENCE})
    batch = {"prompts": None, "completions": ["long", "odd", "ok"], "answer": ["ok"] * 3}
    assert await areward(target=target)(**batch) == [None, None, 1.0]
    assert await areward(target=target, unscored=-1)(**batch) == [None, -1.0, 1.0]
    with pytest.raises(NoScore, match="invalid_reference"):
        await areward(target=target, unscored="raise")(**batch)


async def test_a_call_in_which_nothing_could_be_judged_raises_where_the_fault_is_ours(
    target: str, script: Script
) -> None:
    script.judge = judged_as({"a": BROKEN, "b": BAD_REFERENCE})
    scored = areward(target=target, patience_s=0)
    with pytest.raises(NoScore, match="sandbox_failed"):
        await scored(None, ["a", "a"], answer=["x", "x"])
    assert await scored(None, ["a", "x"], answer=["x", "x"]) == [None, 1.0]
    assert await scored(None, ["b", "b"], answer=["x", "x"]) == [None, None], "one bad row does not end a run"


async def test_a_data_set_without_a_usual_column_is_told_to_name_one(target: str, script: Script) -> None:
    script.judge = judged_as({"a": BAD_REFERENCE})
    with pytest.raises(NoScore) as caught:
        await areward(target=target)(None, ["a"], gold_standard=["x"])
    assert "reference=COLUMN, one of gold_standard" in str(caught.value.__cause__)


async def test_a_server_that_stays_away_raises() -> None:
    with pytest.raises(Unavailable):
        await areward("math", target="http://127.0.0.1:9", patience_s=0)(None, ["x"], answer=["x"])


async def test_an_older_trl_that_takes_none_for_0_is_never_given_one(
    target: str, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    overlong = Verdict(status="scored", score=0.5, exclude=True)
    script.judge = judged_as({"odd": BAD_REFERENCE, "long": overlong})
    monkeypatch.setattr(adapter, "leaves_out", lambda: False)
    assert await areward(target=target)(None, ["x", "long"], answer=["x", "x"]) == [1.0, 0.5]
    with pytest.raises(NoScore) as caught:
        await areward(target=target)(None, ["odd"], answer=["x"])
    assert "treats None as 0" in str(caught.value.__cause__)


@pytest.mark.parametrize(("told", "leaves"), [("1.5.1", False), ("0.29.0", False), ("1.6.0", True), ("2.0.dev0", True)])
def test_versions_that_leave_a_sample_out(told: str, leaves: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "version", lambda _: told)
    adapter.leaves_out.cache_clear()
    assert adapter.leaves_out() is leaves
    adapter.leaves_out.cache_clear()


def test_siblings_are_neighbours_with_the_same_prompt() -> None:
    assert siblings(["a", "a", "b", "b", "a"]) == ["0", "0", "2", "2", "4"]
    assert siblings([chat("a"), chat("a"), chat("b")]) == ["0", "0", "2"]
    assert siblings(["a"] * 4, size=2) == ["0", "0", "2", "2"], "the same row may come twice"


async def test_a_group_is_judged_whole_and_a_cut_one_is_not_judged(start: Start) -> None:
    target = (await start()).serving.http
    voted = areward("consensus", target=target, group="prompt", group_size=3, patience_s=0)
    completions = ["\\boxed{1}", "\\boxed{1}", "\\boxed{2}", "\\boxed{7}", "\\boxed{7}"]
    assert await voted(["p"] * 3 + ["q"] * 2, completions) == [1.0, 1.0, 0.0, None, None]


async def test_the_logs_tell_what_stands_behind_the_rewards(target: str, script: Script) -> None:
    script.judge = judged_as({"odd": BAD_REFERENCE})
    metrics: dict[str, list[float]] = defaultdict(list)
    columns: dict[str, list[Any]] = {}
    await areward(target=target, name="mine")(
        None,
        ["x", "odd"],
        answer=["x", "x"],
        log_metric=lambda name, value: metrics[name].append(value),
        log_extra=columns.__setitem__,
    )
    assert [values for name, values in metrics.items() if name.endswith("unscored_reference")] == [[0.5]]
    assert all("/mine/" in name for name in metrics)
    assert columns["mine_reason"][1] == "invalid_reference"
    assert {len(values) for values in columns.values()} == {2}


def test_names_tell_functions_of_one_trainer_apart() -> None:
    made = [reward("math"), areward("format"), reward({"recipe": {"name": "mix"}}), reward(), reward("math", name="m2")]
    assert [function.__name__ for function in made] == ["math", "format", "mix", "rewarden", "m2"]


@pytest.mark.parametrize("wrapped", [lambda function: function, functools.partial])
def test_trainers_see_which_one_to_await(wrapped: Any) -> None:
    awaited, blocking = wrapped(areward("math")), wrapped(reward("math"))
    assert inspect.iscoroutinefunction(awaited)
    assert asyncio.iscoroutinefunction(awaited)
    assert not inspect.iscoroutinefunction(blocking)
    assert list(inspect.signature(awaited).parameters) == list(inspect.signature(blocking).parameters)
    assert list(inspect.signature(awaited).parameters)[:2] == ["prompts", "completions"], "axolotl counts them"


@pytest.mark.parametrize("package", ["pickle", "cloudpickle"])
@pytest.mark.parametrize("make", [reward, areward])
def test_a_copy_is_the_same_function(package: str, make: Any) -> None:
    pickler = pytest.importorskip(package)
    made = make("math", name="mine", group="prompt", group_size=4, eos_token_id={2}, unscored="raise")
    copied = pickle.loads(pickler.dumps(made))  # noqa: S301 - written here
    assert copied.__reduce__() == made.__reduce__()
    assert inspect.iscoroutinefunction(copied) is inspect.iscoroutinefunction(made)


def _called(function: Any, box: Any) -> None:
    found = function(None, ["x", "y"], answer=["x", "x"])
    box.put(asyncio.run(found) if inspect.iscoroutine(found) else found)


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
async def test_it_works_in_a_process_of_the_trainers(method: str, target: str) -> None:
    """As TRL's async GRPO does with it, and axolotl's reward workers."""
    context = multiprocessing.get_context(method)
    box = context.Queue()
    for made in (reward(target=target), areward(target=target)):
        process = context.Process(target=_called, args=(made, box))
        process.start()
        assert await asyncio.to_thread(box.get, timeout=60) == [1.0, 0.0]
        await asyncio.to_thread(process.join)


_IN_A_FORK = """
import multiprocessing, sys
from rewarden.adapters.trl import reward

def judged(box):
    box.put(function(None, ["x"], answer=["x"]))

function = reward(target=sys.argv[1])
print(function(None, ["x"], answer=["x"]))      # its thread and its connections are there
fork = multiprocessing.get_context("fork")
box = fork.Queue()
process = fork.Process(target=judged, args=(box,))
process.start()
print(box.get(timeout=60))
process.join()
"""

_IN_A_LOOP = """
import asyncio, sys
from rewarden.adapters.trl import reward

async def main():
    print(reward(target=sys.argv[1])(None, ["x"], answer=["x"]))

asyncio.run(main())
"""


@pytest.mark.parametrize(("program", "lines"), [(_IN_A_FORK, 2), (_IN_A_LOOP, 1)])
async def test_it_works_after_a_fork_and_in_a_running_loop(program: str, lines: int, target: str) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, target, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    out, err = await process.communicate()
    assert out.decode().split() == ["[1.0]"] * lines, err.decode()


def test_a_setting_that_does_not_exist_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="did you mean 'target'"):
        reward("math", targett="http://127.0.0.1:8080")


def test_the_module_needs_no_trainer() -> None:
    code = "import sys, rewarden.adapters.trl; sys.exit(bool({'trl', 'torch', 'transformers'} & set(sys.modules)))"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_axolotl_itself_reads_the_example_and_finds_its_function(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its schema of configurations, and its search for functions by name."""
    schemas = pytest.importorskip("axolotl.utils.schemas.config", reason="axolotl (--no-deps) is not installed")
    grpo = pytest.importorskip("axolotl.core.trainers.grpo", reason="axolotl (--no-deps) is not installed")
    import yaml

    examples = Path(__file__).parents[2] / "examples/trl"
    monkeypatch.syspath_prepend(examples)
    monkeypatch.setenv("REWARDEN_PREFLIGHT", "false")
    told = yaml.safe_load((examples / "axolotl.yaml").read_text(encoding="utf-8"))
    config = schemas.AxolotlInputConfig(**told)
    (name,) = config.trl.reward_funcs
    assert grpo.GRPOStrategy.get_reward_func(name).__name__ == "math"
