"""Tool calls: read in the formats of model families and compared with the right calls."""
