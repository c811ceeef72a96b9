"""Ways to start a slot: a process in a locked place, which connects to the host's socket."""
