"""Verifiers of the form of a response."""
