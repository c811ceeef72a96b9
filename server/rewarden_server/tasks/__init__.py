"""Task folders, as a server has them: its settings, and the boxes that are opened for a task."""
