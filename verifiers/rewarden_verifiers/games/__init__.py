"""Games: moves are replayed by the rules."""
