"""Models that vLLM or SGLang run: tasks are prepared as for our own models, and come to the numbers of that server."""

from __future__ import annotations

import asyncio
import json
import math
import shutil
from pathlib import Path
from typing import Any, get_args

import pytest

from rewarden_models.endpoint import ModelEndpoint
from rewarden_models.failure import Failure
from rewarden_models.remote.connection import Connection
from rewarden_verifiers.inference import Choose, Classify, Embed, Fit, Input, Likelihood, Rate, Write
from tests.models.engines import FakeEngine, FakeSglang, FakeVllm
from tests.models.real import FOLDER, lacking

pytestmark = [
    pytest.mark.needs_server,
    pytest.mark.skipif(lacking("smollm2") is not None, reason=str(lacking("smollm2"))),
]

QUESTION = Input(messages=[{"role": "user", "content": "Is 7 prime?"}], begin=True)
FAKES = {"vllm": FakeVllm, "sglang": FakeSglang}


@pytest.fixture(scope="module")
def headed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The files next to the weights of a process reward model."""
    folder = beside(tmp_path_factory.mktemp("headed") / "own")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "architectures": ["Qwen2ForProcessRewardModel"]}))
    return str(folder)


def settings(fake: FakeEngine, task: str, **more: Any) -> ModelEndpoint:
    """Returns what the configuration says for this server."""
    backend: Any = "vllm" if isinstance(fake, FakeVllm) else "sglang"
    own = {"model": "served", "tokenizer": str(FOLDER / "smollm2"), "address": fake.url, "backend": backend}
    return ModelEndpoint(**{**own, "task": task, **more})


async def remote(fake: FakeEngine, task: str, **more: Any) -> Any:
    """Returns what is known of a model of that server."""
    from rewarden_models.remote.loading import load

    return await asyncio.to_thread(load, "main", settings(fake, task, **more))


async def made(fake: FakeEngine, task: str, **more: Any) -> Any:
    """An engine for a model of that server."""
    from rewarden_models.remote.engine import RemoteEngine

    return RemoteEngine("main", await remote(fake, task, **more))


def beside(place: Path) -> Path:
    """Returns what is next to a model's weights, copied there."""
    return Path(shutil.copytree(FOLDER / "smollm2", place, ignore=shutil.ignore_patterns("*.safetensors")))


async def version(fake: FakeEngine, task: str = "generate", **more: Any) -> str:
    """Of a model of that server."""
    engine = await made(fake, task, **more)
    await engine.close()
    return str(engine.about().version)


def ids_of(item: Input, text: str = "") -> list[int]:
    """The tokens of an input with what comes after it."""
    from transformers import AutoTokenizer

    from rewarden_models.rendering import Reader

    reader = Reader(AutoTokenizer.from_pretrained(FOLDER / "smollm2"))
    return reader.read(item, 4000).ids + (reader.appended(text)[0] if text else [])


@pytest.mark.parametrize("kind", sorted(FAKES))
async def test_choices_and_likelihoods(kind: str) -> None:
    with FAKES[kind]() as fake:
        engine = await made(fake, "generate")
        ids = ids_of(QUESTION)
        yes, no = ids_of(QUESTION, "Yes"), ids_of(QUESTION, "No")
        found = await engine.run(Choose(input=QUESTION, choices=["Yes", "No"]))
        assert found.logprobs == pytest.approx([fake.toy.logprob(ids, yes[-1]), fake.toy.logprob(ids, no[-1])])
        whole = ids_of(QUESTION, " Yes, it is prime.")
        likely = await engine.run(Likelihood(input=QUESTION, continuation=" Yes, it is prime."))
        expected = [fake.toy.logprob(whole[:place], whole[place]) for place in range(len(ids), len(whole))]
        assert likely.logprobs == pytest.approx(expected)
        assert "".join(likely.tokens) == " Yes, it is prime."
        await engine.close()


async def test_a_likelihood_takes_vllm_one_pass() -> None:
    with FakeVllm() as fake:
        engine = await made(fake, "generate")
        fake.requests.clear()
        await engine.run(Likelihood(input=QUESTION, continuation=" Yes, it is prime."))
        assert len(fake.requests) == 1
        await engine.close()


@pytest.mark.parametrize("kind", sorted(FAKES))
async def test_steps_are_rated_by_the_tokens_behind_their_marks(kind: str) -> None:
    with FAKES[kind]() as fake:
        engine = await made(fake, "generate")
        item = Input(text="What is 2 + 2?\n")
        found = await engine.run(
            Rate(input=item, steps=["It is 4.", " So 4."], mark="\n", choices=["+", "-"], at="next")
        )
        ends = ["It is 4.\n", "It is 4.\n So 4.\n"]
        for row, end in zip(found.values, ends, strict=True):
            ids = ids_of(Input(text=f"What is 2 + 2?\n{end}"))
            plus, minus = (ids_of(Input(text="x"), sign)[-1] for sign in "+-")
            assert row == pytest.approx([fake.toy.logprob(ids, plus), fake.toy.logprob(ids, minus)])
        await engine.close()


@pytest.mark.parametrize("kind", sorted(FAKES))
async def test_heads_and_vectors(kind: str) -> None:
    with FAKES[kind](labels=2) as fake:
        engine = await made(fake, "classify")
        found = await engine.run(Classify(input=QUESTION))
        assert found.values == pytest.approx(fake.toy.outputs(ids_of(QUESTION), 2))
        assert found.labels == ("LABEL_0", "LABEL_1")
        await engine.close()
        engine = await made(fake, "embed")
        vector = await engine.run(Embed(input=Input(text="a cat")))
        assert vector.values == pytest.approx(fake.toy.vector(ids_of(Input(text="a cat"))))
        assert math.hypot(*vector.values) == pytest.approx(1)
        await engine.close()


@pytest.mark.parametrize("pooled", ["ALL", "STEP"])
async def test_outputs_of_steps_by_vllm(pooled: str, headed: str) -> None:
    (mark,) = ids_of(Input(text="x"), "\n")[-1:]
    with FakeVllm(labels=2, tag=mark if pooled == "STEP" else None) as fake:
        engine = await made(fake, "rate", tokenizer=headed)
        for steps in (["A", "B"], ["A", "B", "C"]):
            found = await engine.run(Rate(input=Input(text="Q\n"), steps=steps, mark="\n"))
            ends = ["Q\n" + "".join(f"{step}\n" for step in steps[: place + 1]) for place in range(len(steps))]
            expected = [fake.toy.outputs(ids_of(Input(text=text)), 2) for text in ends]
            assert found.values == [pytest.approx(row) for row in expected]
            assert found.labels == ("LABEL_0", "LABEL_1")
        await engine.close()


async def test_a_causal_model_rates_steps_by_tokens_and_not_by_outputs_in_an_order_that_nobody_knows() -> None:
    """vLLM makes a head of any rows of a vocabulary: with + before -, the usual second output rewards mistakes."""
    with FakeVllm(labels=2) as fake, pytest.raises(Failure) as raised:
        await made(fake, "rate")
    assert raised.value.kind == "unsupported"
    said = ("'main'", "LlamaForCausalLM", "task = 'generate'", "by: token")
    assert all(part in raised.value.message for part in said)


async def test_pairs_by_vllm() -> None:
    with FakeVllm() as fake:
        engine = await made(fake, "score")
        pair = await engine.run(Classify(input=Input(text="a cat", pair="the cat")))
        assert pair.values == pytest.approx(fake.toy.outputs([*b"a cat", 0, *b"the cat"], 1))
        await engine.close()


@pytest.mark.parametrize(
    ("server", "said"),
    [
        pytest.param({"vectors": True}, ["cross-encoder", "task = 'embed'"], id="a cosine of vectors"),
        pytest.param({"labels": 3}, ["3 outputs", "backend = 'own'"], id="labels of entailment"),
    ],
)
async def test_a_server_whose_scores_of_pairs_are_no_head_s_is_refused(server: dict[str, Any], said: list[str]) -> None:
    """vLLM answers `/score` for embedding models too, and a cosine below 0 looks like a raw output."""
    with FakeVllm(**server) as fake, pytest.raises(Failure) as raised:
        await made(fake, "score")
    assert raised.value.kind == "unsupported"
    assert all(part in raised.value.message for part in said)


async def test_two_texts_are_not_asked_of_a_head_for_one() -> None:
    with FakeVllm(labels=3) as fake:
        engine = await made(fake, "classify")
        with pytest.raises(Failure, match="task = 'score'") as raised:
            await engine.run(Classify(input=Input(text="a cat", pair="the cat")))
        assert raised.value.kind == "unsupported"
        await engine.close()


@pytest.mark.parametrize(("task", "labels"), [("classify", 1), ("classify", 2), ("score", 1), ("rate", 1), ("rate", 2)])
async def test_a_head_behind_an_activation_is_refused_when_it_is_loaded(task: str, labels: int, headed: str) -> None:
    """An old vLLM leaves out `use_activation`: every reward, and every step's value, would be flat."""
    with FakeVllm(activated=True, labels=labels) as fake, pytest.raises(Failure, match="use_activation"):
        await made(fake, task, tokenizer=headed)


@pytest.mark.parametrize("names", [None, {"0": "bad", "1": "good"}, {"0": "one", "1": "too", "2": "many"}])
async def test_a_head_s_labels_are_as_many_as_its_outputs(names: dict[str, str] | None, tmp_path: Path) -> None:
    """Whatever config.json says: a result of other labels than outputs is refused as a misfit, task by task."""
    folder = beside(tmp_path / "own")
    config = json.loads((folder / "config.json").read_text())
    known = {"id2label": names, "architectures": ["LlamaForTokenClassification"]}
    (folder / "config.json").write_text(json.dumps({**config, **known}))
    expected = ("bad", "good") if names is not None and len(names) == 2 else ("LABEL_0", "LABEL_1")
    with FakeVllm(labels=2) as fake:
        for task in ("classify", "rate"):
            engine = await made(fake, task, tokenizer=str(folder))
            assert engine.about().labels == expected
            await engine.close()


@pytest.mark.parametrize("kind", sorted(FAKES))
async def test_what_is_too_long_is_never_sent(kind: str) -> None:
    with FAKES[kind](context=40) as fake:
        engine = await made(fake, "generate")
        fake.requests.clear()
        long = " ".join(["word"] * 60)
        with pytest.raises(Failure) as raised:
            await engine.run(Choose(input=Input(text=f"Q {long}", candidate=long), choices=["Yes", "No"]))
        assert (raised.value.kind, raised.value.details["context"]) == ("too_long", 39)
        assert fake.requests == []
        found = await engine.run(Choose(input=Input(text=f"Q {long}", fit="left"), choices=["Yes", "No"]))
        assert found.facts.truncated
        await engine.close()


async def test_a_pair_that_was_to_be_cut_is_refused_and_not_scored_lowest() -> None:
    """Two texts go to that server as they are: whoever asked for a cut does not get one, and is told so."""
    long = " ".join(["word"] * 60)
    with FakeVllm(context=40) as fake:
        engine = await made(fake, "score")
        fake.requests.clear()
        told = {}
        for fit in get_args(Fit):
            with pytest.raises(Failure) as raised:
                await engine.run(Classify(input=Input(text="Why?", pair=long, candidate=long, fit=fit)))
            told[fit] = raised.value
        assert {fit: one.kind for fit, one in told.items()} == {
            "error": "too_long",
            "left": "unsupported",
            "middle": "unsupported",
        }
        assert told["error"].details["candidate"] == 60
        assert all(part in told["left"].message for part in ("'main'", "fit 'left'", "39"))
        assert fake.requests == []
        short = await engine.run(Classify(input=Input(text="Why?", pair="So.", candidate="So.", fit="left")))
        assert short.values == pytest.approx(fake.toy.outputs([*b"Why?", 0, *b"So."], 1))
        await engine.close()


@pytest.mark.parametrize("kind", sorted(FAKES))
async def test_texts_are_written_and_a_thought_is_closed_at_its_budget(kind: str) -> None:
    with FAKES[kind]() as fake:
        engine = await made(fake, "generate")
        found = await engine.run(Write(input=QUESTION, samples=2, max_tokens=8, temperature=1.0, seed=3))
        assert [one.text for one in found.texts] == [" written", " written"]
        fake.requests.clear()
        closed = await engine.run(Write(input=QUESTION, max_tokens=20, thinking_tokens=4))
        if kind == "vllm":  # whose toy is always cut off
            assert closed.texts[0].text == " written</think> written"
            assert len(fake.requests) == 2
        await engine.close()


class TestSwap:
    """A connection that was swapped out lasts as long as tasks use it: each has up to `concurrency` sockets."""

    async def test_it_is_closed_at_once_where_nothing_runs(self, monkeypatch: pytest.MonkeyPatch) -> None:
        closed = noted(monkeypatch)
        with FakeVllm() as fake:
            engine = await made(fake, "embed")
            closed.clear()  # that by which the server was asked what it has
            for revision in ("a", "b", "c"):
                await engine.run(Embed(input=Input(text="a cat")))
                await engine.swap(await remote(fake, "embed", revision=revision))
            assert len(closed) == 3 + 3, "three that were swapped out, and three that asked what is there now"
            assert engine._served.connection not in closed
            await engine.run(Embed(input=Input(text="a cat")))
            await engine.close()

    async def test_or_with_the_last_task_that_uses_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        closed = noted(monkeypatch)
        gate, asked = asyncio.Event(), asyncio.Semaphore(0)
        post = Connection.post

        async def held(self: Connection, *args: Any) -> Any:
            asked.release()
            await gate.wait()
            return await post(self, *args)

        with FakeVllm() as fake:
            engine = await made(fake, "embed")
            next_one = await remote(fake, "embed", revision="next")
            old = engine._served.connection
            monkeypatch.setattr(Connection, "post", held)
            tasks = [asyncio.create_task(engine.run(Embed(input=Input(text=text)))) for text in ("a cat", "a dog")]
            for _ in tasks:
                await asyncio.wait_for(asked.acquire(), 30)
            await engine.swap(next_one)
            tasks[1].cancel()
            await asyncio.wait(tasks[1:])
            assert old not in closed, "the other task still needs it"
            gate.set()
            found = await tasks[0]
            assert found.values == pytest.approx(fake.toy.vector(ids_of(Input(text="a cat"))))
            assert closed.count(old) == 1
            await engine.close()
            assert closed.count(old) == 1


def noted(monkeypatch: pytest.MonkeyPatch) -> list[Connection]:
    """Connections, as they are closed."""
    closed: list[Connection] = []
    close = Connection.close

    async def closing(self: Connection) -> None:
        closed.append(self)
        await close(self)

    monkeypatch.setattr(Connection, "close", closing)
    return closed


class TestVersion:
    """It tells apart what makes other numbers, as far as that is known."""

    async def test_a_revision_tells_weights_apart_of_which_the_server_says_nothing(self) -> None:
        with FakeVllm() as fake:
            assert len({await version(fake, revision=one) for one in (None, "step-100", "step-200")}) == 3

    async def test_another_tokenizer_or_template_is_another_version(self, tmp_path: Path) -> None:
        """Texts are rendered and tokenised here: with these files the server reads other tokens."""
        with FakeVllm() as fake:
            folder = beside(tmp_path / "own")
            found = [await version(fake), await version(fake, tokenizer=str(folder))]
            assert found[0] == found[1], "the same files elsewhere"
            (folder / "chat_template.jinja").write_text("{{ messages[0].content }}")
            found.append(await version(fake, tokenizer=str(folder)))
            settings_of = folder / "tokenizer_config.json"
            settings_of.write_text(settings_of.read_text() + "\n")
            found.append(await version(fake, tokenizer=str(folder)))
            assert len(set(found)) == 3

    async def test_files_of_a_hub_s_cache_are_links(self, tmp_path: Path) -> None:
        blobs = beside(tmp_path / "blobs")
        snapshot = tmp_path / "snapshots" / "abc"
        snapshot.mkdir(parents=True)
        for file in blobs.iterdir():
            (snapshot / file.name).symlink_to(Path("..", "..", "blobs", file.name))
        with FakeVllm() as fake:
            assert await version(fake, tokenizer=str(snapshot)) == await version(fake)
            (blobs / "chat_template.jinja").write_text("{{ messages[0].content }}")
            assert await version(fake, tokenizer=str(snapshot)) != await version(fake)

    async def test_so_does_what_renders_and_tokenises(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from rewarden_models import model_version

        with FakeVllm() as fake:
            before, known = await version(fake), model_version.version
            monkeypatch.setattr(model_version, "version", lambda name: "0.0.1" if name == "tokenizers" else known(name))
            assert await version(fake) != before

    async def test_so_does_a_context_that_applies(self) -> None:
        with FakeVllm(context=1000) as fake:
            found = [await version(fake, context=context) for context in (None, 5000, 500)]
            assert found[0] == found[1], "the server's is shorter"
            assert found[2] != found[0]
