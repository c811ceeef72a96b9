"""Compares two results: whether they agree, and where they differ."""
