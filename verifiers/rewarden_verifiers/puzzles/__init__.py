"""Verifiers of puzzles: strict checkers of our own, and the generators of `reasoning-gym` with their leaks closed."""
