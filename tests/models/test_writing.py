"""Texts that are written for `inference.Write`: the same as plain transformers, whatever else is written meanwhile."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("torch", reason="the model process needs torch")
pytest.importorskip("transformers", reason="the model process needs transformers")

import torch

from rewarden_models.endpoint import ModelEndpoint
from rewarden_models.failure import Failure
from rewarden_models.sampling import choose, uniform
from rewarden_models.writing import Writer
from rewarden_verifiers.inference import Input, Write
from tests.models import tiny

pytestmark = pytest.mark.needs_server

PROMPTS = ("Tell me more.", "Why?", "A rather longer question about the weather of tomorrow, and what to wear.", "x")


@cache
def loaded(kind: str = "causal") -> Any:
    model = {"causal": tiny.causal, "sliding": tiny.sliding}[kind]()
    return SimpleNamespace(model=model, tokenizer=tiny.tokenizer(), context=512)


def ids_of(text: str) -> list[int]:
    return list(loaded().tokenizer(text)["input_ids"])


def task(**more: Any) -> Write:
    return Write(**{"input": Input(text="read elsewhere"), "max_tokens": 24, **more})


@cache
def plainly(prompt: str, tokens: int = 24, kind: str = "causal") -> list[int]:
    """Returns what transformers' own generate adds to a prompt."""
    ids = ids_of(prompt)
    made = loaded(kind).model.generate(
        torch.tensor([ids]), attention_mask=torch.ones(1, len(ids)), max_new_tokens=tokens, do_sample=False
    )
    return list(made[0][len(ids) :].tolist())


def says(tokens: list[int]) -> str:
    return str(loaded().tokenizer.decode(tokens, skip_special_tokens=True))


def writer_of(over: Any = None, **more: Any) -> Writer:
    return Writer(over or loaded(), ModelEndpoint(model="tiny"), **more)


class TestGreedy:
    """At temperature 0 every token is the one that `model.generate` takes."""

    def test_alone(self) -> None:
        made = writer_of()
        future = made.add(task(), ids_of(PROMPTS[0]))
        made.run()
        assert future.result()[0].text == says(plainly(PROMPTS[0]))

    def test_among_others_that_come_and_go(self) -> None:
        """Prompts of all lengths, each joining three steps after the one before, with limits of their own."""
        made, futures = writer_of(), []
        for at, prompt in enumerate(PROMPTS):
            futures.append(made.add(task(max_tokens=24 - 5 * at), ids_of(prompt)))
            for _ in range(3):
                made.step()
        made.run()
        for at, (prompt, future) in enumerate(zip(PROMPTS, futures, strict=True)):
            assert future.result()[0].text == says(plainly(prompt)[: 24 - 5 * at])
            assert future.result()[0].tokens == len(plainly(prompt)[: 24 - 5 * at])

    def test_layers_that_see_only_the_latest_tokens(self) -> None:
        made = writer_of(loaded("sliding"))
        futures = [made.add(task(), ids_of(prompt)) for prompt in PROMPTS]
        made.run()
        assert [future.result()[0].text for future in futures] == [
            says(plainly(prompt, kind="sliding")) for prompt in PROMPTS
        ]

    def test_a_prompt_read_in_pieces(self) -> None:
        made = writer_of(chunk=8)
        futures = [made.add(task(), ids_of(prompt)) for prompt in PROMPTS]
        made.run()
        assert [future.result()[0].text for future in futures] == [says(plainly(prompt)) for prompt in PROMPTS]

    def test_samples_of_one_task_are_alike(self) -> None:
        made = writer_of()
        future = made.add(task(samples=3), ids_of(PROMPTS[2]))
        made.run()
        assert [text.text for text in future.result()] == [says(plainly(PROMPTS[2]))] * 3


class TestSeeds:
    """The same seed gives the same texts, and samples of one task differ."""

    def test_whatever_shares_the_batch(self) -> None:
        asked = task(samples=4, temperature=1.0, top_p=0.9, seed=7)
        alone, among = writer_of(), writer_of()
        first = alone.add(asked, ids_of(PROMPTS[0]))
        alone.run()
        for prompt in PROMPTS[1:]:
            among.add(task(samples=2, temperature=0.7, seed=1), ids_of(prompt))
            among.step()
        second = among.add(asked, ids_of(PROMPTS[0]))
        among.run()
        assert first.result() == second.result()
        assert len({text.text for text in first.result()}) == 4

    def test_another_seed_is_another_text(self) -> None:
        made = writer_of()
        futures = [made.add(task(temperature=1.0, seed=seed), ids_of(PROMPTS[0])) for seed in (1, 2)]
        made.run()
        assert futures[0].result() != futures[1].result()

    def test_draws_follow_the_probabilities(self) -> None:
        shares = torch.tensor([0.5, 0.3, 0.15, 0.05])
        draws = torch.tensor([uniform(3, 0, at) for at in range(4000)])
        found = choose(shares.log().expand(4000, -1), torch.ones(4000), torch.ones(4000), draws)
        assert torch.bincount(found, minlength=4) / 4000 == pytest.approx(shares.tolist(), abs=0.03)

    def test_top_p_keeps_the_fewest_that_reach_it(self) -> None:
        """0.5 + 0.3 reach 0.7; of these two the first has 0.5 / 0.8 = 0.625."""
        shares = torch.tensor([0.15, 0.3, 0.05, 0.5])
        draws = torch.tensor([0.0, 0.62, 0.63, 0.999])
        found = choose(shares.log().expand(4, -1), torch.ones(4), torch.full((4,), 0.7), draws)
        assert found.tolist() == [3, 3, 1, 1]


class TestEnds:
    """The causes that end a text: the model, a stop text, a limit."""

    def test_a_stop_text_over_several_tokens(self) -> None:
        """Every byte is a token here, so that five letters are five."""
        whole = says(plainly(PROMPTS[2]))
        stop = whole[7:12]
        made = writer_of()
        future = made.add(task(stop=["never this", stop]), ids_of(PROMPTS[2]))
        made.run()
        (text,) = future.result()
        assert (text.text, text.finish) == (whole[: whole.index(stop)], "stop")
        assert text.tokens < 24

    def test_a_limit(self) -> None:
        made = writer_of()
        future = made.add(task(max_tokens=5), ids_of(PROMPTS[0]))
        made.run()
        assert (future.result()[0].finish, future.result()[0].tokens) == ("length", 5)

    def test_the_model_ends_it(self) -> None:
        end = plainly(PROMPTS[0])[6]
        model = tiny.causal(eos_token_id=[257, end])
        made = writer_of(SimpleNamespace(model=model, tokenizer=tiny.tokenizer(), context=512))
        future = made.add(task(), ids_of(PROMPTS[0]))
        made.run()
        first = plainly(PROMPTS[0]).index(end)
        (text,) = future.result()
        assert (text.finish, text.tokens) == ("stop", first + 1)

    def test_the_context_is_never_outgrown(self) -> None:
        short = SimpleNamespace(model=loaded().model, tokenizer=loaded().tokenizer, context=len(PROMPTS[0]) + 4)
        made = writer_of(short)
        future = made.add(task(), ids_of(PROMPTS[0]))
        full = made.add(task(), ids_of(PROMPTS[0] * 3))
        made.run()
        assert (future.result()[0].finish, future.result()[0].tokens) == ("length", 4)
        with pytest.raises(Failure) as found:
            full.result()
        assert found.value.kind == "too_long"


class TestThinking:
    """A thought that is over its budget is closed, and what follows is written behind its end."""

    def test_closed_at_its_budget(self) -> None:
        made = writer_of()
        future = made.add(task(thinking_tokens=6, close="<end>"), ids_of(PROMPTS[0]))
        made.run()
        (text,) = future.result()
        assert text.text.startswith(says(plainly(PROMPTS[0])[:6]) + "<end>")
        ids = ids_of(PROMPTS[0]) + plainly(PROMPTS[0])[:6] + ids_of("<end>")
        behind = loaded().model.generate(
            torch.tensor([ids]), attention_mask=torch.ones(1, len(ids)), max_new_tokens=24 - 11, do_sample=False
        )
        assert text.text == says(behind[0][len(ids_of(PROMPTS[0])) :].tolist())

    def test_one_that_closes_by_itself_is_left_alone(self) -> None:
        whole = says(plainly(PROMPTS[0]))
        made = writer_of()
        future = made.add(task(thinking_tokens=12, close=whole[2:5]), ids_of(PROMPTS[0]))
        made.run()
        assert future.result()[0].text == whole

    def test_counted_for_each_sample(self) -> None:
        made = writer_of()
        future = made.add(
            task(samples=3, temperature=1.0, thinking_tokens=4, close="<end>", max_tokens=12), ids_of("hm")
        )
        made.run()
        assert all(text.text.count("<end>") == 1 and text.tokens <= 12 for text in future.result())

    def test_no_budget_no_close(self) -> None:
        made = writer_of()
        future = made.add(task(close="<end>"), ids_of(PROMPTS[0]))
        made.run()
        assert future.result()[0].text == says(plainly(PROMPTS[0]))


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Numbers of tokens that went through the model, pass by pass."""
    seen: list[int] = []
    model, forward = loaded().model, loaded().model.forward

    def counted(*args: Any, **more: Any) -> Any:
        seen.append(more["input_ids"].numel())
        return forward(*args, **more)

    counted.__signature__ = __import__("inspect").signature(forward)  # type: ignore[attr-defined]
    monkeypatch.setattr(model, "forward", counted)
    return seen


class TestWork:
    """The work that is computed, and how much of it in one step."""

    def test_siblings_read_their_prompt_once(self, passes: list[int]) -> None:
        made = writer_of()
        ids = ids_of(PROMPTS[2])
        made.add(task(samples=4, max_tokens=2, temperature=1.0), ids)
        made.add(task(samples=4, max_tokens=2, temperature=1.0, seed=9), ids)
        made.run()
        assert sum(passes) <= len(ids) + 3 * 8  # a last token and two more of each at most

    def test_a_step_is_bounded(self, passes: list[int]) -> None:
        made = writer_of(chunk=8)
        for prompt in PROMPTS:
            made.add(task(max_tokens=2), ids_of(prompt))
        while made.step():
            assert max(passes) <= 8 + len(PROMPTS)
        assert len(passes) >= len(ids_of(PROMPTS[2])) // 8

    def test_a_step_says_whether_there_is_more(self) -> None:
        made = writer_of()
        assert not made.step()
        made.add(task(max_tokens=2), ids_of("a"))
        assert made.busy
        assert made.step()


class TestTrouble:
    """A task that fails, fails alone."""

    def test_cancelled_ones_leave_at_the_next_step(self) -> None:
        made = writer_of()
        gone = made.add(task(samples=3, max_tokens=200), ids_of(PROMPTS[0]))
        kept = made.add(task(), ids_of(PROMPTS[0]))
        for _ in range(4):
            made.step()
        gone.cancel()
        made.step()
        assert made.status()["writing"] == 1
        made.run()
        assert kept.result()[0].text == says(plainly(PROMPTS[0]))

    def test_cancelled_while_its_prompt_is_read(self) -> None:
        made = writer_of(chunk=8)
        gone = made.add(task(), ids_of(PROMPTS[2]))
        kept = made.add(task(), ids_of(PROMPTS[2]))
        made.step()
        gone.cancel()
        made.run()
        assert kept.result()[0].text == says(plainly(PROMPTS[2]))

    def test_out_of_memory_writes_fewer_at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """More than two rows do not fit; all are written nevertheless, and as they would have been."""
        asked = task(samples=5, temperature=1.0, seed=4)
        calm = writer_of()
        expected = calm.add(asked, ids_of(PROMPTS[1]))
        calm.run()
        made, forward = writer_of(), loaded().model.forward

        def small(*args: Any, **more: Any) -> Any:
            rows = more["input_ids"].shape[0] if more["input_ids"].shape[1] == 1 else len(made._orders)
            if rows > 2 and made.status()["writing"] > 2:
                raise torch.OutOfMemoryError("out of memory")
            return forward(*args, **more)

        small.__signature__ = __import__("inspect").signature(forward)  # type: ignore[attr-defined]
        monkeypatch.setattr(loaded().model, "forward", small)
        future = made.add(asked, ids_of(PROMPTS[1]))
        made.run()
        assert future.result() == expected.result()

    def test_only_so_many_at_once_as_there_is_room_for(self) -> None:
        """Two rows fit, each token with keys and values of 2 layers, 2 heads, 12 numbers of 4 bytes."""
        made = writer_of(room=2 * (len(PROMPTS[0]) + 24) * 2 * 2 * 2 * 12 * 4)
        future = made.add(task(samples=5), ids_of(PROMPTS[0]))
        most = 0
        while made.step():
            most = max(most, made.status()["writing"])
        assert most == 2
        assert [text.text for text in future.result()] == [says(plainly(PROMPTS[0]))] * 5

    def test_out_of_memory_alone_is_its_failure(self, monkeypatch: pytest.MonkeyPatch) -> None:
        made = writer_of()

        def none(*args: Any, **more: Any) -> Any:
            raise torch.OutOfMemoryError("out of memory")

        with monkeypatch.context() as patched:
            patched.setattr(loaded().model, "forward", none)
            future = made.add(task(), ids_of("a"))
            made.run()
        with pytest.raises(Failure) as found:
            future.result()
        assert found.value.kind == "memory"
        later = made.add(task(), ids_of(PROMPTS[0]))
        made.run()
        assert later.result()[0].text == says(plainly(PROMPTS[0]))

    def test_what_is_no_number_is_no_text(self, monkeypatch: pytest.MonkeyPatch) -> None:
        made, forward = writer_of(), loaded().model.forward

        def broken(*args: Any, **more: Any) -> Any:
            found = forward(*args, **more)
            found.logits[...] = float("nan")
            return found

        with monkeypatch.context() as patched:
            patched.setattr(loaded().model, "forward", broken)
            future = made.add(task(), ids_of("a"))
            siblings = made.add(task(samples=3), ids_of("a"))  # which end in one step
            made.run()
        for each in (future, siblings):
            with pytest.raises(Failure) as found:
                each.result()
            assert found.value.kind == "not_finite"

    def test_a_row_without_numbers_costs_its_own_text_alone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Whatever is next to it: prompts that are read in pieces, and texts that are written already. Here the model
        has no number for what follows one letter, which nobody else reads or writes."""
        (letter,) = ids_of("~")
        assert not any(letter in ids_of(prompt) + plainly(prompt) for prompt in PROMPTS)
        made, forward = writer_of(chunk=8), loaded().model.forward

        def broken(*args: Any, **more: Any) -> Any:
            found, keep = forward(*args, **more), more["logits_to_keep"]
            read = more["input_ids"][:, keep if isinstance(keep, torch.Tensor) else [-1]]
            found.logits[read == letter] = float("nan")
            return found

        broken.__signature__ = __import__("inspect").signature(forward)  # type: ignore[attr-defined]
        monkeypatch.setattr(loaded().model, "forward", broken)
        ended, futures = [], []
        for prompt in (PROMPTS[0], "~", PROMPTS[2], "Oh, oh~", PROMPTS[1], PROMPTS[3]):
            futures.append((prompt, made.add(task(samples=1 + ("~" in prompt)), ids_of(prompt))))
            made.step()
        made.run()
        for prompt, future in futures:
            if "~" in prompt:
                assert isinstance(future.exception(), Failure)
                ended.append(future.exception().kind)  # type: ignore[union-attr]
            else:
                assert future.result()[0].text == says(plainly(prompt))
        assert ended == ["not_finite"] * 2

    def test_all_fail_when_the_process_stops(self) -> None:
        made = writer_of()
        futures = [made.add(task(max_tokens=200), ids_of(prompt)) for prompt in PROMPTS[:2]]
        made.step()
        futures.append(made.add(task(), ids_of(PROMPTS[2])))
        made.fail(Failure("stopped", "the process stops"))
        assert all(future.exception() is not None for future in futures)
        assert not made.step()
