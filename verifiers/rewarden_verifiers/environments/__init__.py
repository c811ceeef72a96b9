"""Environments: a policy acts in turns, and each action has an observation and a reward."""
