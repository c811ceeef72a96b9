"""Checkable instructions: the checkers of IFEval and IFBench, by id."""
