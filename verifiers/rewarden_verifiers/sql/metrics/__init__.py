"""Partial credit: measures how far an answer agrees with the reference."""
