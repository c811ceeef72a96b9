"""Verifiers that compare generated text with expected texts."""
