"""Lean as long-running processes: the protocol of a process, and the pool."""
