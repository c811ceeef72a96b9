"""Reward functions for axolotl, which finds them by name: `trl.reward_funcs: ["my_rewards.math"]`."""

from __future__ import annotations

from rewarden.adapters.trl import reward

math = reward("math", target="http://127.0.0.1:8080", reference="answer")
