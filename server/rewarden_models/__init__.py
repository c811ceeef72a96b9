"""Rewarden's model process: the one place where torch and transformers are imported, and only once a model is loaded.
Knows nothing of the server, which knows it by `wire`, `settings` and `endpoint` alone."""
