"""Task folders in Harbor's format: reads and checks them, and uses them to judge boxes."""
