"""Reward models in our model process against plain loops over transformers, with the same weights in the same run.

"Plain" is the usual code in trainers: batches of 8 in arrival order, padded, `model(**inputs).logits`. Two loops
between it and ours each improve one thing, to show the share of each: batches sorted by length, and a head that reads
only last positions. Rounds take turns, and the median counts, so that other load affects all of them alike; on a CPU
there is only one round, because a plain loop takes minutes. On a GPU, every variant runs once before, to load kernels,
and there are also models of the size of real reward models, with random weights.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.drawn_models import draw
from benchmarks.models_load import groups, mixed
from benchmarks.report import Report
from rewarden_models.endpoint import ModelEndpoint
from rewarden_verifiers.inference import Choose, Classify, Input, Task

FOLDER = Path(__file__).parents[1] / ".venv" / "models"
CHOICES = (" yes", " no")
_AT_ONCE = 8
_ROUNDS = 3
_DRAWN = ("Qwen3-0.6B", "Qwen3-4B")
_LONGEST = {"cuda": 2048, "cpu": 1024}
"""Tokens of the longest text: a plain loop over longer texts takes half an hour on a CPU."""


def plain(loaded: Any, texts: Sequence[str], *, ordered: bool = False, last: bool = False) -> list[list[float]]:
    """Scores with transformers alone. ordered: sorted by length first; last: a language model's head reads only the
    last positions, so rows are padded on the left.
    """
    import torch

    model, tokenizer = loaded.model, loaded.tokenizer
    order = sorted(range(len(texts)), key=lambda place: len(texts[place])) if ordered else range(len(texts))
    found: dict[int, list[float]] = {}
    language = loaded.head == "causal"
    wanted = [tokenizer(choice, add_special_tokens=False)["input_ids"][0] for choice in CHOICES] if language else []
    side = "left" if last else "right"
    with torch.inference_mode():
        for first in range(0, len(texts), _AT_ONCE):
            places = list(order)[first : first + _AT_ONCE]
            inputs = tokenizer([texts[at] for at in places], padding=True, padding_side=side, return_tensors="pt")
            inputs = inputs.to(model.device)
            if not language:
                values = model(**inputs).logits
            elif last:
                positions = (inputs["attention_mask"].cumsum(-1) - 1).clamp(min=0)
                logits = model(**inputs, position_ids=positions, logits_to_keep=1).logits[:, -1]
                values = logits.float().log_softmax(-1)[:, wanted]
            else:
                ends = inputs["attention_mask"].sum(-1) - 1
                logits = model(**inputs).logits[torch.arange(len(places), device=model.device), ends]
                values = logits.float().log_softmax(-1)[:, wanted]
            found |= zip(places, values.float().tolist(), strict=True)
    return [found[place] for place in range(len(texts))]


class Ours:
    """Our engine with one model, which stays loaded between rounds, as in a model process, after one probe."""

    def __init__(self, loaded: Any, **settings: Any) -> None:
        self._loaded = loaded
        self._runner = asyncio.Runner()
        self._engine = self._runner.run(self._open(settings))
        self(["the water"])

    async def _open(self, settings: dict[str, Any]) -> Any:
        from rewarden_models.engine import ModelEngine

        return ModelEngine(self._loaded.name, ModelEndpoint(model=self._loaded.source, **settings), self._loaded)

    def __call__(self, texts: Sequence[str]) -> list[list[float]]:
        """Scores all texts, requested at once."""
        return self._runner.run(self._all(texts))

    async def _all(self, texts: Sequence[str]) -> list[list[float]]:
        results = await asyncio.gather(*(self._engine.run(_task(self._loaded, text)) for text in texts))
        return [list(item.logprobs if self._loaded.head == "causal" else item.values) for item in results]

    def status(self) -> dict[str, Any]:
        """Returns the engine's status."""
        made: dict[str, Any] = self._engine.status()
        return made

    def close(self) -> None:
        """Releases the engine."""
        self._engine.close()
        self._runner.close()


def _task(loaded: Any, text: str) -> Task[Any]:
    if loaded.head == "causal":
        return Choose(input=Input(text=text), choices=CHOICES)
    return Classify(input=Input(text=text))


def _times(ways: dict[str, Callable[[], Any]], rounds: int) -> tuple[dict[str, float], dict[str, Any]]:
    """Returns the median seconds of each variant, which take turns, and the last scores of each. On a CPU the seconds
    are CPU time of all threads together, which other load disturbs less than wall time.
    """
    import torch

    on_gpu = torch.cuda.is_available()
    clock = time.perf_counter if on_gpu else time.process_time
    spent: dict[str, list[float]] = {name: [] for name in ways}
    said: dict[str, Any] = {}
    if on_gpu:
        for way in ways.values():
            way()
    for _ in range(rounds):
        for name, way in ways.items():
            start = clock()
            said[name] = way()
            spent[name].append(clock() - start)
    return {name: statistics.median(times) for name, times in spent.items()}, said


def _apart(one: Sequence[Sequence[float]], other: Sequence[Sequence[float]]) -> float:
    return max(abs(a - b) for x, y in zip(one, other, strict=True) for a, b in zip(x, y, strict=True))


def load_of(report: Report, loaded: Any, count: int, what: str, rounds: int = _ROUNDS) -> None:
    """Measures mixed lengths: log-normal, from 16 tokens."""
    longest = _LONGEST[loaded.model.device.type]
    texts = mixed(count, most=longest)
    engine = Ours(loaded)
    ways: dict[str, Callable[[], Any]] = {
        "plain": lambda: plain(loaded, texts),
        "plain, sorted by length": lambda: plain(loaded, texts, ordered=True),
        "ours": lambda: engine(texts),
    }
    if loaded.head == "causal":
        ways["plain, head at last positions"] = lambda: plain(loaded, texts, last=True)
    times, said = _times(ways, rounds)
    status = engine.status()
    engine.close()
    short = loaded.dtype != "float32"
    report.figure(f"{what}, {count} texts of 16 to {longest} tokens: plain", count / times["plain"], "/s")
    for name in ways:
        if name not in ("plain", "ours"):
            report.figure(f"   {name}: times plain", times["plain"] / times[name], "x")
    report.figure("   ours", count / times["ours"], "/s")
    report.figure("   times plain", times["plain"] / times["ours"], "x", least=3)
    report.figure("   ours: padding", 100 * status["padding_share"], "%")
    # Low-precision floats vary with the kernels chosen for a batch shape, so the bound is relative to the outputs.
    close = 5e-2 * max(abs(value) for values in said["plain"] for value in values) if short else 1e-3
    report.figure("   largest difference from plain", _apart(said["ours"], said["plain"]), most=close)


def siblings_of(report: Report, loaded: Any, what: str, count: int = 2, rounds: int = _ROUNDS) -> None:
    """Measures groups of 8 that share a prompt of 512 tokens."""
    texts = groups(count, 8, 512, 96)
    shared, alone = Ours(loaded), Ours(loaded, prefix=False)
    times, said = _times({"shared": lambda: shared(texts), "alone": lambda: alone(texts)}, rounds)
    shared.close()
    alone.close()
    report.figure(f"{what}, {count} groups of 8, prompts of 512 tokens: each alone", len(texts) / times["alone"], "/s")
    report.figure("   prompts shared", len(texts) / times["shared"], "/s")
    on_gpu = loaded.model.device.type == "cuda"
    # On a GPU, two small passes can cost more than one large pass; then nothing is shared.
    report.figure("   times each alone", times["alone"] / times["shared"], "x", least=0.95 if on_gpu else 2)
    apart = _apart(said["shared"], said["alone"])
    report.figure("   largest difference", apart, most=None if loaded.dtype != "float32" else 1e-4)


def _peak(report: Report, loaded: Any, count: int) -> None:
    """Measures the share of a GPU's bfloat16 peak that scoring uses. Two operations per weight and token."""
    import torch

    side = 8192
    one = torch.randn(side, side, dtype=torch.bfloat16, device="cuda")
    rates = []
    for _ in range(5):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(10):
            one @ one
        torch.cuda.synchronize()
        rates.append(10 * 2 * side**3 / (time.perf_counter() - start))
    texts = mixed(count)
    engine = Ours(loaded)
    engine(texts)
    times, _ = _times({"ours": lambda: engine(texts)}, _ROUNDS)
    tokens = sum(len(loaded.tokenizer(text)["input_ids"]) for text in texts) / times["ours"]
    weights = sum(item.numel() for item in loaded.model.base_model.layers.parameters())
    report.figure(f"{torch.cuda.get_device_name()}: bfloat16 peak, measured", max(rates) / 1e12, "TFLOP/s")
    report.figure("   ours", tokens, "tokens/s")
    report.figure("   cost of a pass", engine.status()["pass_tokens"], "tokens")
    report.figure("   share of the peak", 100 * 2 * weights * tokens / max(rates), "%")
    engine.close()


def run() -> list[str]:
    """Runs and reports; returns the broken promises."""
    import torch

    from rewarden_models.loading import load

    on_gpu = torch.cuda.is_available()
    report = Report(f"models: SmolLM2-135M and a head on it, {'GPU' if on_gpu else 'CPU'}")
    count, rounds = (2048, _ROUNDS) if on_gpu else (32, 1)
    for name, what in (("smollm2-reward", "scalar"), ("smollm2", "verdict token")):
        settings = ModelEndpoint(model=str(FOLDER / name))
        loaded = replace(load(name, settings), source=str(FOLDER / name))
        load_of(report, loaded, count, what, rounds)
        siblings_of(report, loaded, what, count=64 if on_gpu else 2, rounds=rounds)
        if on_gpu:
            _peak(report, loaded, count)
    return report.broken + (drawn() if on_gpu else [])


def drawn() -> list[str]:
    """Runs and reports models of published shapes; returns the broken promises."""
    from rewarden_models.loading import load

    report = Report("models: random weights, GPU")
    for shape in _DRAWN:
        for kind, what in (("SequenceClassification", "scalar"), ("CausalLM", "verdict token")):
            with tempfile.TemporaryDirectory() as folder:
                draw(Path(folder), shape, kind, FOLDER / "smollm2")
                loaded = replace(load(shape, ModelEndpoint(model=folder)), source=folder)
            load_of(report, loaded, 256, f"{shape}, {what}", 2)
            siblings_of(report, loaded, f"{shape}, {what}", count=16, rounds=2)
            _peak(report, loaded, 256)
            del loaded
    return report.broken
