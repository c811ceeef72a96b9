"""Dafny: verifies that a declaration in the response meets the reference's specification."""
