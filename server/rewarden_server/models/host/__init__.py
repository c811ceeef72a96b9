"""The model process: the one place where torch and transformers are imported, and only once a model is loaded."""
