"""Traces: the parts of a request and the time of each, sent to an OpenTelemetry collector if one is configured."""
