"""Dafny: checks with Dafny's verifier that a declaration in the response meets the reference's specification."""
