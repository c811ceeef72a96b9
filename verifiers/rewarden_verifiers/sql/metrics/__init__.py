"""Partial credit: how far an answer agrees with the reference."""
