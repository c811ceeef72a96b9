"""A task set of verifiers 0.4 whose episodes are lived on a Rewarden server: `env.taskset.id = "rewarden_episodes"`.

Copy the file to where verifiers finds its task sets: a folder on the module path. docs/trainers/verifiers.md has its
configuration.
"""

from __future__ import annotations

from rewarden.adapters.verifiers_environment import EpisodeEnv, EpisodeTaskset

__all__ = ["EpisodeEnv", "EpisodeTaskset"]
