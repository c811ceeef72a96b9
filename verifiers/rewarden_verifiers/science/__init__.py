"""Verifiers of scientific objects."""
