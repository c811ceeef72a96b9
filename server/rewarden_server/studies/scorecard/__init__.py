"""The rate at which verifiers are right on labelled rollouts."""
