"""Task folders in Harbor's format: reading them, checking them, and judging a box by them."""
