"""Dates, times, durations and orders: `time`."""
