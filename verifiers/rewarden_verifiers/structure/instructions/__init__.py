"""Verifiable instructions: the checkers of IFEval, IFBench, IF-RLVR and Tulu 3, by id."""
