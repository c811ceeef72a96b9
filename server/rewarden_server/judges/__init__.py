"""Clients of language models that judge for verifiers; see `engine/lanes/judges.py` for their users."""
