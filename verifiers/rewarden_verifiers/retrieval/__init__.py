"""Verifiers of what was found: ranked lists."""
