"""Launchers, which start slots: a process in a locked place, which connects to the host's socket."""
