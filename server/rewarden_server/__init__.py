"""Rewarden's server: engine, HTTP, gRPC, rescoring, commands, configuration."""
