"""Databases made from another one, on which a lucky match does not pass."""
