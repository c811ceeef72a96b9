"""Plane geometry: constructions, numerical diagrams, and the claims that hold in them."""
