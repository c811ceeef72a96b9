"""What can be seen of a server: metrics, logs, traces, records of verdicts, and its health."""
