"""The lanes in which work runs: inline on a thread, cpu in workers that can be killed, orchestrators on the loop."""
