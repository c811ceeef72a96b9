"""GRPO with TRL in turns, against an environment of a Rewarden server: a small model learns to win at Nim.

    pip install 'rewarden-server' 'rewarden' 'trl>=1.16' 'transformers>=5.13'
    rewarden serve &
    python examples/trl/environment.py --target http://127.0.0.1:8080

The model has random weights and a vocabulary of some thirty words, in which a call of the tool is one word, so that it
learns within minutes on a CPU. `--model` takes any other whose chat template has tools.
"""

from __future__ import annotations

import argparse
import random
from typing import Any

GAME = "nim"
OPTIONS = {"heaps": [1, 2], "opponent": "best"}
PROMPT = "Take objects from one heap by calling move with heap:count. Who takes the last object wins."
MOVES = ("1:1", "2:1", "2:2")
CALLS = [f'<tool_call>{{"name": "move", "arguments": {{"move": "{move}"}}}}</tool_call>' for move in MOVES]

_ASSISTANT, _END = "<|im_start|>assistant\n", "<|im_end|>"
_TEMPLATE = (
    "{% for message in messages %}{% if message.role == 'assistant' %}{{ '<|im_start|>assistant\\n' }}"
    "{% for call in message.tool_calls or [] %}<tool_call>{{ call.function | tojson }}</tool_call>{% endfor %}"
    "{% else %}{{ message.role }} {% endif %}{{ message.content }}{{ '<|im_end|>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
_RESPONSE = {
    "defaults": {"role": "assistant"},
    "start_anchor": _ASSISTANT,
    "fields": {
        "tool_calls": {
            "open": "<tool_call>",
            "close_pattern": r"</tool_call>\s*",
            "repeats": True,
            "content": "json",
            "transform": {"type": "function", "function": "{content}"},
        },
        "content": {"close_pattern": r"<\|im_end\|>\s*", "content": "text"},
    },
}
"""The place of calls in a response, for chat templates that TRL does not know."""


def tokenizer() -> Any:
    """A tokenizer of whole words."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = [*"012", "1:", "2:", "heap", "user", "tool", "You", "are", "the", "first", "player.", *PROMPT.split()]
    known = {word: place for place, word in enumerate(dict.fromkeys(["[UNK]", "[PAD]", *words]))}
    made = Tokenizer(models.WordLevel(known, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    wrapped = PreTrainedTokenizerFast(
        tokenizer_object=made, unk_token="[UNK]", pad_token="[PAD]", eos_token=_END, padding_side="left"
    )
    wrapped.add_special_tokens({"additional_special_tokens": [_ASSISTANT]})
    wrapped.add_tokens(CALLS)
    wrapped.chat_template, wrapped.response_template = _TEMPLATE, _RESPONSE
    return wrapped


def load(model: str | None) -> tuple[Any, Any]:
    """The model, in single precision, and its tokenizer."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM

    if model is not None:
        return AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32), AutoTokenizer.from_pretrained(model)
    torch.manual_seed(7)
    words = tokenizer()
    config = LlamaConfig(
        vocab_size=len(words),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=512,
        pad_token_id=words.pad_token_id,
        eos_token_id=words.eos_token_id,
        bos_token_id=None,
    )
    made = LlamaForCausalLM(config)
    _teach_calls(made, words)
    return made, words


def _teach_calls(model: Any, words: Any, steps: int = 60) -> None:
    """Teaches that a turn is one call of any move: without the form there would be no rewards to learn from."""
    import torch

    chance = random.Random(7)
    calls = words.convert_tokens_to_ids(CALLS)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(steps):
        chats = []
        for _ in range(8):
            chat = [{"role": "user", "content": PROMPT}]
            for _ in range(3):
                call = {"name": "move", "arguments": {"move": chance.choice(MOVES)}}
                chat.append(
                    {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": call}]}
                )
                chat.append({"role": "tool", "name": "move", "content": f"heap 1: {chance.randint(0, 1)}"})
            chats.append(chat)
        batch = words.apply_chat_template(chats, tokenize=True, return_dict=True, return_tensors="pt", padding=True)
        ids = batch["input_ids"]
        called = torch.isin(ids, torch.tensor(calls))
        learned = called | torch.cat([torch.zeros_like(called[:, :1]), called[:, :-1]], dim=1)
        loss = model(**batch, labels=ids.masked_fill(~learned, -100)).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def game(target: str) -> Any:
    """The factory of environments for the trainer."""
    from rewarden.adapters.trl_environment import environment

    return environment(GAME, options=OPTIONS, illegal="again", target=target)


def rows(count: int) -> list[dict[str, Any]]:
    """Rows of the data set. All siblings of a row have its seed, and so the same episode."""
    return [{"prompt": [{"role": "user", "content": PROMPT}], "seed": number} for number in range(count)]


def train(factory: Any, folder: str, model: Any, tokenizer: Any, *, steps: int = 30) -> list[dict[str, float]]:
    """Returns what TRL logs of each step; `reward` in it is the mean of the step's 32 episodes."""
    import datasets
    from trl import GRPOConfig, GRPOTrainer

    config = GRPOConfig(
        output_dir=folder,
        max_steps=steps,
        per_device_train_batch_size=32,
        num_generations=16,
        max_completion_length=256,
        max_tool_calling_iterations=4,
        learning_rate=1.5e-3,
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
        environment_factory=factory,
        args=config,
        train_dataset=datasets.Dataset.from_list(rows(2 * steps)),
        processing_class=tokenizer,
    )
    trainer.train()
    return [entry for entry in trainer.state.log_history if "reward" in entry]


def main() -> None:
    """Train, and print the curve."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default="http://127.0.0.1:8080", help="the server")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--model", help="a folder or a name on the hub")
    parser.add_argument("--out", default="out/trl")
    arguments = parser.parse_args()

    logged = train(game(arguments.target), arguments.out, *load(arguments.model), steps=arguments.steps)
    curve = [entry["reward"] for entry in logged]
    print(" ".join(f"{value:.2f}" for value in curve))
    third = len(curve) // 3
    if third:
        print(f"first third {sum(curve[:third]) / third:.2f}, last third {sum(curve[-third:]) / third:.2f}")


if __name__ == "__main__":
    main()
