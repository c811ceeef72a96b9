"""How types are written down: one file for JSON, one for protobuf."""
