"""References, examined before a run: how each is read, and which answers no verdict will be found for."""
