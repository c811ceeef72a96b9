"""Observability: metrics, logs, traces, records of verdicts, and the server's health."""
