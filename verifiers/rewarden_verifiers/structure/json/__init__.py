"""Structured answers: finds strict JSON in a response, validates it against a JSON Schema, and compares it with
expected values.
"""
