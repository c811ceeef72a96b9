"""`label`: classes, sets of them, places in a hierarchy and verdicts."""
