"""Files in a verifier's box that do not come from the task."""
