"""Rewarden's verifiers: the contract, every verifier with its cases, recipes and their gallery."""
