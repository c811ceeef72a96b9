"""A model process under hundreds of tasks: killed, hung, swapped, starved of memory, fed what no model reads.

The models are small and random, all else is real: each verdict is the right one or an error, and the server goes on.
"""

from __future__ import annotations

import asyncio
import resource
import tempfile
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from rewarden.errors import InputTooLong, InvalidParams, InvalidSample, ModelError, SampleError
from rewarden.types import Batch, Sample, Use
from rewarden.wire.json import verdict_to_json
from rewarden_models.endpoint import ModelEndpoint
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.settings import EngineSettings
from rewarden_server.models.process import ModelProcess
from rewarden_server.models.process_backend import ProcessBackend
from rewarden_server.models.settings import ModelSettings
from rewarden_verifiers.inference import Choose, Classify, Input, Rate, Write
from tests.models import real, tiny
from tests.stopped import stop

pytestmark = [
    pytest.mark.needs_server,
    pytest.mark.slow,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(real.packages_lacking() is not None, reason=str(real.packages_lacking())),
]

CONTEXT = 16_384


@dataclass
class Fire:
    """An engine with a model process of its own. folders: of models, by name."""

    engine: Engine
    folders: dict[str, Path]

    @property
    def backend(self) -> ProcessBackend:
        backend = self.engine.models._served["rm"].backend
        assert isinstance(backend, ProcessBackend)
        return backend

    @property
    def process(self) -> ModelProcess:
        assert self.backend._process is not None
        return self.backend._process

    @property
    def pid(self) -> int:
        assert self.process.pid is not None
        return self.process.pid

    async def run(self, task: Any, model: str = "rm") -> Any:
        return await self.engine.models.run(task, model)

    async def verdicts(self, texts: Sequence[str], use: str = "rm_scalar", **params: Any) -> list[dict[str, Any]]:
        right = "7" if use == "math" else None
        samples = [Sample(prompt="What is it?", response=text, reference=right) for text in texts]
        result = await self.engine.verify(Batch(samples=samples, use=Use(name=use, params=params)))
        return [verdict_to_json(verdict) for verdict in result.verdicts]

    async def told(self, model: str = "rm") -> dict[str, Any]:
        """Returns what the process says of a model."""
        assert self.process.current is not None
        said = await self.process.current.get("/v1/models")
        found: dict[str, Any] = said["models"][model]
        return found

    async def until_idle(self) -> None:
        """Wait until nothing is left, on either side."""
        async with asyncio.timeout(60):
            while True:
                told = [await self.told(name) for name in ("rm", "lm")]
                left = [one["waiting_rows"] + one["waiting_tokens"] + one["preparing"] for one in told]
                writer = told[1]["writer"] or {"writing": 0, "waiting": 0}
                if not any([*left, writer["writing"], writer["waiting"], *self.engine.models._flights._under_way]):
                    break
                await asyncio.sleep(0.02)
        assert self.backend.status()["in_flight"] == 0
        assert self.backend.status()["requests"] == 0


def texts(what: str, count: int = 300) -> list[str]:
    """Different ones of different lengths, which no other test has."""
    return [f"{what} is number {number}" + " and more" * (number % 7) for number in range(count)]


def models(place: Path) -> dict[str, Path]:
    """Folders with a reward model, one of other weights, one whose head is NaN, and models of other kinds."""
    import torch
    from transformers import LlamaConfig, LlamaForSequenceClassification, LlamaForTokenClassification

    words = tiny.tokenizer()
    config = LlamaConfig(**tiny._SIZE, max_position_embeddings=CONTEXT, num_labels=1)
    made: dict[str, Any] = {}
    for seed, name in enumerate(("one", "other", "nan")):
        torch.manual_seed(seed)
        made[name] = LlamaForSequenceClassification(config)
    torch.nn.init.constant_(made["nan"].score.weight, float("nan"))
    made["steps"] = LlamaForTokenClassification(config)
    made["causal"] = tiny.causal(max_position_embeddings=CONTEXT)
    for name, model in made.items():
        model.save_pretrained(place / name)
        words.save_pretrained(place / name)
    return {name: place / name for name in made}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def fire() -> AsyncIterator[Fire]:
    with tempfile.TemporaryDirectory(prefix="rw-") as made:
        found = models(Path(made))
        # Eager attention keeps whole matrices: what is long needs much memory.
        common: dict[str, Any] = {"device": "cpu", "threads": 1, "attention": "eager"}
        named = {
            "rm": ModelEndpoint(model=str(found["one"]), reload_from=(made,), **common),
            "nan": ModelEndpoint(model=str(found["nan"]), **common),
            "prm": ModelEndpoint(model=str(found["steps"]), **common),
            "lm": ModelEndpoint(model=str(found["causal"]), **common),
        }
        engine = Engine(
            settings=EngineSettings(workers=1), models=ModelSettings(named=named, default="rm", start_s=300)
        )
        await engine.start()
        yield Fire(engine, found)
        await engine.close(drain_s=0)


async def numbers(fire: Fire, wanted: Sequence[str]) -> list[float]:
    """The model's own numbers, which must all be there."""
    found = await fire.verdicts(wanted)
    assert {verdict["status"] for verdict in found} == {"scored"}, found[0]
    return [verdict["raw"] for verdict in found]


async def test_a_process_that_hangs_and_is_killed_costs_no_verdict_and_disturbs_nobody(
    fire: Fire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ModelProcess, "look_s", 0.1)
    await numbers(fire, ["warm up"])
    starts = fire.process.starts
    await asyncio.to_thread(stop, fire.pid)  # before it is asked, or it may have answered all
    asked = asyncio.create_task(fire.verdicts(texts("hung")))
    while not fire.backend.status()["in_flight"]:
        await asyncio.sleep(0.001)
    # What needs no model is there long before the next process is.
    math = await fire.verdicts([f"{number}: \\boxed{{7}}" for number in range(100)], "math")
    assert all(verdict["score"] == 1.0 for verdict in math)
    assert not asked.done()
    assert fire.process.starts == starts
    monkeypatch.setattr(ModelProcess, "silent_s", 1.0)
    while fire.process.starts == starts:
        await asyncio.sleep(0.01)
    monkeypatch.undo()  # the next one may be slow to load, beside others
    found = await asked
    assert {verdict["status"] for verdict in found} == {"scored"}, found[0]
    assert fire.process.starts == starts + 1
    fire.engine.models._flights.forget(b"")
    again = await numbers(fire, texts("hung"))
    assert [verdict["raw"] for verdict in found] == pytest.approx(again, abs=1e-4)


async def test_swapped_back_and_forth_each_number_is_that_of_the_weights_it_names(fire: Fire) -> None:
    asked = texts("swap", 60)
    expected: dict[str, list[float]] = {}
    for name in ("other", "one"):
        version = (await fire.engine.models.reload("rm", str(fire.folders[name]))).version
        expected[version] = await numbers(fire, asked)
    assert len(expected) == 2
    stop = asyncio.Event()

    async def ask() -> list[tuple[int, dict[str, Any]]]:
        found: list[tuple[int, dict[str, Any]]] = []
        while not stop.is_set():
            found += list(enumerate(await fire.verdicts(asked)))
        return found

    asking = [asyncio.create_task(ask()) for _ in range(3)]
    found: list[tuple[int, dict[str, Any]]] = []
    for name in ("other", "one", "other", "one"):
        version = (await fire.engine.models.reload("rm", str(fire.folders[name]))).version
        later = await fire.verdicts(asked)  # who asks behind a reload has the new weights
        assert {verdict["evidence"]["models"]["rm"] for verdict in later} == {version}
        found += list(enumerate(later))
    stop.set()
    for number, verdict in found + [each for made in await asyncio.gather(*asking) for each in made]:
        assert verdict["status"] == "scored", verdict
        version = verdict["evidence"]["models"]["rm"]
        assert verdict["raw"] == pytest.approx(expected[version][number], abs=1e-4)


async def test_a_reload_that_fails_leaves_what_is_there(fire: Fire) -> None:
    before = await numbers(fire, ["still here"])
    (fire.folders["one"].parent / "empty").mkdir()
    for wrong in ("empty", "causal", "nothing", "../one"):
        with pytest.raises(SampleError):
            await fire.engine.models.reload("rm", str(fire.folders["one"].parent / wrong))
    fire.engine.models._flights.forget(b"")
    assert await numbers(fire, ["still here"]) == pytest.approx(before, abs=1e-4)
    assert fire.engine.models.status()["rm"]["state"] == "ready"


async def test_what_no_model_reads_harms_no_neighbour(fire: Fire) -> None:
    neighbours = asyncio.create_task(fire.verdicts(texts("neighbour")))
    long = "word " * 100_000
    bottom = await fire.verdicts([long, "x" * 10_000_000, "</s>" * 50_000, "", "</s><s>"])
    for verdict in bottom:
        assert (verdict["status"], verdict["fault"]) in {("scored", "policy"), ("error", "caller")}, verdict
        # A few control tokens are read as the letters that they are made of, and flagged.
        assert verdict.get("score") in (0.0, None) or "neutralised" in verdict["flags"], verdict
    (half,) = await fire.verdicts(["a \ud800 b"])
    assert (half["status"], half["reason"]) == ("error", "invalid_sample")

    picture = {"type": "image_url", "image_url": {"url": "http://169.254.169.254/"}}
    odd = [
        (Classify(input=Input(text=long)), "rm", InputTooLong),
        (Classify(input=Input(text="a \ud800 b")), "rm", InvalidSample),
        (Classify(input=Input(text="")), "rm", InvalidSample),
        (Classify(input=Input(messages=[{"role": "user", "content": [picture]}])), "rm", InvalidParams),
        (Choose(input=Input(text="x"), choices=["a", "b"]), "rm", InvalidParams),
        (Rate(input=Input(text="x"), steps=["step " * 5] * 10_000, mark="\n"), "prm", InputTooLong),
    ]
    done = await asyncio.gather(*(fire.run(task, model) for task, model, _ in odd), return_exceptions=True)
    assert [type(found) for found in done] == [kind for _, _, kind in odd], done
    many = Choose(input=Input(text="Which one? "), choices=[f"{number:04}" for number in range(2000)])
    rated = Rate(input=Input(text="x"), steps=[f"{number % 10}" for number in range(5000)], mark="\n")
    choices, steps = await asyncio.gather(fire.run(many, "lm"), fire.run(rated, "prm"))
    assert len(choices.logprobs) == 2000
    assert len(steps.values) == 5000
    assert {verdict["status"] for verdict in await neighbours} == {"scored"}


async def test_weights_that_are_no_numbers_never_make_one(fire: Fire) -> None:
    found = await fire.verdicts(texts("nan", 100), model="nan")
    assert {verdict["status"] for verdict in found} == {"error"}
    assert all(verdict.get("score") is None and verdict.get("raw") is None for verdict in found)


async def test_without_memory_what_is_long_fails_and_what_is_short_is_scored(fire: Fire) -> None:
    await numbers(fire, texts("warm memory", 50))
    starts = fire.process.starts
    (size,) = [line for line in Path(f"/proc/{fire.pid}/status").read_text().splitlines() if line.startswith("VmSize")]
    most = int(size.split()[1]) * 1024 + 512 * 1024**2
    unlimited = resource.prlimit(fire.pid, resource.RLIMIT_AS)
    resource.prlimit(fire.pid, resource.RLIMIT_AS, (most, unlimited[1]))
    try:
        short = asyncio.create_task(fire.verdicts(texts("short")))
        long = [fire.run(Classify(input=Input(text=f"{number}" * 12_000))) for number in range(3)]
        done = await asyncio.gather(*long, return_exceptions=True)
        assert [type(found) for found in done] == [ModelError] * 3, done
        assert {found.details["kind"] for found in done if isinstance(found, ModelError)} == {"memory"}
        assert {verdict["status"] for verdict in await short} == {"scored"}
    finally:
        resource.prlimit(fire.pid, resource.RLIMIT_AS, unlimited)
    assert fire.process.starts == starts


async def test_who_leaves_leaves_nothing_behind(fire: Fire) -> None:
    tasks = [asyncio.create_task(fire.run(Classify(input=Input(text=text * 20)))) for text in texts("left")]
    tasks += [
        asyncio.create_task(fire.run(Write(input=Input(text=f"{number}"), max_tokens=8000), "lm"))
        for number in range(20)
    ]
    verdicts = asyncio.create_task(fire.verdicts(texts("dropped")))
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await fire.run(Classify(input=Input(text="too late")))
    for task in (*tasks, verdicts):
        task.cancel()
    await asyncio.gather(*tasks, verdicts, return_exceptions=True)
    await fire.until_idle()
    assert await numbers(fire, ["after all"])
