"""The ways in which a request travels: HTTP, gRPC, or an engine in this process."""
