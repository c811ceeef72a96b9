"""Files that lie in a verifier's box beside the task's."""
