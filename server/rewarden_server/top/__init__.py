"""`rewarden top`: training runs in the terminal, live, from a running server's `/v1/runs`."""
