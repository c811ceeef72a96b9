"""The steps of a request on its way in: its size and depth, its references to stored content, and the routing to a
verifier."""
