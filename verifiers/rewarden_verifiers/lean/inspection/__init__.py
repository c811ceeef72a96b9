"""Looks at compiled Lean modules, and believes nothing in them.

`main` is the program: it runs in a locked room with Python alone, so the package needs nothing but the standard
library. `olean` reads a file as data (`terms`), `same` compares statements and definitions, `axioms` collects what a
proof rests on, `subgoals` tells which of a plan's lemmas a proof takes up, `pretty` writes terms for people, `kernel`
gives all declarations to Lean's kernel once more.
"""
