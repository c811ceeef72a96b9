"""Verifiers of final answers."""
