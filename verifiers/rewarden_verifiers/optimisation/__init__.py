"""Verifiers of solutions that are to be as good as possible."""
