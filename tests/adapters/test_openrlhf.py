"""OpenRLHF's reward function: its three keys, and where the response begins."""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import pickle
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rewarden.adapters import NoScore, Settings, openrlhf_agent
from rewarden.adapters import openrlhf as adapter
from rewarden.adapters.openrlhf import answer_of, response_of, reward
from rewarden.adapters.rows import label_fields
from rewarden.errors import InvalidRequest, Unavailable
from rewarden.types import Verdict
from tests.adapters.conftest import Start
from tests.client.servers import Script, http_server

TEMPLATE = "<|im_start|>user\nWhat is 1+1? Say \\boxed{5} , please .<|im_end|>\n<|im_start|>assistant\n"
VISION = "<|im_start|>user\n<|vision_start|><|image_pad|><|vision_end|>Count.<|im_end|>\n<|im_start|>assistant\n<think>"


@pytest.mark.parametrize(
    ("query", "prompt", "response"),
    [
        (TEMPLATE + "2<|im_end|>", TEMPLATE, "2<|im_end|>"),
        ("<|endoftext|>" * 3 + TEMPLATE + "2", TEMPLATE, "2"),  # padding on the left
        (TEMPLATE.replace(" ,", ",").replace(" .", ".") + "a  b", TEMPLATE, "\na  b"),  # spaces cleaned up
        (VISION.replace("<|image_pad|>", "<|image_pad|>" * 64) + "<think>x", VISION, "<think>x"),
        ("\N{REPLACEMENT CHARACTER}" + TEMPLATE[9:] + "2", TEMPLATE, "2"),  # cut on the left
        ("é2", "é", "2"),
        ("2", "", "2"),
    ],
)
def test_the_response_is_what_follows_the_prompt(query: str, prompt: str, response: str) -> None:
    assert response_of(query, prompt) == response


@pytest.mark.parametrize("query", ["2", "It is " + TEMPLATE + "2", TEMPLATE[:-5], "a" * 1_000_000])
def test_a_response_is_never_guessed(query: str) -> None:
    with pytest.raises(InvalidRequest, match="does not start with its prompt"):
        response_of(query, TEMPLATE if len(query) < 1000 else "a" * 2_000_000 + "b")


@pytest.mark.parametrize(
    ("label", "fields"),
    [
        ("42", {"reference": "42"}),
        ("", {"reference": None}),
        ({"inputs": ["1"], "outputs": ["2"]}, {"reference": {"inputs": ["1"], "outputs": ["2"]}}),
        ('{"inputs": ["1"]}', {"reference": '{"inputs": ["1"]}'}),
        ('{"data_source": "a", "reference": [1]}', {"data_source": "a", "reference": [1]}),
        ({"data_source": "a", "metadata": {"b": 1}}, {"data_source": "a", "metadata": {"b": 1}, "reference": None}),
        ({"data_source": "a", "rows": 2}, {"reference": {"data_source": "a", "rows": 2}}),
        ('{"data_source": ', {"reference": '{"data_source": '}),
    ],
)
def test_a_label_is_the_reference_or_a_row(label: Any, fields: dict[str, Any]) -> None:
    assert label_fields(label) == fields


def test_scores_lie_within_0_and_1_and_keys_are_always_the_same() -> None:
    scored = Verdict(status="scored", score=-1.0, range=(-1.0, 1.0), passed=False, reason="no_answer")
    answer = answer_of([scored, Verdict(status="error")], [-1.0, 7.0])
    assert (answer["rewards"], answer["scores"]) == ([-1.0, 7.0], [0.0, 7.0])
    assert answer["extra_logs"] == {
        "rewarden_passed": [0.0, 0.0],
        "rewarden_no_answer": [1.0, 0.0],
        "rewarden_excluded": [0.0, 0.0],
        "rewarden_unscored": [0.0, 1.0],
    }
    assert answer_of([], [])["extra_logs"].keys() == answer["extra_logs"].keys()


async def test_prompts_do_not_reach_the_judge_as_responses() -> None:
    pytest.importorskip("torch")
    script = Script()
    async with http_server(script) as target:
        judge = pickle.loads(pickle.dumps(reward("equal", target=target, unscored=-2)))  # noqa: S301
        label = '{"data_source": "gsm8k", "reference": "2"}'
        answer = await _in_thread(judge, [TEMPLATE + "2", TEMPLATE + "", "2"], [TEMPLATE] * 3, [label, "2", "2"])
    assert answer["rewards"].tolist() == [1.0, 0.0, -2.0]
    assert answer["extra_logs"]["rewarden_unscored"].tolist() == [0.0, 0.0, 1.0]
    sent = script.batches[0].samples
    assert [each.response for each in sent] == ["2", ""]  # type: ignore[union-attr]
    assert [each.data_source for each in sent] == ["gsm8k", None]  # type: ignore[union-attr]


async def test_what_ends_a_run_is_logged_as_an_error(caplog: pytest.LogCaptureFixture) -> None:
    pytest.importorskip("torch")
    unscored = Script(judge=lambda sample, index: Verdict(status="undecided", reason="bad", index=index))
    async with http_server(unscored) as target:
        judge = reward("equal", target=target)
        with caplog.at_level(logging.ERROR), pytest.raises(NoScore):
            await _in_thread(judge, ["2"], [""], ["2"])
    assert "cannot skip a sample" in caplog.text
    with pytest.raises(Unavailable):
        await _in_thread(reward(target="http://127.0.0.1:9", patience_s=0), ["2"], [""], ["2"])


async def _in_thread(function: Any, *given: Any) -> Any:
    return await asyncio.to_thread(function, *given)


def _as_openrlhf_loads_it() -> Any:
    """The function of the printed file, as openrlhf/utils/agent.py loads it."""
    printed = subprocess.run(
        [sys.executable, "-m", "rewarden.adapters", "openrlhf"], capture_output=True, text=True, check=True
    )
    spec = importlib.util.spec_from_file_location("reward_func", printed.stdout.strip())
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.reward_func


def test_settings_without_sense_are_logged_as_an_error(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("REWARDEN_UNSCORED", "zero")
    adapter.from_environment.cache_clear()
    with pytest.raises(InvalidRequest):
        adapter.reward_func(["q r"], ["q"], ["1"])
    assert "unscored: must be" in caplog.text


async def test_the_file_takes_its_settings_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    function = _as_openrlhf_loads_it()
    adapter.from_environment.cache_clear()
    async with http_server(Script()) as target:
        monkeypatch.setenv("REWARDEN_TARGET", target)
        assert (await _in_thread(function, ["p2"], ["p"], ["2"]))["rewards"].tolist() == [1.0]
        assert adapter.from_environment()._scorer.settings == Settings.read()
    adapter.from_environment.cache_clear()


class _Engine:
    """Stands for vLLM: says what it is told."""

    def __init__(self, text: str) -> None:
        self.text = text

    async def generate(self, prompt_ids: list[int], params: Any, multi_modal_data: Any = None) -> Any:
        output = SimpleNamespace(token_ids=list(self.text.encode()), finish_reason="stop", logprobs=None)
        return SimpleNamespace(outputs=[output])


class _Tokenizer:
    """One token for each byte."""

    def __call__(self, text: str, **options: Any) -> Any:
        import torch

        return {"input_ids": torch.tensor([list(text.encode())])}

    def decode(self, ids: list[int], **options: Any) -> str:
        return bytes(ids).decode()


async def test_openrlhfs_own_executor_calls_it(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """`SingleTurnAgentExecutor` of the package, with the file and with the route."""
    agent = pytest.importorskip("openrlhf.utils.agent", reason="openrlhf (--no-deps) with torch and transformers")
    server = await start()
    monkeypatch.setenv("REWARDEN_TARGET", server.serving.http)
    monkeypatch.setenv("REWARDEN_USE", "choice")
    adapter.from_environment.cache_clear()
    route = f"{server.serving.http}/compat/openrlhf/choice/get_reward"
    params = SimpleNamespace(max_tokens=64, logprobs=None)

    async def rewarded(endpoint: str, text: str, label: Any = "B") -> dict[str, Any]:
        executor = agent.SingleTurnAgentExecutor([endpoint])
        found: dict[str, Any] = await executor.execute(TEMPLATE, label, params, 4096, _Tokenizer(), _Engine(text), None)
        return found

    for endpoint in (str(Path(adapter.__file__)), route):
        right, wrong, bad = [
            await rewarded(endpoint, *given)
            for given in ((r"\boxed{B}",), (r"\boxed{C}",), (r"\boxed{B}", "?!"))  # the prompt asks for a box
        ]
        assert [float(each["reward"][0]) for each in (right, wrong)] == [1.0, 0.0]
        assert float(right["extra_logs"]["rewarden_passed"][0]) == 1.0
        assert bad["reward"] is None
    adapter.from_environment.cache_clear()


# --- the agent executor ----------------------------------------------------------------------------------------

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


class _ChatTokenizer(_Tokenizer):
    """The same with a chat template, rendered as transformers renders one."""

    chat_template = CHATML
    eos_token = "<|im_end|>"

    def apply_chat_template(self, chat: list[dict[str, str]], **options: Any) -> str:
        from jinja2 import Template

        return Template(CHATML).render(messages=chat, add_generation_prompt=options["add_generation_prompt"])


class _Turns:
    """Stands for vLLM: says one text after the other, and keeps what it was shown."""

    def __init__(self, *texts: str) -> None:
        self.texts = iter(texts)
        self.shown: list[str] = []

    async def generate(self, prompt_ids: list[int], params: Any, multi_modal_data: Any = None) -> Any:
        self.shown.append(bytes(prompt_ids).decode())
        text = next(self.texts)
        output = SimpleNamespace(
            token_ids=list(text.encode()), text=text.removesuffix("<|im_end|>"), finish_reason="stop", logprobs=None
        )
        return SimpleNamespace(outputs=[output])


@pytest.fixture
def agent() -> Any:
    """OpenRLHF's module of agents."""
    return pytest.importorskip("openrlhf.utils.agent", reason="openrlhf (--no-deps) with torch and transformers")


def _agent_as_openrlhf_loads_it() -> Any:
    spec = importlib.util.spec_from_file_location("agent_module", Path(openrlhf_agent.__file__))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


async def _rolled_out(executor: Any, engine: _Turns, label: Any = "B", *, most: int = 4096) -> dict[str, Any]:
    params = SimpleNamespace(max_tokens=64, logprobs=None)
    found: dict[str, Any] = await executor().execute(TEMPLATE, label, params, most, _ChatTokenizer(), engine, None)
    return found


async def test_openrlhfs_own_loop_of_turns_is_told_the_verdicts_feedback(start: Start, agent: Any) -> None:
    server = await start()
    made = openrlhf_agent.executor("choice", target=server.serving.http, max_turns=3)
    engine = _Turns(r"\boxed{C}<|im_end|>", r"\boxed{B}<|im_end|>", "never said")
    rollout = await _rolled_out(made, engine)
    assert (rollout["reward"], rollout["scores"], rollout["extra_logs"]["rewarden_turns"]) == (1.0, 1.0, 2.0)
    first, second = engine.shown
    told = second.removeprefix(first)
    assert told.startswith("\\boxed{C}<|im_end|>\n<|im_start|>user\n")
    assert told.endswith("<|im_end|>\n<|im_start|>assistant\n")


async def test_the_reward_of_an_agent_is_that_of_its_last_turn(start: Start, agent: Any) -> None:
    """OpenRLHF adds up the turns' rewards, and stops before the last turn where the context is full."""
    server = await start()
    half = {"recipe": {"uses": {"a": "choice"}, "score": "a.passed ? 1.0 : 0.25", "passed": "a.passed"}}
    made = openrlhf_agent.executor(half, target=server.serving.http, max_turns=3)
    wrong = r"\boxed{C}<|im_end|>"
    assert (await _rolled_out(made, _Turns(wrong, wrong, wrong)))["reward"] == 0.25
    full = len(TEMPLATE) + 64 + 1
    assert (await _rolled_out(made, _Turns(wrong), most=full))["reward"] == 0.25
    assert (await _rolled_out(made, _Turns(wrong, r"\boxed{B}")))["reward"] == 1.0


async def test_an_agents_turn_without_a_score_is_no_number(start: Start, agent: Any) -> None:
    server = await start()
    told = {"target": server.serving.http, "patience_s": 0}
    with pytest.raises(NoScore):
        await _rolled_out(openrlhf_agent.executor("choice", **told), _Turns(r"\boxed{B}"), "?!")
    number = openrlhf_agent.executor("choice", unscored=-1, **told)
    assert (await _rolled_out(number, _Turns(r"\boxed{B}"), "?!"))["reward"] == -1.0


async def test_the_agents_file_takes_its_settings_from_the_environment(
    start: Start, agent: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = await start()
    openrlhf_agent.from_environment.cache_clear()
    module = _agent_as_openrlhf_loads_it()
    assert hasattr(module, "no_such_name") is False
    monkeypatch.setenv("REWARDEN_MAX_TURNS", "many")
    with pytest.raises(InvalidRequest, match="REWARDEN_MAX_TURNS: must be a whole number"):
        _ = module.AgentExecutor
    monkeypatch.setenv("REWARDEN_MAX_TURNS", "2")
    monkeypatch.setenv("REWARDEN_TARGET", server.serving.http)
    monkeypatch.setenv("REWARDEN_USE", "choice")
    assert issubclass(module.AgentExecutor, agent.AgentExecutorBase), "OpenRLHF requires it"
    engine = _Turns(r"\boxed{C}", r"\boxed{D}", "never said")
    assert (await _rolled_out(module.AgentExecutor, engine))["reward"] == 0.0
    assert len(engine.shown) == 2
    openrlhf_agent.from_environment.cache_clear()


async def test_without_a_chat_template_feedback_is_a_line(start: Start, agent: Any) -> None:
    server = await start()
    made = openrlhf_agent.executor("choice", target=server.serving.http, max_turns=2)
    engine = _Turns("C", "B")
    params = SimpleNamespace(max_tokens=64, logprobs=None)
    await made().execute(TEMPLATE, "B", params, 4096, _Tokenizer(), engine, None)
    told = engine.shown[1].removeprefix(engine.shown[0] + "C")
    assert (told[0], told[-1]) == ("\n", "\n")
    assert told.strip()
