"""The parts of a server that can be seen: metrics, logs, traces, records of verdicts, and its health."""
