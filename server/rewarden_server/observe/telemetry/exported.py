"""Spans sent to a collector (OTLP over HTTP) by OpenTelemetry's SDK. Imported only if an endpoint is set.

The SDK sends on its own thread, a few seconds late. Its queue and its retries are bounded, so it drops what a slow or
dead collector does not accept.
"""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass
from importlib.metadata import version

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from rewarden_server.observe.settings import TelemetrySettings
from rewarden_server.observe.telemetry.span import Kind, Span, Value
from rewarden_server.observe.telemetry.tracing import Tracing

MOST_SPANS = 500
"""Spans of one request at most. A batch of ten thousand samples must not cost twenty thousand spans: the request's span
says how many were left out."""

_QUEUE = 8192
_SEND_S = 5.0
"""Seconds that the collector has for an export, including retries."""

_LAST_WORDS_S = 3.0
_SILENT_S = 60.0

_PATH = "/v1/traces"

_KINDS: dict[Kind, SpanKind] = {
    "internal": SpanKind.INTERNAL,
    "server": SpanKind.SERVER,
    "client": SpanKind.CLIENT,
}

_FORM = TraceContextTextMapPropagator()


class ExportedTracing(Tracing):
    """Tracing with a collector."""

    def __init__(self, settings: TelemetrySettings) -> None:
        assert settings.endpoint is not None
        # Dropped spans and retries are not worth a line each; an export that fails for good is logged as an error.
        logging.getLogger("opentelemetry").setLevel(logging.ERROR)
        logging.getLogger(OTLPSpanExporter.__module__).addFilter(_Seldom())
        base = settings.endpoint.rstrip("/")
        exporter = OTLPSpanExporter(base if base.endswith(_PATH) else base + _PATH, timeout=_SEND_S)
        resource = Resource.create({"service.name": settings.service, "service.version": version("rewarden-server")})
        # If the caller traces, it has already decided. Of the other requests, a share is traced.
        self._provider = TracerProvider(
            resource=resource, sampler=ParentBased(TraceIdRatioBased(settings.sample_share)), shutdown_on_exit=False
        )
        self._processor = BatchSpanProcessor(exporter, max_queue_size=_QUEUE)
        self._provider.add_span_processor(self._processor)
        self._tracer = self._provider.get_tracer("rewarden")

    def request(self, name: str, traceparent: str | None, tracestate: str | None, **said: Value) -> Span:
        """See `Tracing.request`."""
        carried = {key: value for key, value in (("traceparent", traceparent), ("tracestate", tracestate)) if value}
        parent = _FORM.extract(carried, trace.set_span_in_context(trace.INVALID_SPAN))
        made = self._tracer.start_span(name, parent, SpanKind.SERVER, _plain(said))
        if not made.is_recording():
            return Unsampled(made.get_span_context())
        return Exported(made, self._tracer, _Room(MOST_SPANS))

    def flush(self) -> None:
        """Sends the spans that have ended. Blocks."""
        self._processor.force_flush()

    def close(self) -> None:
        """See `Tracing.close`. What the collector has not taken within `_LAST_WORDS_S` is lost."""
        # The SDK's own shutdown waits half a minute if the collector is silent.
        ending = threading.Thread(target=self._processor.shutdown, daemon=True)
        ending.start()
        ending.join(_LAST_WORDS_S)


class _Seldom(logging.Filter):
    """One line a minute: a missing collector is one thing to know, not one for each export that fails."""

    def __init__(self) -> None:
        super().__init__()
        self._next = 0.0

    def filter(self, record: logging.LogRecord) -> bool:
        """Returns whether the line should be written."""
        now = time.monotonic()
        if now < self._next:
            return False
        self._next = now + _SILENT_S
        return True


@dataclass(slots=True)
class _Room:
    """Counts the spans that a request may still have, and those that were left out."""

    left: int
    left_out: int = 0


class Unsampled(Span):
    """A request that is not recorded; services called on its behalf are told so."""

    __slots__ = ("_context",)

    def __init__(self, context: SpanContext) -> None:
        self._context = context

    @property
    def traceparent(self) -> str:
        """See `Span.traceparent`."""
        return _traceparent(self._context)


class Exported(Span):
    """A span that is recorded."""

    __slots__ = ("_room", "_root", "_span", "_tracer")

    recording = True

    def __init__(self, span: trace.Span, tracer: trace.Tracer, room: _Room, *, root: bool = True) -> None:
        self._span = span
        self._tracer = tracer
        self._room = room
        self._root = root

    @property
    def traceparent(self) -> str:
        """See `Span.traceparent`."""
        return _traceparent(self._span.get_span_context())

    def child(self, name: str, *, kind: Kind = "internal", start_s: float | None = None, **said: Value) -> Span:
        """See `Span.child`. Where the request has no room for more, one that goes by this one's name and is not
        recorded."""
        room = self._room
        if room.left <= 0:
            room.left_out += 1
            return Unsampled(self._span.get_span_context())
        room.left -= 1
        parent = trace.set_span_in_context(self._span)
        start = None if start_s is None else int(start_s * 1e9)
        made = self._tracer.start_span(name, parent, _KINDS[kind], _plain(said), start_time=start)
        return Exported(made, self._tracer, room, root=False)

    def note(self, **said: Value) -> None:
        """See `Span.note`."""
        self._span.set_attributes(_plain(said))

    def rename(self, name: str) -> None:
        """See `Span.rename`."""
        self._span.update_name(name)

    def fail(self, reason: str) -> None:
        """See `Span.fail`."""
        self._span.set_status(Status(StatusCode.ERROR, reason))

    def end(self, at_s: float | None = None) -> None:
        """See `Span.end`."""
        if not self._span.is_recording():
            return
        if self._root and self._room.left_out:
            self._span.set_attribute("rewarden.spans_left_out", self._room.left_out)
        self._span.end(None if at_s is None else int(at_s * 1e9))


_COMMON = {
    "method": "http.request.method",
    "route": "http.route",
    "status_code": "http.response.status_code",
    "rpc": "rpc.method",
}
"""Attributes under the names of OpenTelemetry's semantic conventions."""


def _plain(said: dict[str, Value]) -> dict[str, str | int | float | bool]:
    return {_COMMON.get(name, f"rewarden.{name}"): value for name, value in said.items() if value is not None}


def _traceparent(context: SpanContext) -> str:
    flags = context.trace_flags & TraceFlags.SAMPLED
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{flags:02x}"
