"""Rewarden's sandboxes: the host that runs untrusted programs. Knows nothing of rewards."""
