"""Each trainer's page as it is written: its own line of configuration scores the rows of its own quick start.

The line is cut out of the page, so that page and test cannot part. Rows have the shape of the trainer's data; right
and wrong responses have the form for which its prompts ask. Nothing is set that the page does not set.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import logging
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from importlib import import_module
from types import ModuleType, SimpleNamespace
from typing import Any

import httpx
import pytest
import yaml

from rewarden.adapters import nemo_rl as adapter_nemo_rl
from rewarden.adapters import openrlhf, rows, scoring
from rewarden.adapters import roll as adapter_roll
from rewarden.adapters import skyrl as adapter_skyrl
from rewarden.adapters import verifiers as adapter_verifiers
from rewarden.adapters.references import References
from rewarden.adapters.settings import Settings
from rewarden.adapters.swift import Reward as SwiftReward
from tests.documents.blocks import blocks
from tests.server.process import ServerProcess

pytestmark = pytest.mark.needs_server

Row = dict[str, Any]
Line = Callable[[Sequence[Row], Sequence[str]], list[float]]

WORKED = "Ada has 3 boxes of 24 cards.\nShe has 3*24=<<3*24=72>>72 cards.\n#### 72"
SOLVED = "The sum is $\\frac{1}{4}+\\frac{1}{4}$, so the answer is $\\boxed{\\frac{1}{2}}$."
ASKED = "How many cards does Ada have?"

SHOWN = "http://127.0.0.1:8080"
"""The server's address on all pages."""


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server."""
    with ServerProcess(tmp_path_factory.mktemp("server")) as server:
        yield server.http


@pytest.fixture(autouse=True)
def process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A process in which no adapter was used before, and which has the part of torch that OpenRLHF's adapter uses."""
    monkeypatch.setattr(rows, "_references", References())
    monkeypatch.setattr(scoring, "_scorers", {})
    tensors = SimpleNamespace(tensor=lambda values, dtype: values, float32="float32")
    monkeypatch.setitem(sys.modules, "torch", tensors)
    caches: tuple[Any, ...] = (openrlhf.from_environment, adapter_verifiers._rubric_class)
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


class Pages:
    """The lines of the pages, pointed at a server."""

    def __init__(self, target: str, patch: pytest.MonkeyPatch) -> None:
        self.target = target
        self._patch = patch

    def block(self, trainer: str, holding: str) -> str:
        """Returns the page's first block with this text in it."""
        page = f"docs/trainers/{trainer}.md"
        return next(block.text for block in blocks() if block.page == page and holding in block.text).replace(
            SHOWN, self.target
        )

    def run(self, trainer: str, holding: str, **names: Any) -> dict[str, Any]:
        """Runs a block of Python, in which `…` stands for further arguments. Returns its names."""
        found = {"__name__": trainer, **names}
        exec(self.block(trainer, holding).replace(", …", ""), found)  # noqa: S102 - of our own page
        return found

    def export(self, text: str) -> None:
        """Sets the variables that a block exports."""
        exported = re.search(r"export ((?:REWARDEN_\w+=\S+ ?)+)", text)
        assert exported is not None
        for pair in exported[1].split():
            self._patch.setenv(*pair.split("=", 1))

    def file(self, text: str) -> ModuleType:
        """Returns the file that a block loads with `$(python -m rewarden.adapters NAME)`, as trainers load it."""
        named = re.search(r"\$\(python -m (rewarden\.adapters \w+)\)", text)
        assert named is not None
        path = subprocess.check_output([sys.executable, "-m", *named[1].split()], text=True).strip()
        spec = importlib.util.spec_from_file_location("loaded_by_a_trainer", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module


def columns_of(rows: Sequence[Row]) -> dict[str, list[Any]]:
    """Returns the rows as a trainer's data loader passes them: one list for each column."""
    return {name: [row[name] for row in rows] for name in rows[0]}


# --- the line of each page, as a function of rows and responses ------------------------------------------------------


def verl(pages: Pages) -> Line:
    text = pages.block("verl", "custom_reward_function.path")
    path = re.search(r"path=pkg://(\S+)", text)
    name = re.search(r"custom_reward_function\.name=(\S+)", text)
    assert path is not None
    assert name is not None
    function = getattr(import_module(path[1]), name[1])
    settings = dict(re.findall(r"reward_kwargs\.(\w+)=(\S+)", text)) | {"target": pages.target}

    async def scored(rows: Sequence[Row], responses: Sequence[str]) -> list[float]:
        found = [
            function(
                data_source=row["data_source"],
                solution_str=response,
                ground_truth=row["reward_model"]["ground_truth"],
                extra_info={**row["extra_info"], "num_turns": 2, "rollout_reward_scores": {}},
                **settings,
            )
            for row, response in zip(rows, responses, strict=True)
        ]
        return [scores["score"] for scores in await asyncio.gather(*found)]

    return lambda rows, responses: asyncio.run(scored(rows, responses))


def trl(pages: Pages) -> Line:
    made = pages.run(
        "trl",
        "GRPOTrainer(",
        GRPOTrainer=lambda model, **given: given["reward_funcs"],
        **dict.fromkeys(("model", "dataset", "args")),
    )

    def scored(rows: Sequence[Row], responses: Sequence[str]) -> list[float]:
        columns = columns_of(rows)
        prompts = columns.pop("prompt")
        chat = not isinstance(prompts[0], str)
        completions = [[{"role": "assistant", "content": text}] if chat else text for text in responses]
        state = SimpleNamespace(global_step=1, max_steps=10)
        ids = [[1, 2] for _ in responses]
        found: list[float] = made["trainer"](prompts, completions, ids, trainer_state=state, **columns)
        return found

    return scored


def areal(pages: Pages) -> Line:
    workflow = pages.run("areal", "RLVRWorkflow(", RLVRWorkflow=lambda **given: SimpleNamespace(**given))["workflow"]

    async def scored(rows: Sequence[Row], responses: Sequence[str]) -> list[float]:
        return [
            await workflow.async_reward_fn("prompt", response, [1], [2, 3], **row)
            for row, response in zip(rows, responses, strict=True)
        ]

    return lambda rows, responses: asyncio.run(scored(rows, responses))


def easyr1(pages: Pages) -> Line:
    text = pages.block("easyr1", "reward_function=")
    name = re.search(r"easyr1\):(\w+)", text)
    assert name is not None
    function = getattr(pages.file(text), name[1])
    settings = dict(re.findall(r"reward_function_kwargs\.(\w+)=(\S+)", text))

    def scored(rows: Sequence[Row], responses: Sequence[str]) -> list[float]:
        given = [
            {"response": response, "response_length": 9, "ground_truth": row["answer"]}
            for row, response in zip(rows, responses, strict=True)
        ]
        return [scores["overall"] for scores in function(given, **settings)]

    return scored


TEMPLATE = "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"


def asked_openrlhf(rows: Sequence[Row], responses: Sequence[str]) -> tuple[list[str], list[str], list[Any]]:
    prompts = [TEMPLATE.format(row["input"]) for row in rows]
    queries = [f"{prompt}{response}<|im_end|>" for prompt, response in zip(prompts, responses, strict=True)]
    return queries, prompts, [row["answer"] for row in rows]


def openrlhf_file(pages: Pages) -> Line:
    text = pages.block("openrlhf", "--reward.remote_url")
    pages.export(text)
    function = pages.file(text).reward_func
    return lambda rows, responses: function(*asked_openrlhf(rows, responses))["rewards"]


def openrlhf_route(pages: Pages) -> Line:
    address = pages.block("openrlhf", "/compat/").split()[1]

    def scored(rows: Sequence[Row], responses: Sequence[str]) -> list[float]:
        queries, prompts, labels = asked_openrlhf(rows, responses)
        reply = httpx.post(address, json={"query": queries, "prompts": prompts, "labels": labels})
        found: list[float] = reply.raise_for_status().json()["rewards"]
        return found

    return scored


def miles(pages: Pages) -> Line:
    return slime_file(pages, "miles")


def slime_file(pages: Pages, trainer: str = "slime") -> Line:
    text = pages.block(trainer, "--custom-rm-path")
    pages.export(text)
    path = re.search(r"--custom-rm-path (\S+)\.(\w+)", text)
    after = re.search(r"--custom-reward-post-process-path (\S+)", text)
    assert path is not None
    assert after is not None
    function = getattr(import_module(path[1]), path[2])
    args = SimpleNamespace(
        group_rm=False,
        reward_key=None,
        eval_reward_key=None,
        advantage_estimator="grpo",
        rewards_normalization=True,
        custom_reward_post_process_path=after[1],
        rewarden={"patience_s": 0},
    )

    class Status(Enum):
        COMPLETED = "completed"

    async def scored(rows: Sequence[Row], responses: Sequence[str]) -> list[float]:
        samples = [
            SimpleNamespace(
                group_index=place,
                index=place,
                prompt=row["prompt"],
                response=response,
                response_length=9,
                label=row["label"],
                status=Status.COMPLETED,
                metadata=row.get("metadata", {}),
                remove_sample=False,
            )
            for place, (row, response) in enumerate(zip(rows, responses, strict=True))
        ]
        return list(await asyncio.gather(*(function(args, sample) for sample in samples)))

    return lambda rows, responses: asyncio.run(scored(rows, responses))


def slime_route(pages: Pages) -> Line:
    address = pages.block("slime", "--rm-url").split()[-1]

    def scored(rows: Sequence[Row], responses: Sequence[str]) -> list[float]:
        return [
            httpx.post(address, json={"prompt": row["prompt"], "response": response, "label": row["label"]})
            .raise_for_status()
            .json()
            for row, response in zip(rows, responses, strict=True)
        ]

    return scored


def skyrl(pages: Pages) -> Line:
    registered: dict[str, Any] = {}
    module = ModuleType("skyrl_gym.envs")
    module.register = lambda **given: registered.update(given)  # type: ignore[attr-defined]
    pages._patch.setitem(sys.modules, "skyrl_gym", ModuleType("skyrl_gym"))
    pages._patch.setitem(sys.modules, "skyrl_gym.envs", module)
    pages.run("skyrl", "register(")

    def scored(rows: Sequence[Row], responses: Sequence[str]) -> list[float]:
        found = []
        for row, response in zip(rows, responses, strict=True):
            episode = adapter_skyrl.Episode(extras={**row, "max_turns": 1}, **registered["kwargs"])
            episode.init(row["prompt"])
            found.append(episode.step(response)["reward"])
        return found

    return scored


def swift(pages: Pages) -> Line:
    text = pages.block("swift", "--external_plugins")
    pages.export(text)

    def scored(rows: Sequence[Row], responses: Sequence[str]) -> list[float]:
        columns = columns_of(rows)
        columns["messages"] = [
            [*row["messages"], {"role": "assistant", "content": text}]
            for row, text in zip(rows, responses, strict=True)
        ]
        columns |= {"prompt_id": ["p"] * len(rows), "finish_reason": ["stop"] * len(rows)}
        state = SimpleNamespace(global_step=1, max_steps=10)
        return SwiftReward(Settings.read())(responses, trainer_state=state, **columns)

    return scored


def verifiers_task(pages: Pages) -> Line:
    vf = SimpleNamespace(Task=object, reward=lambda function: function)
    task_type = pages.run("verifiers", "class MyTask", vf=vf)["MyTask"]

    async def scored(rows: Sequence[Row], responses: Sequence[str]) -> list[float]:
        found = []
        for row, response in zip(rows, responses, strict=True):
            reply = SimpleNamespace(
                sampled=True,
                message=SimpleNamespace(role="assistant", model_dump=lambda text=response, **_: _said(text)),
            )
            trace = SimpleNamespace(
                task=SimpleNamespace(type="MyTask"),
                is_truncated=False,
                root_reply=None,
                branches=[SimpleNamespace(nodes=[reply])],
                info={},
            )
            data = SimpleNamespace(model_dump=lambda row=row: dict(row))
            found.append(await task_type().correct(data, trace))
        return found

    return lambda rows, responses: asyncio.run(scored(rows, responses))


def verifiers_rubric(pages: Pages) -> Line:
    class Rubric:
        def __init__(self, funcs: list[Any], weights: list[float]) -> None:
            (self.func,) = funcs

    pages._patch.setitem(sys.modules, "verifiers", SimpleNamespace(Rubric=Rubric))
    vf = SimpleNamespace(SingleTurnEnv=lambda dataset, rubric: rubric)
    rubric = pages.run("verifiers", "SingleTurnEnv(", vf=vf, dataset=None)["env"]

    async def scored(rows: Sequence[Row], responses: Sequence[str]) -> list[float]:
        return [
            await rubric.func(
                prompt=row["prompt"],
                completion=[_said(response)],
                answer=row.get("answer", ""),
                state={"task": "default"},
                info=row.get("info", {}),
                parser=object(),
            )
            for row, response in zip(rows, responses, strict=True)
        ]

    return lambda rows, responses: asyncio.run(scored(rows, responses))


def gym(pages: Pages) -> Line:
    words = pages.block("nemo-gym", "/compat/gym/math").split()
    address = next(word for word in words if word.endswith("/compat/gym/math"))

    def scored(rows: Sequence[Row], responses: Sequence[str]) -> list[float]:
        found = []
        for row, response in zip(rows, responses, strict=True):
            part = {"type": "output_text", "text": response, "annotations": []}
            message = {"id": "m", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
            answered = {"id": "r", "object": "response", "created_at": 0, "model": "m", "output": [message]}
            reply = httpx.post(f"{address}/verify", json={**row, "response": answered}).raise_for_status().json()
            assert reply["mask_sample"] is False
            found.append(reply["reward"])
        return found

    return scored


def reward_model(pages: Pages) -> Line:
    first, shown, _ = pages.block("reward-model", "/classify").splitlines()
    body = json.loads(shown)

    def scored(rows: Sequence[Row], responses: Sequence[str]) -> list[float]:
        found = []
        for row, response in zip(rows, responses, strict=True):
            assert body.keys() == {"input", *row}
            reply = httpx.post(first.split()[1], json={**row, "input": response}).raise_for_status()
            found.append(reply.json()["data"][0]["probs"][-1])
        return found

    return scored


def nemo_rl(pages: Pages) -> Line:
    told = yaml.safe_load(pages.block("nemo-rl", "env_name: rewarden"))
    environment = adapter_nemo_rl.Environment(told["env"][told["data"]["default"]["env_name"]])

    def scored(rows: Sequence[Row], responses: Sequence[str]) -> list[float]:
        return environment.judged([[*_asked(), _said(text)] for text in responses], rows)[1]

    return scored


def roll(pages: Pages) -> Line:
    (told,) = yaml.safe_load(pages.block("roll", "worker_cls:"))["rewards"]["math"]["reward_manager_config"]

    def scored(rows: Sequence[Row], responses: Sequence[str]) -> list[float]:
        return adapter_roll.rewards_of([ASKED] * len(rows), list(responses), columns_of(rows), **told)

    return scored


def tunix(pages: Pages) -> Line:
    def learner(reward_fns: Any) -> Any:
        return reward_fns

    score = pages.run("tunix", "reward_fns=", GrpoLearner=learner)["learner"]

    def scored(rows: Sequence[Row], responses: Sequence[str]) -> list[float]:
        found: list[float] = score(prompts=[ASKED] * len(rows), completions=list(responses), **columns_of(rows))
        return found

    return scored


def plain(pages: Pages) -> Line:
    made: dict[str, Any] = {}

    def scored(rows: Sequence[Row], responses: Sequence[str]) -> list[float]:
        made.update(pages.run("plain", "from rewarden.adapters.plain", prompts=None, completions=[], answers=[]))
        found: list[float] = made["score"](None, responses, **columns_of(rows))
        return found

    return scored


def _said(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def _asked(text: str = ASKED) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


# --- the rows ---------------------------------------------------------------------------------------------------------


def of_verl(truth: Any, source: str = "openai/gsm8k", **info: Any) -> Row:
    return {
        "data_source": source,
        "prompt": _asked(),
        "ability": "math",
        "reward_model": {"style": "rule", "ground_truth": truth},
        "extra_info": {"split": "train", "index": 0, **info},
    }


def of_skyrl(truth: Any) -> Row:
    return {
        "data_source": "openai/gsm8k",
        "prompt": _asked(),
        "env_class": "rewarden",
        "reward_spec": {"method": "rule", "ground_truth": truth},
        "extra_info": {"split": "train", "index": 0, "answer": WORKED, "question": ASKED},
    }


def of_gym(**task: Any) -> Row:
    asked = {"input": [{"role": "user", "content": ASKED}]}
    return {"responses_create_params": asked, "agent_ref": {"name": "math_with_judge_simple_agent"}, **task}


OPEN_R1: Row = {
    "prompt": _asked(),
    "problem": "What is a quarter and a quarter?",
    "solution": SOLVED,
    "answer": "\\frac{1}{2}",
    "problem_type": "Algebra",
    "question_type": "math-word-problem",
    "source": "olympiads",
    "uuid": "7a0b",
    "is_reasoning_complete": [True, True],
    "generations": ["<think>…</think> \\boxed{3}", "\\boxed{\\frac{1}{2}}"],
    "correctness_math_verify": [False, True],
    "correctness_llama": None,
    "finish_reasons": None,
    "correctness_count": 1,
    "messages": [*_asked(), _said("\\boxed{\\frac{1}{2}}")],
}
HASHED = ("24 + 24 + 24 = 72\n#### 72", "24 + 24 = 48\n#### 48")
BOXED = ("So it is \\boxed{72}.", "So it is \\boxed{71}.")
HALF = ("It is $\\boxed{\\frac{1}{2}}$.", "It is $\\boxed{\\frac{1}{3}}$.")
DAPO = ("We add.\n\nAnswer: 34", "We add.\n\nAnswer: $35$")
FIVE = ("<think>2 and 3</think>\n\nHence \\boxed{5}", "<think>2 and 3</think>\n\nHence \\boxed{6}")

CASES: list[tuple[Callable[[Pages], Line], str, Row, tuple[str, str]]] = [
    (verl, "GSM8K", of_verl("72", question=ASKED, answer=WORKED), HASHED),
    (verl, "MATH", of_verl("\\frac{1}{2}", "DigitalLearningGmbH/MATH-lighteval"), HALF),
    (verl, "DAPO", of_verl("34", "math_dapo"), DAPO),
    (verl, "Skywork-OR1", of_verl('["34"]', "train-math-deepscaler"), DAPO),
    (verl, "geometry3k", of_verl("2 \\sqrt { 221 }", "hiyouga/geometry3k"), ("\\boxed{2\\sqrt{221}}", "\\boxed{221}")),
    (verl, "a worked solution", of_verl(WORKED), BOXED),
    (trl, "DeepMath", {"prompt": _asked(), "solution": "$\\frac{1}{2}$"}, HALF),
    (trl, "GSM8K", {"prompt": ASKED, "question": ASKED, "answer": WORKED}, BOXED),
    (trl, "GSM8K in chat", {"prompt": _asked(), "question": ASKED, "answer": WORKED}, HASHED),
    (trl, "OpenR1-Math", OPEN_R1, HALF),
    (
        trl,
        "MATH-500",
        {"prompt": _asked(), "problem": "…", "solution": SOLVED, "answer": "\\frac{1}{2}", "subject": "Algebra",
         "level": 2, "unique_id": "test/algebra/1.json"},
        HALF,
    ),
    (
        trl,
        "DeepScaleR",
        {"prompt": _asked(), "problem": "…", "answer": "\\frac{1}{2}", "solution": "1. Add.\n2. Simplify. [Q.E.D.]"},
        HALF,
    ),
    (trl, "NuminaMath-TIR", {"prompt": _asked(), "problem": "…", "solution": SOLVED, "messages": _asked()}, HALF),
    (
        trl,
        "Big-Math",
        {"prompt": _asked(), "problem": "…", "answer": "72", "source": "orca_math", "domain": ["Mathematics"],
         "llama8b_solve_rate": 0.5},
        BOXED,
    ),
    (trl, "DAPO", {**of_verl("34", "math_dapo", index="9a"), "solution": "34", "source_prompt": _asked()}, DAPO),
    (trl, "DAPO as published", of_verl("34", "math_dapo", index="9a"), DAPO),
    (trl, "OlympiadBench", {"prompt": ASKED, "solution": [SOLVED], "final_answer": ["$\\frac{1}{2}$"]}, HALF),
    (trl, "a boxed answer", {"prompt": ASKED, "answer": "\\boxed{5}"}, FIVE),
    (trl, "an answer in dollars", {"prompt": ASKED, "answer": "$5$"}, FIVE),
    (trl, "an answer with its unit", {"prompt": ASKED, "answer": "5 apples"}, FIVE),
    (trl, "an answer that is a number", {"prompt": ASKED, "answer": 5}, FIVE),
    (areal, "GSM8K", {"messages": _asked(), "answer": WORKED}, BOXED),
    (easyr1, "math12k", {"problem": "…", "answer": "\\frac{1}{2}"}, HALF),
    (easyr1, "geometry3k", {"images": [], "problem": "…", "answer": "2 \\sqrt { 221 }"},
     ("<think>…</think> \\boxed{2\\sqrt{221}}", "<think>…</think> \\boxed{221}")),
    (openrlhf_file, "an answer", {"input": ASKED, "answer": "72"}, BOXED),
    (openrlhf_file, "GSM8K", {"input": ASKED, "answer": WORKED}, HASHED),
    (openrlhf_route, "an answer", {"input": ASKED, "answer": "72"}, BOXED),
    (openrlhf_route, "a boxed answer", {"input": ASKED, "answer": "\\boxed{5}"}, FIVE),
    (slime_file, "DAPO", {"prompt": _asked(), "label": "34"}, DAPO),
    (slime_file, "GSM8K", {"prompt": _asked(), "label": "72", "metadata": {"answer": WORKED}}, BOXED),
    (miles, "DAPO", {"prompt": _asked(), "label": "34"}, DAPO),
    (nemo_rl, "OpenMathInstruct-2", {"ground_truth": "\\frac{1}{2}"}, HALF),
    (nemo_rl, "GSM8K", {"ground_truth": "72", "task_name": "gsm8k"}, BOXED),
    (roll, "DeepMath", {"id": "1", "ground_truth": "\\frac{1}{2}", "tag": "deepmath_103k", "domain": "math"}, HALF),
    (tunix, "GSM8K", {"question": ASKED, "answer": "72"}, BOXED),
    (tunix, "GSM8K as published", {"question": ASKED.encode(), "answer": WORKED.encode()}, BOXED),
    (slime_route, "DAPO", {"prompt": _asked(), "label": "34"}, DAPO),
    (skyrl, "GSM8K", of_skyrl("72"), HASHED),
    (swift, "NuminaMath-TIR", {"messages": _asked(), "problem": "…", "solution": SOLVED}, HALF),
    (swift, "CLEVR", {"messages": _asked(), "solution": "<answer> 5 </answer>"},
     ("<think>…</think> <answer> 5 </answer>", "<think>…</think> <answer> 6 </answer>")),
    (verifiers_task, "GSM8K", {"prompt": ASKED, "question": ASKED, "answer": WORKED}, BOXED),
    (verifiers_rubric, "GSM8K", {"prompt": _asked(), "answer": "72"}, BOXED),
    (verifiers_rubric, "a reference in info", {"prompt": _asked(), "info": {"ground_truth": "72"}}, BOXED),
    (gym, "math_with_judge", of_gym(question=ASKED, expected_answer="72"), BOXED),
    (gym, "math_with_judge, in symbols", of_gym(question=ASKED, expected_answer="\\frac{1}{2}"), HALF),
    (reward_model, "a reference", {"reference": "72"}, BOXED),
    (plain, "GSM8K", {"answer": WORKED}, HASHED),
    (plain, "RLVR", {"messages": _asked(), "ground_truth": "72", "dataset": "gsm8k"}, BOXED),
    (plain, "Nemotron", {"problem": "…", "expected_answer": "72", "generated_solution": "It is 71."}, BOXED),
]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "row", "responses"),
    [pytest.param(line, row, responses, id=f"{line.__name__}: {name}") for line, name, row, responses in CASES],
)
def test_the_pages_line_scores_the_trainers_own_rows(
    target: str, monkeypatch: pytest.MonkeyPatch, line: Any, row: Row, responses: tuple[str, str]
) -> None:
    assert line(Pages(target, monkeypatch))([row, row], responses) == [1.0, 0.0]


NESTED: Row = {"answer": "1", "extra_info": {"level": 3, "told": [{"answer": "72"}]}}


@pytest.mark.parametrize(
    ("line", "row"),
    [
        (verl, of_verl("1", **NESTED["extra_info"])),
        (trl, {"prompt": _asked(), **NESTED}),
        (trl, {"prompt": _asked(), **NESTED, "extra_info": json.dumps(NESTED["extra_info"])}),
        (areal, NESTED),
        (slime_file, {"prompt": _asked(), "label": "1", "metadata": NESTED}),
        (skyrl, {**of_skyrl("1"), **NESTED}),
        (swift, {"messages": _asked(), **NESTED}),
        (verifiers_task, {"prompt": ASKED, **NESTED}),
        (verifiers_rubric, {"prompt": _asked(), "answer": "1", "info": NESTED}),
        (plain, NESTED),
    ],
)
def test_a_path_names_the_reference_in_every_adapter_that_gets_columns(
    target: str, monkeypatch: pytest.MonkeyPatch, line: Any, row: Row
) -> None:
    monkeypatch.setenv("REWARDEN_REFERENCE", "extra_info.told.0.answer")
    assert line(Pages(target, monkeypatch))([row, row], BOXED) == [1.0, 0.0]


@pytest.mark.parametrize(
    ("line", "row", "said"),
    [
        (verl, of_verl("72"), "reward_model.ground_truth (passed by verl)"),
        (trl, OPEN_R1, "answer (the first of the usual names)"),
        (easyr1, {"answer": "72"}, "answer_key (passed by EasyR1)"),
        (openrlhf_file, {"input": ASKED, "answer": "72"}, "label (passed by OpenRLHF)"),
        (slime_file, {"prompt": _asked(), "label": "72"}, "label (passed by slime)"),
        (skyrl, of_skyrl("72"), "reward_spec.ground_truth (passed by SkyRL)"),
    ],
)
def test_a_line_says_once_where_its_references_come_from(
    target: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, line: Any, row: Row, said: str
) -> None:
    caplog.set_level(logging.INFO, "rewarden")
    scored = line(Pages(target, monkeypatch))
    for _ in range(2):
        scored([row, row], BOXED)
    (message,) = [text for text in caplog.messages if "reads its reference" in text]
    assert message.startswith(f"math reads its reference from {said}, for example '")
