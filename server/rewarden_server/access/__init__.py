"""Who may ask what, how often, and what is written down of it."""
