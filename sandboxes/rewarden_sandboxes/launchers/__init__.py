"""Launchers start slots. A slot is a locked-down process that connects to the host's socket."""
