"""Verifiers of a group of responses to one prompt."""
