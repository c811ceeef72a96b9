"""Verifiers for boxes, points and clicks in images, and for intervals in videos."""
