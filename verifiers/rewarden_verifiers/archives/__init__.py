"""Verifiers that compare a response with what is known already: earlier responses, or the entries of a memory."""
