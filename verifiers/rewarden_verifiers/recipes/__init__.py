"""Recipes: published rewards as data, composed of named verifiers."""
