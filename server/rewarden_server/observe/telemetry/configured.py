"""Tracing as configured: to a collector, or off."""

from __future__ import annotations

from urllib.parse import urlsplit

from rewarden_server.config import ConfigError
from rewarden_server.observe.settings import TelemetrySettings
from rewarden_server.observe.telemetry.tracing import Tracing


def configured_tracing(settings: TelemetrySettings) -> Tracing:
    """Returns the tracing that the settings ask for; it is off without an endpoint.

    Raises ConfigError for an invalid endpoint, or if OpenTelemetry's packages are missing.
    """
    if settings.endpoint is None:
        return Tracing()
    _check(settings.endpoint)
    try:
        from rewarden_server.observe.telemetry.exported import ExportedTracing
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("opentelemetry"):
            raise
        raise ConfigError(
            "telemetry.endpoint needs OpenTelemetry's packages: pip install 'rewarden-server[otel]'"
        ) from None
    return ExportedTracing(settings)


def _check(endpoint: str) -> None:
    """Raises ConfigError, without repeating the address, which can contain secrets."""
    try:
        parts = urlsplit(endpoint)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        sound = False
    if not sound:
        raise ConfigError("telemetry.endpoint must be a URL such as http://localhost:4318 (OTLP over HTTP)")
    if parts.username is not None or parts.password is not None:
        raise ConfigError(
            "telemetry.endpoint must not contain a user or password: put the collector's key into the variable "
            "OTEL_EXPORTER_OTLP_HEADERS, such as authorization=Bearer%20KEY"
        )
