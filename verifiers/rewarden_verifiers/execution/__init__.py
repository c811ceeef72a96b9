"""Verifiers that run what a model wrote: `code`; and `output`, which compares what programs print."""
