"""Judging files and judging the judges: rescoring, comparing, scorecards, calibration, and their pages."""
