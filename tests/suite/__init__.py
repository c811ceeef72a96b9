"""The running of the tests themselves: their phases, their groups, and the summary at the end."""
