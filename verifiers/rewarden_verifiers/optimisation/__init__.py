"""Verifiers of optimization problems."""
