"""verifiers: tasks are scored by verifiers 0.4 itself, rubrics by verifiers 0.3. What is not installed is skipped."""

from __future__ import annotations

import math
import pickle
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import tomllib

from rewarden.adapters import verifiers as adapter
from tests.adapters.conftest import Running, Start

EXAMPLES = Path(__file__).parents[2] / "examples"
PROMPT = [{"role": "user", "content": "Which letter comes second?"}]
CUT = {
    "recipe": {
        "uses": {"answer": "choice"},
        "score": "answer.score",
        "exclude": {"when": 'sample.finish_reason == "length"', "reason": "truncated"},
    }
}


def test_the_module_needs_no_verifiers() -> None:
    """Settings are read, and functions made and sent elsewhere, without it."""
    code = "import sys, rewarden.adapters.verifiers; sys.exit('verifiers' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
    made: list[Any] = [adapter.reward("choice"), adapter.reward_func("choice"), adapter.group_reward_func("choice")]
    assert [type(pickle.loads(pickle.dumps(each))) for each in made] == [type(each) for each in made]  # noqa: S301


async def test_functions_score_what_verifiers_hands_them(start: Start) -> None:
    server = await start()
    told = {"target": server.serving.http, "patience_s": 0}
    completion = [{"role": "assistant", "content": "\\boxed{B}"}]
    state: dict[str, Any] = {"task": "letters"}
    score = adapter.reward_func("choice", **told)
    # A rubric passes every column of the row, and objects of its own, to functions that take them.
    assert await score(prompt=PROMPT, completion=completion, answer="B", state=state, info={}, parser=object()) == 1.0
    gold = adapter.reward_func("choice", reference="gold", **told)
    assert await gold(prompt=PROMPT, completion=completion, answer="", state=state, info={"gold": "C"}) == 0.0
    group = adapter.group_reward_func({"name": "consensus", "params": {"use": "choice"}}, **told)
    three = [[{"role": "assistant", "content": f"\\boxed{{{letter}}}"}] for letter in "BBC"]
    assert await group([PROMPT] * 3, three, [""] * 3, [state] * 3) == [1.0, 1.0, 0.0]


# --- verifiers 0.4: tasks and traces -------------------------------------------------------------------------------


@pytest.fixture
def v1() -> ModuleType:
    """`verifiers.v1`, from the version on that has tasks."""
    return pytest.importorskip("verifiers.v1", reason="verifiers 0.4 is not installed")


def task_of(vf: Any, answer: Any, score: Any) -> Any:
    """A task of the kind that the module's own text shows."""

    class Letters(vf.Task):  # type: ignore[misc]
        @vf.reward  # type: ignore[untyped-decorator]
        async def correct(self, task: Any, trace: Any) -> float:
            return float(await score(task, trace))

    return Letters(data_of(vf, answer))


def data_of(vf: Any, answer: Any) -> Any:
    """A row of a data set."""
    kind = type("Data", (vf.TaskData,), {"__annotations__": {"answer": Any}, "__module__": __name__})
    return kind(prompt=PROMPT, answer=answer)


def trace_of(vf: Any, task: Any, *written: dict[str, Any], finish_reason: str = "stop") -> Any:
    """Returns what a harness leaves of a rollout."""
    from verifiers.v1.graph import MessageNode
    from verifiers.v1.trace import AgentInfo, ModelCall, TimeSpan, TraceTask

    trace = vf.Trace(
        task=TraceTask(type=type(task).__name__, data=task.data), agent=AgentInfo(config=vf.trace.AgentConfig())
    )
    trace.nodes.append(MessageNode(message=vf.UserMessage(content=PROMPT[0]["content"])))
    for one in written:
        message = vf.ToolMessage(**one) if one.get("role") == "tool" else vf.AssistantMessage(**one)
        own = message.role == "assistant"
        trace.nodes.append(MessageNode(parent=len(trace.nodes) - 1, sampled=own, message=message))
    if written:
        trace.calls.append(
            ModelCall(node=len(trace.nodes) - 1, finish_reason=finish_reason, time=TimeSpan(start=0.0, end=1.0))
        )
    return trace


async def test_a_task_is_scored_by_its_verdict(start: Start, v1: Any) -> None:
    server = await start()
    score = adapter.reward("choice", target=server.serving.http)
    task = task_of(v1, "B", score)
    right = trace_of(v1, task, {"content": "\\boxed{B}", "reasoning_content": "A, then B"})
    await task.score(right)
    assert (right.reward, right.rewards["correct"].score) == (1.0, 1.0)
    assert right.info["rewarden"]["verifier"]["name"] == "choice"
    wrong = trace_of(v1, task, {"content": "\\boxed{C}"})
    await task.score(wrong)
    assert wrong.reward == 0.0
    silent = trace_of(v1, task)
    await task.score(silent)
    assert silent.info["rewarden"]["reason"] == "no_answer"


async def test_a_function_of_the_configuration_needs_no_code(
    start: Start, v1: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = await start()
    monkeypatch.setenv("REWARDEN_TARGET", server.serving.http)
    monkeypatch.setenv("REWARDEN_USE", "choice")
    adapter._configured.cache_clear()
    fn = {"fn": "rewarden.adapters.verifiers:configured", "weight": 0.5}
    config = v1.TaskConfig.model_validate({"rewards": {"rewarden": fn}})
    task = v1.Task(data_of(v1, "B"), config)
    trace = trace_of(v1, task, {"content": "\\boxed{B}"})
    await task.score(trace)
    assert trace.reward == 0.5
    adapter._configured.cache_clear()


@pytest.mark.parametrize(
    ("name", "reward"), [("correct", 1.0), ("rewarden", 2.0)], ids=["the method's name replaces", "another is added"]
)
async def test_the_example_for_prime_rl_replaces_the_tasks_own_reward(
    start: Start, v1: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, name: str, reward: float
) -> None:
    server = await start()
    monkeypatch.setenv("REWARDEN_TARGET", server.serving.http)
    monkeypatch.setenv("REWARDEN_USE", "choice")
    adapter._configured.cache_clear()
    adapter._tell_added.cache_clear()
    example = tomllib.loads((EXAMPLES / "verifiers/prime-rl.toml").read_text(encoding="utf-8"))
    told = example["orchestrator"]["train"]["source"][0]["env"]["taskset"]["task"]["rewards"]
    assert list(told) == ["correct"], "gsm8k's method"

    async def own(task: Any, trace: Any) -> float:
        return 1.0

    own_task = task_of(v1, "B", own)  # its method is `correct`, as gsm8k's
    config = v1.TaskConfig.model_validate({"rewards": {name: told["correct"]}})
    task = type(own_task)(own_task.data, config)
    trace = trace_of(v1, task, {"content": "\\boxed{B}"})
    await task.score(trace)
    assert trace.reward == reward
    assert ("are added up" in caplog.text) is (reward == 2.0)
    wrong = trace_of(v1, task, {"content": "\\boxed{C}"})
    await task.score(wrong)
    assert wrong.reward == reward - 1.0
    adapter._configured.cache_clear()


async def test_calls_of_a_trace_are_judged(start: Start, v1: Any) -> None:
    server = await start()
    score = adapter.reward("tool_calls", target=server.serving.http)
    task = task_of(v1, [{"name": "weather", "arguments": {"city": "Bern"}}], score)
    call = {"id": "c1", "name": "weather", "arguments": '{"city": "Bern"}'}
    trace = trace_of(v1, task, {"content": None, "tool_calls": [call]})
    await task.score(trace)
    assert trace.reward == 1.0


async def test_without_a_score_the_trace_fails_and_has_no_reward(start: Start, v1: Any) -> None:
    server = await start()
    told = {"target": server.serving.http, "patience_s": 0}
    task = task_of(v1, {"no": "letter"}, adapter.reward("choice", **told))
    trace = trace_of(v1, task, {"content": "\\boxed{B}"})
    with pytest.raises(v1.TaskError, match="NoScore") as caught:
        await task.score(trace)
    assert trace.rewards == {"correct": None}
    trace.record_error(caught.value)  # as verifiers' rollout does
    assert trace.ok is False

    cut = task_of(v1, "B", adapter.reward(CUT, **told))
    left_out = trace_of(v1, cut, {"content": "\\boxed{B}"}, finish_reason="length")
    with pytest.raises(v1.TaskError, match="truncated"):
        await cut.score(left_out)
    assert left_out.rewards == {"correct": None}

    number = task_of(v1, {"no": "letter"}, adapter.reward("choice", unscored=-1, **told))
    await number.score(trace)
    assert trace.reward == -1.0


# --- verifiers up to 0.3: rubrics ----------------------------------------------------------------------------------


@pytest.fixture
def v0() -> Any:
    """`verifiers`, of a version that has rubrics."""
    module = pytest.importorskip("verifiers", reason="verifiers is not installed")
    if not hasattr(module, "Rubric"):
        pytest.skip("this version of verifiers has no rubrics; they are tested with verifiers 0.3.1")
    return module


def state_of(vf: Any, text: str, answer: Any = "B", **more: Any) -> Any:
    """A rollout's state, as an environment hands it to its rubric."""
    row = {"prompt": PROMPT, "answer": answer, "info": {}, "example_id": 0, "task": "letters"}
    state = vf.State(input=row)
    step = {"advantage": None, "reward": None}
    state.update(completion=[{"role": "assistant", "content": text}], trajectory=[step], error=None, task="letters")
    state.update(more)
    return state


def rubric(vf: Any, server: Running, use: Any = "choice", **settings: Any) -> Any:
    """A rubric that does not wait."""
    made = adapter.rubric(use, target=server.serving.http, patience_s=0, **settings)
    assert isinstance(made, vf.Rubric)
    return made


async def test_a_rubric_scores_rollouts(start: Start, v0: Any) -> None:
    server = await start()
    right, wrong = state_of(v0, "\\boxed{B}"), state_of(v0, "\\boxed{C}")
    judge = rubric(v0, server)
    await judge.score_rollout(right)
    await judge.score_rollout(wrong)
    assert (right["reward"], right["metrics"], right["error"]) == (1.0, {"rewarden": 1.0}, None)
    assert wrong["reward"] == 0.0


async def test_a_rubrics_false_zero_is_an_error_instead(start: Start, v0: Any) -> None:
    server = await start()
    judge = rubric(v0, server)
    bad = state_of(v0, "\\boxed{B}", answer={"no": "letter"})
    await judge.score_rollout(bad)
    assert math.isnan(bad["reward"])
    assert type(bad["error"]) is v0.Error
    down = adapter.rubric("choice", target="http://127.0.0.1:1", patience_s=0)
    lost = state_of(v0, "\\boxed{B}")
    await down.score_rollout(lost)
    assert isinstance(lost["error"], v0.InfraError), "verifiers repeats rollouts with this error"
    cut = state_of(v0, "\\boxed{B}", is_truncated=True)
    await rubric(v0, server, CUT).score_rollout(cut)
    assert "truncated" in str(cut["error"])
    number = state_of(v0, "\\boxed{B}", answer={"no": "letter"})
    await rubric(v0, server, unscored=-1).score_rollout(number)
    assert (number["reward"], number["error"]) == (-1.0, None)


async def test_a_group_keeps_its_advantages_beside_what_has_no_score(start: Start, v0: Any) -> None:
    server = await start()
    states = [state_of(v0, "\\boxed{B}"), state_of(v0, "\\boxed{C}"), state_of(v0, "x", answer={"no": "letter"})]
    await rubric(v0, server).score_group(states)
    assert [state["advantage"] for state in states] == [0.5, -0.5, 0.0]
    assert [state["trajectory"][0]["advantage"] for state in states] == [0.5, -0.5, 0.0]


async def test_a_group_is_judged_together(start: Start, v0: Any) -> None:
    server = await start()
    states = [state_of(v0, f"\\boxed{{{letter}}}", answer="") for letter in "BBC"]
    judge = rubric(v0, server, {"name": "consensus", "params": {"use": "choice"}}, group=True)
    await judge.score_group(states)
    assert [state["reward"] for state in states] == [1.0, 1.0, 0.0]
