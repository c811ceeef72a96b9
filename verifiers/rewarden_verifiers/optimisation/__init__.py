"""Verifiers of optimisation problems."""
