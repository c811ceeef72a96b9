"""Task folders on a server: the settings, and the boxes that are opened for tasks."""
