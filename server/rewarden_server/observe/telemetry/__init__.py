"""Traces: what a request was made of and where its time went, told to an OpenTelemetry collector where one is set."""
