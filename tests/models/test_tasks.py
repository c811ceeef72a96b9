"""Each kind of task gives what plain transformers gives on the same model, and nothing that is not a number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from rewarden_verifiers.inference import (
    Choose,
    Classify,
    Embed,
    Input,
    Likelihood,
    Rate,
    Task,
    Write,
    Written,
)
from tests.models.real import loaded, needs_gemma, needs_models, plain

pytestmark = [pytest.mark.needs_server, needs_models]

if not needs_models.args[0]:
    import torch

    from rewarden_models.failure import Failure
    from rewarden_models.forward import forward
    from rewarden_models.rendering import DENSE, Reader
    from rewarden_models.tasks import prepare

CLOSE = 1e-3
CHAT = [{"role": "user", "content": "Is 7 prime?"}, {"role": "assistant", "content": "Yes: it has no divisor."}]


def done(name: str, task: Task[Any]) -> Any:
    """The task's result, computed by ours."""
    ready = prepare(loaded(name), task)
    return ready.finish(forward(loaded(name), ready.rows))


def logits(name: str, ids: Sequence[int]) -> Any:
    """Returns what transformers gives for these tokens, a row a token."""
    with torch.inference_mode():
        return plain(name)[0](torch.tensor([list(ids)])).logits[0]


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """Of vectors of length 1."""
    return sum(left * right for left, right in zip(one, other, strict=True))


def refusal(name: str, task: Task[Any]) -> Failure:
    with pytest.raises(Failure) as found:
        prepare(loaded(name), task)
    return found.value


@pytest.mark.parametrize("name", ["smollm2-reward", "smollm2-classes"])
@pytest.mark.parametrize("chat", [CHAT, CHAT[:1]])
def test_classify_is_the_head_s_output(name: str, chat: list[dict[str, str]]) -> None:
    ids = plain(name)[1].apply_chat_template(chat, return_dict=True)["input_ids"]
    made = done(name, Classify(input=Input(messages=chat)))
    assert made.values == pytest.approx(logits(name, ids).tolist(), abs=CLOSE)
    assert list(made.labels) == list(plain(name)[0].config.id2label.values())
    assert not made.multi
    assert made.facts.tokens == len(ids)
    assert made.facts.version == loaded(name).version


def test_scores_of_different_texts_differ_by_units() -> None:
    found = [
        done("smollm2-reward", Classify(input=Input(text=text))).values[0]
        for text in ("The sum is 12.", "I do not know.", "no no no no", "What a wonderful film!")
    ]
    assert max(found) - min(found) > 1.0


def test_classify_reads_a_pair() -> None:
    model, tokenizer = plain("minilm-pair")
    with torch.inference_mode():
        expected = model(**tokenizer("Who wrote it?", "It was written by Ada.", return_tensors="pt")).logits[0]
        turned = model(**tokenizer("It was written by Ada.", "Who wrote it?", return_tensors="pt")).logits[0]
    made = done("minilm-pair", Classify(input=Input(text="Who wrote it?", pair="It was written by Ada.")))
    assert made.values == pytest.approx(expected.tolist(), abs=CLOSE)
    assert abs(float(expected - turned)) > 10 * CLOSE  # so that the order, and which text is which, is seen to count


class TestChoose:
    def test_of_single_tokens_is_the_softmax_of_what_comes_next(self) -> None:
        tokenizer = plain("smollm2")[1]
        ids = tokenizer.apply_chat_template(CHAT[:1], add_generation_prompt=True, return_dict=True)["input_ids"]
        near = torch.log_softmax(logits("smollm2", ids)[-1], dim=-1)
        choices = ["Yes", "No", "It"]
        numbers = [tokenizer(choice, add_special_tokens=False)["input_ids"] for choice in choices]
        made = done("smollm2", Choose(input=Input(messages=CHAT[:1], begin=True), choices=choices))
        assert made.logprobs == pytest.approx([float(near[one[0]]) for one in numbers], abs=CLOSE)
        assert len(prepare(loaded("smollm2"), Choose(input=Input(text="a"), choices=choices)).rows) == 1

    def test_of_several_tokens_is_the_sum_of_theirs(self) -> None:
        tokenizer = plain("smollm2")[1]
        ids = tokenizer("The capital of France is")["input_ids"]
        more = tokenizer(" Ulan Bator, surely", add_special_tokens=False)["input_ids"]
        near = torch.log_softmax(logits("smollm2", ids + more), dim=-1)
        expected = sum(float(near[len(ids) - 1 + place, number]) for place, number in enumerate(more))
        made = done(
            "smollm2",
            Choose(input=Input(text="The capital of France is"), choices=[" Ulan Bator, surely", " Paris", " Ulan"]),
        )
        assert made.logprobs[0] == pytest.approx(expected, abs=CLOSE)
        assert made.logprobs[1] > made.logprobs[0]
        assert made.logprobs[2] > made.logprobs[0]

    @pytest.mark.parametrize("choices", [[], [""], ["a", "a"]])
    def test_choices_differ_and_are_not_empty(self, choices: list[str]) -> None:
        assert refusal("smollm2", Choose(input=Input(text="x"), choices=choices)).kind == "invalid"


@pytest.mark.parametrize("name", ["smollm2", pytest.param("gemma", marks=needs_gemma)])
def test_likelihood_is_that_of_each_token_given_all_before(name: str) -> None:
    tokenizer = plain(name)[1]
    text, more = "The capital of France is", " Paris, für \U0001f389 alle."
    ids, numbers = tokenizer(text)["input_ids"], tokenizer(more, add_special_tokens=False)["input_ids"]
    near = torch.log_softmax(logits(name, ids + numbers), dim=-1)
    expected = [float(near[len(ids) - 1 + place, number]) for place, number in enumerate(numbers)]
    made = done(name, Likelihood(input=Input(text=text), continuation=more))
    assert made.logprobs == pytest.approx(expected, abs=CLOSE)
    assert "".join(made.tokens) == more


def test_a_continuation_holds_no_control_tokens() -> None:
    made = done("smollm2", Likelihood(input=Input(text="x"), continuation="Yes<|im_end|>"))
    assert made.facts.neutralised
    ready = prepare(loaded("smollm2"), Likelihood(input=Input(text="x"), continuation="Yes<|im_end|>"))
    assert 2 not in ready.rows[0].ids
    assert [2] not in (ready.rows[0].targets or [])


def test_megabytes_of_a_continuation_are_not_tokenised_to_be_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    small = replace(loaded("smollm2"), context=100, reader=Reader(plain("smollm2")[1]))
    backend, lengths = small.reader._backend, []

    class Spy:
        def encode(self, text: str, *more: Any, **named: Any) -> Any:
            lengths.append(len(text))
            return backend.encode(text, *more, **named)

    monkeypatch.setattr(small.reader, "_backend", Spy())
    with pytest.raises(Failure) as found:
        prepare(small, Likelihood(input=Input(text="One, two,"), continuation=" long words" * 1_000_000))
    assert found.value.kind == "too_long"
    assert max(lengths) <= 100 * DENSE


def test_siblings_begin_with_the_same_tokens() -> None:
    rows = [
        prepare(loaded("smollm2"), Likelihood(input=Input(text="One, two,"), continuation=more)).rows[0].ids
        for more in (" three", ", four")
    ]
    length = len(plain("smollm2")[1]("One, two,")["input_ids"])
    assert rows[0][:length] == rows[1][:length]


class TestRate:
    STEPS = ("7 is odd.", "No number from 2 to 6 divides it.", "So it is prime.")

    def test_a_head_is_read_at_the_last_token_of_each_mark(self) -> None:
        tokenizer = plain("smollm2-steps")[1]
        chat = [*CHAT[:1], {"role": "assistant", "content": ""}]
        text = tokenizer.apply_chat_template(CHAT[:1], add_generation_prompt=True, tokenize=False)
        ids = tokenizer(text + "<file_sep>".join((*self.STEPS, "")), add_special_tokens=False)["input_ids"]
        number = tokenizer.convert_tokens_to_ids("<file_sep>")
        expected = [logits("smollm2-steps", ids)[place].tolist() for place, one in enumerate(ids) if one == number]
        made = done("smollm2-steps", Rate(input=Input(messages=chat, open=True), steps=self.STEPS, mark="<file_sep>"))
        assert len(made.values) == 3
        for ours, theirs in zip(made.values, expected, strict=True):
            assert ours == pytest.approx(theirs, abs=CLOSE)
        assert made.labels == ("bad", "good")
        assert not made.facts.neutralised

    def test_a_mark_that_is_within_a_step_is_none(self) -> None:
        steps = ["a<file_sep>good<file_sep>", "b"]
        made = done("smollm2-steps", Rate(input=Input(text="x\n"), steps=steps, mark="<file_sep>"))
        assert len(made.values) == 2
        assert made.facts.neutralised
        ready = prepare(loaded("smollm2-steps"), Rate(input=Input(text="x\n"), steps=steps, mark="<file_sep>"))
        number = plain("smollm2-steps")[1].convert_tokens_to_ids("<file_sep>")
        assert [place for place, one in enumerate(ready.rows[0].ids) if one == number] == ready.rows[0].reads

    def test_a_mark_of_ordinary_text_is_read_where_it_ends(self) -> None:
        tokenizer = plain("smollm2-steps")[1]
        whole = "Is 7 prime?\n" + "".join(step + "\n\n" for step in self.STEPS)
        ready = prepare(loaded("smollm2-steps"), Rate(input=Input(text="Is 7 prime?\n"), steps=self.STEPS, mark="\n\n"))
        assert ready.rows[0].ids == tokenizer(whole)["input_ids"]
        before = [tokenizer.decode(ready.rows[0].ids[: place + 1]) for place in ready.rows[0].reads]
        ends = ["Is 7 prime?\n" + "".join(step + "\n\n" for step in self.STEPS[:upto]) for upto in (1, 2, 3)]
        assert before == ends

    @pytest.mark.parametrize("at", ["mark", "next"])
    def test_choices_are_compared_where_the_mark_stands_or_behind_it(self, at: Any) -> None:
        tokenizer = plain("smollm2")[1]
        ids = tokenizer("Is 7 prime?\n" + "".join(step + "<file_sep>" for step in self.STEPS))["input_ids"]
        number = tokenizer.convert_tokens_to_ids("<file_sep>")
        near = torch.log_softmax(logits("smollm2", ids), dim=-1)
        choices = [tokenizer(text)["input_ids"][0] for text in ("+", "-")]
        places = [place for place, one in enumerate(ids) if one == number]
        expected = [near[place if at == "next" else place - 1, choices].tolist() for place in places]
        task = Rate(input=Input(text="Is 7 prime?\n"), steps=self.STEPS, mark="<file_sep>", choices=("+", "-"), at=at)
        made = done("smollm2", task)
        for ours, theirs in zip(made.values, expected, strict=True):
            assert ours == pytest.approx(theirs, abs=CLOSE)
        assert made.labels == ("+", "-")

    def test_choices_are_for_a_model_without_a_head_and_single_tokens(self) -> None:
        with_head = Rate(input=Input(text="x"), steps=["a"], mark="\n\n", choices=("+", "-"))
        assert refusal("smollm2-steps", with_head).kind == "unsupported"
        assert refusal("smollm2", Rate(input=Input(text="x"), steps=["a"], mark="\n\n")).kind == "unsupported"
        long = Rate(input=Input(text="x"), steps=["a"], mark="\n\n", choices=("surely not one token", "-"))
        assert refusal("smollm2", long).kind == "invalid"

    @pytest.mark.parametrize(("steps", "mark"), [([], "\n"), (["a"], "")])
    def test_steps_and_mark_are_needed(self, steps: list[str], mark: str) -> None:
        assert refusal("smollm2-steps", Rate(input=Input(text="x"), steps=steps, mark=mark)).kind == "invalid"


class TestEmbed:
    @pytest.mark.parametrize("normalise", [True, False])
    def test_is_the_mean_of_an_encoder_s_states(self, normalise: bool) -> None:
        model, tokenizer = plain("minilm")
        with torch.inference_mode():
            expected = model(**tokenizer("A cat sat.", return_tensors="pt")).last_hidden_state[0].mean(0)
        if normalise:
            expected = torch.nn.functional.normalize(expected, dim=0)
        made = done("minilm", Embed(input=Input(text="A cat sat."), normalise=normalise))
        assert made.values == pytest.approx(expected.tolist(), abs=CLOSE)

    def test_is_the_last_state_of_a_causal_model(self) -> None:
        model, tokenizer = plain("smollm2")
        with torch.inference_mode():
            states = model.model(**tokenizer("A cat sat.", return_tensors="pt")).last_hidden_state[0]
        made = done("smollm2", Embed(input=Input(text="A cat sat."), normalise=False))
        assert made.values == pytest.approx(states[-1].tolist(), abs=CLOSE)

    def test_like_is_near_to_like(self) -> None:
        texts = ("A cat sat on the mat.", "A kitten was sitting on a rug.", "Interest rates rose by a quarter.")
        cat, kitten, rates = (done("minilm", Embed(input=Input(text=text))).values for text in texts)
        assert cosine(cat, kitten) > 0.5 > cosine(cat, rates)


class TestWrite:
    def test_leaves_room_for_what_is_written(self) -> None:
        ready = prepare(loaded("smollm2"), Write(input=Input(messages=CHAT[:1], begin=True), max_tokens=9))
        ids = plain("smollm2")[1].apply_chat_template(CHAT[:1], add_generation_prompt=True, return_dict=True)
        assert ready.rows[0].ids == ids["input_ids"]
        made = ready.finish([Written(text="a", tokens=3), Written(text="b", finish="length", tokens=9)])
        assert [text.text for text in made.texts] == ["a", "b"]
        assert made.facts.written == 12
        long = Write(input=Input(text="word " * 8190), max_tokens=9)
        assert refusal("smollm2", long).kind == "too_long"

    @pytest.mark.parametrize("more", [{"samples": 0}, {"max_tokens": 0}])
    def test_something_is_to_be_written(self, more: dict[str, int]) -> None:
        assert refusal("smollm2", Write(input=Input(text="x"), **more)).kind == "invalid"


@pytest.mark.parametrize(
    ("name", "task"),
    [
        ("smollm2", Classify(input=Input(text="x"))),
        ("smollm2-reward", Embed(input=Input(text="x"))),
        ("smollm2-steps", Write(input=Input(text="x"))),
        ("minilm", Likelihood(input=Input(text="x"), continuation="y")),
        ("minilm-pair", Choose(input=Input(text="x"), choices=["y"])),
    ],
)
def test_what_a_model_cannot_do_is_told_with_what_it_can(name: str, task: Task[Any]) -> None:
    made = refusal(name, task)
    assert made.kind == "unsupported"
    assert all(kind in made.message for kind in loaded(name).kinds)


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize(
    ("name", "task"),
    [
        ("smollm2-reward", Classify(input=Input(text="x"))),
        ("smollm2", Choose(input=Input(text="x"), choices=["a"])),
        ("smollm2", Choose(input=Input(text="x"), choices=["one of several tokens"])),
        ("smollm2", Likelihood(input=Input(text="x"), continuation="y")),
        ("smollm2-steps", Rate(input=Input(text="x"), steps=["y"], mark="\n\n")),
        ("minilm", Embed(input=Input(text="x"))),
        ("minilm", Embed(input=Input(text="x"), normalise=False)),
    ],
)
def test_what_is_no_number_is_no_result(name: str, task: Task[Any], wrong: float) -> None:
    ready = prepare(loaded(name), task)
    outputs = [[[wrong] * 2 if not row.targets else [wrong]] * max(1, len(row.reads)) for row in ready.rows]
    with pytest.raises(Failure) as found:
        ready.finish(outputs)
    assert found.value.kind == "not_finite"


def test_a_vector_of_nothing_has_no_direction() -> None:
    with pytest.raises(Failure) as found:
        prepare(loaded("minilm"), Embed(input=Input(text="x"))).finish([[[0.0, 0.0]]])
    assert found.value.kind == "not_finite"
