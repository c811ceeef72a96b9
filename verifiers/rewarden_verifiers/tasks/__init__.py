"""Task folders in Harbor's format: reading and checking them, and judging boxes by them."""
