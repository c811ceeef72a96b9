"""Environments: a policy acts in turns; each action returns an observation and a reward."""
