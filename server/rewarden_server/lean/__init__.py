"""Lean as long-lived processes: the protocol that one speaks, and the pool of them."""
