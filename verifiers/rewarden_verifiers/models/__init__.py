"""Verifiers based on a model's numbers: rewards, probabilities, step values, vectors."""
