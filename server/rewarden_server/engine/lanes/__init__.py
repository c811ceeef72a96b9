"""The lanes in which work runs: inline on a thread, cpu in workers that can be killed, loop for orchestrators."""
