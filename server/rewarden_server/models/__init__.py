"""Models that give numbers: who runs them, and how the engine reaches them."""
