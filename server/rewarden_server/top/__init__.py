"""`rewarden top`: training runs in the terminal, live, as a running server's `/v1/runs` tells them."""
