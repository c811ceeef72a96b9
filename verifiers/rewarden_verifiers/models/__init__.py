"""Verifiers that use a model's numbers: rewards, probabilities, values of steps, vectors."""
