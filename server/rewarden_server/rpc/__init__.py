"""The gRPC surface."""
