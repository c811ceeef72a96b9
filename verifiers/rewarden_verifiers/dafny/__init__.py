"""Dafny: a declaration of the response's keeps the reference's specification, by Dafny's verifier."""
