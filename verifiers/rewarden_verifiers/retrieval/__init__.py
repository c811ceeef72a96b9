"""Verifiers of ranked lists."""
