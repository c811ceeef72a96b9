"""Verifiers that run model output: `code`, and `output`, which compares the output of programs."""
