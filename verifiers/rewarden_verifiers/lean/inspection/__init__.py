"""Inspects compiled Lean modules without trusting them.

`main` is the program: it runs in a locked room with only Python, so the package needs nothing but the standard library.
`olean` reads a file as data (`terms`), `same` compares statements and definitions, `axioms` collects the axioms that a
proof depends on, `subgoals` finds the lemmas of a plan that a proof uses, `pretty` writes terms for people, and
`kernel` gives all declarations to Lean's kernel again.
"""
