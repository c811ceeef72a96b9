"""Models that give numbers: who runs them, and how the engine reaches them. What runs in the model process is
`rewarden_models`, which is known here by its wire and settings alone."""
