"""Tricks of a policy to be paid, or to go unscored, and their result: the lowest score, and its siblings lose
nothing."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from rewarden.errors import ModelError
from rewarden.types import Outcome, Sample
from rewarden_verifiers.contract import Member
from rewarden_verifiers.inference import Choices, Choose, Classify, Facts, Likelihood, Likelihoods, Logits, Task
from rewarden_verifiers.judges.gather import gather
from rewarden_verifiers.models import rm_generative, rm_likelihood, rm_listwise, rm_pairwise, rm_process, rm_reflection
from rewarden_verifiers.models.rm_process_params import Params as ProcessParams
from rewarden_verifiers.models.walk import walk_of
from tests.models.conftest import Judged
from tests.models.scripted import ScriptedModel

FACTS = Facts(model="main", version="1")
PROMPT = "Which number is it?"


class Model:
    """Remembers what it is asked."""

    def __init__(self) -> None:
        self.tasks: list[Task[Any]] = []

    async def run(self, task: Task[Any], model: str | None = None) -> Any:
        self.tasks.append(task)
        if isinstance(task, Choose):
            return Choices(logprobs=[-1.0] * len(task.choices), facts=FACTS)
        if isinstance(task, Likelihood):
            return Likelihoods(tokens=[task.continuation], logprobs=[-0.5], facts=FACTS)
        assert isinstance(task, Classify)
        said = task.input.messages[-1]["content"] if task.input.messages else ""
        if "unreached" in str(said):
            raise ModelError("gone")
        return Logits(values=[1.0], labels=["LABEL_0"], facts=FACTS)


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def ctx(model: Model) -> Any:
    return SimpleNamespace(model=model)


def members(*texts: str, **sample: Any) -> list[Member]:
    return [
        Member(index=place, response=text, sample=Sample(prompt=PROMPT, response=text, **sample))
        for place, text in enumerate(texts)
    ]


class TestTooLong:
    async def test_control_tokens_are_the_policys_as_they_are_shown(self, model: Model, ctx: Any) -> None:
        # Counted as they came, each would be one token of the policy's and many of nobody's.
        text = "It is 7." + "<|im_end|>" * 50
        sample = Sample(prompt=PROMPT, response=text)
        await rm_generative.rm_generative(text, PROMPT, None, sample, rm_generative.Params(), ctx)
        (task,) = model.tasks
        assert isinstance(task, Choose)
        assert "<|im_end|>" not in task.input.candidate
        assert task.input.messages
        assert task.input.candidate in str(task.input.messages[-1]["content"])

    async def test_what_no_prompt_takes_is_at_the_bottom(self, model: Model, ctx: Any) -> None:
        text = "It is 7. " * 250_000
        sample = Sample(prompt=PROMPT, response=text)
        for made in (
            await rm_generative.rm_generative(text, PROMPT, None, sample, rm_generative.Params(), ctx),
            await rm_pairwise.rm_pairwise(text, PROMPT, "It is 8.", None, sample, rm_pairwise.Params(), ctx),
            await rm_process.rm_process(text, sample, ProcessParams(by="written"), ctx),
            (await rm_listwise.rm_listwise(members(text, "It is 8.", "It is 9."), rm_listwise.Params(), ctx))[0],
        ):
            assert isinstance(made, Outcome)
            assert (made.score, made.reason) == (0.0, "too_long")


class TestSteps:
    def walked(self, text: str, **params: Any) -> Any:
        return walk_of(text, Sample(prompt=PROMPT, response=text), ProcessParams(by="written", **params))

    def test_a_step_is_repeated_whatever_nobody_sees_in_it(self) -> None:
        found = self.walked("It is seven.\n\nIt is\u200b seven.\n\n2. Ｉt is seven.\n\n\u2060It is seven.")
        assert list(found.same) == [0, 0, 0, 0]
        assert "repeated_steps" in found.flags

    def test_a_step_that_nobody_sees_is_empty(self) -> None:
        found = self.walked("It is seven.\n\n\u200b\u200d\n\nIt is eight.")
        assert list(found.order) == [0, 2]
        assert found.flags == ["empty_steps"]

    def test_what_nobody_sees_makes_no_step_longer(self) -> None:
        found = self.walked("ok" + "\u200b" * 20 + "\n\nIt is seven.", aggregate="mean")
        assert len(found.parts) == 1

    def test_a_hundred_thousand_short_steps_are_joined_at_once(self) -> None:
        assert len(self.walked("a\n" * 100_000, split="lines", aggregate="mean").parts) == 1

    async def test_one_wrong_step_is_not_worth_what_a_right_one_is(self, judged: Judged) -> None:
        params = {"by": "signals", "aggregate": "clip_delta", "last_step": "drop"}
        made = await judged("rm_process", params, prompt=PROMPT, response="It is 7.", signals={"step_values": [0.0]})
        assert (made["score"], made["range"]) == (-0.5, [-0.5, 0.0])


class TestVerificationsThatCannotBeRead:
    TEXT = "It is sevenling.\n\nSo it is odd."
    READ = "Step 1: correct\nStep 2: correct"

    def asked(self, judged: Judged, **params: Any) -> Any:
        return judged("rm_process", {"by": "written", **params}, prompt=PROMPT, response=self.TEXT)

    async def test_that_the_steps_made_so_call_all_steps_wrong(self, judged: Judged, scripted: ScriptedModel) -> None:
        scripted.script(
            {"task": "write", "when": "number", "reply": [self.READ] * 3},
            {"task": "write", "when": [PROMPT, "sevenling"], "reply": ["I would rather not say."]},
        )
        made = await self.asked(judged)
        assert (made["score"], made["reason"]) == (0.0, "step_wrong")
        assert "unreadable_reply" in made["flags"]
        assert ["sevenling" in str(task["input"]) for _, task in scripted.tasks] == [True] * 3 + [False]

    async def test_that_neutral_steps_spoil_now_and_then_are_the_models(
        self, judged: Judged, scripted: ScriptedModel
    ) -> None:
        scripted.script(
            {"task": "write", "when": "number", "reply": [self.READ, "Hm.", self.READ]},
            {"task": "write", "when": [PROMPT, "sevenling"], "reply": ["I would rather not say."]},
        )
        assert (await self.asked(judged))["status"] == "undecided"

    async def test_that_were_cut_off_are_the_models(self, judged: Judged, scripted: ScriptedModel) -> None:
        cut = {"text": "Let me see", "finish": "length"}
        scripted.script(
            {"task": "write", "when": "number", "reply": [self.READ] * 3},
            {"task": "write", "when": [PROMPT, "sevenling"], "reply": [cut]},
        )
        assert (await self.asked(judged))["status"] == "undecided"
        assert [task["max_tokens"] for _, task in scripted.tasks][:2] == [2048, 8192]

    async def test_that_the_model_made_so_say_nothing(self, judged: Judged, scripted: ScriptedModel) -> None:
        for samples in (1, 3):
            reply = ["I would rather not say."] * samples
            scripted.script({"task": "write", "when": "number", "where": {"samples": samples}, "reply": reply})
        assert (await self.asked(judged))["status"] == "undecided"

    async def test_are_asked_for_again(self, judged: Judged, scripted: ScriptedModel) -> None:
        scripted.script({"task": "write", "when": "number", "replies": [["I would rather not say."], [self.READ]]})
        made = await self.asked(judged)
        assert (made["score"], made.get("flags")) == (1.0, None)


class TestRepetition:
    @pytest.mark.parametrize(
        "page", ["Every cat in this town sleeps on warm roofs, {}. ", "{}-" + "Aa Bb Cc Dd Ee. " * 9]
    )
    async def test_of_whole_sentences_is_no_likely_text(self, model: Model, ctx: Any, page: str) -> None:
        text = page.format("a long sentence that an honest text says once, and not thirty times") * 30
        sample = Sample(prompt=PROMPT, response=text)
        made = await rm_likelihood.rm_likelihood(text, sample, rm_likelihood.Params(of="response"), ctx)
        assert (made.score, made.reason) == (0.0, "repetitive")
        assert not model.tasks


class TestGroups:
    async def test_all_who_spoil_comparisons_lose_them(self, judged: Judged, scripted: ScriptedModel) -> None:
        scripted.script(
            {"task": "choose", "when": PROMPT, "reply": {"A": 0.5, "B": 0.5}},
            *(
                {"task": "choose", "when": [PROMPT, f"{text}\n[end of response_"], "reply": {"A": 0.001, "B": 0.001}}
                for text in ("Say # one.", "Say # three.")
            ),
        )
        texts = ["Say # one.", "Say # three.", "It is seven.", "It is nine."]
        rows = [{"prompt": PROMPT, "response": text, "group": "g"} for text in texts]
        made = await judged("rm_listwise", {"disagree": "tie"}, samples=rows)
        assert [(one["score"], one["reason"]) for one in made[:2]] == [(0.0, "unreadable_reply")] * 2
        assert [one["score"] for one in made[2:]] == [0.5, 0.5]

    async def test_of_a_pool_of_which_most_are_unknown_nothing_is_said(self, ctx: Any) -> None:
        params = rm_listwise.Params(by="scalar", mode="pool")
        found = await rm_listwise.rm_listwise(members("unreached 1", "unreached 2", "It is 7."), params, ctx)
        assert all(isinstance(one, ModelError) for one in found)
        found = await rm_listwise.rm_listwise(members("unreached 1", "It is 8.", "It is 7."), params, ctx)
        assert [getattr(one, "score", None) for one in found] == [None, 0.5, 0.5]

    async def test_a_reference_that_falls_apart_otherwise_behind_one_is_that_ones_matter(self) -> None:
        class Odd(Model):
            async def run(self, task: Task[Any], model: str | None = None) -> Any:
                assert isinstance(task, Likelihood)
                odd = "odd" in str(task.input.messages)
                whole = task.continuation
                middle = len(whole) // 2
                tokens = [whole[:middle], whole[middle:]] if odd else [whole]
                return Likelihoods(tokens=tokens, logprobs=[-0.5] * len(tokens), facts=FACTS)

        group = members("one <answer>7", "odd <answer>7", "two <answer>7", reference="seven")
        found = await rm_reflection.rm_reflection(group, rm_reflection.Params(), SimpleNamespace(model=Odd()))
        assert isinstance(found[1], ModelError)
        assert all(isinstance(found[place], Outcome) for place in (0, 2))


class TestNumbersOfAnySize:
    @pytest.mark.parametrize("params", [{"seed": 10**400}, {"samples": 10**400}, {"shown": -(10**400)}])
    async def test_an_integer_that_is_no_float_is_a_bad_value(self, judged: Judged, params: dict[str, int]) -> None:
        made = await judged("rm_generative", params, prompt=PROMPT, response="It is 7.")
        assert (made["status"], made["reason"]) == ("error", "invalid_params")
        assert f"params.{next(iter(params))} must be from" in str(made)

    async def test_rewards_as_great_as_floats_are_still_compare(self, judged: Judged, scripted: ScriptedModel) -> None:
        scripted.script(
            {"task": "classify", "when": PROMPT, "reply": [1.7e308]},
            {"task": "classify", "when": [PROMPT, "nine"], "reply": [-1.7e308]},
        )
        rows = [{"prompt": PROMPT, "response": f"It is {text}.", "group": "g"} for text in ("six", "seven", "nine")]
        for score in ("win_rate", "bradley_terry", "rank", "softmax"):
            made = await judged("rm_listwise", {"by": "scalar", "mode": "pool", "score": score}, samples=rows)
            six, seven, nine = (one["score"] for one in made)
            assert six == seven > nine == 0


class TestBeside:
    async def test_others_have_a_turn_while_many_are_begun(self) -> None:
        begun = 0
        seen: list[int] = []

        async def one() -> None:
            nonlocal begun
            begun += 1
            await asyncio.sleep(0)

        async def other() -> None:
            while begun < 1000:
                seen.append(begun)
                await asyncio.sleep(0)

        watching = asyncio.ensure_future(other())
        await gather(*(one() for _ in range(1000)))
        await watching
        assert len(seen) > 10

    async def test_where_one_raises_none_is_left(self) -> None:
        left: set[int] = set()

        async def one(place: int) -> None:
            left.add(place)
            try:
                if place == 3:
                    raise ValueError("the third")
                await asyncio.sleep(1000)
            finally:
                left.discard(place)

        with pytest.raises(ValueError, match="the third"):
            await gather(*(one(place) for place in range(100)))
        await asyncio.sleep(0)
        assert not left
