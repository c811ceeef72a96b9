#!/usr/bin/env bash
# GRPO with ms-swift, rewarded by a Rewarden server. Needs a GPU; ms-swift 4.6.
set -euo pipefail

export REWARDEN_TARGET=${REWARDEN_TARGET:-http://127.0.0.1:8080}
export REWARDEN_USE=${REWARDEN_USE:-math}

swift rlhf \
  --rlhf_type grpo \
  --model Qwen/Qwen2.5-1.5B-Instruct \
  --dataset AI-MO/NuminaMath-TIR#5000 \
  --external_plugins "$(python -m rewarden.adapters swift)" \
  --reward_funcs rewarden \
  --num_generations 8 \
  --per_device_train_batch_size 8 \
  --max_completion_length 1024 \
  --output_dir out/swift
