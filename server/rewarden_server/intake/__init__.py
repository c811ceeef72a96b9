"""The steps of a request on its way in: its size and depth, what it names instead of sending it, who judges it."""
