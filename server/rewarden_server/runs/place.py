"""A place of a run: a step, or some seconds, and a data source."""

from __future__ import annotations

TIME_S = 10
"""The width of a place on the time axis in seconds, at first."""

Place = tuple[str, str, bool, int, str]
"""The key's name, the run's name, whether the place is a step, the step or the second at which the place begins, and
the data source."""
