"""Scores three responses with verl's own reward loop, without a GPU and without training.

    python check.py reward.custom_reward_function.path=pkg://rewarden.adapters.verl …

The arguments are verl's overrides, the same as for `python -m verl.trainer.main_ppo`: what a run would load is loaded
here in the same way. Needs verl, and a server (`rewarden serve`). With `--ray`, the workers are Ray actors, as in
training; else the worker lives in this process. Ran with verl 0.9.1.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from typing import Any

import numpy as np
import ray
import torch
from hydra import compose, initialize_config_module
from tensordict import TensorDict
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast
from verl import DataProto
from verl.experimental.reward_loop.reward_loop import RewardLoopManager, RewardLoopWorker

ROWS = [
    ("So it is \\boxed{72}.", "Natalia sold 48/2 = 24 clips in May. #### 72", True),
    ("So it is \\boxed{71}.", "Natalia sold 48/2 = 24 clips in May. #### 72", True),
    ("It is seventy-", "Natalia sold 48/2 = 24 clips in May. #### 72", False),
]
"""Responses, what the data set holds as the truth, and whether the model ended by itself."""


def letters(folder: str) -> PreTrainedTokenizerFast:
    """A tokenizer of one token for each byte, saved in `folder`."""
    vocabulary = {letter: n for n, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    tokens = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokens.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokens.decoder = decoders.ByteLevel()
    made = PreTrainedTokenizerFast(tokenizer_object=tokens, eos_token="<end>", pad_token="<pad>")
    made.save_pretrained(folder)
    return made


def rollouts(tokenizer: Any) -> DataProto:
    """The rows as verl's agent loop hands them over."""
    prompt = torch.tensor(tokenizer.encode("How many clips?"))
    answers = [torch.tensor(tokenizer.encode(text) + [tokenizer.eos_token_id] * ended) for text, _, ended in ROWS]
    responses = torch.nn.utils.rnn.pad_sequence(answers, batch_first=True, padding_value=tokenizer.pad_token_id)
    mask = torch.zeros(len(ROWS), len(prompt) + responses.shape[1], dtype=torch.int64)
    for row, answer in enumerate(answers):
        mask[row, : len(prompt) + len(answer)] = 1
    prompts = prompt.repeat(len(ROWS), 1)
    tensors = {
        "prompts": prompts,
        "responses": responses,
        "input_ids": torch.cat([prompts, responses], dim=1),
        "attention_mask": mask,
    }
    columns = {
        "data_source": ["openai/gsm8k"] * len(ROWS),
        "reward_model": [{"style": "rule", "ground_truth": truth} for _, truth, _ in ROWS],
        "extra_info": [{"split": "train", "index": n} for n in range(len(ROWS))],
        "raw_prompt": [[{"role": "user", "content": "How many clips?"}]] * len(ROWS),
        "uid": ["one problem"] * len(ROWS),
        "session_id": list(range(len(ROWS))),
    }
    arrays = {}
    for name, values in columns.items():
        arrays[name] = np.empty(len(ROWS), dtype=object)
        arrays[name][:] = values
    return DataProto(batch=TensorDict(tensors, batch_size=len(ROWS)), non_tensor_batch=arrays)


def main(arguments: list[str]) -> None:
    """Print what verl makes of each row."""
    with tempfile.TemporaryDirectory() as folder, initialize_config_module("verl.trainer.config", version_base=None):
        tokenizer = letters(folder)
        overrides = [f"actor_rollout_ref.model.path={folder}", *(item for item in arguments if item != "--ray")]
        config = compose("ppo_trainer", overrides=overrides)
        data = rollouts(tokenizer)
        if "--ray" in arguments:
            workers = config.reward.num_workers  # of the manager `remote` each has as many again
            ray.init(num_cpus=workers + workers**2, include_dashboard=False, log_to_driver=False)
            scored = RewardLoopManager(config).compute_rm_score(data)
            rewards = scored.batch["rm_scores"].sum(dim=1).tolist()
            infos = [{name: values[n] for name, values in scored.non_tensor_batch.items()} for n in range(len(ROWS))]
        else:
            answers = asyncio.run(scores(config, data))
            rewards = [answer["reward_score"] for answer in answers]
            infos = [answer["reward_extra_info"] for answer in answers]
        for (text, _, _), reward, info in zip(ROWS, rewards, infos, strict=True):
            print(f"{reward:5.2f}  {text!r}\n       {json.dumps(info, default=str)}")


async def scores(config: Any, data: DataProto) -> list[dict[str, Any]]:
    """verl's worker, in this process."""
    answers: list[dict[str, Any]] = await RewardLoopWorker(config).compute_score_batch(data)
    return answers


if __name__ == "__main__":
    main(sys.argv[1:])
