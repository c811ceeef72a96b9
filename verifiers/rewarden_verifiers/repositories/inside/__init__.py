"""Files that lie in the box in which a repository's tests run."""
