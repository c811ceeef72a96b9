"""The model process with real small models, under load: killed, swapped, given what does not fit."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from rewarden.errors import InputTooLong, InvalidSample, MissingDependency, ModelError
from rewarden_models.endpoint import ModelEndpoint
from rewarden_server.models.process import processes_of
from rewarden_server.models.process_backend import ProcessBackend
from rewarden_server.models.settings import ModelSettings
from rewarden_verifiers.inference import Choose, Classify, Embed, Input, Logits
from tests.models import real
from tests.models.test_process import _runs, folder, gone
from tests.server.process import ServerProcess

__all__ = ["folder"]

pytestmark = [pytest.mark.needs_server, pytest.mark.slow, real.needs_models]


def scorer(**more: Any) -> ModelEndpoint:
    made: ModelEndpoint = real.settings("smollm2-reward", **more)
    return made


async def backends(**named: ModelEndpoint) -> dict[str, ProcessBackend]:
    settings = ModelSettings(named=named)
    processes = processes_of(settings)
    return {name: ProcessBackend(name, made, processes[name], 120) for name, made in named.items()}


@pytest.fixture
async def rm() -> AsyncIterator[ProcessBackend]:
    """A scalar reward model in a process of its own."""
    made = (await backends(rm=scorer()))["rm"]
    yield made
    await made.close()


def classify(text: str, **more: Any) -> Classify:
    return Classify(input=Input(text=text, **more))


def plain(text: str) -> float:
    """Returns what transformers makes of it."""
    import torch

    model, tokenizer = real.plain("smollm2-reward")
    with torch.no_grad():
        return float(model(**tokenizer(text, return_tensors="pt")).logits[0, 0])


async def test_it_scores_as_transformers_does_and_says_what_it_is(rm: ProcessBackend) -> None:
    texts = ["The sky is blue.", "Two and two are four, and that is all there is to say about it."]
    results = await asyncio.gather(*(rm.run(classify(text)) for text in texts))
    about = await rm.about()
    for text, result in zip(texts, results, strict=True):
        assert result.values[0] == pytest.approx(plain(text), abs=1e-3)
        assert result.facts.version == about.version
    assert about.kinds == ["classify"]
    assert rm.status()["state"] == "ready"


async def test_killed_under_load_each_task_ends_right_or_not_at_all(rm: ProcessBackend) -> None:
    texts = [f"The number {number} stands in this sentence." for number in range(120)]
    expected = [(await rm.run(classify(text))).values[0] for text in texts[:3]]
    tasks = [asyncio.create_task(rm.run(classify(text))) for text in texts]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    pid = rm.status()["pid"]
    os.kill(pid, signal.SIGKILL)
    done = await asyncio.gather(*tasks, return_exceptions=True)
    assert {type(result) for result in done} <= {Logits, ModelError}
    assert [result.values[0] for result in done[:3] if isinstance(result, Logits)] == pytest.approx(expected, abs=1e-3)
    assert (await rm.run(classify(texts[0]))).values[0] == pytest.approx(expected[0], abs=1e-3)
    assert rm.status()["starts"] == 2


async def test_swapped_under_load_each_verdict_is_of_one_of_both(tmp_path: Path) -> None:
    place = tmp_path / "rm"
    shutil.copytree(real.FOLDER / "smollm2-reward", place)
    rm = (await backends(rm=ModelEndpoint(model=str(place), device="cpu", threads=1)))["rm"]
    text = "What is weighed here?"
    old = await rm.run(classify(text))
    _scale_head(place, 2.0)
    tasks = [asyncio.create_task(rm.run(classify(f"{text} {number}"))) for number in range(200)]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    about = await rm.reload(None, None)
    done = await asyncio.gather(*tasks)
    assert {result.facts.version for result in done} <= {old.facts.version, about.version}
    new = await rm.run(classify(text))
    assert new.facts.version == about.version != old.facts.version
    assert new.values[0] == pytest.approx(2 * old.values[0], abs=2e-3)
    assert rm.status()["starts"] == 1
    await rm.close()


def _scale_head(place: Path, factor: float) -> None:
    """Write the same model with another head."""
    from safetensors.torch import load_file, save_file

    (file,) = place.glob("*.safetensors")
    weights = load_file(file)
    weights["score.weight"] = weights["score.weight"] * factor
    save_file(weights, place / "new", metadata={"format": "pt"})
    (place / "new").replace(file)  # never into a file that is mapped


async def test_what_does_not_fit_harms_no_neighbour(rm: ProcessBackend) -> None:
    long = "word " * 100_000
    odd = {
        "long": classify(long, candidate=long),
        "cut": classify(long, fit="left"),
        "empty": classify(""),
        "wrong": Embed(input=Input(text="x")),
        "choices": Choose(input=Input(text="x"), choices=["a", "b"]),
    }
    texts = [f"Neighbour {number}." for number in range(60)]
    tasks = [asyncio.create_task(rm.run(classify(text))) for text in texts]
    others = {name: asyncio.create_task(rm.run(task)) for name, task in odd.items() if name != "cut"}
    found = dict(zip(others, await asyncio.gather(*others.values(), return_exceptions=True), strict=True))
    assert isinstance(found["long"], InputTooLong)
    assert found["long"].details["tokens"] > 99_000
    assert isinstance(found["empty"], (Logits, InvalidSample)), found["empty"]
    assert type(found["wrong"]).__name__ == type(found["choices"]).__name__ == "InvalidParams"
    results = await asyncio.gather(*tasks)
    assert [result.values[0] for result in results[:2]] == pytest.approx(list(map(plain, texts[:2])), abs=1e-3)
    assert rm.status()["starts"] == 1


async def test_models_of_a_device_live_in_one_process_and_one_that_is_broken_harms_none(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    found = await backends(
        rm=scorer(), vectors=real.settings("minilm"), broken=ModelEndpoint(model=str(tmp_path), device="cpu")
    )
    result, vector = await asyncio.gather(
        found["rm"].run(classify("one")), found["vectors"].run(Embed(input=Input(text="one")))
    )
    assert len(result.values) == 1
    assert sum(value * value for value in vector.values) == pytest.approx(1.0, abs=1e-4)
    with pytest.raises((ModelError, MissingDependency)):
        await found["broken"].run(classify("one"))
    assert len({backend.status()["pid"] for backend in found.values()}) == 1
    await asyncio.gather(*(backend.close() for backend in found.values()))


async def test_with_the_server_killed_its_model_process_is_gone(tmp_path: Path) -> None:
    named = json.dumps({"rm": {"model": str(real.FOLDER / "smollm2-reward"), "device": "cpu", "threads": 1}})
    with ServerProcess(tmp_path, "--set", f"models.named={named}") as server:
        async with httpx.AsyncClient(base_url=server.http, timeout=120) as client:
            reply = await client.post(
                "/v1/verify", json={"samples": [{"prompt": "Hello?", "response": "Good day."}], "use": "rm_scalar"}
            )
            (verdict,) = reply.json()["verdicts"]
            assert verdict["status"] == "scored", verdict
            (told,) = (await client.get("/v1/models")).json()["models"]
            assert told["state"] == "ready"
        pid = told["pid"]
        assert _runs(pid)
        server.process.kill()
        await gone(pid)
