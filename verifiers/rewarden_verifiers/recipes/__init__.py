"""Recipes: published rewards as data, made of named verifiers."""
