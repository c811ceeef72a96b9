"""Models that give numbers: their processes, and how the engine reaches them. The code in the model process is
`rewarden_models`, of which only the wire format and the settings are known here."""
