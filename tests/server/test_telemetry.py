"""Traces: a collector of OTLP over HTTP gets each request's whole tree of spans, and nothing of what samples say."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rewarden.v1 import rewarden_pb2 as pb
from rewarden_server.config import ConfigError, load_config
from rewarden_server.observe.settings import TelemetrySettings
from rewarden_server.observe.telemetry.configured import configured_tracing
from rewarden_server.observe.telemetry.exported import MOST_SPANS, ExportedTracing
from rewarden_server.observe.telemetry.span import UNTRACED, current
from tests.judges.scripted import ScriptedJudge
from tests.models.scripted import ScriptedModel
from tests.server.conftest import Running, Start
from tests.server.hosts import ScriptedHost, serving
from tests.threaded import Threaded

TRACE = "0af7651916cd43dd8448eb211c80319c"
CALLER = "b7ad6b7169203331"
TRACEPARENT = f"00-{TRACE}-{CALLER}-01"
SECRET = "marigold"
"""Stands in every text of the samples: no span can contain it."""


class Collector:
    """A collector of what a real one takes, read with OpenTelemetry's own messages. A context manager."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.resources: list[dict[str, Any]] = []
        self.bodies: list[bytes] = []
        self.url = ""

    async def _take(self, request: Request) -> Response:
        self.bodies.append(await request.body())
        for part in ExportTraceServiceRequest.FromString(self.bodies[-1]).resource_spans:
            self.resources.append(said(part.resource))
            for scope in part.scope_spans:
                self.spans += scope.spans
        return Response(b"", media_type="application/x-protobuf")

    def __enter__(self) -> Collector:
        self._server = Threaded([Route("/v1/traces", self._take, methods=["POST"])])
        self.url = self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()

    def tree(self) -> list[tuple[str, str]]:
        """Each span's name with its parent's, sorted; of the outermost the caller's id."""
        names = {span.span_id: span.name for span in self.spans}
        return sorted((names.get(span.parent_span_id, span.parent_span_id.hex()), span.name) for span in self.spans)

    def only(self, name: str) -> Any:
        """The one span of that name."""
        (found,) = (span for span in self.spans if span.name == name)
        return found


def said(holder: Any) -> dict[str, Any]:
    """A span's or a resource's attributes."""
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in holder.attributes}


@pytest.fixture
def collector() -> Iterator[Collector]:
    """A collector that takes everything."""
    with Collector() as made:
        yield made


async def flush(server: Running) -> None:
    """All that has ended is sent."""
    tracing = server.serving.service.tracing
    assert isinstance(tracing, ExportedTracing)
    await asyncio.to_thread(tracing.flush)


def traced(collector: Collector, **more: Any) -> dict[str, Any]:
    """The settings of a server that is traced by those who trace already."""
    return {"telemetry.endpoint": collector.url, "telemetry.sample_share": 0, **more}


EVERYWHERE = {
    "name": "everywhere",
    "main": "pure",
    "uses": {
        "cheap": "same",
        "pure": "worked",
        "opinion": "judge",
        "number": "rm_scalar",
    },
    "score": "(cheap.score + pure.score + opinion.score + number.score) / 4.0",
}


async def test_a_request_is_one_tree_through_workers_sandbox_judge_and_model(
    start: Start, collector: Collector, tmp_path: Path
) -> None:
    mixed = {"id": "one", "data_source": "gsm", "prompt": SECRET, "response": SECRET, "reference": SECRET}
    program = {
        "id": "two",
        "use": "code",
        "response": f"```python\n{SECRET}\n```",
        "reference": {"language": "python", "tests": [{"type": "stdio", "stdin": "1\n", "stdout": "1\n"}] * 2},
    }
    plain = {"id": "three", "use": "worked", "response": SECRET, "reference": SECRET}
    with ScriptedJudge() as judge, ScriptedModel() as model:
        judge.script({"when": SECRET, "reply": {"reason": SECRET, "verdict": "correct"}})
        model.script({"task": "classify", "when": SECRET, "reply": [2.0]})
        host = ScriptedHost()
        async with serving(host, tmp_path) as address:
            server = await start(
                traced(
                    collector,
                    **{
                        "sandbox.address": address,
                        "judges.named": {"main": judge.settings()},
                        "models.named": {"main": model.settings()},
                    },
                )
            )
            reply = await server.http.post(
                "/v1/verify",
                json={"samples": [mixed, program, plain], "use": {"recipe": EVERYWHERE}},
                headers={"traceparent": TRACEPARENT},
            )
            await flush(server)
    assert [verdict["status"] for verdict in reply.json()["verdicts"]] == ["scored"] * 3
    assert collector.tree() == [
        ("POST /v1/verify", "batch"),
        (CALLER, "POST /v1/verify"),
        ("batch", "verify code"),
        ("batch", "verify everywhere"),
        ("batch", "verify worked"),
        ("sandbox job", "sandbox run"),
        ("sandbox job", "sandbox run"),
        ("verify code", "sandbox job"),
        ("verify everywhere", "verify judge"),
        ("verify everywhere", "verify rm_scalar"),
        ("verify everywhere", "verify same"),
        ("verify everywhere", "verify worked"),
        ("verify judge", "judge request"),
        ("verify rm_scalar", "model task"),
        ("verify worked", "cpu worker"),
        ("verify worked", "cpu worker"),
    ]
    assert {span.trace_id.hex() for span in collector.spans} == {TRACE}
    assert all(span.start_time_unix_nano <= span.end_time_unix_nano for span in collector.spans)
    assert collector.resources[0]["service.name"] == "rewarden"
    outermost = said(collector.only("POST /v1/verify"))
    assert (outermost["http.route"], outermost["http.response.status_code"]) == ("/v1/verify", 200)
    assert said(collector.only("verify everywhere")) | {"rewarden.queue_s": 0.0} == {
        "rewarden.verifier": "everywhere",
        "rewarden.data_source": "gsm",
        "rewarden.sample": "one",
        "rewarden.index": 0,
        "rewarden.status": "scored",
        "rewarden.queue_s": 0.0,
        "rewarden.cached": False,
    }
    assert said(collector.only("judge request"))["rewarden.completion_tokens"] == 10
    # What the judge's server would tie its own trace to is the request's span.
    assert judge.headers[0]["traceparent"] == f"00-{TRACE}-{collector.only('judge request').span_id.hex()}-01"
    assert not any(SECRET.encode() in body for body in collector.bodies)


async def test_a_call_over_grpc_and_a_stream_are_traced_under_their_callers(start: Start, collector: Collector) -> None:
    server = await start(traced(collector))
    one = pb.Sample(response=pb.Text(text="A"), reference_json=b'"A"', use=pb.Use(name="same"))
    metadata = [("traceparent", TRACEPARENT)]
    await server.stub.Verify(pb.VerifyRequest(samples=[one]), metadata=metadata)
    header = {"batch": {"use": "same"}}
    lines = [header, {"response": "A", "reference": "A"}, {"response": "B", "reference": "A"}]
    await server.http.post(
        "/v1/verify/stream",
        content="\n".join(map(json.dumps, lines)),
        headers={"content-type": "application/x-ndjson", "traceparent": TRACEPARENT},
    )
    await flush(server)
    assert collector.tree() == [
        ("POST /v1/verify/stream", "stream"),
        (CALLER, "POST /v1/verify/stream"),
        (CALLER, "grpc Verify"),
        ("batch", "verify same"),
        ("grpc Verify", "batch"),
        ("stream", "verify same"),
        ("stream", "verify same"),
    ]
    assert said(collector.only("stream"))["rewarden.samples"] == 2


async def test_errors_mark_their_spans_by_name_and_without_words(start: Start, collector: Collector) -> None:
    server = await start(traced(collector))
    sample = {"response": SECRET, "reference": SECRET, "id": SECRET[:1]}
    sent = {"samples": [sample], "use": "broken"}
    await server.http.post("/v1/verify", json=sent, headers={"traceparent": TRACEPARENT})
    await flush(server)
    verdict = collector.only("verify broken")
    assert (verdict.status.code, verdict.status.message) == (2, "verifier_raised")
    assert not any(SECRET.encode() in body for body in collector.bodies)


async def test_a_share_of_zero_traces_none_but_those_whose_callers_trace(start: Start, collector: Collector) -> None:
    server = await start(traced(collector))
    await server.verify({"response": "A", "reference": "A"}, use="same")
    not_sampled = TRACEPARENT[:-1] + "0"
    sent = {"samples": [{"response": "A", "reference": "A"}], "use": "same"}
    await server.http.post("/v1/verify", json=sent, headers={"traceparent": not_sampled})
    await server.http.get("/healthz", headers={"traceparent": TRACEPARENT})
    await flush(server)
    assert collector.spans == []


async def test_a_large_batch_has_bounded_spans_and_says_how_many_it_lacks(start: Start, collector: Collector) -> None:
    server = await start(traced(collector))
    samples = [{"response": str(number), "reference": "A"} for number in range(MOST_SPANS + 100)]
    sent = {"samples": samples, "use": "same"}
    await server.http.post("/v1/verify", json=sent, headers={"traceparent": TRACEPARENT})
    await flush(server)
    assert len(collector.spans) == MOST_SPANS + 1
    assert said(collector.only("POST /v1/verify"))["rewarden.spans_left_out"] == 101  # the batch's own is within


async def test_a_collector_that_is_gone_costs_nothing_but_its_spans(start: Start) -> None:
    # Port 9 of this machine: nobody takes a connection.
    server = await start({"telemetry.endpoint": "http://127.0.0.1:9", "telemetry.sample_share": 1})
    for _ in range(3):
        reply = await server.verify({"response": "A", "reference": "A"}, use="same")
        assert reply.json()["verdicts"][0]["score"] == 1.0
    await server.serving.drain(0.0)


OFF = """
import sys
from rewarden_server.config import load_config
from rewarden_server.service import Service
service = Service.build(load_config(environ={}))
assert type(service.tracing).__name__ == "Tracing"
print([name for name in sys.modules if name.startswith("opentelemetry.sdk") or name.startswith("opentelemetry.exp")])
"""


def test_without_an_endpoint_nothing_is_imported() -> None:
    done = subprocess.run([sys.executable, "-c", OFF], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert current() is UNTRACED


def test_without_its_packages_an_endpoint_is_refused_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "rewarden_server.observe.telemetry.exported")
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(ConfigError, match=r"rewarden-server\[otel\]"):
        configured_tracing(TelemetrySettings(endpoint="http://localhost:4318"))


@pytest.mark.parametrize(
    ("endpoint", "says"),
    [
        ("localhost:4318", "a URL such as"),
        ("grpc://localhost:4317", "a URL such as"),
        ("http://:4318", "a URL such as"),
        ("http://me:hunter2@localhost:4318", "OTEL_EXPORTER_OTLP_HEADERS"),
    ],
)
def test_an_endpoint_that_is_none_is_refused_and_not_repeated(endpoint: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says) as error:
        configured_tracing(TelemetrySettings(endpoint=endpoint))
    assert "hunter2" not in error.value.message


def test_a_share_is_at_most_one() -> None:
    with pytest.raises(ConfigError, match=r"telemetry\.sample_share must be at most 1"):
        load_config(environ={"REWARDEN_TELEMETRY_SAMPLE_SHARE": "2"})
