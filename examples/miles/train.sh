#!/bin/sh
# The flags that give miles its rewards from Rewarden; yours for model, data and rollout go with them.
set -eu
python train.py \
    --custom-rm-path rewarden.adapters.slime.custom_rm \
    --custom-reward-post-process-path rewarden.adapters.slime.post_process \
    --custom-config-path examples/slime/rewarden.yaml \
    --label-key answer --advantage-estimator grpo --n-samples-per-prompt 8 "$@"
# Or the route, which needs no package in the trainer, and has no way to leave a sample out:
#   --rm-type remote_rm --rm-url http://127.0.0.1:8080/compat/slime/math/rm
