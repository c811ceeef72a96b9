#!/bin/sh
# OpenRLHF 0.11 with Rewarden. Ray's workers need the settings, so they go with the job.
set -eu
ray job submit --address "${RAY_ADDRESS:-http://127.0.0.1:8265}" \
    --runtime-env-json '{"env_vars": {"REWARDEN_TARGET": "http://127.0.0.1:8080", "REWARDEN_USE": "math"}}' \
    -- python -m openrlhf.cli.train_ppo_ray \
    --reward.remote_url "$(python -m rewarden.adapters openrlhf)" \
    --data.prompt_dataset "$1" --data.input_key question --data.label_key answer --data.apply_chat_template \
    --algo.advantage.estimator group_norm --rollout.n_samples_per_prompt 8 \
    --actor.model_name_or_path "$2"
# Or the route, which needs no package in the trainer:
#   --reward.remote_url http://127.0.0.1:8080/compat/openrlhf/math/get_reward
