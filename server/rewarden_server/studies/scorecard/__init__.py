"""How often verifiers are right on labelled rollouts."""
