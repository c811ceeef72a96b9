"""Verifiers of tool use."""
