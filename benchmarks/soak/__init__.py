"""Mixed load for a long time on services that are restarted and killed under it: `python -m benchmarks.soak`."""
