"""Training runs: their figures by step and data source, kept in SQLite, and, if a setting asks for it, rollouts."""
