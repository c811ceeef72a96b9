"""Generates variants of a database, on which a query that matched by luck fails."""
