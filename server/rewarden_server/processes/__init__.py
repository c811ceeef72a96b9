"""Processes of the server's own, kept alive while it runs."""
