"""Whether two results agree, and where not."""
