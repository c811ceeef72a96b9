"""Files in the box in which a repository's tests run."""
