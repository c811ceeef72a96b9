"""Structured answers: strict JSON, its place in a response, JSON Schema, and comparison with expected values."""
