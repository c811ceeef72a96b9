"""Repositories that are judged by their own tests."""
