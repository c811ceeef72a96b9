"""Verifiers of boxes, points and clicks in images, and of intervals in videos."""
