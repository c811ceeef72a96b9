"""The running of the tests themselves: in which phases, which groups of them, and what is told at the end."""
