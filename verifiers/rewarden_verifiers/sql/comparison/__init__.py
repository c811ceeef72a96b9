"""The comparison of two results: whether they agree, and where they differ."""
