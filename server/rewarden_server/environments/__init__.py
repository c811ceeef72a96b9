"""Environments: the search corpora, and the live episodes of this server."""
