"""Farmability: how often a candidate goes unscored, or is paid for nothing, where the reference is valid."""
