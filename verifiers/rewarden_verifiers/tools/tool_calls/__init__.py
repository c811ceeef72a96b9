"""Tool calls: read in the shapes in which models write them, and compared with the calls that are right."""
