"""Verifiers of answers about graphs."""
