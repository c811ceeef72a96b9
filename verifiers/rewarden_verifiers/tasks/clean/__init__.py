"""Files in a verifier's box in addition to the task's."""
