#!/bin/sh
# GRPO on GSM8K as verl prepares it (examples/data_preprocess/gsm8k.py), rewarded by a server. Needs GPUs.
set -eu
export REWARDEN_TARGET="${REWARDEN_TARGET:-http://127.0.0.1:8080}"
exec python -m verl.trainer.main_ppo \
    algorithm.adv_estimator=grpo \
    data.train_files="$HOME/data/gsm8k/train.parquet" data.val_files="$HOME/data/gsm8k/test.parquet" \
    actor_rollout_ref.model.path=Qwen/Qwen2.5-0.5B-Instruct actor_rollout_ref.rollout.name=vllm \
    actor_rollout_ref.rollout.n=8 \
    reward.custom_reward_function.path=pkg://rewarden.adapters.verl \
    reward.custom_reward_function.name=acompute_score \
    +reward.custom_reward_function.reward_kwargs.routing=starter \
    "$@"
