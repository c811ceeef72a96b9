"""Verifiers of puzzles: strict checkers, and the generators of `reasoning-gym` with their leaks closed."""
