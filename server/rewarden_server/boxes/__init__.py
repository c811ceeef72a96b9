"""Boxes: sandboxes that live for a rollout. Who owns them, how long they live, and which rights others have in them."""
