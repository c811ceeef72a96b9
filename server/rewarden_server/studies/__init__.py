"""Judging files and judging the judges: rescoring, comparing, scorecards, calibration, published sets; their pages."""
