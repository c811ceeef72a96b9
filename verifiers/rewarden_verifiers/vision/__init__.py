"""Verifiers of places: boxes, points and clicks in images, intervals in videos."""
