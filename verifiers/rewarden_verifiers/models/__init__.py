"""Verifiers based on a model's numbers: rewards, probabilities, values of steps, vectors."""
