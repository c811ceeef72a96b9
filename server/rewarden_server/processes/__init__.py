"""Child processes that the server starts and keeps alive while it runs."""
