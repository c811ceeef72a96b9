"""GRPO with unsloth, which takes TRL's reward functions. Needs a GPU; unsloth 2026.10.9 with TRL 1.6 or newer."""

from __future__ import annotations

from unsloth import FastLanguageModel  # isort: skip - before trl, because it replaces parts of it

from datasets import load_dataset
from trl import GRPOConfig, GRPOTrainer

from rewarden.adapters.trl import reward

model, tokenizer = FastLanguageModel.from_pretrained("unsloth/Qwen2.5-1.5B-Instruct", max_seq_length=2048)
model = FastLanguageModel.get_peft_model(model, r=16)

rows = load_dataset("openai/gsm8k", "main", split="train").map(
    lambda row: {
        "prompt": [{"role": "user", "content": row["question"]}],
        "answer": row["answer"].rpartition("####")[2].strip(),
    }
)
trainer = GRPOTrainer(
    model=model,
    processing_class=tokenizer,
    reward_funcs=reward("math", target="http://127.0.0.1:8080", reference="answer"),
    args=GRPOConfig(output_dir="out/unsloth", num_generations=8, max_completion_length=1024),
    train_dataset=rows,
)
trainer.train()
