"""`rm_process`: values of steps, and what they come to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarden.errors import InvalidParams, InvalidSample, ModelError
from rewarden.types import Outcome, Sample
from rewarden_verifiers.inference import Classify, Facts, Logits, Rate, StepValues, Written
from rewarden_verifiers.judges.splitting import Part
from rewarden_verifiers.models.rm_process import rm_process
from rewarden_verifiers.models.rm_process_params import Params
from rewarden_verifiers.models.step_values import of_signals, total, value_of
from rewarden_verifiers.models.walk import broken, joined
from rewarden_verifiers.models.written_steps import verdicts
from tests.models.computed import Computed
from tests.models.conftest import Differences, Judged
from tests.models.real import needs_models, plain
from tests.models.scripted import ScriptedModel

RESPONSE = "One hen.\n\nTwo hens.\n\nThree hens."


@dataclass
class Told:
    """A context whose models have the values that are told; `asked` holds (model, task)."""

    values: dict[str | None, Sequence[float]]
    asked: list[tuple[str | None, Any]] = field(default_factory=list)

    @property
    def model(self) -> Told:
        return self

    async def run(self, task: Any, model: str | None = None) -> Any:
        self.asked.append((model, task))
        facts = Facts(model=str(model), version=f"{model}-1")
        values = self.values[model]
        if isinstance(task, Classify):
            place = len(self.asked) - 1
            return Logits(values=[values[place % len(values)]], labels=["value"], facts=facts)
        return StepValues(values=[[value] for value in values], labels=["value"], facts=facts)


async def judge(told: Told, response: str = RESPONSE, **params: Any) -> Outcome:
    """The outcome by values that need no activation."""
    made = Params(**{"activation": "none", **params})
    result = await rm_process(
        response=response,
        sample=Sample(response=response, prompt="How many hens?"),
        params=made,
        ctx=told,
    )
    assert isinstance(result, Outcome)
    return result


async def test_its_cases_hold(differences: Differences) -> None:
    assert await differences("rm_process") == {}


# --- what a model is asked ---


async def test_steps_stand_behind_the_chat_each_with_its_mark(judged: Judged, scripted: ScriptedModel) -> None:
    scripted.script({"task": "rate", "when": "One hen", "reply": [[1.0], [1.0], [1.0]]})
    params = {"mark": "<extra_0>", "system": "Be exact.", "between": "\n"}
    await judged("rm_process", params, response=RESPONSE, prompt="How many hens?")
    ((kind, task),) = scripted.tasks
    assert kind == "rate"
    assert task["steps"] == ["One hen.", "\nTwo hens.", "\nThree hens."]
    assert (task["mark"], task["at"], task["input"]["begin"]) == ("<extra_0>", "mark", True)
    assert task["input"]["messages"] == [
        {"role": "system", "content": "Be exact."},
        {"role": "user", "content": "How many hens?"},
    ]
    # The marks too: there are as many as the policy wrote steps.
    assert task["input"]["candidate"] == "\nOne hen.<extra_0>\nTwo hens.<extra_0>\nThree hens.<extra_0>"


@pytest.mark.parametrize("at", ["mark", "next"])
async def test_good_and_bad_are_compared_where_the_model_was_trained_to(at: str) -> None:
    told = Told({None: []})

    async def run(task: Any, model: str | None = None) -> StepValues:
        told.asked.append((model, task))
        row = [math.log(0.6), math.log(0.2)]
        return StepValues(values=[row] * 3, labels=["+", "-"], facts=Facts(model="m", version="1"))

    told.run = run  # type: ignore[method-assign]
    outcome = await judge(told, by="token", activation="auto", at=at)
    task = told.asked[0][1]
    assert isinstance(task, Rate)
    assert (tuple(task.choices), task.at) == (("+", "-"), at)
    assert outcome.score == pytest.approx(0.75)


async def test_a_plain_text_may_stand_before_the_steps(judged: Judged, scripted: ScriptedModel) -> None:
    scripted.script({"task": "rate", "when": "One hen", "reply": [[1.0], [1.0], [1.0]]})
    params = {"input": "text", "text": "Q: {prompt} A: "}
    await judged("rm_process", params, response=RESPONSE, prompt="How many {prompt}?")
    assert scripted.tasks[0][1]["input"]["text"] == "Q: How many {prompt}? A: "


async def test_prefixes_are_open_beginnings_of_the_answer() -> None:
    told = Told({None: [0.25, 0.5, 0.75]})
    outcome = await judge(told, by="prefix", aggregate="last")
    inputs = [task.input for _, task in told.asked]
    assert [one.messages[-1]["content"] for one in inputs] == [
        "One hen.",
        "One hen.\n\nTwo hens.",
        RESPONSE,
    ]
    assert all(one.open and not one.begin and one.candidate == one.messages[-1]["content"] for one in inputs)
    assert outcome.score == 0.75
    assert outcome.raw == [0.25, 0.5, 0.75]


@pytest.mark.parametrize(("ensemble", "score"), [("mean", [0.5, 0.375, 0.5]), ("min", [0.25, 0.25, 0.0])])
async def test_several_models_are_joined_step_by_step(ensemble: str, score: list[float]) -> None:
    told = Told({"a": [0.25, 0.5, 1.0], "b": [0.75, 0.25, 0.0]})
    outcome = await judge(told, models=("a", "b"), ensemble=ensemble, aggregate="max")
    assert outcome.evidence["values"] == score
    assert outcome.score == max(score)
    assert outcome.evidence["by_model"] == {"a": [0.25, 0.5, 1.0], "b": [0.75, 0.25, 0.0]}
    assert outcome.evidence["models"] == {"a": "a-1", "b": "b-1"}


async def test_one_model_of_several_that_fails_is_no_number() -> None:
    told = Told({"a": [0.25, 0.5, 1.0], "b": [0.5]})
    with pytest.raises(ModelError):
        await judge(told, models=("a", "b"))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
async def test_what_is_no_number_never_is_a_score(bad: float) -> None:
    with pytest.raises(ModelError):
        await judge(Told({None: [0.5, bad, 0.5]}))


@pytest.mark.parametrize(
    ("outputs", "multi", "params", "value"),
    [
        ([math.log(3)], False, {}, 0.75),
        ([0.0, math.log(3)], False, {}, 0.75),
        ([0.0, math.log(3)], True, {"output": 1}, 0.75),
        ([0.0, math.log(3)], False, {"output": "bad"}, 0.25),
        ([0.0, 0.3], False, {"activation": "none", "output": 1}, 0.3),
        ([-800.0, 800.0], False, {}, 1.0),
        ([-800.0], False, {}, 0.0),
    ],
)
def test_an_output_becomes_a_value(outputs: list[float], multi: bool, params: dict[str, Any], value: float) -> None:
    labels = ["bad", "good"][: len(outputs)]
    assert value_of(outputs, labels, multi, Params(**params)) == pytest.approx(value)


def test_of_three_outputs_one_must_be_named() -> None:
    with pytest.raises(InvalidParams, match="LABEL_2"):
        value_of([0.0, 1.0, 2.0], ["LABEL_0", "LABEL_1", "LABEL_2"], False, Params())


@pytest.mark.parametrize("labels", [["Good", "bad"], ["1", "0"], ["correct", "error"], ["fine", "WRONG"]], ids=str)
def test_two_labels_of_which_the_first_means_a_right_step_are_not_read_the_other_way_round(labels: list[str]) -> None:
    # The second of two is the usual one; here every mistake would be rewarded.
    with pytest.raises(InvalidParams, match="must say which"):
        value_of([2.0, -1.0], labels, False, Params())
    assert value_of([2.0, -1.0], labels, False, Params(output=labels[0])) > 0.9


async def test_what_a_model_is_not_asked_about_costs_nothing(judged: Judged, scripted: ScriptedModel) -> None:
    for response in ("", "   ", "Let's think step by step.", RESPONSE):
        verdict = await judged("rm_process", {"most_steps": 2}, response=response)
        assert (verdict["status"], verdict["score"], verdict["fault"]) == ("scored", 0.0, "policy")
    assert scripted.tasks == []


async def test_the_versions_of_the_models_are_in_the_evidence(judged: Judged, scripted: ScriptedModel) -> None:
    reply = {"$facts": {"version": "w7", "truncated": True}, "$reply": [[1.0], [1.0], [1.0]]}
    scripted.script({"task": "rate", "when": "One hen", "reply": reply})
    verdict = await judged("rm_process", {"fit": "left"}, response=RESPONSE, prompt="Count.")
    assert verdict["evidence"]["models"] == {"main": "w7"}
    assert verdict["flags"] == ["truncated"]


# --- what steps come to ---

VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=20)


def come_to(values: Sequence[float], **params: Any) -> Any:
    """The total of different steps."""
    return total(values, range(len(values)), params.pop("start", 0.0), Params(**params))


@given(VALUES, st.floats(0.01, 1), st.sampled_from(["keep", "drop"]))
def test_sums_by_clip_and_delta_are_bounded_whatever_the_length(values: list[float], eta: float, last: str) -> None:
    clip = come_to(values, aggregate="clip", eta=eta)
    assert clip.score == pytest.approx(sum(min(value - eta, 0) for value in values))
    assert clip.score <= 0
    delta = come_to(values, aggregate="delta", last_step=last)
    assert delta.score == pytest.approx(values[0])
    both = come_to(values, aggregate="clip_delta", eta=eta, last_step=last)
    assert both.score == pytest.approx(min(values[0] - eta, 0))
    assert not delta.clipped
    assert not both.clipped


@given(VALUES)
def test_from_any_step_on_delta_pays_its_value(values: list[float]) -> None:
    rewards = come_to(values, aggregate="delta").rewards
    for place, value in enumerate(values):
        assert math.fsum(rewards[place:]) == pytest.approx(value)


@given(VALUES, st.floats(0, 1))
def test_progress_sums_to_the_last_value_minus_the_start(values: list[float], start: float) -> None:
    found = come_to(values, aggregate="progress", start=start)
    assert found.score == pytest.approx(values[-1] - start)
    assert len(found.rewards) == len(values)


@given(VALUES, st.sampled_from(["min", "product", "mean", "last", "max", "sum", "clip", "delta", "clip_delta"]))
def test_every_total_lies_within_the_range_that_is_declared(values: list[float], aggregate: Any) -> None:
    low, high = Params(aggregate=aggregate).range
    assert low <= come_to(values, aggregate=aggregate).score <= high


@pytest.mark.parametrize("aggregate", ["mean", "sum", "min"])
def test_repeating_a_step_never_pays(aggregate: str) -> None:
    params = Params(aggregate=aggregate, bounded=False)  # type: ignore[arg-type]
    once = total([0.9, 0.2], [0, 1], 0.0, params).score
    for better in (0.9, 1.0):
        assert total([0.9, 0.2, better, better], [0, 1, 0, 0], 0.0, params).score == pytest.approx(once)
    assert total([0.9, 0.2, 0.1], [0, 1, 0], 0.0, params).score < once


@pytest.mark.parametrize(
    "params",
    [
        {"low": 1.0, "high": 1.0, "activation": "none"},
        {"low": -1.0},
        {"low": -1.0, "activation": "none", "aggregate": "product"},
        {"eta": 0.0, "aggregate": "clip"},
        {"eta": 1.5, "aggregate": "clip_delta"},
        {"most_steps": 0},
        {"least_steps": 65},
        {"mark": ""},
        {"good": "+", "bad": "+"},
        {"tag": "a b"},
        {"models": ("a",), "model": "b"},
        {"models": ("a", "a")},
        {"models": ("a",), "by": "signals"},
        {"threshold": 0.5, "aggregate": "clip"},
        {"start": 2.0, "aggregate": "progress"},
        {"error": math.nan},
    ],
)
def test_options_that_cannot_be_are_refused(params: dict[str, Any]) -> None:
    with pytest.raises(InvalidParams, match=r"params\."):
        Params(**params)


# --- the trainer's numbers ---


@pytest.mark.parametrize(
    ("signals", "path"),
    [
        (None, "signals"),
        ({}, "signals"),
        ({"step_values": [1], "step_successes": [1]}, "signals"),
        ({"step_values": 0.5}, "signals.step_values"),
        ({"step_values": "0.5"}, "signals.step_values"),
        ({"step_values": [0.5, True]}, "signals.step_values[1]"),
        ({"step_values": [0.5, math.nan]}, "signals.step_values[1]"),
        ({"step_values": [math.inf]}, "signals.step_values[0]"),
        ({"step_values": [10**400]}, "signals.step_values[0]"),
        ({"step_values": [None]}, "signals.step_values[0]"),
        ({"step_values": [-0.1]}, "signals.step_values[0]"),
        ({"step_successes": [1]}, "signals.step_continuations"),
        ({"step_successes": [1], "step_continuations": 0}, "signals.step_continuations"),
        ({"step_successes": [1], "step_continuations": [2, 2]}, "signals.step_continuations"),
        ({"step_successes": [1.5], "step_continuations": 2}, "signals.step_successes[0]"),
        ({"step_successes": [1, 3], "step_continuations": 2}, "signals.step_successes[1]"),
    ],
)
def test_signals_are_read_strictly(signals: Any, path: str) -> None:
    with pytest.raises(InvalidSample) as raised:
        of_signals(signals, None, Params(by="signals"))
    assert raised.value.details["path"] == path


def test_rounding_is_no_fault() -> None:
    assert of_signals({"step_values": [1.0000001, -1e-9]}, None, Params(by="signals")).values == [1.0, 0.0]


async def test_whoever_splits_otherwise_than_the_trainer_does_not_go_unscored(judged: Judged) -> None:
    verdict = await judged(
        "rm_process", {"by": "signals"}, response="a one\n\nb two\n\nc three", signals={"step_values": [0.5]}
    )
    assert (verdict["status"], verdict["score"]) == ("scored", 0.5)


# --- texts ---


def test_short_steps_stand_with_the_next() -> None:
    parts = [Part(text, place, place) for place, text in enumerate(["ok", "a long step", "no", "so", "another", "end"])]
    assert [part.text for part in joined(parts, 5)] == ["ok\na long step", "no\nso\nanother\nend"]
    assert [part.text for part in joined(parts[:1], 5)] == ["ok"]
    assert joined([], 5) == []
    assert joined(parts, 0) == parts


@pytest.mark.parametrize(
    ("text", "mark", "left"),
    [
        ("so 7 ки", " ки", "so 7 к и"),
        ("ошибки", " ки", "ошибки"),
        ("a<extra_0>b<extra_0>", "<extra_0>", "a< extra_0>b< extra_0>"),
        ("1 + 1", "+", "1 + 1"),
        ("a\n\nb", "\n\n", "a\n\nb"),
        ("####", "##", "# # # #"),
    ],
)
def test_the_mark_is_broken_where_the_policy_writes_it(text: str, mark: str, left: str) -> None:
    assert broken(text, mark) == left


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Step 1: correct\nStep 2: incorrect", [True, False]),
        ("Step 1: incorrect\nSo:\n\n**Step 1**: Correct.\n- Step 2: correct", None),
        ("Step 1: incorrect\nSo:\n\n**Step 1**: Correct.\n\n* Step 2: correct\n", [True, True]),
        ("<think>a</think>Step 1: correct\nStep 2: correct", [True, True]),
        ("<think>Step 1: correct\nStep 2: correct", None),
        ("Step 2: correct\nStep 1: correct", None),
        ("Step 1: correct", None),
        ("Step 1: correct\nStep 2: correct\nThat is all.", None),
        ("Step 1: correct\nStep 2: correct or incorrect", None),
        ("", None),
    ],
)
def test_verifications_are_read_strictly(text: str, read: list[bool] | None) -> None:
    assert verdicts(Written(text=text), 2) == read


def test_a_verification_that_was_cut_off_is_not_read() -> None:
    assert verdicts(Written(text="Step 1: correct", finish="length"), 1) is None


async def test_verifications_are_asked_for_at_once(judged: Judged, scripted: ScriptedModel) -> None:
    replies = ["Step 1: correct\nStep 2: correct\nStep 3: incorrect"] * 3
    scripted.script({"task": "write", "when": "One hen", "reply": replies})
    params = {"by": "written", "samples": 3, "temperature": 0.8, "seed": 5, "instructions": "Hens lay eggs."}
    verdict = await judged("rm_process", params, response=RESPONSE, prompt="How many hens?")
    ((kind, task),) = scripted.tasks
    assert (kind, task["samples"], task["temperature"], task["seed"]) == ("write", 3, 0.8, 5)
    chat = "\n".join(message["content"] for message in task["input"]["messages"])
    for text in ("[step 1 ", "]\nTwo hens.\n[end of step 2 ", "Hens lay eggs.", "How many hens?"):
        assert text in chat
    assert [step["label"] for step in verdict["steps"]] == ["right", "right", "wrong"]


# --- real models ---

QUESTION = "How many hens are in the yard?"
STEPS = ["There are two hens at the gate.", "One more comes, so there are three."]
MARK = "<file_sep>"
REAL = "\n\n".join(STEPS)

real = [pytest.mark.needs_server, needs_models]


def marked() -> tuple[Any, Any, list[int]]:
    """The text of question, steps and marks as transformers alone makes it: token ids, and where the marks are."""
    import torch

    _, tokenizer = plain("smollm2")
    chat = [{"role": "user", "content": QUESTION}]
    text = tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
    ids = tokenizer(text + "".join(step + MARK for step in STEPS), add_special_tokens=False)["input_ids"]
    mark = tokenizer.convert_tokens_to_ids(MARK)
    return tokenizer, torch.tensor([ids]), [place for place, one in enumerate(ids) if one == mark]


async def of_model(name: str, response: str = REAL, **params: Any) -> Outcome:
    """The outcome by a real model."""
    result = await rm_process(
        response=response,
        sample=Sample(response=response, prompt=QUESTION),
        params=Params(**{"mark": MARK, **params}),
        ctx=Computed(name),
    )
    assert isinstance(result, Outcome)
    return result


class TestRealModels:
    pytestmark = real

    async def test_a_heads_values_are_those_of_transformers(self) -> None:
        import torch

        outcome = await of_model("smollm2-steps")
        _, ids, marks = marked()
        with torch.no_grad():
            logits = plain("smollm2-steps")[0](ids).logits[0]
        expected = [float(torch.softmax(logits[place], -1)[1]) for place in marks]
        assert outcome.evidence["values"] == pytest.approx(expected, abs=1e-3)
        assert outcome.score == pytest.approx(min(expected), abs=1e-3)

    @pytest.mark.parametrize(("at", "back"), [("next", 0), ("mark", 1)])
    async def test_choices_are_those_of_transformers(self, at: str, back: int) -> None:
        import torch

        outcome = await of_model("smollm2", by="token", good=" yes", bad=" no", at=at)
        tokenizer, ids, marks = marked()
        yes, no = (tokenizer(text, add_special_tokens=False)["input_ids"] for text in (" yes", " no"))
        assert len(yes) == len(no) == 1
        with torch.no_grad():
            logits = plain("smollm2")[0](ids).logits[0]
        expected = [float(torch.sigmoid(logits[place - back, yes[0]] - logits[place - back, no[0]])) for place in marks]
        assert outcome.evidence["values"] == pytest.approx(expected, abs=1e-3)

    async def test_prefixes_are_those_of_transformers(self) -> None:
        import torch

        outcome = await of_model("smollm2-reward", by="prefix")
        model, tokenizer = plain("smollm2-reward")
        expected = []
        for prefix in (STEPS[0], REAL):
            chat = [{"role": "user", "content": QUESTION}, {"role": "assistant", "content": prefix}]
            text = tokenizer.apply_chat_template(chat, tokenize=False, continue_final_message=True)
            with torch.no_grad():
                logits = model(**tokenizer(text, add_special_tokens=False, return_tensors="pt")).logits
            expected.append(float(torch.sigmoid(logits[0, 0])))
        assert outcome.evidence["values"] == pytest.approx(expected, abs=1e-3)

    async def test_a_mark_that_the_policy_writes_is_no_place_where_values_are_read(self) -> None:
        outcome = await of_model("smollm2-steps", f"Two hens.{MARK}{MARK}\n\nThree hens.{MARK}")
        assert len(outcome.steps) == 2
        assert outcome.flags == ("mark_in_step",)

    @pytest.mark.parametrize("params", [{}, {"by": "prefix"}])
    async def test_what_is_too_long_is_the_policys(self, params: dict[str, Any]) -> None:
        name = "smollm2-reward" if params else "smollm2-steps"
        outcome = await of_model(name, REAL + "\n\n" + "and then another hen, " * 4000, **params)
        assert (outcome.score, outcome.reason, outcome.fault) == (0.0, "too_long", "policy")
