"""Classical planning: reads a domain and a problem, and simulates a plan."""
