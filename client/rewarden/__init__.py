"""Rewarden's client: send what a model wrote, get verdicts."""
