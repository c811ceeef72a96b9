"""Formulas of first-order logic: reading, and comparison by truth tables."""
