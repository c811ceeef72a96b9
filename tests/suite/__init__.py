"""How the tests themselves are run: in which phases, which groups of them, and what is told at the end."""
