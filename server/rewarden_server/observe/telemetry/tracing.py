"""The root of every trace: a surface opens a span for each request. This base class records nothing."""

from __future__ import annotations

from rewarden_server.observe.telemetry.span import UNTRACED, Span, Value


class Tracing:
    """Tracing that is off."""

    def request(self, name: str, traceparent: str | None, tracestate: str | None, **said: Value) -> Span:
        """Opens a request's span, below its caller's if the request names one (W3C trace context)."""
        return UNTRACED

    def close(self) -> None:
        """Sends what is left, in bounded time. Blocks, so it must not be called on the loop."""
