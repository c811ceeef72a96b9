#!/usr/bin/env bash
# rewarden serve must run at $REWARDEN_TARGET. max_env_workers is how many verdicts SkyRL waits for at once.
set -eu
python train.py \
  data.train_data="['$HOME/data/gsm8k/train.parquet']" \
  data.val_data="['$HOME/data/gsm8k/validation.parquet']" \
  environment.env_class=rewarden \
  environment.skyrl_gym.max_env_workers=128 \
  generator.max_turns=1 \
  "$@"
