"""The commands that the server adds to the `rewarden` script."""
