"""Scores three responses with EasyR1's own reward manager, without a GPU and without training.

    PYTHONPATH=EasyR1 python check.py http://127.0.0.1:8080

`EasyR1` is a checkout of it (its package is called `verl`, as what it comes from). Needs a server (`rewarden serve`).
Ran with EasyR1 of 2026-07-30 (b44b311).
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast
from verl.protocol import DataProto
from verl.workers.reward import AutoRewardManager, RewardConfig

import rewarden.adapters.easyr1

ROWS = [
    ("So it is \\boxed{72}.", "72"),
    ("So it is \\boxed{71}.", json.dumps({"reference": "72", "data_source": "openai/gsm8k"})),
    ("It is seventy-", "72"),
]
"""Responses, and what stands in the column `answer_key`."""


def letters() -> PreTrainedTokenizerFast:
    """A tokenizer of one token for each byte."""
    vocabulary = {letter: n for n, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    tokens = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokens.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokens.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=tokens, eos_token="<end>", pad_token="<pad>")


def rollouts(tokenizer: Any) -> DataProto:
    """The rows as EasyR1's trainer hands them over."""
    answers = [torch.tensor(tokenizer.encode(text)) for text, _ in ROWS]
    responses = torch.nn.utils.rnn.pad_sequence(answers, batch_first=True, padding_value=tokenizer.pad_token_id)
    mask = torch.zeros_like(responses)
    for row, answer in enumerate(answers):
        mask[row, : len(answer)] = 1
    truths = np.array([truth for _, truth in ROWS], dtype=object)
    return DataProto.from_dict(
        tensors={"responses": responses, "response_mask": mask}, non_tensors={"ground_truth": truths}
    )


def main(target: str) -> None:
    """Print what EasyR1 makes of each row."""
    config = RewardConfig(
        reward_function=f"{rewarden.adapters.easyr1.__file__}:compute_score",
        reward_function_kwargs={"use": "math", "target": target, "max_response_length": 20},
    )
    config.post_init()
    tokenizer = letters()
    rewards, metrics = AutoRewardManager(config, tokenizer).compute_reward(rollouts(tokenizer))
    for n, (text, _) in enumerate(ROWS):
        told = {name: values[n] for name, values in metrics.items()}
        print(f"{rewards[n].sum().item():5.2f}  {text!r}\n       {json.dumps(told)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
