"""Puzzle verifiers: strict checkers, and the generators of `reasoning-gym` with the leaks of their scorers closed."""
