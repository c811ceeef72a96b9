"""Plans: classical ones in PDDL, trips, meetings and calendars."""
