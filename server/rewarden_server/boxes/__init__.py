"""Boxes: sandboxes that live for a rollout. Who owns which, for how long, and with which rights others use it."""
