"""Patches in responses: reading them in three forms, applying them to files, and verifying them."""
