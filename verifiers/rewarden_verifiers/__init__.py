"""Rewarden's verifiers: the contract, every verifier beside its cases, recipes and their gallery."""
