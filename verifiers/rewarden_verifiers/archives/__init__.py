"""Verifiers that compare a response with known texts: earlier responses, or the entries of a memory."""
