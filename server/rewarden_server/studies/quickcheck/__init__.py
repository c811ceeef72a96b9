"""The work of `rewarden quickcheck`: three samples for each judge, model, language, database and Lean project."""
