"""The written forms of the types: one file for JSON, one for protobuf."""
