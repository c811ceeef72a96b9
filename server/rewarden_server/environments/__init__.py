"""Environments: the corpora of searches, and episodes that are lived on this server."""
