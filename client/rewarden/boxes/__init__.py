"""Boxes: sandboxes that live for a rollout. `AsyncClient.box` and `Client.box` open them."""
