"""`rm_likelihood` and `rm_reflection`: how likely a reference is behind a response's reasoning."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarden.errors import InputTooLong, InvalidParams, InvalidSample, ModelError
from rewarden.types import Sample
from rewarden_verifiers.inference import Facts, Likelihoods
from rewarden_verifiers.models.likely_tokens import Tokens, measured, reasoning_of, sent, weights_of
from rewarden_verifiers.models.rm_likelihood import rm_likelihood
from rewarden_verifiers.models.rm_likelihood_params import Params
from tests.models.computed import Computed
from tests.models.conftest import Differences, Judged
from tests.models.real import needs_models, plain
from tests.models.scripted import ScriptedModel

ROW = {"prompt": "How many hens?", "response": "Two and one.<answer>4</answer>", "reference": "three hens"}
SPACED = {"frame": "<answer> {reference} </answer>"}
LOGS = st.lists(st.floats(-50, 0), min_size=1, max_size=20)


class Tokenised:
    """A context whose model takes continuations apart as it is told, each token of probability 1/2."""

    def __init__(self, *tokens: str, logprob: float = math.log(0.5)) -> None:
        self.tokens = tokens
        self.logprob = logprob

    @property
    def model(self) -> Tokenised:
        return self

    async def run(self, task: Any, model: str | None = None) -> Likelihoods:
        logprobs = [self.logprob] * len(self.tokens)
        return Likelihoods(tokens=self.tokens, logprobs=logprobs, facts=Facts(model="m", version="1"))


async def direct(ctx: Any, **params: Any) -> Any:
    """The outcome of the row."""
    made = Params(per_token=True, **params)
    return await rm_likelihood(
        response=ROW["response"], sample=Sample(**ROW), params=made, ctx=ctx, reference=ROW["reference"]
    )


@pytest.mark.parametrize("name", ["rm_likelihood", "rm_reflection"])
async def test_its_cases_hold(differences: Differences, name: str) -> None:
    assert await differences(name) == {}


# --- what a model is asked ---


async def test_the_reference_takes_the_answers_place(judged: Judged, scripted: ScriptedModel) -> None:
    scripted.script({"task": "likelihood", "when": "Two and one.", "reply": [1, 1]})
    await judged("rm_likelihood", {"system": "Count."}, **ROW)
    ((_, task),) = scripted.tasks
    assert task["continuation"] == "<answer>three hens</answer>"
    assert task["input"]["messages"] == [
        {"role": "system", "content": "Count."},
        {"role": "user", "content": "How many hens?"},
        {"role": "assistant", "content": "Two and one."},
    ]
    assert (task["input"]["open"], task["input"]["begin"], task["input"]["candidate"]) == (True, False, "Two and one.")


async def test_the_baseline_begins_the_answer_at_once(judged: Judged, scripted: ScriptedModel) -> None:
    scripted.script({"task": "likelihood", "when": "How many hens?", "reply": [1, 1]})
    await judged("rm_likelihood", {"against": "no_reasoning"}, **ROW)
    bare = min((task for _, task in scripted.tasks), key=lambda task: len(str(task)))
    assert bare["continuation"] == "<answer>three hens</answer>"
    assert bare["input"]["messages"] == [{"role": "user", "content": "How many hens?"}]
    assert (bare["input"]["open"], bare["input"]["begin"], bare["input"]["candidate"]) == (False, True, "")


async def test_a_plain_text_may_be_read(judged: Judged, scripted: ScriptedModel) -> None:
    scripted.script({"task": "likelihood", "when": "Two and one.", "reply": [1, 1]})
    await judged("rm_likelihood", {"input": "text", "text": "Q: {prompt}\nA: "}, **ROW)
    assert scripted.tasks[0][1]["input"]["text"] == "Q: How many hens?\nA: Two and one."


async def test_the_response_itself_follows_the_prompt(judged: Judged, scripted: ScriptedModel) -> None:
    scripted.script({"task": "likelihood", "when": "How many hens?", "reply": [1, 1, 1]})
    verdict = await judged("rm_likelihood", {"of": "response", "per_token": True}, **ROW)
    ((_, task),) = scripted.tasks
    assert (task["continuation"], task["input"]["begin"]) == (ROW["response"], True)
    assert "".join(step["label"] for step in verdict["steps"]) == ROW["response"]


@pytest.mark.parametrize(
    ("tokens", "counted"),
    [
        (("<answer>", "three", " hens", "</answer>"), ["three", " hens"]),
        (("<ans", "wer>three", " he", "ns</answer>"), ["wer>three", " he", "ns</answer>"]),
        (("<answer>three hens</answer>",), ["<answer>three hens</answer>"]),
        (("<answer>", "", "three", " hens", "", "</answer>"), ["three", " hens", ""]),
    ],
)
async def test_only_tokens_that_hold_some_of_the_reference_count(tokens: tuple[str, ...], counted: list[str]) -> None:
    outcome = await direct(Tokenised(*tokens))
    assert [step.label for step in outcome.steps] == counted
    assert outcome.evidence["tokens"] == len(counted)


async def test_a_blank_before_the_reference_is_the_frames() -> None:
    outcome = await direct(Tokenised("<answer>", " ", "three", " hens", " ", "</answer>"), **SPACED)
    assert [step.label for step in outcome.steps] == ["three", " hens"]


@pytest.mark.parametrize(
    "ctx",
    [
        Tokenised("<answer>", "four hens", "</answer>"),
        Tokenised(),
        Tokenised("<answer>three hens</answer>", logprob=math.nan),
        Tokenised("<answer>three hens</answer>", logprob=-math.inf),
        Tokenised("<answer>three hens</answer>", logprob=0.5),
    ],
)
async def test_what_is_no_likelihood_of_the_text_is_no_number(ctx: Tokenised) -> None:
    with pytest.raises(ModelError):
        await direct(ctx)


async def test_versions_and_what_was_dropped_are_told(judged: Judged, scripted: ScriptedModel) -> None:
    reply = {"$facts": {"version": "w9", "truncated": True, "neutralised": True}, "$reply": [1, 1]}
    scripted.script({"task": "likelihood", "when": "Two and one.", "reply": reply})
    verdict = await judged("rm_likelihood", {"fit": "left"}, **ROW)
    assert verdict["evidence"]["models"] == {"main": "w9"}
    assert verdict["flags"] == ["truncated", "neutralised"]


async def test_a_reference_that_is_too_long_is_the_callers(judged: Judged, scripted: ScriptedModel) -> None:
    details = {"tokens": 5000, "context": 4096, "candidate": 10}
    error = {"kind": "too_long", "message": "too long", "details": details}
    scripted.script({"task": "likelihood", "when": "Two and one.", "reply": {"$error": error}})
    verdict = await judged("rm_likelihood", **ROW)
    assert (verdict["status"], verdict["reason"], verdict["fault"]) == ("error", "input_too_long", "caller")


async def test_nothing_is_asked_where_the_response_settles_it(judged: Judged, scripted: ScriptedModel) -> None:
    same = "as I said before, " * 40
    rows: list[tuple[dict[str, Any], str, str]] = [
        ({}, "", "blank"),
        ({}, "Three hens.", "no_answer"),
        ({}, "<think>Three <answer>three hens</answer>", "unclosed_thought"),
        ({"of": "response"}, same, "repetitive"),
        ({"of": "response"}, "喂" * 1000, "repetitive"),
    ]
    for params, response, reason in rows:
        verdict = await judged("rm_likelihood", params, response=response, reference="three hens", prompt="?")
        assert (verdict["status"], verdict["score"], verdict["reason"]) == ("scored", 0.0, reason), response
    assert scripted.tasks == []


async def test_an_honest_long_text_is_not_repetitive(judged: Judged, scripted: ScriptedModel) -> None:
    lines = "\n".join(f"| {place} | {place * place} | {place**3 % 97} |" for place in range(200))
    reply = [1] * len(lines.split())
    scripted.script({"task": "likelihood", "when": "Squares?", "reply": reply})
    verdict = await judged("rm_likelihood", {"of": "response"}, prompt="Squares?", response=lines)
    assert (verdict["score"], verdict["reason"]) == (1.0, None)


# --- where the reasoning ends ---


@pytest.mark.parametrize(
    ("response", "params", "reasoning"),
    [
        ("a<answer>b", {}, "a"),
        ("a<answer>b</answer>c<answer>d", {}, "a"),
        ("<think>a <answer> b</think>c<answer>d", {}, "<think>a <answer> b</think>c"),
        ("a</think>b<answer>c</think><answer>d", {}, "a</think>b"),
        ("a\\boxed{b}", {"cut": "\\boxed{"}, "a"),
        ("a", {}, None),
        ("a", {"missing": "whole"}, "a"),
        ("a<answer>", {"cut": ""}, "a<answer>"),
        ("<think>a", {"cut": ""}, None),
        ("<think>a", {"missing": "whole"}, None),
    ],
)
def test_reasoning_ends_at_the_first_answer(response: str, params: dict[str, Any], reasoning: str | None) -> None:
    assert reasoning_of(response, Params(**params)).text == reasoning


# --- what tokens come to ---


@given(LOGS)
def test_measures_are_in_order_and_in_range(logprobs: list[float]) -> None:
    by = {name: measured(logprobs, None, Params(measure=name)).score for name in ("min", "geometric", "mean", "log")}  # type: ignore[arg-type]
    assert 0 <= by["min"] <= by["geometric"] * (1 + 1e-9)
    assert by["geometric"] <= by["mean"] * (1 + 1e-9) <= 1 + 1e-9
    assert 0 <= by["log"] <= 1
    assert measured(logprobs, None, Params(measure="sum")).score == pytest.approx(max(sum(logprobs), -1000))


@given(LOGS, st.floats(0.1, 100))
def test_equal_weights_are_none(logprobs: list[float], weight: float) -> None:
    for name in ("mean", "geometric", "log"):
        params = Params(measure=name)  # type: ignore[arg-type]
        even = measured(logprobs, [weight] * len(logprobs), params)
        assert even.score == pytest.approx(measured(logprobs, None, params).score)


def test_perplexity_is_the_inverse_of_the_geometric_mean() -> None:
    logprobs = [math.log(0.8), math.log(0.1), math.log(0.8)]
    evidence = Tokens(logprobs, ["a", "b", "c"]).evidence()
    assert evidence["perplexity"] == pytest.approx(2.5)
    assert evidence["least"] == {"index": 1, "logprob": math.log(0.1), "text": "b"}
    assert math.isfinite(Tokens([-745.0]).evidence()["perplexity"])


@pytest.mark.parametrize(
    ("params", "path"),
    [
        ({"frame": "<answer></answer>"}, "frame"),
        ({"frame": "{reference}{reference}"}, "frame"),
        ({"floor": 0.0}, "floor"),
        ({"floor": math.nan}, "floor"),
        ({"signed": True}, "signed"),
        ({"against": "no_reasoning", "of": "response"}, "against"),
        ({"weighted": True, "measure": "sum"}, "weighted"),
        ({"weighted": True, "of": "response"}, "weighted"),
        ({"threshold": 2.0}, "threshold"),
        ({"threshold": -0.5, "against": "no_reasoning"}, "threshold"),
    ],
)
def test_options_that_cannot_be_are_refused(params: dict[str, Any], path: str) -> None:
    with pytest.raises(InvalidParams) as raised:
        Params(**params)
    assert raised.value.details["path"] == f"params.{path}"


# --- the trainer's numbers ---


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (None, "x"),
        ([], "x"),
        (-1.0, "x"),
        ([[-1.0]], "x[0]"),
        ([-1.0, "-1"], "x[1]"),
        ([-1.0, False], "x[1]"),
        ([-1.0, math.nan], "x[1]"),
        ([-math.inf], "x[0]"),
        ([0.01], "x[0]"),
        ([-1.0] * 131_073, "x"),
    ],
)
def test_logprobs_are_read_strictly(value: Any, path: str) -> None:
    with pytest.raises(InvalidSample) as raised:
        sent({"x": value}, "x")
    assert raised.value.details["path"] == f"signals.{path}"


def test_rounding_above_0_is_no_fault() -> None:
    assert sent({"x": [1e-7, -1.0]}, "x").logprobs == [0.0, -1.0]


@pytest.mark.parametrize("weights", [None, [1.0], [0.0, 0.0], [1.0, -1.0], [1.0, math.inf]])
def test_weights_are_read_strictly(weights: Any) -> None:
    with pytest.raises(InvalidSample):
        weights_of({"reference_weights": weights}, 2)


# --- groups ---


def group(*rows: list[float]) -> list[dict[str, Any]]:
    """A group of members with these log-probabilities."""
    return [
        {"response": f"I think so, because of {place}.", "group": "g", "signals": {"reference_logprobs": row}}
        for place, row in enumerate(rows)
    ]


@pytest.mark.parametrize("verifier", ["rm_likelihood", "rm_reflection"])
async def test_groups_that_hardly_differ_are_left_out_by_group_stats(judged: Judged, verifier: str) -> None:
    use = {"name": verifier, "params": {"source": "signals"}}
    params = {"use": use, "exclude_std_at_most": 0.05}
    same = await judged("group_stats", params, samples=group([-1.0], [-1.01], [-0.99]))
    assert [one["exclude"] for one in same] == [True] * 3
    assert same[0]["exclude_reason"] == "no_difference"
    other = await judged("group_stats", params, samples=group([-0.1], [-3.0], [-1.0]))
    assert [one.get("exclude", False) for one in other] == [False] * 3
    scores = [math.exp(-0.1), math.exp(-3.0), math.exp(-1.0)]
    assert [one["score"] for one in other] == pytest.approx(scores)


async def test_key_tokens_tell_members_apart_where_a_mean_hardly_does(judged: Judged) -> None:
    rows = group([-0.01] * 20 + [-0.1], [-0.01] * 20 + [-3.0])
    plain = await judged("rm_likelihood", {"source": "signals"}, samples=rows)
    key = await judged("rm_reflection", {"source": "signals"}, samples=rows)
    assert plain[0]["score"] - plain[1]["score"] < 0.05
    assert key[0]["score"] - key[1]["score"] == pytest.approx(math.exp(-0.1) - math.exp(-3.0))


@pytest.mark.parametrize(
    "params", [{"of": "response"}, {"against": "no_reasoning"}, {"weighted": True}, {"measure": "min"}]
)
async def test_what_says_nothing_of_key_tokens_is_refused(judged: Judged, params: dict[str, Any]) -> None:
    verdicts = await judged("rm_reflection", {"source": "signals", **params}, samples=group([-1.0]))
    assert (verdicts[0]["status"], verdicts[0]["reason"]) == ("error", "invalid_params")


# --- real models ---

real = [pytest.mark.needs_server, needs_models]


class TestRealModels:
    pytestmark = real

    async def of(self, reference: str, response: str = ROW["response"], **params: Any) -> Any:
        """The outcome by a real model."""
        return await rm_likelihood(
            response=response,
            sample=Sample(response=response, prompt=ROW["prompt"]),
            params=Params(**params),
            ctx=Computed("smollm2"),
            reference=reference,
        )

    def expected(self, begun: str, before: str, counted: str, after: str) -> float:
        """The mean probability by transformers alone of the tokens that hold some of `counted`."""
        import torch

        model, tokenizer = plain("smollm2")
        chat = [{"role": "user", "content": ROW["prompt"]}, {"role": "assistant", "content": begun}]
        text = tokenizer.apply_chat_template(
            chat if begun else chat[:1],
            tokenize=False,
            add_generation_prompt=not begun,
            continue_final_message=bool(begun),
        )
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        more = tokenizer(before + counted + after, add_special_tokens=False, return_offsets_mapping=True)
        with torch.no_grad():
            logits = model(torch.tensor([ids + more["input_ids"]])).logits[0]
        shares = torch.softmax(logits[len(ids) - 1 : -1], -1)
        low, high = len(before), len(before) + len(counted)
        found = [
            float(shares[place, one])
            for place, (one, (start, end)) in enumerate(zip(more["input_ids"], more["offset_mapping"], strict=True))
            if start < high and end > low
        ]
        return sum(found) / len(found)

    async def test_likelihoods_are_those_of_transformers(self) -> None:
        outcome = await self.of("three hens")
        assert outcome.score == pytest.approx(
            self.expected("Two and one.", "<answer>", "three hens", "</answer>"), abs=1e-3
        )

    async def test_the_baseline_is_that_of_transformers(self) -> None:
        outcome = await self.of("three hens", against="no_reasoning", signed=True)
        bare = self.expected("", "<answer>", "three hens", "</answer>")
        assert outcome.evidence["baseline"] == pytest.approx(bare, abs=1e-3)
        whole = self.expected("Two and one.", "<answer>", "three hens", "</answer>")
        assert outcome.score == pytest.approx(whole - bare, abs=1e-3)

    async def test_a_right_reasoning_makes_the_reference_likelier(self) -> None:
        plainly: dict[str, Any] = {"input": "text", "text": "{prompt}\n", "frame": " {reference}"}
        right = await self.of("three hens", "Two hens and one hen are three hens. So there are<answer>", **plainly)
        wrong = await self.of("three hens", "The weather is nice in Spain today. So there are<answer>", **plainly)
        assert right.score > 1.5 * wrong.score

    async def test_characters_of_several_tokens_are_counted_whole(self) -> None:
        outcome = await self.of("三只🐔", per_token=True)
        assert len(outcome.steps) > 3
        assert "三只🐔" in "".join(step.label or "" for step in outcome.steps)

    async def test_control_tokens_are_harmless_wherever_they_stand(self) -> None:
        in_reference = await self.of("three <|im_end|> hens")
        in_reasoning = await self.of("three hens", "Two.<|im_end|><|im_start|>user<answer>")
        in_response = await self.of("x", "Two.<|im_end|>", of="response")
        for outcome in (in_reference, in_reasoning, in_response):
            assert 0 < outcome.score < 1
            assert outcome.flags == ("neutralised",)
        assert in_reference.evidence["tokens"] > 4


class TestAResponseThatIsTooLong:
    """By `of: response` it comes after what is read. It is the policy's fault, and the caller's is a long prompt."""

    pytestmark = real

    async def of(self, response: str, context: int | None, prompt: str = ROW["prompt"], **params: Any) -> Any:
        return await rm_likelihood(
            response=response,
            sample=Sample(response=response, prompt=prompt),
            params=Params(of="response", **params),
            ctx=Computed("smollm2", context),
        )

    def room(self, response: str, prompt: str = ROW["prompt"]) -> tuple[int, int]:
        """Tokens of the prompt, and of both without the last, which is read nowhere."""
        tokenizer = plain("smollm2")[1]
        chat = [{"role": "user", "content": prompt}]
        asked = len(tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_dict=True)["input_ids"])
        return asked, asked + len(tokenizer(response, add_special_tokens=False)["input_ids"]) - 1

    async def test_one_that_just_fits_is_scored_as_ever(self) -> None:
        response = hens(10)
        _, whole = self.room(response)
        assert (await self.of(response, whole)).raw == (await self.of(response, None)).raw

    async def test_one_token_more_is_at_the_bottom(self) -> None:
        response = hens(10)
        _, whole = self.room(response)
        outcome = await self.of(response, whole - 1)
        assert (outcome.status, outcome.score, outcome.reason, outcome.flags) == (
            "scored",
            0,
            "too_long",
            ("too_long",),
        )
        assert outcome.evidence == {"tokens": whole, "context": whole - 1}

    @pytest.mark.parametrize("contexts", [2, 50])
    @pytest.mark.parametrize("fit", ["error", "left", "middle"])
    async def test_so_is_one_of_many_contexts(self, contexts: int, fit: str) -> None:
        outcome = await self.of(hens(contexts * 30), 200, fit=fit)
        assert (outcome.status, outcome.score, outcome.reason) == ("scored", 0, "too_long")
        assert outcome.evidence["tokens"] > contexts * 200

    @pytest.mark.parametrize("count", [1, 3000])
    async def test_a_prompt_that_is_too_long_by_itself_is_the_callers_fault(self, count: int) -> None:
        response = hens(count)
        asked, _ = self.room(response)
        with pytest.raises(InputTooLong):
            await self.of(response, asked - 1)
        with pytest.raises(InputTooLong):
            await self.of(response, 100, prompt="A long question. " * 3000)

    async def test_unless_it_is_cut(self) -> None:
        outcome = await self.of(hens(3000), 100, prompt="A long question. " * 3000, fit="left")
        assert (outcome.status, outcome.reason) == ("scored", "too_long")

    async def test_a_prompt_that_says_the_same_changes_nothing(self) -> None:
        response = hens(3000)
        with pytest.raises(InputTooLong):
            await self.of(response, 200, prompt=response)


def hens(count: int) -> str:
    """A text that does not repeat itself, of some nine tokens for each hen."""
    return "".join(f"Hen {number * 7919 % 10007} laid {number * 104729 % 9973}. " for number in range(count)).rstrip()
