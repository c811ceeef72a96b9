"""Verifiers of what a policy does with tools."""
