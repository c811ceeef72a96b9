"""Structured answers: strict JSON, where it stands in a response, JSON Schema, and values against expected ones."""
