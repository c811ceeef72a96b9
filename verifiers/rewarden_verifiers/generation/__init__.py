"""Verifiers of generated text against texts that were expected."""
